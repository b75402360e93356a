"""Where requests wait for their group, and what the clock does beside.

Reads have a thread and a connection of their own, so that a long one does not hold up what is asked
and told.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.groups import Groups, Job, without_twins
from sparsebandits.service.metrics import Metrics
from sparsebandits.service.operations import Expire
from sparsebandits.service.reader import Reader
from sparsebandits.service.residents import Residents
from sparsebandits.service.settings import Settings
from sparsebandits.store import DamagedStoreError, Store, StoreUnavailableError, open_store

_LOGGER = logging.getLogger("sparsebandits.service")
_LARGEST_GROUP = 256
_TURNS = 2
"""Turns of the loop before a group begins: what has arrived at the same time comes along."""

_PATIENCE = 5.0
"""Seconds for a read."""

_TICK = 0.5
"""Seconds between two looks for decisions that are waited for no longer."""

Returned = TypeVar("Returned")


class Engine:
    """Takes jobs, carries them out in groups, and answers after the commit.

    Groups run in the loop that speaks HTTP: a thread of their own would have to take turns with it
    at every step. While a group is carried out requests pile up, and are the next group.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self.metrics = metrics
        self._store = open_store(settings.store, synchronous=settings.synchronous)
        # Reads wait for no lock: a database that takes so long for one does not answer.
        self._reader = Reader(
            open_store(settings.store, synchronous=settings.synchronous, patience=_PATIENCE)
        )
        residents = Residents(settings.resident, settings.resident_megabytes * 2**20)
        self._groups = Groups(self._store, residents, metrics, settings.snapshot_every)
        self._waiting: deque[tuple[Job, asyncio.Future[Answer]]] = deque()
        self._writing = asyncio.Lock()
        self._worker: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._ticker: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Make the tables of an empty store, and begin."""
        await self._store.prepare()
        self._reader.start()
        self._ticker = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Finish what was accepted and let go of the store."""
        self._is_stopping = True
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
        while self._worker is not None:
            await self._worker
        await self._reader.stop()
        await self._store.close()

    async def read(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Read from the store beside what is asked and told."""
        try:
            return await self._reader.use(use)
        except StoreUnavailableError as error:
            raise RefusedError("unavailable", str(error)) from None
        except DamagedStoreError as error:
            _LOGGER.error("%s", error)
            raise RefusedError("damaged", str(error)) from None

    async def write(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Write to the store between two groups."""
        async with self._writing:
            return await use(self._store)

    def submit(self, job: Job) -> "asyncio.Future[Answer]":
        """Let a job wait for the next group; its answer comes after the commit."""
        if self._is_stopping:
            raise RefusedError("stopping", "The server is stopping; send it again.")
        if len(self._waiting) >= self._settings.max_waiting:
            raise RefusedError("busy", "Too many requests are waiting; try again in a second.")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        """Carry out groups until nothing waits."""
        while self._waiting:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            async with self._writing:
                await self._next_group()
        self._worker = None

    async def _next_group(self) -> None:
        count = min(len(self._waiting), _LARGEST_GROUP)
        taken = [self._waiting.popleft() for _ in range(count)]
        futures = {id(job): future for job, future in taken}
        jobs, later = without_twins([job for job, _ in taken])
        self._waiting.extendleft((job, futures[id(job)]) for job in reversed(later))
        for job, answer in await self._carry_out(jobs):
            future = futures[id(job)]
            if not future.done():  # whoever asked may have gone
                future.set_result(answer)

    async def _carry_out(self, jobs: list[Job]) -> list[tuple[Job, Answer]]:
        try:
            return await self._groups.run(jobs)
        except Exception:
            _LOGGER.exception("a group failed")
            refusal = RefusedError("internal", "The request failed; see the log.")
            return [(job, refusal.answer) for job in jobs]

    # ------------------------------------------------------------------ by the clock

    async def _tick(self) -> None:
        """Close decisions that are waited for no longer; drop answers that are old enough."""
        next_drop = 0.0
        while True:
            await asyncio.sleep(_TICK)
            now = time.time()
            try:
                due = await self.read(partial(_due, now))
                jobs = [Job([Expire(key)], lambda results: ok(None)) for key in due]
                await asyncio.gather(*map(self.submit, jobs))
                if now >= next_drop:
                    next_drop = now + 60
                    await self._drop_answers(now - self._settings.keep_answers)
            except RefusedError:
                continue  # the store will be back, or it is said to those who ask
            except Exception:
                _LOGGER.exception("the clock's work failed")

    async def _drop_answers(self, before: float) -> None:
        async def drop(store: Store) -> None:
            async with store.transaction() as transaction:
                await transaction.drop_answers(before)

        with contextlib.suppress(StoreUnavailableError):
            await self.write(drop)


async def _due(now: float, store: Store) -> list[str]:
    return await store.read.due(now, _LARGEST_GROUP)
