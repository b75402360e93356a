"""Two threads beside the one that speaks HTTP: one carries out groups, one reads.

Each has its own connection to the store, so that a long read does not hold up what is asked and
told.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.groups import Groups, Job, without_twins
from sparsebandits.service.metrics import Metrics
from sparsebandits.service.operations import Expire
from sparsebandits.service.residents import Residents
from sparsebandits.service.settings import Settings
from sparsebandits.store import Store, StoreUnavailableError, open_store

_LOGGER = logging.getLogger("sparsebandits.service")
_LARGEST_GROUP = 256
_TICK = 0.5
"""Seconds between two looks for decisions that are waited for no longer."""

Returned = TypeVar("Returned")


class _Worker:
    """A thread with an event loop and a store of its own."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._settings = settings
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._loop = asyncio.new_event_loop()
        self._lock = asyncio.Lock()
        self.store = open_store(settings.store, synchronous=settings.synchronous)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, Returned]) -> "asyncio.Future[Returned]":
        """Run a coroutine in the thread; to be awaited in the caller's loop."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _locked(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        async with self._lock:
            return await use(self.store)

    async def use(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Use the store, one caller at a time."""
        return await self.submit(self._locked(use))

    async def stop(self) -> None:
        await self.submit(self.store.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()


class Engine:
    """Takes jobs from the loop that speaks HTTP, and answers them there after the commit."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self.metrics = metrics
        self._writer = _Worker("groups", settings)
        self._reader = _Worker("reads", settings)
        residents = Residents(settings.resident, settings.resident_megabytes * 2**20)
        self._groups = Groups(self._writer.store, residents, metrics, settings.snapshot_every)
        self._waiting: deque[tuple[Job, asyncio.Future[Answer]]] = deque()
        self._is_awake = False
        self._is_stopping = False
        self._ticker: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the threads; the tables of an empty store are made."""
        self._http = asyncio.get_running_loop()
        self._writer.start()
        self._reader.start()
        await self._writer.use(lambda store: store.prepare())
        self._ticker = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Finish what was accepted and let go of the store."""
        self._is_stopping = True
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
        while self._waiting or self._is_awake:
            await asyncio.sleep(0.005)
        await self._reader.stop()
        await self._writer.stop()

    async def read(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Read from the store beside what is asked and told."""
        try:
            return await self._reader.use(use)
        except StoreUnavailableError as error:
            raise RefusedError("unavailable", str(error)) from None

    async def write(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Write to the store between two groups."""
        return await self._writer.use(use)

    def submit(self, job: Job) -> "asyncio.Future[Answer]":
        """Let a job wait for the next group; its answer comes after the commit."""
        if self._is_stopping or len(self._waiting) >= self._settings.max_waiting:
            raise RefusedError("busy", "Too many requests are waiting; try again in a second.")
        future: asyncio.Future[Answer] = self._http.create_future()
        self._waiting.append((job, future))
        if not self._is_awake:
            self._is_awake = True
            self._writer.submit(self._work())
        return future

    # ------------------------------------------------------------------ in the writer's thread

    async def _work(self) -> None:
        """Carry out groups until nothing waits."""
        async with self._writer._lock:
            while self._waiting:
                count = min(len(self._waiting), _LARGEST_GROUP)
                taken = [self._waiting.popleft() for _ in range(count)]
                jobs, later = without_twins([job for job, _ in taken])
                futures = {id(job): future for job, future in taken}
                self._waiting.extendleft((job, futures[id(job)]) for job in reversed(later))
                answered = await self._carry_out(jobs)
                self._http.call_soon_threadsafe(
                    _resolve, [(futures[id(job)], answer) for job, answer in answered]
                )
        self._http.call_soon_threadsafe(self._sleep)

    async def _carry_out(self, jobs: list[Job]) -> list[tuple[Job, Answer]]:
        try:
            return await self._groups.run(jobs)
        except Exception:
            _LOGGER.exception("a group failed")
            refusal = RefusedError("internal", "The request failed; see the log.")
            return [(job, refusal.answer) for job in jobs]

    def _sleep(self) -> None:
        """Fall asleep, unless something has come in the meantime; in the loop of HTTP."""
        self._is_awake = False
        if self._waiting:
            self._is_awake = True
            self._writer.submit(self._work())

    # ------------------------------------------------------------------ by the clock

    async def _tick(self) -> None:
        """Close decisions that are waited for no longer; drop answers that are old enough."""
        next_drop = 0.0
        while True:
            await asyncio.sleep(_TICK)
            now = time.time()
            try:
                for key in await self.read(partial(_due, now)):
                    await self.submit(Job([Expire(key)], lambda results: ok(None)))
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
    return await store.read.due(now)


def _resolve(answered: list[tuple["asyncio.Future[Answer]", Answer]]) -> None:
    for future, answer in answered:
        if not future.done():  # whoever asked may have gone
            future.set_result(answer)
