"""How the trials of a cell are cut into chunks: by what they are measured to cost."""

import math
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sparsebandits.sweeps.cell import Cell

CHUNK_SECONDS = 1.0
"""What a chunk should take, unless something else is asked for."""

OVERHEAD = 0.01
"""Seconds that a chunk costs at least, whatever it computes: sending, saving, syncing."""

CHUNKS_PER_WORKER = 4

_SHARE = 0.25
"""At most this share of the time may go into what every chunk costs anew."""

_PROBE_SECONDS, _PROBE_STEPS, _PROBE_TRIALS = 0.02, 32, 8

Chunk = tuple[int, int]
"""The first trial, and how many."""


@dataclass(frozen=True)
class Cost:
    """What a chunk of n trials takes: ``fixed + n * per_trial`` seconds.

    The engines run many trials side by side, so that the fixed part can be far the larger one.
    """

    fixed: float
    per_trial: float

    def seconds(self, trials: int) -> float:
        """Return what a chunk of that many trials takes."""
        return self.fixed + trials * self.per_trial

    def corrected(self, trials: int, seconds: float) -> "Cost":
        """Scale the cost so that it agrees with a chunk that was timed."""
        scale = max(seconds, 1e-6) / self.seconds(trials)
        return Cost(self.fixed * scale, self.per_trial * scale)


def chunk_size(cost: Cost, trials: int, workers: int, seconds: float = CHUNK_SECONDS) -> int:
    """Return how many of `trials` go into one chunk.

    A chunk aims at `seconds`, and at more where its fixed cost asks for it; every worker gets up
    to four, fewer where that would cost more than it evens out. Where the fixed cost is nearly all
    of it, one chunk takes every trial: two would take as long, each.

    Examples
    --------
    >>> chunk_size(Cost(0.0, 0.1), trials=1_000, workers=2)
    9
    >>> chunk_size(Cost(1.0, 0.01), trials=100, workers=2)
    50
    >>> chunk_size(Cost(3.0, 0.01), trials=100, workers=2)
    100
    """
    fixed, per_trial = max(cost.fixed, OVERHEAD), max(cost.per_trial, 1e-9)
    if per_trial * trials <= fixed / 2:
        return trials
    most = max((seconds - fixed) / per_trial, (1 / _SHARE) * fixed / per_trial)
    rounds = _SHARE * per_trial * trials / workers / fixed
    rounds = min(max(math.floor(rounds), 1), CHUNKS_PER_WORKER)
    return max(1, min(int(most), math.ceil(trials / (workers * rounds))))


def measure_cost(cell: Cell, seed: int) -> tuple[Cost | None, bool]:
    """Time a single trial and a few side by side over the first steps, and scale that up.

    Returns the cost, and whether it was measured over the whole horizon: only then is it more
    than a guess, because few policies take the same time for each of their steps. A cell that
    cannot run has no cost; running it will say why.
    """
    steps, several = min(_PROBE_STEPS, cell.horizon), min(_PROBE_TRIALS, cell.trials)
    try:
        _timed(cell, seed, steps, 1)
        alone = _timed(cell, seed, steps, 1)
        while alone < _PROBE_SECONDS and steps < cell.horizon:
            steps = min(4 * steps, cell.horizon)
            alone = _timed(cell, seed, steps, 1)
        together = _timed(cell, seed, steps, several)
    except Exception:
        return None, False
    per_trial = max((together - alone) / max(several - 1, 1), together / (10 * several))
    scale = cell.horizon / steps
    return Cost(scale * max(alone - per_trial, 0.0), scale * per_trial), steps == cell.horizon


def _timed(cell: Cell, seed: int, steps: int, trials: int) -> float:
    started = time.perf_counter()
    replace(cell, horizon=steps, checkpoints=()).simulate(seed, 0, trials)
    return time.perf_counter() - started


class Chunking:
    """The trials of one cell while its sweep runs: landed, under way, cut, not cut yet.

    All `cells` have one fingerprint: the same trials serve all of them, and run as the first. What
    has `landed` is given by first trial, count and seconds.
    """

    def __init__(
        self,
        cells: list[Cell],
        seed: int,
        chunk_seconds: float,
        landed: Iterable[tuple[int, int, float]],
    ) -> None:
        self.cells, self.cell, self.seed = cells, cells[0], seed
        self.trials = max(cell.trials for cell in cells)
        self.landed = 0
        self.seconds = 0.0
        self.failed = False
        self._chunk_seconds = chunk_seconds
        self._cut: deque[Chunk] = deque()
        self._gaps: deque[Chunk] = deque()
        self._under_way = 0
        self._timed: tuple[int, float] | None = None  # trials of a chunk, and its seconds
        self._cost: Cost | None = None
        self._measured = False
        end = 0
        for first, count, seconds in landed:
            self._gaps.append((end, min(first, self.trials) - end))
            self._note(first, count, seconds)
            end = first + count
        self._gaps.append((end, self.trials - end))
        self._gaps = deque(gap for gap in self._gaps if gap[1] > 0)

    @property
    def trials_left(self) -> int:
        """How many trials are still to be run; those that cannot be are not counted."""
        uncut = 0 if self.failed else sum(count for _, count in self._gaps)
        return uncut + sum(count for _, count in self._cut) + self._under_way

    def seconds_left(self) -> float | None:
        """Estimate the time of one worker for what is left; None where nothing is known."""
        if self._timed is not None:
            count, seconds = self._timed
            return self.trials_left * seconds / count
        return None if self._cost is None else self._cost.seconds(self.trials_left)

    def calibrate(self) -> None:
        """Measure what a chunk costs, unless that is known."""
        if self._cost is None and self._timed is None and self.trials > 1:
            self._cost, self._measured = measure_cost(self.cell, self.seed)

    def take(self, workers: int) -> Chunk | None:
        """Return the next chunk, or None while there is none."""
        if not self._cut and not self._under_way and not self.failed:
            self._cut_gaps(workers)
        if not self._cut:
            return None
        chunk = self._cut.popleft()
        self._under_way += chunk[1]
        return chunk

    def land(self, chunk: Chunk, seconds: float | None) -> None:
        """Note that a chunk has come back: with its time, or without, where it has failed."""
        self._under_way -= chunk[1]
        if seconds is None:
            self.failed = True
        else:
            self._note(*chunk, seconds)

    def _note(self, first: int, count: int, seconds: float) -> None:
        self.landed += max(0, min(first + count, self.trials) - first)
        self.seconds += seconds
        # The larger a chunk, the better it tells the cost of others.
        if self._timed is None or count >= self._timed[0]:
            self._timed = (count, seconds)

    def _cut_gaps(self, workers: int) -> None:
        """Cut all that is missing, or a chunk per worker where the cost is a guess so far."""
        if not self._gaps:
            return
        self.calibrate()
        cost, trusted = self._cost, self._measured
        if self._timed is not None:
            cost = (cost or Cost(0.0, 1.0)).corrected(*self._timed)
            trusted = True
        left = sum(count for _, count in self._gaps)
        size = 1 if cost is None else chunk_size(cost, left, workers, self._chunk_seconds)
        while self._gaps and (trusted or len(self._cut) < workers):
            first, count = self._gaps.popleft()
            self._cut.append((first, min(size, count)))
            if count > size:
                self._gaps.appendleft((first + size, count - size))
