"""Start, watch and kill the processes of a sweep."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds after which a test gives up waiting; far more than any of them needs."""


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start Python with the arguments, in a process group that does not outlive the test."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def driver(folder: Path, *arguments: str) -> tuple[str, ...]:
    return ("-m", "tests.sweeps.driver", str(folder), *arguments)


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something holds while a process runs."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def workers_of(pid: int) -> list[int]:
    """Return the processes that a driver has spawned to work."""
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += [int(child) for child in (task / "children").read_text().split()]
    return [child for child in children if b"spawn_main" in command(child)]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
