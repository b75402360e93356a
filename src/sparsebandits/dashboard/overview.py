"""All learners at a glance: what each is doing, and which deserve a look."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparsebandits.dashboard.allowed import allowed_of
from sparsebandits.dashboard.charts import clock
from sparsebandits.dashboard.health import drift_test
from sparsebandits.dashboard.history import History
from sparsebandits.dashboard.regression import UNKNOWN, Found
from sparsebandits.dashboard.sample import sample_of
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import Policy
from sparsebandits.store import LearnerRow
from sparsebandits.validation import FloatArray

TAIL = 1000
"""Events of a learner that are looked at for this page: the last ones."""

PAGE = 50
EXAMINED = 200
"""Learners whose logs are looked at to sort by what is in them, besides those that are shown."""

_HOUR, _DAY = 3600.0, 86_400.0
_SILENT_GAPS = 20
_SHORTEST_SILENCE = 600.0

State = Literal["learning", "locked", "stale", "drifting", "new"]
WORDS: dict[State, str] = {
    "stale": "rewards have stopped coming",
    "drifting": "its effects or baseline change over time",
    "locked": "its support is fixed",
    "learning": "it still chooses what to use",
    "new": "no reward was told yet",
}
"""What each state means; the first that holds is shown."""

SORTS = ("key", "state", "decisions", "rewards", "open", "per_hour", "late", "last")


@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """What the end of a learner's log tells, whatever the time is."""

    is_locked: bool
    drift: Found
    told_at: FloatArray
    """When the last rewards came, ascending."""
    is_whole: bool
    """Whether the whole log was looked at."""
    late_share: float
    policy: str
    allowed: str


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A line of the list; numbers are nan where they are not known."""

    key: str
    state: State | None
    policy: str
    decisions: int
    rewards: int
    open: int
    per_hour: float
    late: float
    last_at: float
    last: str


def standing(policy: Policy, history: History, *, is_locked: bool, is_whole: bool) -> Standing:
    """Look at the end of a log."""
    told = history.told
    return Standing(
        is_locked=is_locked,
        drift=drift_test(sample_of(policy, history)) if told.size else UNKNOWN,
        told_at=np.sort(history.closed_at[told]),
        is_whole=is_whole,
        late_share=history.late_share,
        policy=policy.kind,
        allowed=allowed_of(policy),
    )


def listed(row: LearnerRow, known: Standing | None, now: float) -> Listed:
    """Return a learner's line; what its log tells is left out where that was not looked at."""
    waits = row.reward_wait is not None
    return Listed(
        key=row.key,
        state=None if known is None else state_of(row, known, now),
        policy="" if known is None else f"{known.policy}, {known.allowed}",
        decisions=row.decisions,
        rewards=row.rewards,
        open=row.open,
        per_hour=math.nan if known is None else per_hour(row, known, now),
        late=known.late_share if known is not None and waits else math.nan,
        last_at=row.last_at,
        last=clock(row.last_at),
    )


def state_of(row: LearnerRow, known: Standing, now: float) -> State:
    """Return the first state that holds."""
    if not row.rewards:
        return "new"
    if is_stale(known, row.last_at, now):
        return "stale"
    if known.drift.is_alarm:
        return "drifting"
    return "locked" if known.is_locked else "learning"


def is_stale(known: Standing, last_at: float, now: float) -> bool:
    """Whether nothing was told for 20 times the mean time between rewards, and ten minutes.

    With fewer than five rewards: for a day.
    """
    if known.told_at.size < 5:
        return now - last_at > _DAY
    # The median would be 0 where rewards come by the dozen, once a day.
    usual = float(np.diff(known.told_at).mean())
    silence = now - float(known.told_at[-1])
    return silence > max(_SILENT_GAPS * usual, _SHORTEST_SILENCE)


def per_hour(row: LearnerRow, known: Standing, now: float) -> float:
    """Return the rewards of the last hour; where the log's end is shorter, at its pace."""
    told = known.told_at
    recent = int((told > now - _HOUR).sum())
    if known.is_whole or recent < told.size or not recent:
        return float(recent)
    at_its_pace = recent * _HOUR / max(now - float(told[0]), 1.0)
    return min(at_its_pace, float(row.rewards))  # it may be younger than an hour


def sorted_list(lines: Sequence[Listed], by: str, descending: bool) -> list[Listed]:
    """Sort lines; what is not known comes last."""
    if by not in SORTS:
        raise InvalidValueError(f"Learners are sorted by {', '.join(SORTS)}; got {by[:40]!r}.")
    if by in ("key", "state"):
        order = list(WORDS)

        def word(line: Listed) -> tuple[int, str]:
            place = 0 if by == "key" else order.index(line.state) if line.state else len(order)
            return place, line.key

        return sorted(lines, key=word, reverse=descending)
    name = {"last": "last_at"}.get(by, by)
    sign = -1.0 if descending else 1.0

    def number(line: Listed) -> tuple[bool, float, str]:
        value = float(getattr(line, name))
        return math.isnan(value), sign * (0.0 if math.isnan(value) else value), line.key

    return sorted(lines, key=number)
