"""Servers as real processes, forked from one that has imported everything."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stores import new_token

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0


@dataclass
class Server:
    """A running server."""

    pid: int
    port: int
    store: str
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str | None = None) -> httpx.Client:
        token = new_token(self.store) if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Nothing here speaks TLS, and reading the authorities takes as long as a whole test.
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, verify=False)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power loss would, at whatever it is doing."""
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{self.pid}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.002)


class Farm:
    """Starts servers, and ends those that a test has left running."""

    def __init__(self, process: "subprocess.Popen[str]", logs: Path) -> None:
        self._process = process
        self._logs = logs
        self._started: list[Server] = []

    def serve(self, store: str, *, port: int = 0, **settings: Any) -> Server:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        log = self._logs / f"{len(self._started)}.log"
        wanted = {"store": store, "port": port, "log": str(log), **settings}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["port"], log.read_text()
        server = Server(answer["pid"], answer["port"], store, log)
        self._started.append(server)
        return server

    def clear(self) -> None:
        for server in self._started:
            server.send(signal.SIGKILL)


@pytest.fixture(scope="session")
def nursery() -> Iterator["subprocess.Popen[str]"]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.service.nursery"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.stdin.close()
    process.wait()
    process.stdout.close()


@pytest.fixture
def farm(nursery: "subprocess.Popen[str]", tmp_path: Path) -> Iterator[Farm]:
    """Servers for one test."""
    farm = Farm(nursery, tmp_path)
    yield farm
    farm.clear()
