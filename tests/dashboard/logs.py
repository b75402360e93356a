"""Logs written as the service writes them, by a real learner, at moments that a test chooses."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

import sparsebandits as sb
from sparsebandits.service import learners, log
from sparsebandits.service.learner_calls import _canonical
from sparsebandits.service.log import Lived, Rewarded
from sparsebandits.service.residents import Resident
from sparsebandits.store import Event, LearnerRow, Store
from sparsebandits.store.records import digest_of
from sparsebandits.validation import FloatArray
from tests.stores import use

Earn = Callable[[int, FloatArray], float | None]
"""The reward of a decision's number and action; None leaves it open."""

START = 1_760_000_000.0


def write_log(
    url: str,
    key: str,
    policy: sb.Policy,
    earn: Earn,
    steps: int,
    *,
    gap: float = 60.0,
    start: float = START,
    contexts: Sequence[Sequence[float]] | None = None,
) -> sb.Learner:
    """Let a learner live `steps` decisions, one each `gap` seconds, and store its log."""
    lived = Lived(policy, policy.start(0))
    events: list[Event] = []

    def add(kind: str, at: float, decision: int, content: log.Content) -> None:
        sequence = len(events) + 1
        events.append(
            Event(
                learner=1,
                sequence=sequence,
                kind=kind,
                at=at,
                decision=decision,
                body=log.write(content),
            )
        )

    rewards = 0
    for number in range(1, steps + 1):
        at = start + gap * number
        context = None if contexts is None else list(contexts[number - 1])
        choices = learners.ask(lived.learner, None, context, 1)
        add(log.ASK, at, number, log.Asked(choices, None, context))
        action = np.zeros(policy.action_set.dim)
        action[choices[0].indices] = choices[0].values
        reward = earn(number, action)
        lived.open[number] = at
        if reward is not None:
            lived.learner.tell(number, float(reward))
            del lived.open[number]
            add(log.TELL, at + gap / 2, number, Rewarded(float(reward)))
            rewards += 1
    lived.sequence = len(events)
    body = _canonical(policy.to_dict())
    row = LearnerRow(
        id=0, key=key, policy=digest_of(body), seed=0, reward_wait=None, default_reward=None,
        created_at=start, head=len(events), decisions=steps, rewards=rewards,
        open=len(lived.open), last_at=events[-1].at if events else start,
    )  # fmt: skip

    async def store(opened: Store) -> None:
        async with opened.transaction() as transaction:
            row.id = await transaction.create(row, body)
            numbered = [msgspec.structs.replace(event, learner=row.id) for event in events]
            await transaction.append(numbered)
            await transaction.save_snapshots([Resident(row, lived).snapshot()])

    use(url, store)
    return lived.learner
