"""PostgreSQL, for any number of servers; a lost connection is opened anew when next needed."""

import asyncio
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
"""Seconds to wait for a connection."""

_KEEPALIVE = (
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; "
    "SET tcp_user_timeout = 11000"
)
"""What a machine that lost its power has locked is free after 11 seconds, not after two hours."""

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


def _unavailable(error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"PostgreSQL cannot be reached, or cannot write now: {str(error) or type(error).__name__}."
    )


_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') = 'off'"
)
"""A commit is answered when it is on the disk, whatever the database is told to do for others."""


class PostgresConnection(Connection):
    """A connection to a PostgreSQL database.

    Parameters
    ----------
    url : str
    read_only : bool
        Whether it refuses to write.
    patience : float
        Seconds for a statement.
    """

    dialect = POSTGRES

    def __init__(self, url: str, *, read_only: bool, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._settings = {"default_transaction_read_only": "on"} if read_only else {}
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._is_in_transaction = False

    async def _open(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._connection is None or self._connection.is_closed():
            if self._is_in_transaction:  # on a new one the rest would be written without it
                raise asyncpg.InterfaceError("the connection was lost in a transaction")
            self._connection = await asyncpg.connect(
                self._url,
                timeout=_PATIENCE,
                command_timeout=self._patience,
                server_settings=self._settings,
            )
            await self._connection.execute(_KEEPALIVE)
            await self._connection.execute(_DURABLE)
        return self._connection

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except _RACES as error:
            raise LostRaceError(str(error)) from None
        except (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError) as error:
            raise DamagedStoreError(f"The database is damaged: {error}.") from None
        except (TimeoutError, asyncpg.InterfaceError, OSError) as error:
            self._hang_up()
            raise _unavailable(error) from None
        except asyncpg.PostgresError as error:
            raise _unavailable(error) from None

    def _hang_up(self) -> None:
        """Leave a connection that does not answer: it would be waited for again at every step."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def fetch(self, template: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""
        with self._our_errors():
            connection = await self._open()
            return [tuple(row) for row in await connection.fetch(_written(template), *values)]

    async def run_many(self, template: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""
        with self._our_errors():
            connection = await self._open()
            if rows == [()]:
                await connection.execute(_written(template))
            else:
                await connection.executemany(_written(template), rows)

    @asynccontextmanager
    async def transaction(self, *, write: bool) -> AsyncIterator[None]:
        """Begin, and commit at the end."""
        with self._our_errors():
            connection = await self._open()
            if write:
                transaction = connection.transaction(isolation="read_committed")
            else:  # one moment for all that is read
                transaction = connection.transaction(isolation="repeatable_read", readonly=True)
            await transaction.start()
        self._is_in_transaction = True
        try:
            yield
            with self._our_errors():
                await transaction.commit()
        except asyncio.CancelledError:
            self._hang_up()
            raise
        except BaseException:
            with suppress(Exception):
                await transaction.rollback()
            raise
        finally:
            self._is_in_transaction = False

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
