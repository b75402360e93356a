"""Calls that say what is known: certificate, posterior, history, export; and the oracle."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec

from sparsebandits.action_sets import ActionSet
from sparsebandits.oracles import Supports, sparse_argmax
from sparsebandits.policies import Learner
from sparsebandits.service import learners, log, schemas
from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.call import LARGEST_PAGE, Service, run
from sparsebandits.service.context import Context
from sparsebandits.service.groups import Job
from sparsebandits.service.limits import check_description
from sparsebandits.service.log import Lived
from sparsebandits.service.operations import (
    Peek,
)
from sparsebandits.service.times import as_text
from sparsebandits.store import Event, LearnerRow

_DRAWS = 200
_PAGE_BYTES = 2**20
"""Of events in a page: some have a thousand actions."""


async def certificate(service: Service, context: Context) -> Answer:
    """Say how sure the learner is of its support."""
    return await _think(service, context, lambda known: learners.certificate(known, _DRAWS))


async def posterior(service: Service, context: Context) -> Answer:
    """Say what is believed of each coordinate."""
    return await _think(service, context, lambda known: learners.posterior(known, _DRAWS))


async def _think(
    service: Service, context: Context, view: Callable[[Learner], dict[str, Any]]
) -> Answer:
    """Compute on a copy of the learner, beside what is asked and told."""
    saved = await _saved(service, context, even_removed=False)

    def compute() -> Answer:
        return ok(view(Learner.from_dict(saved)))

    async with service.thinking:
        return await asyncio.to_thread(compute)


async def export(service: Service, context: Context) -> Answer:
    """Export the whole learner, as Learner.from_dict reads it."""
    saved = await _saved(service, context, even_removed=True)
    text = await asyncio.to_thread(json.dumps, saved)  # its integers go beyond 64 bits
    return Answer(200, text.encode())


async def _saved(service: Service, context: Context, *, even_removed: bool) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def view(lived: Lived, row: LearnerRow) -> None:
        found.append(lived.learner.to_dict())

    answer = await run(service, context, [Peek(context.key, view, even_removed)])
    # What was found counts only if it was committed with what else was in its group.
    if answer.status != 200:
        problem = msgspec.json.decode(answer.body)
        raise RefusedError(problem["type"].rpartition(":")[2], problem["detail"])
    return found[-1]


async def history(service: Service, context: Context) -> Answer:
    """Read the events of the log after a sequence."""
    key, after = context.key, context.number("after", 0, schemas.LARGEST_SEED)
    limit = max(1, context.number("limit", 100, LARGEST_PAGE))
    row = await service.engine.read(lambda store: store.read.learner(key))
    if row is None:
        raise RefusedError("unknown-learner", f"There is no learner {key!r}.")
    events = await service.engine.read(
        lambda store: store.read.page(row.id, after, limit, _PAGE_BYTES)
    )
    more = bool(events) and events[-1].sequence < row.head
    views = [_event_view(event) for event in events]
    return ok({"events": views, "next": events[-1].sequence if more else None})


def _event_view(event: Event) -> dict[str, Any]:
    view: dict[str, Any] = {
        "sequence": event.sequence,
        "kind": event.kind,
        "at": as_text(event.at),
    }
    match log.read(event):
        case log.Asked(choices=choices, available=available, context=context, all_but=left_out):
            assert event.decision is not None
            decisions = [
                {
                    "id": number,
                    "action": schemas.action_view(choice.indices, choice.values, None),
                    "phase": choice.phase,
                    "cycle": choice.cycle,
                }
                for number, choice in enumerate(choices, start=event.decision)
            ]
            offer = available if left_out is None else {"all_but": left_out}
            view |= {"decisions": decisions, "available": offer, "context": context}
        case log.Rewarded(reward=reward):
            view |= {"id": event.decision, "reward": reward}
        case log.Observed(pairs=pairs):
            view["pairs"] = [
                {"action": schemas.action_view(p.indices, p.values, None), "reward": p.reward}
                for p in pairs
            ]
        case log.Imported(decisions=count, open=still_open, rewards=known):
            view |= {"decisions": count, "open": still_open, "rewards": known}
    return view


async def solve(service: Service, context: Context) -> Answer:
    """Find the best action for a theta: the oracle alone."""
    body: schemas.SolveBody = context.body
    check_description(body.action_set, service.settings.max_dim)
    check_description(body.sparsity, service.settings.max_dim)
    if len(body.theta) > service.settings.max_dim:
        raise RefusedError("invalid", f"theta has more than {service.settings.max_dim:,} entries.")

    def compute() -> Answer:
        whole = ActionSet.from_dict(body.action_set)
        allowed = schemas.availability(body.available, whole)
        current = whole if allowed is None else whole.restrict(allowed)
        limit = body.sparsity
        rules = limit if isinstance(limit, int) else Supports.from_dict(limit)
        found = sparse_argmax(current, body.theta, rules, body.method, time_limit=body.time_limit)
        if not found.is_exact:
            service.engine.metrics.unproven.inc()
        names = whole.names
        values = found.action[list(found.support)].tolist()
        return ok(
            {
                "support": list(found.support),
                "action": schemas.action_view(found.support, values, names),
                "value": found.value,
                "upper_bound": found.upper_bound,
                "is_exact": found.is_exact,
                "method": found.method,
            }
        )

    async with service.thinking:
        answer = await asyncio.to_thread(compute)
    if context.request_key is None:
        return answer
    return await service.engine.submit(Job((), lambda results: answer, context.request_key))
