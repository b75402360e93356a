"""Calls about learners as a whole: make, import, list, show, remove."""

import asyncio
from collections import OrderedDict
from typing import Any

import msgspec

from sparsebandits.policies import Learner, Policy
from sparsebandits.service import learners, schemas
from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.call import LARGEST_PAGE, Service, run
from sparsebandits.service.context import Context
from sparsebandits.service.limits import check_description
from sparsebandits.service.operations import (
    Create,
    Import,
    Peek,
    Remove,
)
from sparsebandits.service.settings import Settings
from sparsebandits.service.times import as_text
from sparsebandits.store import LearnerRow
from sparsebandits.validation import as_reward

_canonical = msgspec.json.Encoder(order="deterministic").encode
_built: OrderedDict[bytes, tuple[Policy, bytes]] = OrderedDict()
_MOST_BUILT, _SHORT = 64, 2**16
"""How many policies are kept, with descriptions of so many bytes at most."""


async def create(service: Service, context: Context) -> Answer:
    """Make a learner: 201; the same again 200; another policy under this key 409."""
    body: schemas.CreateBody = context.body
    policy, described = await _policy(body.policy, service.settings)
    if body.default_reward is not None:
        as_reward(body.default_reward)
        if body.reward_wait is None:
            raise RefusedError("invalid", "default_reward needs reward_wait: after how long?")
    operation = Create(
        context.key, policy, described, body.seed, body.reward_wait, body.default_reward
    )
    return await run(service, context, [operation])


async def _policy(data: dict[str, Any], settings: Settings) -> tuple[Policy, bytes]:
    """Return a policy and its full description; none that allocates more than allowed.

    Thousands of learners may be made of one policy: it is built once. Building may take long (some
    sets solve for their reach), so it is done beside the loop.
    """
    check_description(data, settings.max_dim)
    given = _canonical(data)
    found = _built.get(given)
    if found is None:
        found = await asyncio.to_thread(_build, data)
        if len(given) <= _SHORT:
            _built[given] = found
            while len(_built) > _MOST_BUILT:
                _built.popitem(last=False)
    return found


def _build(data: dict[str, Any]) -> tuple[Policy, bytes]:
    policy = Policy.from_dict(data)
    policy.start(0)  # one that only simulations can run says so here
    return policy, _canonical(policy.to_dict())


async def import_learner(service: Service, context: Context) -> Answer:
    """Take over a learner that Learner.to_dict saved."""
    body: schemas.ImportBody = context.body
    context.caller.need("admin", [body.key])
    check_description(body.learner.get("policy"), service.settings.max_dim)
    return await run(service, context, [await asyncio.to_thread(_read, body)])


def _read(body: schemas.ImportBody) -> Import:
    learner = Learner.from_dict(body.learner)
    described = _canonical(learner.policy.to_dict())
    return Import(body.key, learner, described, learners.rewards_known(learner))


async def list_learners(service: Service, context: Context) -> Answer:
    """List the learners in pages, in the order of their keys."""
    limit = max(1, context.number("limit", 100, LARGEST_PAGE))
    after, prefix = context.text("after"), context.text("prefix") or context.caller.prefix
    context.caller.need("read", [prefix])
    rows = await service.engine.read(lambda store: store.read.learners(prefix, after, limit))
    views = [_row_view(row) for row in rows]
    return ok({"learners": views, "next": rows[-1].key if len(rows) == limit else None})


def _row_view(row: LearnerRow) -> dict[str, Any]:
    return {
        "key": row.key,
        "created_at": as_text(row.created_at),
        "last_at": as_text(row.last_at),
        "decisions": row.decisions,
        "rewards": row.rewards,
        "open": row.open,
    }


async def show(service: Service, context: Context) -> Answer:
    """Say in short what a learner is."""
    return await run(service, context, [Peek(context.key, schemas.learner_view)])


async def remove(service: Service, context: Context) -> Answer:
    """Remove a learner. It can be exported until it is purged."""
    return await run(service, context, [Remove(context.key, context.flag("purge"))])
