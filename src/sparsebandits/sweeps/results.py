"""What a sweep found: means with intervals per cell and step, and differences between cells."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.folder import landed_runs
from sparsebandits.sweeps.manifest import read_manifest
from sparsebandits.sweeps.moments import Moments
from sparsebandits.sweeps.schema import MEASURES
from sparsebandits.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Measure:
    """One quantity of one cell over the steps; every array is (points,)."""

    mean: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    count: IntArray

    @classmethod
    def of(cls, moments: Moments) -> "Measure":
        """Read mean, standard error, 95% interval and count off the moments."""
        mean, half = moments.mean, moments.half_width
        return cls(mean, moments.standard_error, mean - half, mean + half, moments.count)


@dataclass(frozen=True, eq=False, kw_only=True)
class CellSummary:
    """What the trials of one cell gave.

    Attributes
    ----------
    key : str
    columns : dict
        Policy, environment, sparsity, dim, horizon and, where the sweep sets it, sigma.
    planned, trials : int
        How many trials there should be, and how many have landed.
    steps : (points,) int array
    measures : dict of Measure
        regret, theta_error and optimal_share; overlap if it was tracked.
    locked_share, correct_share : float
        The share of trials that locked a support, and of those the share that locked the right
        one.
    """

    key: str
    columns: dict[str, Any]
    planned: int
    trials: int
    steps: IntArray
    measures: dict[str, Measure]
    locked_share: float
    correct_share: float

    def place(self, step: int | None) -> int:
        """Return where a recorded step stands; the last one for None."""
        if step is None:
            return self.steps.size - 1
        place = int(np.searchsorted(self.steps, step))
        if place == self.steps.size or self.steps[place] != step:
            near = self.steps[np.argsort(np.abs(self.steps - step), kind="stable")[:3]]
            raise SweepError(
                f"Step {step} of {self.key} was not recorded; the nearest are "
                f"{', '.join(str(t) for t in sorted(near.tolist()))}."
            )
        return place


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary:
    """Every cell of a sweep's folder, in the order of the sweep; those without trials left out."""

    folder: Path
    manifest: dict[str, Any]
    cells: tuple[CellSummary, ...]

    def cell(self, key: str) -> CellSummary:
        """Return the cell of a name."""
        for one in self.cells:
            if one.key == key:
                return one
        known = ", ".join(repr(one.key) for one in self.cells)
        raise SweepError(f"{self.folder} has no results of a cell {key!r}; it has {known}.")


def summarise(folder: Path | str) -> Summary:
    """Read a sweep's folder into means with intervals, part after part.

    Where the sweep was interrupted, or runs still: of what has landed.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    curves = summarise_runs(landed_runs(folder))
    own = ("key", "trials", "fingerprint", "trials_done", "seconds")
    cells = [
        CellSummary(
            key=entry["key"],
            columns={name: value for name, value in entry.items() if name not in own},
            planned=entry["trials"],
            **curves[entry["key"]],
        )
        for entry in manifest["cells"]
        if entry["key"] in curves
    ]
    return Summary(folder=folder, manifest=manifest, cells=tuple(cells))


def summarise_runs(runs: Iterable[tuple[str, int, Run]]) -> dict[str, dict[str, Any]]:
    """Return steps, measures, number of trials and shares of locks of each cell."""
    steps: dict[str, IntArray] = {}
    moments: dict[str, dict[str, Moments]] = {}
    locks: dict[str, IntArray] = {}
    for key, _, run in runs:
        recorded = {name: getattr(run, name) for name in MEASURES}
        recorded = {name: rows for name, rows in recorded.items() if rows is not None}
        if key not in moments:
            steps[key] = run.steps
            moments[key] = {name: Moments(run.steps.size) for name in recorded}
            locks[key] = np.zeros(3, dtype=np.intp)
        for name, rows in recorded.items():
            moments[key][name].add(rows, complete=not np.isnan(rows).any())
        locked = np.isfinite(run.locked_at)
        locks[key] += (run.trials, locked.sum(), (locked & run.support_correct).sum())
    return {
        key: {
            "steps": steps[key],
            "measures": {name: Measure.of(one) for name, one in cell.items()},
            "trials": int(locks[key][0]),
            "locked_share": float(locks[key][1] / locks[key][0]),
            "correct_share": float(locks[key][2] / locks[key][1]) if locks[key][1] else math.nan,
        }
        for key, cell in moments.items()
    }
