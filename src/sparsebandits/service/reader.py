"""A thread that reads a store by a connection of its own, beside what is asked and told."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from sparsebandits.store import Store

Returned = TypeVar("Returned")


class Reader:
    """A thread with an event loop, which alone uses a store.

    Parameters
    ----------
    store : Store
        Opened for this reader; closed by `stop`.
    """

    def __init__(self, store: Store) -> None:
        self._thread = threading.Thread(target=self._run, name="reads", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._lock = asyncio.Lock()
        self._store = store

    def start(self) -> None:
        """Let the thread run."""
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _submit(self, work: Coroutine[Any, Any, Returned]) -> "asyncio.Future[Returned]":
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _locked(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        async with self._lock:
            return await use(self._store)

    async def use(self, use: Callable[[Store], Awaitable[Returned]]) -> Returned:
        """Use the store, one caller at a time."""
        return await self._submit(self._locked(use))

    async def stop(self) -> None:
        """Close the store and end the thread."""
        await self._submit(self._store.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()
