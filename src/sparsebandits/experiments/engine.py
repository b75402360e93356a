"""Run cells chunk by chunk: resumable, in any number of processes, always the same numbers."""

import contextlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from sparsebandits import simulate
from sparsebandits.experiments.base import Cell, join_runs
from sparsebandits.simulation import Run

Task = tuple[Cell, int, int, int]
"""A cell, the first trial, how many trials, and the seed."""

_ARRAYS = (
    "steps",
    "regret",
    "locked_at",
    "support_correct",
    "theta_error",
    "optimum",
    "optimal_share",
    "overlap",
)

_SECONDS = "seconds"


def run_cells(
    cells: list[Cell],
    seed: int,
    cache: Path,
    workers: int,
    progress: Callable[[int, int], None],
) -> dict[str, Run]:
    """Simulate every cell, taking from `cache` what an earlier call has finished.

    Each chunk of trials is written to its own file as it lands, first under another name, so that
    an interruption leaves whole chunks only. A file that cannot be read is computed again.
    """
    cache.mkdir(parents=True, exist_ok=True)
    tasks = [(cell, first, count, seed) for cell in cells for first, count in cell.chunks()]
    missing = [task for task in tasks if load_chunk(_path(cache, task)) is None]
    total = sum(_weight(task) for task in tasks)
    done = total - sum(_weight(task) for task in missing)
    progress(done, total)
    for task, run in _execute(missing, workers):
        save_chunk(_path(cache, task), run)
        done += _weight(task)
        progress(done, total)
    runs = {}
    for cell in cells:
        parts = [load_chunk(_path(cache, (cell, *chunk, seed))) for chunk in cell.chunks()]
        runs[cell.key] = join_runs([part for part in parts if part is not None])
    return runs


def _weight(task: Task) -> int:
    cell, _, count, _ = task
    return count * cell.horizon


def _path(cache: Path, task: Task) -> Path:
    cell, first, count, seed = task
    return cache / f"{cell.fingerprint(seed)}-{first}-{count}.npz"


def _execute(tasks: list[Task], workers: int) -> Iterator[tuple[Task, Run]]:
    if workers <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, _simulate(task)
        return
    # Started afresh, not forked: threads of BLAS do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        pending: dict[Future[Run], Task] = {pool.submit(_simulate, task): task for task in tasks}
        try:
            for future in as_completed(pending):
                yield pending[future], future.result()
        except BaseException:
            for future in pending:
                future.cancel()
            raise


def _simulate(task: Task) -> Run:
    cell, first, count, seed = task
    return simulate(
        cell.policy,
        cell.environment,
        cell.horizon,
        count,
        seed,
        cell.benchmark,
        track_support=cell.track_support,
        checkpoints=cell.checkpoints,
        first_trial=first,
    )


def save_chunk(path: Path, run: Run) -> None:
    """Write a run so that it is there whole or not at all."""
    arrays = {name: getattr(run, name) for name in _ARRAYS if getattr(run, name) is not None}
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            text = json.dumps({**run.label, _SECONDS: run.seconds})
            np.savez_compressed(stream, label=text, **arrays)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def load_chunk(path: Path) -> Run | None:
    """Read a run back; None where there is none, or where the file is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream) as data:
            arrays = {name: data[name] for name in _ARRAYS if name in data}
            label = json.loads(str(data["label"]))
            seconds = float(label.pop(_SECONDS))
            return Run(**arrays, label=label, seconds=seconds)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
