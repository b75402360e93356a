"""One server for each file of tests, with the dashboard on it, and a browser to look at it."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.dashboard.visitors import Visitors
from tests.service.servers import Farm, Server, nursery
from tests.stores import postgres, usual_url

__all__ = ["nursery", "postgres", "server", "usual_url", "visitors"]


@pytest.fixture(scope="module")
def server(
    nursery: "subprocess.Popen[str]", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server as `sparsebandits serve` starts it, on a store of its own."""
    folder = tmp_path_factory.mktemp("served")
    farm = Farm(nursery, folder)
    yield farm.serve(f"sqlite:///{folder / 'store.db'}", pages=True)
    farm.clear()


@pytest.fixture
def visitors(server: Server) -> Iterator[Visitors]:
    """Whoever talks to that server in a test."""
    visitors = Visitors(server)
    yield visitors
    visitors.leave()
