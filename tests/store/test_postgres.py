"""What only PostgreSQL can do to us: connections that are cut, or do not answer."""

import asyncio
import os
import signal
import time

import pytest

from sparsebandits.store import Store, StoreUnavailableError, open_store
from sparsebandits.store.postgres import PostgresConnection
from tests.store.test_store import add, event
from tests.stores import Postgres, use


async def backend(store: Store) -> int:
    return int((await store.connection.fetch("SELECT pg_backend_pid()"))[0][0])


def test_what_follows_a_lost_connection_is_not_written_without_its_transaction(
    postgres: Postgres,
) -> None:
    """The database is there at once; a new connection would commit each statement by itself."""

    async def write_both(number: int, here: Store, there: Store) -> None:
        async with here.transaction() as transaction:
            await transaction.append([event(number, 1)])
            await there.connection.fetch("SELECT pg_terminate_backend(?)", await backend(here))
            await asyncio.sleep(0.1)
            await transaction.append([event(number, 2)])

    async def both() -> None:
        here, there = open_store(url), open_store(url)
        await here.prepare()
        number = await add(here)
        with pytest.raises(StoreUnavailableError):
            await write_both(number, here, there)
        assert await here.read.events(number) == []
        async with here.transaction() as transaction:
            await transaction.append([event(number, 1)])
        assert len(await there.read.events(number)) == 1
        await here.close()
        await there.close()

    url = postgres.new_store()
    asyncio.run(both())


def test_a_database_that_does_not_answer_is_waited_for_once(postgres: Postgres) -> None:
    """Not once more to roll back, and not at every step after it."""

    async def run() -> None:
        store = Store(PostgresConnection(url, read_only=False, patience=0.5))
        await store.prepare()
        number = await add(store)
        frozen = await backend(store)
        started = time.monotonic()
        os.kill(frozen, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailableError, match="TimeoutError"):
                async with store.transaction() as transaction:
                    await transaction.append([event(number, 1)])
            assert time.monotonic() - started < 0.9
            assert await store.read.events(number) == []
        finally:
            os.kill(frozen, signal.SIGCONT)
        await store.close()

    url = postgres.new_store()
    asyncio.run(run())


def test_a_machine_that_has_gone_is_noticed(postgres: Postgres) -> None:
    """By TCP: over a socket in a file, as here, PostgreSQL shows what was set, and has no use."""

    async def run() -> None:
        store = open_store(postgres.new_store())
        source = await store.connection.fetch(
            "SELECT source FROM pg_settings WHERE name LIKE 'tcp_%'"
        )
        assert source == [("session",)] * 4
        await store.close()

    asyncio.run(run())


def test_servers_that_start_together_make_the_tables_once(postgres: Postgres) -> None:
    url = postgres.new_store()

    async def run() -> None:
        stores = [open_store(url) for _ in range(6)]
        for store in stores:
            await store.version()  # connected: from here on they race
        await asyncio.gather(*(store.prepare() for store in stores))
        for store in stores:
            await store.close()

    asyncio.run(run())
    assert use(url, lambda store: store.version()) == 1


def test_a_database_that_answers_before_it_has_written_is_told_to_wait(postgres: Postgres) -> None:
    """Set for all by who runs it, it would lose what was answered; more than that stays."""

    async def shown(store: Store) -> str:
        return str((await store.connection.fetch("SHOW synchronous_commit"))[0][0])

    url = postgres.new_store()
    found = [use(f"{url}&synchronous_commit={word}", shown) for word in ("off", "remote_apply")]
    assert found == ["on", "remote_apply"]
