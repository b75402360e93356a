"""Where pages get what they show: the store of a service, or a saved learner."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from sparsebandits.dashboard.history import RECENT, History, LogReader, saved_history
from sparsebandits.dashboard.overview import (
    EXAMINED,
    TAIL,
    Listed,
    Standing,
    listed,
    standing,
)
from sparsebandits.policies import Learner, Policy
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.reader import Reader
from sparsebandits.service.residents import Resident, Residents
from sparsebandits.store import (
    DamagedStoreError,
    LearnerRow,
    Store,
    StoreUnavailableError,
    open_store,
)
from sparsebandits.store.base import Reads

Returned = TypeVar("Returned")
_KEPT = 16
"""Learners that are kept in memory, those looked at last."""

_KEPT_BYTES = 2**28
_NEAR = 128
"""Events up to which a learner is caught up with. Beyond, the service's last snapshot is nearer: to
live through all that happened since would cost what it cost those who played."""

_MOST_LISTED = 100_000
_EVENTS = 3 * RECENT
"""Events of a log that are read: the last ones; few decisions have more than three."""


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """A learner, to be looked at and never asked or told."""

    key: str
    learner: Learner
    history: History
    version: str
    """Another one when anything has changed."""
    row: LearnerRow | None = None
    """What the store says beside; None for a saved learner."""


class Source(Protocol):
    """What pages look at."""

    async def listed(self, prefix: str, search: str) -> list[Listed]:
        """Return a line for each learner whose key begins with a text, and has another in it."""

    async def examined(self, keys: Sequence[str]) -> list[Listed]:
        """Return the lines of some learners, with all that their logs tell."""

    async def version(self, key: str) -> str:
        """Return what changes when the learner does."""

    async def look(self, key: str, work: Callable[[View], Returned]) -> Returned:
        """Compute something from a learner, beside the thread that answers requests."""


class StoreSource:
    """The learners of a store, read by a connection and a thread that only pages use."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: Reader | None = None
        self._residents = Residents(_KEPT, _KEPT_BYTES)
        self._logs: OrderedDict[int, LogReader] = OrderedDict()
        self._standings: dict[int, tuple[int, Standing]] = {}
        self._committing: dict[str, bool] = {}

    def start(self) -> None:
        """Open the store, which must have its tables by now."""
        self._opened = Reader(open_store(self._url, read_only=True))
        self._opened.start()

    async def stop(self) -> None:
        """Let go of the store."""
        await self._reader.stop()

    @property
    def _reader(self) -> Reader:
        assert self._opened is not None
        return self._opened

    async def _use(self, use: Callable[[Reads], Awaitable[Returned]]) -> Returned:
        """Read at one moment of the store."""

        async def read(store: Store) -> Returned:
            async with store.connection.transaction(write=False):
                return await use(store.read)

        try:
            return await self._reader.use(read)
        except StoreUnavailableError as error:
            raise RefusedError("unavailable", str(error)) from None
        except DamagedStoreError as error:
            raise RefusedError("damaged", str(error)) from None

    async def version(self, key: str) -> str:
        """Return the number of the last event, which is in the learner's row."""

        async def use(reads: Reads) -> str:
            return _version(await _row_of(reads, key))

        return await self._use(use)

    async def look(self, key: str, work: Callable[[View], Returned]) -> Returned:
        """Compute something from a learner as its log has it now."""

        async def use(reads: Reads) -> View:
            row = await _row_of(reads, key)
            resident = await self._resident(reads, row)
            reader = await self._log(reads, row, resident.lived.policy)
            return View(
                key=key,
                learner=resident.lived.learner,
                history=reader.history(row.decisions),
                version=_version(row),
                row=row,
            )

        view = await self._use(use)

        async def compute(store: Store) -> Returned:  # not within a transaction of the store
            return work(view)

        return await self._reader.use(compute)

    async def _resident(self, reads: Reads, row: LearnerRow) -> Resident:
        found = self._residents.get(row.key)
        is_near = found is not None and row.head - found.lived.sequence <= _NEAR
        if found is not None and found.row.id == row.id and is_near:
            if found.lived.sequence < row.head:
                try:
                    await self._residents.catch_up(reads, found, row)
                except BaseException:  # half caught up, it is of no use
                    self._residents.evict(row.key)
                    raise
        else:
            found, _ = await self._residents.load(reads, row)
        self._residents.shrink({row.key})
        return found

    async def _log(self, reads: Reads, row: LearnerRow, policy: Policy) -> LogReader:
        reader = self._logs.get(row.id)
        if reader is None:
            reader = LogReader(policy, max(0, row.head - _EVENTS))
        reader.read(await reads.events(row.id, reader.sequence))
        self._logs[row.id] = reader
        self._logs.move_to_end(row.id)
        while len(self._logs) > _KEPT:
            self._logs.popitem(last=False)
        return reader

    # ------------------------------------------------------------------ all of them

    async def listed(self, prefix: str, search: str) -> list[Listed]:
        """Return the lines; of very many only those are examined that were active last."""

        async def use(reads: Reads) -> list[Listed]:
            rows = [
                row
                for row in await reads.learners(prefix, limit=_MOST_LISTED)
                if search.lower() in row.key.lower()
            ]
            latest = sorted(rows, key=lambda row: -row.last_at)[:EXAMINED]
            known = {row.id: await self._standing(reads, row) for row in latest}
            now = time.time()
            return [listed(row, known.get(row.id), now) for row in rows]

        return await self._use(use)

    async def examined(self, keys: Sequence[str]) -> list[Listed]:
        """Return lines with all that the ends of their logs tell."""

        async def use(reads: Reads) -> list[Listed]:
            found = [await reads.learner(key) for key in keys]
            rows = [row for row in found if row is not None and row.removed_at is None]
            now = time.time()
            return [listed(row, await self._standing(reads, row), now) for row in rows]

        return await self._use(use)

    async def _standing(self, reads: Reads, row: LearnerRow) -> Standing:
        head, found = self._standings.get(row.id, (-1, None))
        if found is None or head != row.head:
            policy = await self._residents.policy(reads, row.policy)
            reader = LogReader(policy, max(0, row.head - TAIL))
            reader.read(await reads.events(row.id, reader.sequence))
            is_locked = False
            if self._commits(row.policy, policy):
                learner = (await self._resident(reads, row)).lived.learner
                is_locked = learner.support is not None
            found = standing(
                policy,
                reader.history(row.decisions),
                is_locked=is_locked,
                is_whole=row.head <= TAIL,
            )
            self._standings.pop(row.id, None)
            self._standings[row.id] = (row.head, found)
            while len(self._standings) > 10 * EXAMINED:
                del self._standings[next(iter(self._standings))]
        return found

    def _commits(self, digest: str, policy: Policy) -> bool:
        """Whether learners of the policy can lock a support."""
        if digest not in self._committing:
            rule = policy.rule([np.random.default_rng(0)])
            self._committing[digest] = rule.commits
        return self._committing[digest]


async def _row_of(reads: Reads, key: str) -> LearnerRow:
    row = await reads.learner(key)
    if row is None:
        raise RefusedError("unknown-learner", f"There is no learner {key!r}.")
    if row.removed_at is not None:
        raise RefusedError("removed", f"The learner {key!r} was removed.")
    return row


def _version(row: LearnerRow) -> str:
    return f"{row.id}-{row.head}"


class FileSource:
    """One saved learner, under the name of its file."""

    def __init__(self, path: Path, learner: Learner) -> None:
        self.path = path
        # Whatever the file is called, the key must fit into an address.
        self.key = re.sub(r"[^A-Za-z0-9._:@~-]", "-", path.stem).lstrip("._:@~-")[:128] or "learner"
        self._view = View(
            key=self.key, learner=learner, history=saved_history(learner), version="0"
        )

    async def listed(self, prefix: str, search: str) -> list[Listed]:
        """Return nothing: there is one learner, and its own page says all."""
        return []

    async def examined(self, keys: Sequence[str]) -> list[Listed]:
        """Return nothing."""
        return []

    async def version(self, key: str) -> str:
        """Return what never changes."""
        return self._of(key).version

    async def look(self, key: str, work: Callable[[View], Returned]) -> Returned:
        """Compute something from the learner."""
        return await asyncio.to_thread(work, self._of(key))

    def _of(self, key: str) -> View:
        if key != self.key:
            raise RefusedError("unknown-learner", f"{self.path} holds {self.key!r}.")
        return self._view
