"""Learners in memory: the most recently used, up to a number and a size."""

import asyncio
import math
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import msgspec

from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Policy
from sparsebandits.service import learners, log
from sparsebandits.service.log import Lived
from sparsebandits.store import DamagedStoreError, Event, LearnerRow, Snapshot
from sparsebandits.store.base import Reads

_FEW = 16
"""Events that are replayed in the time that nobody notices."""

_FADING = 0.98
"""What is left of a pace after one more operation."""

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_BYTES_PER_CELL = 48
"""Six matrices of float64: what the heaviest policy keeps per learner."""

_BYTES_PER_DECISION = 1024
"""What a decision takes that waits for its reward, measured with 20 coordinates."""


class Saved(msgspec.Struct, frozen=True):
    """The body of a snapshot: the state, and when the open decisions were asked for."""

    state: bytes
    open: dict[int, float]


_read_saved = msgspec.msgpack.Decoder(Saved).decode


@dataclass
class Resident:
    """A learner in memory, with its row.

    Attributes
    ----------
    saved_at : int
        The sequence of its last snapshot.
    pending : list of Event
        Events that are applied and not yet committed.
    epoch : int
        When it was last known to be up to date: `Groups` counts on when somebody else writes.
    """

    row: LearnerRow
    lived: Lived
    saved_at: int = 0
    pending: list[Event] = field(default_factory=list)
    epoch: int = -1
    counted: int = 0
    """The bytes that were counted for it last."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        dim: int = self.lived.policy.action_set.dim
        return _BYTES_PER_CELL * dim**2 + _BYTES_PER_DECISION * len(self.lived.open)

    @property
    def unsaved(self) -> int:
        """How many events would have to be replayed if it were let go of now."""
        return self.row.head - self.saved_at

    def snapshot(self) -> Snapshot:
        """Return the learner as it is now."""
        self.saved_at = self.row.head
        saved = Saved(learners.to_bytes(self.lived.learner), self.lived.open)
        return Snapshot.of(self.row.id, self.row.head, msgspec.msgpack.encode(saved))


class Residents:
    """The learners in memory, by key.

    Parameters
    ----------
    most : int
        How many learners.
    most_bytes : int
        How large they may be together, by what their dimensions and open decisions say.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, Resident] = OrderedDict()
        self._policies: OrderedDict[str, Policy] = OrderedDict()
        self._paces: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Resident | None:
        """Return a learner, if it is here."""
        return self._kept.get(key)

    def put(self, resident: Resident) -> None:
        """Keep a learner."""
        self.evict(resident.row.key)
        self._kept[resident.row.key] = resident
        self._count(resident)

    def evict(self, key: str) -> None:
        """Let go of a learner: it will be loaded from the store."""
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._bytes -= gone.counted
            gone.counted = 0

    def _count(self, resident: Resident) -> None:
        before, resident.counted = resident.counted, resident.size
        self._bytes += resident.counted - before

    def leaving(self, used: set[str]) -> list[Resident]:
        """Return the learners that were not used for longest, of which the limits leave no room."""
        for key in used & self._kept.keys():
            self._kept.move_to_end(key)
            self._count(self._kept[key])  # it may have grown
        count, size = len(self._kept), self._bytes
        gone = []
        for resident in self._kept.values():
            if count <= self._most and (size <= self._most_bytes or count == 1):
                break
            gone.append(resident)
            count, size = count - 1, size - resident.counted
        return gone

    def shrink(self, used: set[str]) -> None:
        """Let go of them."""
        for resident in self.leaving(used):
            self.evict(resident.row.key)

    async def load(self, store: Reads, row: LearnerRow) -> tuple[Resident, bool]:
        """Return a learner from snapshot and log, and whether the snapshot was of use.

        A damaged snapshot is passed over: the log is the truth.
        """
        policy = await self.policy(store, row.policy)
        if not row.head:  # nothing has happened to it yet
            resident = Resident(row, Lived(policy, policy.start(row.seed)))
            self.put(resident)
            return resident, True
        snapshot = await store.snapshot(row.id)
        lived = None if snapshot is None else _restored(policy, snapshot)
        intact = lived is not None or snapshot is None
        events = await store.events(row.id, 0 if lived is None else lived.sequence)
        saved_at = 0 if lived is None else lived.sequence
        if lived is None or log.needs_rebuild(events):
            whole = events if lived is None else await store.events(row.id)
            lived = await _beside(len(whole), log.replay, policy, row.seed, whole)
        else:
            await _beside(len(events), _go_on, lived, events)
        check_complete(lived, row)
        resident = Resident(row, lived, saved_at)
        self.put(resident)
        return resident, intact

    async def catch_up(self, store: Reads, resident: Resident, row: LearnerRow) -> None:
        """Bring a learner to where other servers have taken it."""
        events = await store.events(row.id, resident.lived.sequence)
        if log.needs_rebuild(events):
            whole = await store.events(row.id)
            policy = resident.lived.policy
            resident.lived = await _beside(len(whole), log.replay, policy, row.seed, whole)
        else:
            await _beside(len(events), _go_on, resident.lived, events)
        check_complete(resident.lived, row)
        resident.row = row

    async def policy(self, store: Reads, digest: str) -> Policy:
        """Return a policy; learners that share it share one object."""
        found = self._policies.get(digest)
        if found is None:
            found = Policy.from_dict(msgspec.json.decode(await store.policy(digest)))
            self.keep_policy(digest, found)
        return found

    def keep_policy(self, digest: str, policy: Policy) -> Policy:
        """Keep a policy, or return the one that is known by that digest."""
        found = self._policies.setdefault(digest, policy)
        self._policies.move_to_end(digest)
        while len(self._policies) > self._most:
            gone, _ = self._policies.popitem(last=False)
            self._paces.pop(gone, None)
        return found

    def pace(self, policy: str) -> float:
        """Return how many seconds a learner of this policy may take; infinite before the first."""
        return self._paces.get(policy, math.inf)

    def note_pace(self, policy: str, seconds: float) -> None:
        """Remember how long a learner took; what is slow now and then is expected to be again."""
        self._paces[policy] = max(seconds, _FADING * self._paces.get(policy, 0.0))


async def _beside(
    events: int, work: Callable[Given, Returned], *given: Given.args, **named: Given.kwargs
) -> Returned:
    """Replay so many events: a few here, more of them beside the loop that speaks HTTP."""
    if events <= _FEW:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)


def _go_on(lived: Lived, events: Sequence[Event]) -> None:
    for event in events:
        lived.apply(event)


def check_complete(lived: Lived, row: LearnerRow) -> None:
    """Refuse a log that ends before the learner's last event."""
    if lived.sequence != row.head:
        raise DamagedStoreError(
            f"The log of learner {row.key!r} ends at event {lived.sequence}, but {row.head} were "
            "written; restore a backup."
        )


def _restored(policy: Policy, snapshot: Snapshot) -> Lived | None:
    """Return the learner of a snapshot; None if it is damaged, or of another release."""
    if not snapshot.is_intact:
        return None
    try:
        saved = _read_saved(snapshot.body)
        learner = learners.from_bytes(policy, saved.state)
    except (SparseBanditsError, ValueError, zlib.error):  # also what msgspec and json raise
        return None
    return Lived(policy, learner, snapshot.sequence, dict(saved.open))
