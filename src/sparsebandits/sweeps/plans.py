"""How the trials of a cell are cut into chunks: measured once, written down, never changed."""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sparsebandits.simulation import simulate
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.files import writing

FORMAT = 1

CHUNK_SECONDS = 1.0
"""What a chunk should take, unless something else is asked for."""

OVERHEAD = 0.01
"""Seconds that a chunk costs at least, whatever it computes: sending, saving, syncing."""

CHUNKS_PER_WORKER = 4

_SHARE = 0.25
"""At most this share of the time may go into what every chunk costs anew."""

_PROBE_SECONDS, _PROBE_STEPS, _PROBE_TRIALS = 0.02, 32, 8


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


@dataclass(frozen=True)
class Plan:
    """Chunks in the order of their trials; a plan only ever grows at its end.

    Parameters
    ----------
    sizes : tuple of (count, repeats)
        So many chunks of so many trials each, one after the other.
    cost : Cost, optional
    """

    sizes: tuple[tuple[int, int], ...] = ()
    cost: Cost | None = None

    @property
    def covered(self) -> int:
        """How many trials lie in the chunks planned so far."""
        return sum(count * repeats for count, repeats in self.sizes)

    def chunks(self, trials: int) -> Iterator[tuple[int, int]]:
        """Yield (first, count) of every planned chunk that holds any of the first trials."""
        first = 0
        for count, repeats in self.sizes:
            for _ in range(repeats):
                if first >= trials:
                    return
                yield first, count
                first += count

    def extended(self, trials: int, size: int, limit: int | None = None) -> "Plan":
        """Add chunks of `size` up to `trials` in all, or the first `limit` of those."""
        repeats, rest = divmod(trials - self.covered, size)
        added = [(size, repeats), (rest, 1)]
        if limit is not None and repeats >= limit:
            added = [(size, limit)]
        return replace(self, sizes=(*self.sizes, *(pair for pair in added if min(pair) > 0)))


def chunk_size(cost: Cost, trials: int, workers: int, wanted: float = CHUNK_SECONDS) -> int:
    """Return how many of `trials` go into one chunk.

    A chunk aims at the `wanted` seconds, and at more where its fixed cost asks for it; every worker
    gets up to four, fewer where that would cost more than it evens out.

    Examples
    --------
    >>> chunk_size(Cost(0.0, 0.1), trials=1_000, workers=2)
    9
    >>> chunk_size(Cost(1.0, 0.01), trials=100, workers=2)
    50
    """
    fixed, per_trial = max(cost.fixed, OVERHEAD), max(cost.per_trial, 1e-9)
    most = max((wanted - fixed) / per_trial, (1 / _SHARE) * fixed / per_trial)
    rounds = _SHARE * per_trial * trials / workers / fixed
    rounds = min(max(math.floor(rounds), 1), CHUNKS_PER_WORKER)
    return max(1, min(int(most), math.ceil(trials / (workers * rounds))))


def measure_cost(cell: Cell, seed: int) -> tuple[Cost | None, bool]:
    """Time one trial and a few side by side over the first steps, and scale that up.

    Returns the cost, and whether it was measured over the whole horizon: only then is it more
    than a guess, because few policies take the same time for each of their steps. A cell that
    cannot run has no cost; running it will say why.
    """
    steps, several = min(_PROBE_STEPS, cell.horizon), min(_PROBE_TRIALS, cell.trials)
    try:
        _timed(cell, seed, steps, 1)
        one = _timed(cell, seed, steps, 1)
        while one < _PROBE_SECONDS and steps < cell.horizon:
            steps = min(4 * steps, cell.horizon)
            one = _timed(cell, seed, steps, 1)
        all_of_them = _timed(cell, seed, steps, several)
    except Exception:
        return None, False
    per_trial = max((all_of_them - one) / max(several - 1, 1), all_of_them / (10 * several))
    scale = cell.horizon / steps
    return Cost(scale * max(one - per_trial, 0.0), scale * per_trial), steps == cell.horizon


def _timed(cell: Cell, seed: int, steps: int, trials: int) -> float:
    started = time.perf_counter()
    simulate(
        cell.policy,
        cell.environment,
        steps,
        trials,
        seed,
        cell.benchmark,
        track_support=cell.track_support,
    )
    return time.perf_counter() - started


def plan_path(folder: Path) -> Path:
    """Return where the plan of the cell with this folder is kept."""
    return folder / "plan.json"


def save_plan(folder: Path, plan: Plan) -> None:
    """Write a plan into the folder of its cell."""
    cost = None if plan.cost is None else [plan.cost.fixed, plan.cost.per_trial]
    content = {"format": FORMAT, "fingerprint": folder.name, "sizes": plan.sizes, "cost": cost}
    with writing(plan_path(folder)) as part:
        part.write_text(json.dumps(content), encoding="utf-8")


def load_plan(folder: Path) -> Plan:
    """Read the plan of a cell; an empty one where there is none that can be read."""
    try:
        content = json.loads(plan_path(folder).read_bytes())
        if (content["format"], content["fingerprint"]) != (FORMAT, folder.name):
            return Plan()
        sizes = tuple((int(count), int(repeats)) for count, repeats in content["sizes"])
        if any(min(pair) < 1 for pair in sizes):
            return Plan()
        return Plan(sizes, None if content["cost"] is None else Cost(*map(float, content["cost"])))
    except (OSError, ValueError, KeyError, TypeError):
        return Plan()
