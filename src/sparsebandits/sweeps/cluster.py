"""Run tasks on Dask distributed: a local cluster, or a scheduler that is there already."""

import contextlib
import logging
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.executors import Outcomes, SchedulerLostError, Take
from sparsebandits.sweeps.tasks import Outcome, Task, failed, run_task_remotely, versions

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
    "distributed.worker.preload": ["sparsebandits.sweeps.worker_setup"],
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


def on_dask(take: Take, workers: int, cluster: str | None) -> Outcomes:
    """Run tasks on `workers` local processes, or on the workers of the scheduler at `cluster`."""
    distributed, dask_config = _import_dask()
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask_config.set(_SETTINGS))
        stack.enter_context(_quiet())
        if cluster is None:
            client = stack.enter_context(_local(distributed, workers))
        else:
            client = stack.enter_context(_existing(distributed, cluster))
        yield from _stream(distributed, client, take)


def _import_dask() -> tuple[Any, Any]:
    try:
        return import_module("distributed"), import_module("dask.config")
    except ImportError as error:
        raise SweepError(
            "More than one worker, or a cluster, needs Dask, which is not installed: run "
            "`pip install sparsebandits[cluster]`, or use one worker."
        ) from error


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
def _existing(distributed: Any, address: str) -> Iterator[Any]:
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
    wanted = versions()
    for worker, found in client.run(versions, on_error="return").items():
        if found != wanted:
            raise SweepError(
                f"The worker {worker} answers {found!r}, and this process has {wanted}: results "
                "of different versions must not be mixed. Install the same versions on both."
            )


def _stream(distributed: Any, client: Any, take: Take) -> Outcomes:
    """Keep a few tasks per worker under way, and yield what lands."""
    address = client.scheduler.address
    wanted = versions()
    under_way: dict[str, Task] = {}
    landing = distributed.as_completed(loop=client.loop, with_results=True, raise_errors=False)
    workers, counted = _count(client), time.monotonic()
    while True:
        while len(under_way) < AHEAD * workers and (task := take(workers)) is not None:
            future = client.submit(run_task_remotely, task, wanted, pure=False)
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
    return failed(task, error)


def _count(client: Any) -> int:
    threads: dict[str, int] = client.nthreads()
    return max(1, sum(threads.values()))
