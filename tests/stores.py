"""Stores for tests: files of SQLite, and databases of a PostgreSQL that runs for the session."""

import asyncio
import importlib
import itertools
import os
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sparsebandits.service.auth import make_token
from sparsebandits.store import Store, open_store

Returned = TypeVar("Returned")
_numbers = itertools.count()


class Postgres:
    """PostgreSQL from the wheel `pgserver`, with as many stores as are asked for."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a runtime folder, and makes one
            self._pgserver: Any = importlib.import_module("pgserver")
        self.server = self._pgserver.get_server(folder, cleanup_mode="delete")
        # What is killed here are processes, and the system's memory outlives them.
        self.server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")

    def new_store(self) -> str:
        """Return the URL of a store with a schema of its own."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.server.psql(f"CREATE SCHEMA {name}")
        return f"{self.server.get_uri()}&search_path={name}"

    def stop(self) -> None:
        """End it at once, as if it had crashed."""
        self._pgserver.pg_ctl(
            ["-m", "immediate", "-w", "stop"],
            pgdata=self.server.pgdata,
            user=self.server.system_user,
        )

    def start(self) -> None:
        self.server.ensure_postgres_running()

    def remove(self) -> None:
        self.server.cleanup()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """PostgreSQL for the session; where it cannot run, tests are skipped, but fail in CI."""
    # Not below pytest's own folder, which it closes to other users: root runs PostgreSQL as one.
    folder = Path(tempfile.mkdtemp(prefix="sparsebandits-postgres-"))
    try:
        server = Postgres(folder)
    except Exception as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"PostgreSQL cannot run here: {error}")
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind in turn."""
    return fresh_url(request, request.param, tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def usual_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store where its kind should make no difference."""
    return fresh_url(request, request.param, tmp_path)


def fresh_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder / 'store.db'}"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_store()


def use(url: str, work: Callable[[Store], Awaitable[Returned]]) -> Returned:
    """Open a store, do something with it, close it."""

    async def run() -> Returned:
        store = open_store(url)
        try:
            await store.prepare()
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def new_token(
    url: str, scope: str = "admin", *, prefix: str = "", expires_at: float | None = None
) -> str:
    token, row = make_token(scope, prefix=prefix, expires_at=expires_at)

    async def add(store: Store) -> None:
        async with store.transaction() as transaction:
            await transaction.add_token(row)

    use(url, add)
    return token


def change(url: str, *statements: str) -> None:
    """Do to a store what no service does."""

    async def run(store: Store) -> None:
        async with store.transaction():
            for statement in statements:
                await store.connection.run(statement)

    use(url, run)
