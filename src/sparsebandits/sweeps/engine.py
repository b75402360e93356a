"""Run the cells of a sweep chunk by chunk: resumable, anywhere, always the same numbers."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparsebandits.errors import InvalidValueError, SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.chunking import CHUNK_SECONDS, Chunking
from sparsebandits.sweeps.executors import Failure, Outcome, SchedulerLostError, Task, execute
from sparsebandits.sweeps.files import only_writer
from sparsebandits.sweeps.parts import PartFiles, Parts
from sparsebandits.validation import as_integer, as_number, brief_repr

SMALL = 3.0
"""Seconds of work below which no workers are started: that alone takes about as long."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is: done and total in steps of the policies, over all trials."""

    __repr__ = brief_repr

    done: int
    total: int
    cells: Mapping[str, tuple[int, int]]
    """(trials done, trials in all) of each cell, by its key."""
    seconds_left: float | None
    """An estimate from what was measured so far; None before anything was."""


@dataclass(frozen=True)
class Report:
    """What a sweep has done: chunks that were computed now, or were there already; wall time."""

    __repr__ = brief_repr

    computed: int
    reused: int
    failures: tuple[Failure, ...]
    seconds: float
    cells: Mapping[str, tuple[int, float]]
    """(trials, seconds of simulation) that are there of each cell, by its key."""


def run_chunks(
    cells: Sequence[Cell],
    seed: int,
    parts: Path | Parts,
    *,
    workers: int = 1,
    cluster: str | None = None,
    chunk_seconds: float = CHUNK_SECONDS,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Compute whatever is missing among the parts, and save each chunk as it lands.

    An interruption of any kind leaves whole chunks only; the next call goes on from there. Trial
    i has the same bits wherever and in whatever chunk it runs.

    Parameters
    ----------
    parts : Path or Parts
        A folder, made where it is missing: one sweep at a time may write in it. Or the parts of
        a folder that the caller holds, or of none.
    workers, cluster, chunk_seconds, progress
        As in `sweep`; what takes a few seconds stays in this process.

    Raises
    ------
    SweepError
        Where a file cannot be written, another sweep runs in the folder, or the scheduler is
        gone. What has landed is safe each time.
    """
    started = time.perf_counter()
    workers = as_integer("workers", workers, minimum=1)
    chunk_seconds = as_number("chunk_seconds", chunk_seconds, positive=True)
    with contextlib.ExitStack() as stack:
        if isinstance(parts, Path):
            stack.enter_context(only_writer(parts))
            parts = PartFiles(parts)
        ledger = _Ledger(cells, seed, parts, chunk_seconds, progress)
        ledger.announce()
        if cluster is None and workers > 1 and ledger.is_less_than(SMALL):
            workers = 1
        if ledger.trials_left < 2:
            workers, cluster = 1, None
        running = execute(ledger.take, workers=workers, cluster=cluster)
        # Closed at once when anything goes wrong here: no cluster outlives its sweep.
        stack.enter_context(contextlib.closing(running))
        try:
            for task, outcome in running:
                ledger.land(task, outcome)
        except SchedulerLostError as error:
            raise SweepError(
                f"{error}; {ledger.saved} chunks are saved; run again with --resume once there "
                "is a scheduler, or without --cluster."
            ) from error
    return ledger.report(time.perf_counter() - started)


def run_cells(
    cells: Sequence[Cell],
    seed: int,
    folder: Path | None = None,
    *,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Run]:
    """Run cells and return their trials by their keys; a failure is an error.

    Without a folder nothing is written.
    """
    parts = Parts() if folder is None else PartFiles(folder)
    report = run_chunks(cells, seed, folder or parts, workers=workers, progress=progress)
    if report.failures:
        kept = "" if folder is None else f" The others are kept in {folder}."
        count = len(report.failures)
        raise SweepError(f"{count} chunks failed; the first: {report.failures[0]}.{kept}")
    return {cell.key: load_cell(parts, cell, seed) for cell in cells}


def iter_chunks(parts: Path | Parts, cell: Cell, seed: int) -> Iterator[tuple[int, Run]]:
    """Yield (first trial, run) of every chunk in the order of trials, one in memory at a time."""
    kept = PartFiles(parts) if isinstance(parts, Path) else parts
    end = 0
    for first, run in kept.runs(cell.fingerprint(seed)):
        if first > end or end >= cell.trials:
            break
        end = first + run.trials
        yield first, run if end <= cell.trials else run.rows(slice(cell.trials - first))
    if end < cell.trials:
        raise SweepError(
            f"The cell {cell.key!r} is not complete: trials from {end} on are missing or damaged. "
            "Run the sweep again with --resume: it computes what is missing and nothing else."
        )


def load_cell(parts: Path | Parts, cell: Cell, seed: int) -> Run:
    """Return all trials of a cell as one run."""
    return Run.join([run for _, run in iter_chunks(parts, cell, seed)])


class _Ledger:
    """The books of a sweep: what is asked for, what landed, what failed, how long it may take."""

    def __init__(
        self,
        cells: Sequence[Cell],
        seed: int,
        parts: Parts,
        chunk_seconds: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.computed = self.reused = 0
        self.failures: list[Failure] = []
        self._parts, self._progress = parts, progress
        self._chunkings: dict[str, Chunking] = {}
        self._fingerprints: dict[str, str] = {}
        for fingerprint, alike in _by_fingerprint(cells, seed).items():
            landed = parts.landed(fingerprint)
            self.reused += len(landed)
            self._chunkings[fingerprint] = Chunking(alike, seed, chunk_seconds, landed)
            self._fingerprints[alike[0].key] = fingerprint
        self._open = {name: each for name, each in self._chunkings.items() if each.trials_left}
        self._started = time.perf_counter()
        self._computed_seconds, self._computed_steps = 0.0, 0

    @property
    def saved(self) -> int:
        """How many chunks are kept."""
        return self.computed + self.reused

    @property
    def trials_left(self) -> int:
        """How many trials are still to be run, over all cells."""
        return sum(chunking.trials_left for chunking in self._open.values())

    def report(self, seconds: float) -> Report:
        """Close the books."""
        cells = {
            cell.key: (min(chunking.landed, cell.trials), chunking.seconds)
            for chunking in self._chunkings.values()
            for cell in chunking.cells
        }
        return Report(self.computed, self.reused, tuple(self.failures), seconds, cells)

    def is_less_than(self, seconds: float) -> bool:
        """Whether what is left takes one process less than so many seconds.

        Cells are measured until the answer is clear, the others when their turn comes.
        """
        total = 0.0
        for chunking in self._open.values():
            chunking.calibrate()
            estimate = chunking.seconds_left()
            total += math.inf if estimate is None else estimate
            if total >= seconds:
                return False
        return True

    def take(self, workers: int) -> Task | None:
        """Return the next task, of the first cell that has one.

        With more cells than workers a cell is cut for one worker: for two it would cost what every
        chunk costs anew twice, and nobody waits.
        """
        share = max(1, workers // max(len(self._open), 1))
        for chunking in self._open.values():
            if (chunk := chunking.take(share)) is not None:
                return Task(chunking.cell, chunking.seed, *chunk)
        return None

    def land(self, task: Task, outcome: Outcome) -> None:
        """Keep a run, or note a failure, and tell how far the sweep is."""
        fingerprint, chunk = self._fingerprints[task.cell.key], (task.first, task.count)
        chunking = self._chunkings[fingerprint]
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            chunking.land(chunk, None)
        else:
            self._parts.save(fingerprint, task.cell.columns, task.first, outcome, self.saved)
            chunking.land(chunk, outcome.seconds)
            self.computed += 1
            self._computed_seconds += outcome.seconds
            self._computed_steps += task.count * task.cell.horizon
        if not chunking.trials_left:
            del self._open[fingerprint]
        self.announce()

    def announce(self) -> None:
        """Call back with the progress."""
        if self._progress is None:
            return
        chunkings = self._chunkings.values()
        done = sum(chunking.landed * chunking.cell.horizon for chunking in chunkings)
        total = sum(chunking.trials * chunking.cell.horizon for chunking in chunkings)
        cells = {
            cell.key: (min(chunking.landed, cell.trials), cell.trials)
            for chunking in chunkings
            for cell in chunking.cells
        }
        self._progress(Progress(done, total, cells, self._seconds_left()))

    def _seconds_left(self) -> float | None:
        """Divide the work left by the work done per second of wall time."""
        if not self._open:
            return 0.0
        if self._computed_steps == 0:
            return None
        per_step = self._computed_seconds / self._computed_steps
        left = 0.0
        for chunking in self._open.values():
            estimate = chunking.seconds_left()
            unknown = chunking.trials_left * chunking.cell.horizon * per_step
            left += unknown if estimate is None else estimate
        elapsed = time.perf_counter() - self._started
        return left * elapsed / max(self._computed_seconds, 1e-9)


def _by_fingerprint(cells: Sequence[Cell], seed: int) -> dict[str, list[Cell]]:
    """Group cells that share their trials."""
    keys: set[str] = set()
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.key in keys:
            raise InvalidValueError(
                f"cells must have keys of their own, got {cell.key!r} twice; rename one of them."
            )
        keys.add(cell.key)
        groups.setdefault(cell.fingerprint(seed), []).append(cell)
    return groups
