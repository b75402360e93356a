"""Run the cells of a sweep chunk by chunk: resumable, anywhere, always the same numbers."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell, first_trials, join_runs
from sparsebandits.sweeps.chunks import cell_folder, chunk_path, load_chunk
from sparsebandits.sweeps.executors import SchedulerLostError, execute
from sparsebandits.sweeps.files import only_writer
from sparsebandits.sweeps.ledger import Ledger, Progress
from sparsebandits.sweeps.plans import CHUNK_SECONDS, load_plan
from sparsebandits.sweeps.tasks import Failure
from sparsebandits.validation import as_integer, as_number, brief_repr

__all__ = ["Progress", "Report", "iter_chunks", "load_cell", "run_cells", "run_chunks"]

SMALL = 3.0
"""Seconds of work below which no workers are started: that alone takes about as long."""


@dataclass(frozen=True)
class Report:
    """What a sweep has done.

    Attributes
    ----------
    computed, reused : int
        Chunks that were computed now, and chunks that were there already.
    failures : tuple of Failure
    seconds : float
        Wall time.
    """

    __repr__ = brief_repr

    computed: int
    reused: int
    failures: tuple[Failure, ...]
    seconds: float


def run_chunks(
    cells: Sequence[Cell],
    seed: int,
    folder: Path,
    *,
    workers: int = 1,
    cluster: str | None = None,
    chunk_seconds: float = CHUNK_SECONDS,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Compute whatever is missing in `folder`, and save each chunk as it lands.

    An interruption of any kind leaves whole chunks only; the next call goes on from there. Trial
    i has the same bits wherever and in whatever chunk it runs.

    Parameters
    ----------
    cells : sequence of Cell
    seed : int
    folder : Path
        Made where it is missing. One sweep at a time may write in it.
    workers : int
        Local processes; work of a few seconds stays in this one.
    cluster : str, optional
        The address of a running Dask scheduler, instead of local processes.
    chunk_seconds : float
        What a chunk should take. Chunks that an earlier call has planned keep their size.
    progress : function of a Progress, optional

    Raises
    ------
    SweepError
        Where a file cannot be written, another sweep runs in the folder, or the scheduler is
        gone. What has landed is safe each time.
    """
    started = time.perf_counter()
    workers = as_integer("workers", workers, minimum=1)
    chunk_seconds = as_number("chunk_seconds", chunk_seconds, positive=True)
    folder = Path(folder)
    with only_writer(folder):
        ledger = Ledger(cells, seed, folder, chunk_seconds, progress)
        ledger.announce()
        if cluster is None and workers > 1 and ledger.is_less_than(SMALL):
            workers = 1
        if ledger.trials_left < 2:
            workers, cluster = 1, None
        running = execute(ledger.take, workers=workers, cluster=cluster)
        try:
            # Closed at once when anything goes wrong here: no cluster outlives its sweep.
            with contextlib.closing(running) as outcomes:
                for task, outcome in outcomes:
                    ledger.land(task, outcome)
        except SchedulerLostError as error:
            raise SweepError(
                f"{error}; {ledger.saved} chunks are saved in {folder}; run again with --resume "
                "once there is a scheduler, or without --cluster."
            ) from error
    seconds = time.perf_counter() - started
    return Report(ledger.computed, ledger.reused, tuple(ledger.failures), seconds)


def iter_chunks(folder: Path, cell: Cell, seed: int) -> Iterator[tuple[int, Run]]:
    """Yield (first trial, run) of every chunk in the order of trials, one in memory at a time.

    Raises
    ------
    SweepError
        Where a chunk is missing or damaged.
    """
    plan = load_plan(cell_folder(folder, cell, seed))
    for first, count in plan.chunks(cell.trials):
        path = chunk_path(folder, cell, seed, first, count)
        run = load_chunk(path)
        if run is None or run.regret.shape[0] != count:
            raise _incomplete(cell, f"trials {first} to {first + count - 1} ({path})")
        yield first, first_trials(run, cell.trials - first)
    if plan.covered < cell.trials:
        home = cell_folder(folder, cell, seed)
        raise _incomplete(cell, f"trials {plan.covered} to {cell.trials - 1} (in {home})")


def load_cell(folder: Path, cell: Cell, seed: int) -> Run:
    """Return all trials of a cell as one run."""
    return join_runs([run for _, run in iter_chunks(folder, cell, seed)])


def run_cells(
    cells: Sequence[Cell],
    seed: int,
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Run]:
    """Run cells whose results are wanted in memory, by their keys; a failure is an error."""
    report = run_chunks(cells, seed, folder, workers=workers, progress=progress)
    if report.failures:
        raise SweepError(
            f"{len(report.failures)} chunks failed; the first: {report.failures[0]}. The others "
            f"are kept in {folder}."
        )
    return {cell.key: load_cell(folder, cell, seed) for cell in cells}


def _incomplete(cell: Cell, what: str) -> SweepError:
    return SweepError(
        f"The cell {cell.key!r} is not complete: {what} are missing or damaged. Run the sweep "
        "again with --resume: it computes what is missing and nothing else."
    )
