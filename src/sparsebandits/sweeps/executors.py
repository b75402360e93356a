"""Where chunks are simulated: in this process, or on the workers of Dask."""

import contextlib
import logging
import platform
import signal
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.validation import brief_repr
from sparsebandits.version import __version__

AHEAD = 4
"""Tasks under way per worker: enough that none waits, few enough that memory stays flat."""

PATIENCE = 30.0
"""Seconds to wait for a scheduler to answer and for its first worker."""

_RECOUNT = 10.0
"""Seconds after which the workers of a cluster are counted again."""

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 5,
    # Without MALLOC_TRIM_THRESHOLD_, which Dask sets to 64 KiB: returning memory to the system
    # after every array and asking for it again takes longer than many a chunk. It must be named
    # here to be left out. One thread per worker; the workers are the parallelism.
    "distributed.nanny.pre-spawn-environ": {
        "MALLOC_TRIM_THRESHOLD_": None,
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
    },
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": [__name__],  # calls `dask_setup`
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


@dataclass(frozen=True)
class Task:
    """The trials of a cell from `first` on, `count` of them."""

    cell: Cell
    seed: int
    first: int
    count: int

    def run(self) -> "Outcome":
        """Simulate; an error becomes the outcome, so that it stops nothing else."""
        try:
            return self.cell.simulate(self.seed, self.first, self.count)
        except Exception as error:
            return self.failed(error)

    def run_remotely(self, needed: dict[str, str]) -> "Outcome":
        """Simulate on a worker, unless it joined after the check and with other versions."""
        if versions() != needed:
            text = f"the worker has {versions()}, the driver {needed}; make them equal"
            return self.failed(RuntimeError(text))
        return self.run()

    def failed(self, error: BaseException) -> "Failure":
        """Report an error as the outcome."""
        text = f"{type(error).__name__}: {error}"
        configuration = self.cell.configuration(self.seed)
        return Failure(self.cell.key, configuration, self.first, self.count, text)


@dataclass(frozen=True)
class Failure:
    """Trials of the cell `key` that could not be computed."""

    __repr__ = brief_repr

    key: str
    configuration: dict[str, Any]
    first: int
    count: int
    error: str

    def __str__(self) -> str:
        last = self.first + self.count - 1
        return f"{self.key}, trials {self.first} to {last}: {self.error}"


Outcome = Run | Failure
Outcomes = Generator[tuple[Task, Outcome], None, None]

Take = Callable[[int], Task | None]
"""Called with the number of workers for the next task; None says that none is ready.

After None it is asked again once an outcome has been taken: the size of later chunks depends on
how long the first ones took. None with nothing under way is the end.
"""


class SchedulerLostError(SweepError):
    """The scheduler of a cluster died or can no longer be reached."""


def versions() -> dict[str, str]:
    """Return the versions that must agree between the driver and its workers."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"sparsebandits": __version__, "numpy": np.__version__, "python": python}


def execute(take: Take, *, workers: int = 1, cluster: str | None = None) -> Outcomes:
    """Run tasks and yield each with its run, or with its failure, in the order they finish.

    They run in this process, on `workers` local ones, or on those of the Dask scheduler at the
    address `cluster`. Few are taken ahead, so that memory does not grow with their number.
    """
    if cluster is None and workers <= 1:
        while (task := take(1)) is not None:
            yield task, task.run()
    else:
        yield from on_dask(take, workers, cluster)


# ---------------------------------------------------------------------- Dask


def on_dask(take: Take, workers: int, cluster: str | None) -> Outcomes:
    """Run tasks on `workers` local processes, or on the workers of the scheduler at `cluster`."""
    try:
        distributed, dask_config = import_module("distributed"), import_module("dask.config")
    except ImportError as error:
        raise SweepError(
            "More than one worker, or a cluster, needs Dask, which is not installed: run "
            "`pip install sparsebandits[cluster]`, or use one worker."
        ) from error
    with dask_config.set(_SETTINGS), _quiet():
        opened = _local(distributed, workers) if cluster is None else _at(distributed, cluster)
        with opened as client:
            yield from _stream(distributed, client, take)


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the driver; called by Dask in each local worker as it starts.

    Ctrl-C reaches all processes of a terminal at once. The driver alone acts on it, and closes its
    workers; they would only fill the screen with tracebacks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let Dask log nothing: what matters of it is said by our own errors."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def _local(distributed: Any, workers: int) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",  # any free port: the usual one may be taken
            silence_logs=logging.CRITICAL + 1,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


@contextlib.contextmanager
def _at(distributed: Any, address: str) -> Iterator[Any]:
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SweepError(
            f"No Dask scheduler answers at {address} ({error}). Start one with `dask scheduler`, "
            "and give the address that it prints."
        ) from error
    try:
        _check_workers(client, address)
        yield client
    finally:
        # The scheduler may be gone: there is nobody to say goodbye to, and nothing to wait for.
        with contextlib.suppress(Exception):
            client.close(timeout=2)


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise SweepError(
            f"The scheduler at {address} has no workers. Start some with `dask worker {address}`."
        ) from error
    for worker, theirs in client.run(versions, on_error="return").items():
        if theirs != versions():
            raise SweepError(
                f"The worker {worker} answers {theirs!r}, and this process has {versions()}: "
                "results of different versions must not be mixed. Install the same on both."
            )


def _stream(distributed: Any, client: Any, take: Take) -> Outcomes:
    """Keep a few tasks per worker under way, and yield what lands."""
    address = client.scheduler.address
    under_way: dict[str, Task] = {}
    landing = distributed.as_completed(loop=client.loop, with_results=True, raise_errors=False)
    workers, counted = _count(client), time.monotonic()
    while True:
        while len(under_way) < AHEAD * workers and (task := take(workers)) is not None:
            future = client.submit(Task.run_remotely, task, versions(), pure=False)
            under_way[future.key] = task
            landing.add(future)
        if not under_way:
            return
        future, result = next(landing)
        task = under_way.pop(future.key)
        outcome = _checked(distributed, client, task, result, address)
        # No name may keep the future: the scheduler forgets a task when its last one goes.
        del future, result
        yield task, outcome
        del outcome
        if time.monotonic() - counted > _RECOUNT:
            workers, counted = _count(client), time.monotonic()


def _checked(distributed: Any, client: Any, task: Task, result: Any, address: str) -> Outcome:
    """Tell a result from an error that is handed over as one."""
    if isinstance(result, Outcome):
        return result
    error = result[1] if isinstance(result, tuple) and len(result) == 3 else result
    if isinstance(error, distributed.CancelledError) or client.status != "running":
        raise SchedulerLostError(f"The scheduler at {address} is gone")
    if not isinstance(error, BaseException):
        error = TypeError(f"a worker returned {type(error).__name__} instead of a run")
    return task.failed(error)


def _count(client: Any) -> int:
    threads: dict[str, int] = client.nthreads()
    return max(1, sum(threads.values()))
