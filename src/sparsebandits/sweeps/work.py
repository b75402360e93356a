"""The state of one cell while its sweep runs: what landed, what is under way, what comes next."""

from collections import deque
from pathlib import Path

from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.chunks import cell_folder, chunk_path, load_chunk
from sparsebandits.sweeps.files import cannot_write
from sparsebandits.sweeps.plans import (
    Cost,
    Plan,
    chunk_size,
    load_plan,
    measure_cost,
    save_plan,
)
from sparsebandits.sweeps.tasks import Task


class Work:
    """Cells of one fingerprint: the same trials serve all of them."""

    def __init__(self, cell: Cell, seed: int, folder: Path, chunk_seconds: float) -> None:
        self.cells = [cell]
        self.seed = seed
        self.folder = folder
        self.chunk_seconds = chunk_seconds
        self.trials = cell.trials
        self.landed = 0
        self.reused = 0
        self.failed = False
        self._queue: deque[tuple[int, int]] = deque()
        self._under_way = 0
        self._last: tuple[int, float] | None = None
        self._plan = Plan()
        self._cost: Cost | None = None
        self._trusted = False

    @property
    def cell(self) -> Cell:
        """The cell in whose name the trials run."""
        return self.cells[0]

    @property
    def trials_left(self) -> int:
        """How many trials are still to be run; those that cannot be are not counted."""
        planned = sum(count for _, count in self._queue) + self._under_way
        return planned + (0 if self.failed else max(self.trials - self._plan.covered, 0))

    @property
    def is_over(self) -> bool:
        """Whether nothing is left and nothing under way."""
        return self.trials_left == 0

    def add(self, cell: Cell) -> None:
        """Let another cell share the trials."""
        self.cells.append(cell)
        self.trials = max(self.trials, cell.trials)

    def scan(self) -> None:
        """Find what an earlier sweep has left."""
        home = cell_folder(self.folder, self.cell, self.seed)
        self._plan = load_plan(home)
        self._cost = self._plan.cost
        for first, count in self._plan.chunks(self.trials):
            run = load_chunk(self._path(first, count))
            if run is None or run.regret.shape[0] != count:
                self._queue.append((first, count))
            else:
                self.reused += 1
                self._count(count, run.seconds)

    def seconds_left(self) -> float | None:
        """Estimate the time of one worker for what is left; None where nothing is known."""
        if self._last is not None:
            count, seconds = self._last
            return self.trials_left * seconds / count
        return None if self._cost is None else self._cost.seconds(self.trials_left)

    def calibrate(self) -> None:
        """Measure what a chunk costs, unless that is known."""
        if self._cost is None and self._last is None and self.trials > 1:
            self._cost, self._trusted = measure_cost(self.cell, self.seed)

    def take(self, workers: int) -> Task | None:
        """Return the next task, or None while there is none."""
        unplanned = self._plan.covered < self.trials and not self.failed
        if not self._queue and not self._under_way and unplanned:
            self._extend(workers)
        if not self._queue:
            return None
        first, count = self._queue.popleft()
        self._under_way += count
        return Task(self.cell, self.seed, first, count)

    def land(self, count: int, run: Run | None) -> None:
        """Note that a task has come back, with its run or, as None, without one."""
        self._under_way -= count
        if run is None:
            self.failed = True
        else:
            self._count(count, run.seconds)

    def _count(self, count: int, seconds: float) -> None:
        self.landed += count
        self._last = (count, seconds)

    def _extend(self, workers: int) -> None:
        """Plan more chunks: all of them, or one per worker where the cost is a guess so far."""
        self.calibrate()
        cost, trusted = self._cost, self._trusted
        if self._last is not None:
            count, seconds = self._last
            cost = (cost or Cost(0.0, 1.0)).corrected(count, seconds)
            trusted = True
        before = self._plan.covered
        left, wanted = self.trials - before, self.chunk_seconds
        size = 1 if cost is None else chunk_size(cost, left, workers, wanted)
        longer = self._plan.extended(self.trials, size, None if trusted else workers)
        self._plan = Plan(longer.sizes, cost)
        home = cell_folder(self.folder, self.cell, self.seed)
        try:
            home.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(home, error) from error
        save_plan(home, self._plan)
        self._queue.extend(chunk for chunk in self._plan.chunks(self.trials) if chunk[0] >= before)

    def _path(self, first: int, count: int) -> Path:
        return chunk_path(self.folder, self.cell, self.seed, first, count)
