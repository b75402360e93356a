"""The books of a sweep: what is asked for, what landed, what failed, how long it may take yet."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparsebandits.errors import InvalidValueError
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.chunks import chunk_path, save_chunk
from sparsebandits.sweeps.tasks import Failure, Outcome, Task
from sparsebandits.sweeps.work import Work


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    done, total : int
        In steps of the policies, over all trials.
    cells : mapping
        (trials done, trials in all) of each cell, by its key.
    seconds_left : float or None
        An estimate from what was measured so far; None before anything was.
    """

    done: int
    total: int
    cells: Mapping[str, tuple[int, int]]
    seconds_left: float | None


class Ledger:
    """Hands out tasks, saves what comes back and keeps count."""

    def __init__(
        self,
        cells: Sequence[Cell],
        seed: int,
        folder: Path,
        chunk_seconds: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        _check_keys(cells)
        self.computed = 0
        self.failures: list[Failure] = []
        self._seed = seed
        self._folder = folder
        self._progress = progress
        self._works: dict[str, Work] = {}
        for cell in cells:
            name = cell.fingerprint(seed)
            if name in self._works:
                self._works[name].add(cell)
            else:
                self._works[name] = Work(cell, seed, folder, chunk_seconds)
        for work in self._works.values():
            work.scan()
        self.reused = sum(work.reused for work in self._works.values())
        self._open = [work for work in self._works.values() if not work.is_over]
        self._started = time.perf_counter()
        self._computed_seconds = 0.0
        self._computed_steps = 0

    @property
    def saved(self) -> int:
        """How many chunks are on the disk."""
        return self.computed + self.reused

    @property
    def trials_left(self) -> int:
        """How many trials are still to be run, over all cells."""
        return sum(work.trials_left for work in self._open)

    def is_less_than(self, seconds: float) -> bool:
        """Whether the work left takes one process less than so many seconds.

        Cells are measured until the answer is clear, the others when their turn comes.
        """
        total = 0.0
        for work in self._open:
            work.calibrate()
            estimate = work.seconds_left()
            if estimate is None:
                return False
            total += estimate
            if total >= seconds:
                return False
        return True

    def take(self, workers: int) -> Task | None:
        """Return the next task, of the first cell that has one.

        With more cells than workers a cell is cut for one worker: for two it would cost what every
        chunk costs anew twice, and nobody waits.
        """
        share = max(1, workers // max(len(self._open), 1))
        for work in self._open:
            task = work.take(share)
            if task is not None:
                return task
        return None

    def land(self, task: Task, outcome: Outcome) -> None:
        """Save a run, or note a failure, and tell how far the sweep is."""
        work = self._works[task.cell.fingerprint(self._seed)]
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            work.land(task.count, None)
        else:
            path = chunk_path(self._folder, task.cell, task.seed, task.first, task.count)
            save_chunk(path, outcome, self.saved)
            work.land(task.count, outcome)
            self.computed += 1
            self._computed_seconds += outcome.seconds
            self._computed_steps += task.count * task.cell.horizon
        if work.is_over:
            self._open.remove(work)
        self.announce()

    def announce(self) -> None:
        """Call back with the progress."""
        if self._progress is None:
            return
        done = total = 0
        cells = {}
        for work in self._works.values():
            done += min(work.landed, work.trials) * work.cell.horizon
            total += work.trials * work.cell.horizon
            for cell in work.cells:
                cells[cell.key] = (min(work.landed, cell.trials), cell.trials)
        self._progress(Progress(done, total, cells, self._seconds_left()))

    def _seconds_left(self) -> float | None:
        """Divide the work left by the work done per second of wall time."""
        if not self._open:
            return 0.0
        if self._computed_steps == 0:
            return None
        per_step = self._computed_seconds / self._computed_steps
        left = 0.0
        for work in self._open:
            estimate = work.seconds_left()
            unknown = work.trials_left * work.cell.horizon * per_step
            left += unknown if estimate is None else estimate
        elapsed = time.perf_counter() - self._started
        return left * elapsed / max(self._computed_seconds, 1e-9)


def _check_keys(cells: Sequence[Cell]) -> None:
    seen: set[str] = set()
    for cell in cells:
        if cell.key in seen:
            raise InvalidValueError(
                f"cells must have keys of their own, got {cell.key!r} twice; rename one of them."
            )
        seen.add(cell.key)
