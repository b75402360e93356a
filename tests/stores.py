"""Stores for tests: files of SQLite, and databases of a PostgreSQL that runs for the session."""

import asyncio
import itertools
import os
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from sparsebandits.service.auth import make_token
from sparsebandits.store import Store, open_store

if TYPE_CHECKING:
    import pgserver

Returned = TypeVar("Returned")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator["pgserver.PostgresServer"]:
    """Run PostgreSQL from the wheel `pgserver`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a runtime folder, and makes one
            import pgserver

            server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    except Exception as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"PostgreSQL cannot run here: {error}")
    yield server
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind in turn."""
    return fresh_url(request, request.param, tmp_path)


def fresh_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder / 'store.db'}"
    server = request.getfixturevalue("postgres")
    name = f"test_{os.getpid()}_{next(_numbers)}"
    server.psql(f"CREATE DATABASE {name}")
    url: str = server.get_uri(name)
    return url


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
