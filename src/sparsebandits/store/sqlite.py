"""SQLite: one file in WAL mode, flushed to the disk at every commit."""

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sparsebandits.store.base import Connection, Row
from sparsebandits.store.faults import (
    DamagedStoreError,
    LostRaceError,
    StoreUnavailableError,
)
from sparsebandits.store.schema import SQLITE, statement

_PATIENCE = 5.0
"""Seconds to wait for another process that writes."""

_PAUSE = 0.01
"""Seconds between two tries; whoever shares the thread goes on meanwhile."""

_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


@cache
def _written(template: str) -> str:
    return statement(template, SQLITE)


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise LostRaceError(str(error)) from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith(_DAMAGED):
            raise DamagedStoreError(f"The SQLite file is damaged: {error}.") from None
        raise StoreUnavailableError(
            f"SQLite cannot read or write now: {error}.", is_busy=code.startswith("SQLITE_BUSY")
        ) from None


class SqliteConnection(Connection):
    """A connection to a SQLite file; waiting for a writer or for the disk gives way to other tasks.

    Parameters
    ----------
    path : Path
    synchronous : str
        "FULL" survives power loss. "OFF" does not: it is there to measure what FULL costs.
    read_only : bool
        Whether SQLite itself refuses to write; then the file must be there.
    """

    dialect = SQLITE

    def __init__(self, path: Path, synchronous: str = "FULL", *, read_only: bool = False) -> None:
        self.path = path
        self._flusher = ThreadPoolExecutor(1, thread_name_prefix="flush")
        self._flusher.submit(int)  # started before there is anything that an interrupt could break
        if read_only:
            self._open_to_read()
            return
        with suppress(FileExistsError):  # hashes of tokens are nobody else's business
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with _our_errors():
            self._connection = sqlite3.connect(
                path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._seen = self._data_version()
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * _PAUSE)}")

    def _open_to_read(self) -> None:
        # Readers of a file in WAL mode neither wait for who writes nor are waited for.
        with _our_errors():
            self._connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE,
                isolation_level=None, check_same_thread=False,
            )  # fmt: skip
            self._connection.execute("PRAGMA query_only = ON")
            self._seen = self._data_version()

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    async def fetch(self, template: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""
        with _our_errors():
            return self._connection.execute(_written(template), values).fetchall()

    async def run_many(self, template: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""
        with _our_errors():
            self._connection.executemany(_written(template), rows)

    @asynccontextmanager
    async def transaction(self, *, write: bool) -> AsyncIterator[None]:
        """Begin, and commit at the end."""
        await self._begin("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            await self._commit()
        except BaseException:
            self._beside(self._roll_back)
            raise

    async def _commit(self) -> None:
        """Commit beside the loop: the disk is waited for while the next requests are read."""

        def commit() -> None:
            with _our_errors():
                self._connection.execute("COMMIT")

        await asyncio.get_running_loop().run_in_executor(self._flusher, commit)

    def _beside(self, work: Callable[[], object]) -> None:
        """Do this where commits are made, after one that may still be under way.

        Whoever waited for that one may have been cancelled or interrupted; a connection that two
        threads use at once, one of them to close it, ends the process.
        """
        with suppress(sqlite3.Error, RuntimeError):  # or it is closed already
            self._flusher.submit(work).result()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    async def _begin(self, statement: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with _our_errors():
                    self._connection.execute(statement)
                return
            except StoreUnavailableError as error:
                if not error.is_busy or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_PAUSE)

    async def changed_elsewhere(self) -> bool:
        """Whether another connection has written since this was asked last."""
        with _our_errors():
            before, self._seen = self._seen, self._data_version()
        return self._seen != before

    async def find_damage(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file."""
        with _our_errors():
            found = self._connection.execute("PRAGMA integrity_check").fetchall()
        return [row[0] for row in found if row[0] != "ok"]

    async def continue_numbers(self, table: str, column: str) -> None:
        """Do nothing: SQLite goes on after the largest number by itself."""

    async def close(self) -> None:
        """Let go of the file."""
        self._beside(self._connection.close)
        self._flusher.shutdown()
