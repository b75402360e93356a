"""Requests that wait together are carried out together, in one transaction with one flush.

An answer is sent only after the commit. Whatever fails, learners that were touched are let go of
and loaded from the log again, so that memory never runs ahead of it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparsebandits.errors import SparseBanditsError
from sparsebandits.service import rounds
from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.metrics import Metrics
from sparsebandits.service.operations import Operation, Result
from sparsebandits.service.residents import Residents
from sparsebandits.service.unit_of_work import UnitOfWork
from sparsebandits.store import (
    DamagedStoreError,
    LostRaceError,
    Store,
    StoredAnswer,
    StoreUnavailableError,
    Transaction,
)

_LOGGER = logging.getLogger("sparsebandits.service")
_TRIES = 20
"""How often a group that loses its race is carried out again."""


_WORTH_SAVING = 16
"""Events that take longer to replay than a snapshot takes to be written and read."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An idempotency key, where it was used, and a fingerprint of the body."""

    scope: str
    key: str
    fingerprint: str


@dataclass(slots=True)
class Job:
    """A request: operations, and how their results make one answer."""

    operations: Sequence[Operation]
    compose: Callable[[Sequence[Result]], Answer]
    request_key: RequestKey | None = None


class Groups:
    """Carries out jobs on a store; used by one task at a time."""

    def __init__(
        self, store: Store, residents: Residents, metrics: Metrics, snapshot_every: int
    ) -> None:
        self._store = store
        self._residents = residents
        self._metrics = metrics
        self._snapshot_every = snapshot_every

    async def run(self, jobs: Sequence[Job]) -> list[tuple[Job, Answer]]:
        """Carry out jobs and return the answers, which may then be sent."""
        for _ in range(_TRIES):
            try:
                return await self._attempt(jobs)
            except LostRaceError as error:
                refusal = RefusedError("unavailable", f"Other servers were faster: {error}")
                self._metrics.races.inc()
            except StoreUnavailableError as error:
                refusal = RefusedError("unavailable", str(error))
                break
            except Exception as error:
                if len(jobs) > 1:  # whose fault it was is found one by one
                    return [answer for job in jobs for answer in await self.run([job])]
                refusal = _explained(error)
                break
            finally:
                self._metrics.resident.set(len(self._residents))
        return [(job, refusal.answer) for job in jobs]

    async def _attempt(self, jobs: Sequence[Job]) -> list[tuple[Job, Answer]]:
        keys = {operation.key for job in jobs for operation in job.operations}
        started = time.perf_counter()
        try:
            async with self._store.transaction() as transaction:
                unit = await self._begin(transaction, keys)
                stored = await _stored_answers(transaction, jobs)
                fresh = [job for job, answer in zip(jobs, stored, strict=True) if answer is None]
                results = await rounds.carry_out(unit, [job.operations for job in fresh])
                answers = iter(
                    [job.compose(done) for job, done in zip(fresh, results, strict=True)]
                )
                replies = [
                    (job, answer or next(answers)) for job, answer in zip(jobs, stored, strict=True)
                ]
                await self._write(unit, replies)
                computed = time.perf_counter()
        except BaseException:
            for key in keys:
                self._residents.evict(key)
            raise
        self._metrics.commit.observe(time.perf_counter() - computed)
        self._metrics.compute.observe(computed - started)
        self._metrics.group_size.observe(len(jobs))
        self._metrics.add(unit.counts)
        for resident in unit.touched.values():
            resident.pending.clear()
        for key in unit.gone:
            self._residents.evict(key)
        self._residents.shrink(keys)
        return replies

    async def _begin(self, transaction: Transaction, keys: set[str]) -> UnitOfWork:
        """Find the learners; where other servers may write, their rows are locked."""
        # What was read before somebody else wrote is of an earlier epoch, and is read again.
        kept = ((key, self._residents.get(key)) for key in keys)
        known = {
            key: resident.row
            for key, resident in kept
            if resident is not None and resident.epoch == transaction.epoch
        }
        unknown = keys - known.keys()
        if unknown:
            known |= await transaction.lock(unknown)
        return UnitOfWork(
            transaction, self._residents, self._metrics, known, time.time(), transaction.epoch
        )

    async def _write(self, unit: UnitOfWork, replies: Sequence[tuple[Job, Answer]]) -> None:
        changed = [
            resident
            for key, resident in unit.touched.items()
            if resident.pending and key not in unit.gone
        ]
        events = [event for resident in changed for event in resident.pending]
        snapshots = [each.snapshot() for each in changed if each.unsaved >= self._snapshot_every]
        # Who has to leave is loaded again when it is asked: from a snapshot, if the log is longer.
        leaving = self._residents.leaving(set(unit.touched))
        snapshots += [each.snapshot() for each in leaving if each.unsaved >= _WORTH_SAVING]
        if events:
            await unit.transaction.append(events)
        if changed:
            await unit.transaction.update([resident.row for resident in changed])
        if snapshots:
            await unit.transaction.save_snapshots(snapshots)
        kept = [
            _to_store(job.request_key, answer, unit.now)
            for job, answer in replies
            if job.request_key is not None and answer.status < 300 and not answer.was_stored
        ]
        if kept:
            await unit.transaction.save_answers(kept)


def _to_store(key: RequestKey, answer: Answer, now: float) -> StoredAnswer:
    return StoredAnswer(
        scope=key.scope,
        key=key.key,
        fingerprint=key.fingerprint,
        status=answer.status,
        body=answer.body,
        at=now,
    )


async def _stored_answers(transaction: Transaction, jobs: Sequence[Job]) -> list[Answer | None]:
    """Return the answers that need no work: the request was carried out before."""
    wanted = {job.request_key.key for job in jobs if job.request_key is not None}
    stored = await transaction.answers(wanted) if wanted else {}
    found: list[Answer | None] = []
    for job in jobs:
        given = job.request_key
        known = None if given is None else stored.get((given.scope, given.key))
        if given is None or known is None:
            found.append(None)
        elif known.fingerprint == given.fingerprint:
            found.append(Answer(known.status, bytes(known.body), was_stored=True))
        else:
            found.append(
                RefusedError(
                    "key-reused",
                    f"The Idempotency-Key {given.key!r} came before with another body; "
                    "take a new key for a new request.",
                ).answer
            )
    return found


def without_twins(jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
    """Split off jobs that repeat the idempotency key of one before them: those come later."""
    seen: set[tuple[str, str]] = set()
    now, later = [], []
    for job in jobs:
        given = job.request_key
        if given is not None and (given.scope, given.key) in seen:
            later.append(job)
            continue
        if given is not None:
            seen.add((given.scope, given.key))
        now.append(job)
    return now, later


def _explained(error: Exception) -> RefusedError:
    match error:
        case RefusedError():
            return error
        case DamagedStoreError():
            _LOGGER.error("%s", error)
            return RefusedError("damaged", str(error))
        case SparseBanditsError():
            return RefusedError("invalid", str(error))
        case MemoryError():
            return RefusedError("invalid", "This takes more memory than the server has.")
    _LOGGER.exception("a request failed")
    return RefusedError("internal", "The request failed and nothing was changed; see the log.")


def single(results: Sequence[Result]) -> Answer:
    """Answer a request of one operation."""
    [result] = results
    return result.answer if isinstance(result, RefusedError) else ok(result.body, result.status)
