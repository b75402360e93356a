"""PostgreSQL, for any number of servers; a lost connection is opened anew when next needed."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any

import asyncpg

from sparsebandits.store.base import Connection, Row
from sparsebandits.store.faults import (
    DamagedStoreError,
    LostRaceError,
    StoreUnavailableError,
)
from sparsebandits.store.schema import POSTGRES, statement

_PATIENCE = 5.0
"""Seconds to wait for a connection, and for a statement."""

_RACES = (
    asyncpg.UniqueViolationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)


@cache
def _written(template: str) -> str:
    numbers = count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", statement(template, POSTGRES))


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except _RACES as error:
        raise LostRaceError(str(error)) from None
    except (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError) as error:
        raise DamagedStoreError(f"The database is damaged: {error}.") from None
    except (TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise StoreUnavailableError(
            f"PostgreSQL cannot be reached, or cannot write now: {error or type(error).__name__}."
        ) from None


class PostgresConnection(Connection):
    """A connection to a PostgreSQL database; `read_only` lets it refuse to write."""

    dialect = POSTGRES

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self._url = url
        self._settings = {"default_transaction_read_only": "on"} if read_only else {}
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def _open(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._url,
                timeout=_PATIENCE,
                command_timeout=4 * _PATIENCE,
                server_settings=self._settings,
            )
        return self._connection

    async def fetch(self, template: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""
        with _our_errors():
            connection = await self._open()
            return [tuple(row) for row in await connection.fetch(_written(template), *values)]

    async def run_many(self, template: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""
        with _our_errors():
            connection = await self._open()
            if rows == [()]:
                await connection.execute(_written(template))
            else:
                await connection.executemany(_written(template), rows)

    @asynccontextmanager
    async def transaction(self, *, write: bool) -> AsyncIterator[None]:
        """Begin, and commit at the end."""
        with _our_errors():
            connection = await self._open()
            if write:
                transaction = connection.transaction(isolation="read_committed")
            else:  # one moment for all that is read
                transaction = connection.transaction(isolation="repeatable_read", readonly=True)
            await transaction.start()
        try:
            yield
            with _our_errors():
                await transaction.commit()
        except BaseException:
            with suppress(Exception):
                await transaction.rollback()
            raise

    async def changed_elsewhere(self) -> bool:
        """Return True: only a lock tells what other servers do."""
        return True

    async def find_damage(self) -> list[str]:
        """Return nothing: PostgreSQL checks pages as it reads them, where checksums are on."""
        return []

    async def continue_numbers(self, table: str, column: str) -> None:
        """Set the sequence behind a column to the largest number there is."""
        await self.fetch(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "
            f"(SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)"
        )

    async def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            with suppress(Exception):
                await self._connection.close(timeout=_PATIENCE)
