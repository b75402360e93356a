"""What SQLite's connection alone must keep: two threads never use it at once."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from sparsebandits.service.settings import Settings
from sparsebandits.store import Store, open_store
from sparsebandits.store.sqlite import SqliteConnection


class Watched:
    """A connection that commits slowly, and remembers which thread ended what, in which order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.committing, self.may_end = threading.Event(), threading.Event()
        self.ended: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            self.committing.set()
            self.may_end.wait(10)
        cursor = self.connection.execute(statement, *values)
        if statement in ("COMMIT", "ROLLBACK"):
            self.ended.append((statement, threading.get_ident()))
        return cursor

    def close(self) -> None:
        self.connection.close()
        self.ended.append(("close", threading.get_ident()))


def test_a_commit_whose_caller_gave_up_is_over_before_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "learners.db"
    store = SqliteConnection(path)
    watched = Watched(store._connection)

    async def write() -> None:
        async with store.transaction(write=True):
            watched.connection.execute("CREATE TABLE kept (number INTEGER)")

    async def give_up() -> None:
        task = asyncio.create_task(write())
        while not watched.committing.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        threading.Timer(0.1, watched.may_end.set).start()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.close()

    setattr(store, "_connection", watched)  # noqa: B010 (it is no connection, but acts as one)
    asyncio.run(give_up())
    names, threads = zip(*watched.ended, strict=True)
    assert names == ("COMMIT", "close")  # a commit that has begun is not rolled back
    assert len(set(threads)) == 1
    with sqlite3.connect(path) as again:
        assert again.execute("SELECT name FROM sqlite_master").fetchall() == [("kept",)]


def test_a_server_flushes_every_commit_to_the_disk(tmp_path: Path) -> None:
    """No test here can cut the power: this is what SQLite promises to survive it by."""

    async def shown(store: Store, name: str) -> object:
        return (await store.connection.fetch(f"PRAGMA {name}"))[0][0]

    async def run() -> None:
        settings = Settings(store=f"sqlite:///{tmp_path / 'learners.db'}")
        store = open_store(settings.store, synchronous=settings.synchronous)
        await store.prepare()
        assert [await shown(store, "journal_mode"), await shown(store, "synchronous")] == ["wal", 2]
        await store.close()

    asyncio.run(run())
