"""The decisions of a learner in arrays, read from its log, or from a saved learner."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from sparsebandits.action_sets import AllBut
from sparsebandits.policies import Learner, Policy
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.saved_state import read_decisions, read_told
from sparsebandits.service import learners, log
from sparsebandits.store import Event
from sparsebandits.validation import BoolArray, FloatArray, IntArray

Offer = tuple[int, ...] | AllBut | None

RECENT = 20_000
"""Decisions that are looked at: the last ones."""

OPEN, TOLD, FORGOTTEN, EXPIRED = "open", "told", "forgotten", "expired"
"""What has become of a decision; an expired one got the default reward, or none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """The last decisions of a learner, in the order of their ids.

    Attributes
    ----------
    ids : (n,) int array
    asked_at, closed_at : (n,) arrays
        Seconds since 1970; nan where it is not known, or not closed.
    rewards : (n,) array
        nan where there is none.
    states : (n,) array of str
    late, corrected : (n,) bool arrays
        Whether the reward came after its wait was over; whether another was told before.
    phases : (n,) array of str
    starts, columns, values : arrays
        The non-zeros of action k are at starts[k]..starts[k + 1].
    offers : tuple
        What was available: indices, all but some, or None for everything; `offered` (n,) points
        into it.
    contexts : (n, z) array or None
    dim : int
    total : int
        How many decisions the learner has given out in all.
    """

    ids: IntArray
    asked_at: FloatArray
    closed_at: FloatArray
    rewards: FloatArray
    states: np.ndarray[Any, np.dtype[np.str_]]
    late: BoolArray
    corrected: BoolArray
    phases: np.ndarray[Any, np.dtype[np.str_]]
    starts: IntArray
    columns: IntArray
    values: FloatArray
    offers: tuple[Offer, ...]
    offered: IntArray
    contexts: FloatArray | None
    dim: int
    total: int

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def told(self) -> IntArray:
        """The places of decisions that have a reward."""
        return np.flatnonzero(np.isfinite(self.rewards))

    @property
    def has_times(self) -> bool:
        """Whether it is known when decisions were asked for: a saved learner does not know."""
        return bool(len(self)) and bool(np.isfinite(self.asked_at).all())

    @property
    def late_share(self) -> float:
        """The share of rewards that came after their wait was over; nan without rewards."""
        told = self.told
        return float(self.late[told].mean()) if told.size else float("nan")

    def action(self, place: int) -> tuple[IntArray, FloatArray]:
        """Return the indices and values of the non-zeros of an action."""
        part = slice(self.starts[place], self.starts[place + 1])
        return self.columns[part], self.values[part]

    def used(self) -> IntArray:
        """Return the coordinates that were on at least once, ascending."""
        return np.unique(self.columns)

    def actions(self, places: IntArray, coordinates: IntArray) -> FloatArray:
        """Return actions with these coordinates only, (len(places), len(coordinates))."""
        where = np.full(self.dim, -1)
        where[coordinates] = np.arange(coordinates.size)
        counts = np.diff(self.starts)
        rows = np.repeat(np.arange(len(self)), counts)
        targets = where[self.columns]
        row_of = np.full(len(self), -1)
        row_of[places] = np.arange(places.size)
        kept = (targets >= 0) & (row_of[rows] >= 0)
        actions = np.zeros((places.size, coordinates.size))
        actions[row_of[rows[kept]], targets[kept]] = self.values[kept]
        return actions

    def worth(self, theta: FloatArray) -> FloatArray:
        """Return theta·x of every decision, (n,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        products = self.values * theta[self.columns]
        return np.bincount(rows, weights=products, minlength=len(self)).astype(float)


@dataclass(slots=True)
class _Entry:
    """A decision while the log is read."""

    id: int
    asked_at: float
    indices: Sequence[int]
    values: Sequence[float]
    phase: str
    offer: Offer = None
    context: Sequence[float] | None = None
    reward: float | None = None
    closed_at: float = float("nan")
    state: str = OPEN
    late: bool = False
    corrected: bool = False


_CLOSED_AS = {log.TELL: TOLD, log.FORGET: FORGOTTEN, log.EXPIRE: EXPIRED}


@dataclass
class LogReader:
    """Takes in the events of a log, some at a time, and keeps the last decisions."""

    policy: Policy
    sequence: int = 0
    _entries: dict[int, _Entry] = field(default_factory=dict)

    def read(self, events: Iterable[Event]) -> None:
        """Go on by the next events; what is about decisions before the first one is left out."""
        for event in events:
            match event.kind, log.read(event):
                case _, log.Asked() as asked:
                    self._ask(event, asked)
                case kind, log.Rewarded(reward=reward):
                    self._close(kind, event, reward)
                case _, log.Imported(state=state):
                    learner = learners.from_bytes(self.policy, state)
                    self._entries.update(_saved_entries(learner, event.at))
            self.sequence = event.sequence
        surplus = len(self._entries) - RECENT
        for number in list(islice(self._entries, max(surplus, 0))):
            del self._entries[number]

    def _ask(self, event: Event, asked: log.Asked) -> None:
        assert event.decision is not None
        offer = tuple(asked.offer) if isinstance(asked.offer, list) else asked.offer
        for number, choice in enumerate(asked.choices, start=event.decision):
            self._entries[number] = _Entry(
                number, event.at, choice.indices, choice.values, choice.phase, offer, asked.context
            )

    def _close(self, kind: str, event: Event, reward: float | None) -> None:
        entry = None if event.decision is None else self._entries.get(event.decision)
        if entry is None:
            return
        if kind in _CLOSED_AS:
            entry.state = _CLOSED_AS[kind]
        else:  # a reward in the place of another, or of none
            entry.late |= entry.state == EXPIRED
            entry.corrected |= entry.state != EXPIRED
            entry.state = TOLD
        entry.reward, entry.closed_at = reward, event.at

    def history(self, total: int) -> History:
        """Return what was read; the learner has given out `total` decisions."""
        return _arrays(list(self._entries.values()), self.policy, total)


def saved_history(learner: Learner) -> History:
    """Return what a saved learner remembers: the last rewards told, and what is open."""
    entries = _saved_entries(learner, float("nan"))
    given = learners.decisions_given(learner)
    return _arrays(list(entries.values()), learner.policy, given)


def _saved_entries(learner: Learner, at: float) -> dict[int, _Entry]:
    state: Mapping[str, Any] = learner.to_dict()["state"]
    dim = learner.policy.action_set.dim
    next_id, still_open = read_decisions(state, dim)
    told = read_told(state, next_id, dim)
    entries = {number: _saved_entry(number, played, at) for number, played in still_open.items()}
    for number, (played, reward) in told.items():
        entry = entries[number] = _saved_entry(number, played, at)
        entry.reward, entry.state, entry.closed_at = reward, TOLD, at
    return dict(sorted(entries.items()))


def _saved_entry(number: int, played: Played, at: float) -> _Entry:
    phase = "exploit" if played.pull == EXPLOIT else "explore"
    context = None if played.context is None else played.context.tolist()
    return _Entry(
        number, at, played.indices.tolist(), played.values.tolist(), phase, context=context
    )


def _arrays(entries: Sequence[_Entry], policy: Policy, total: int) -> History:
    offers = list(dict.fromkeys(entry.offer for entry in entries)) or [None]
    places = {offer: place for place, offer in enumerate(offers)}
    lengths = [len(entry.indices) for entry in entries]
    size = getattr(policy, "context", 0)
    contexts = None
    if size:
        rows = [entry.context or [0.0] * size for entry in entries]
        contexts = np.array(rows, dtype=float).reshape(len(entries), size)
    flat = [index for entry in entries for index in entry.indices]
    return History(
        ids=np.array([entry.id for entry in entries], dtype=np.intp),
        asked_at=np.array([entry.asked_at for entry in entries], dtype=float),
        closed_at=np.array([entry.closed_at for entry in entries], dtype=float),
        rewards=np.array(
            [np.nan if entry.reward is None else entry.reward for entry in entries], dtype=float
        ),
        states=np.array([entry.state for entry in entries], dtype=np.str_),
        late=np.array([entry.late for entry in entries], dtype=bool),
        corrected=np.array([entry.corrected for entry in entries], dtype=bool),
        phases=np.array([entry.phase for entry in entries], dtype=np.str_),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp),
        columns=np.array(flat, dtype=np.intp),
        values=np.array([value for entry in entries for value in entry.values], dtype=float),
        offers=tuple(offers),
        offered=np.array([places[entry.offer] for entry in entries], dtype=np.intp),
        contexts=contexts,
        dim=policy.action_set.dim,
        total=total,
    )
