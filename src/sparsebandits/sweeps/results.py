"""What a sweep found: means with intervals per cell and step, and differences between cells."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.arrow import arrow, parquet
from sparsebandits.sweeps.folder import bring_up_to_date
from sparsebandits.sweeps.moments import Moments
from sparsebandits.sweeps.tidy import MEASURES, STEPS, TRIALS
from sparsebandits.validation import FloatArray, IntArray, brief_repr


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

    __repr__ = brief_repr

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
    """Read a sweep's folder into means with intervals, row group after row group.

    Where the sweep was interrupted, or runs still, the tables are first written from the chunks
    that have landed.
    """
    folder = Path(folder)
    manifest = bring_up_to_date(folder)
    entries = {entry["key"]: entry for entry in manifest["cells"]}
    curves = summarise_steps(folder / STEPS)
    locks = _locks(folder / TRIALS)
    own = ("key", "trials", "fingerprint", "trials_done", "seconds")
    cells = [
        CellSummary(
            key=key,
            columns={name: value for name, value in entry.items() if name not in own},
            planned=entry["trials"],
            trials=int(curves[key][1]["regret"].count[-1]),
            steps=curves[key][0],
            measures=curves[key][1],
            locked_share=locks[key][0],
            correct_share=locks[key][1],
        )
        for key, entry in entries.items()
        if key in curves
    ]
    return Summary(folder=folder, manifest=manifest, cells=tuple(cells))


def summarise_steps(path: Path) -> dict[str, tuple[IntArray, dict[str, Measure]]]:
    """Return the recorded steps and every measure of each cell in `steps.parquet`."""
    steps: dict[str, IntArray] = {}
    moments: dict[str, dict[str, Moments]] = {}
    for key, here, values in _blocks(path):
        if key not in moments:
            steps[key] = here
            moments[key] = {name: Moments(here.size) for name in values}
        if not np.array_equal(steps[key], here):
            raise _disordered(path, key)
        for name, (rows, complete) in values.items():
            moments[key][name].add(rows, complete=complete)
    return {
        key: (steps[key], {name: Measure.of(one) for name, one in cell.items()})
        for key, cell in moments.items()
    }


_Block = tuple[str, IntArray, dict[str, tuple[FloatArray, bool]]]
"""A cell, its steps, and of each measure the rows, (trials, points), and whether none lacks."""


def _blocks(path: Path) -> Iterator[_Block]:
    file = parquet().ParquetFile(path)
    names = [name for name in MEASURES if name in file.schema_arrow.names]
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=["cell", "step", *names])
        cells = table.column("cell").combine_chunks()
        codes = cells.indices.to_numpy()
        keys = cells.dictionary.to_pylist()
        steps = table.column("step").to_numpy()
        columns = {name: table.column(name) for name in names}
        arrays = {name: column.to_numpy() for name, column in columns.items()}
        edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), codes.size]
        for first, last in pairwise(edges):
            key, here = keys[codes[first]], steps[first:last]
            falls = np.flatnonzero(np.diff(here) <= 0)
            points = int(falls[0]) + 1 if falls.size else here.size
            if here.size % points or (here.reshape(-1, points) != here[:points]).any():
                raise _disordered(path, key)
            yield (
                key,
                here[:points],
                {
                    name: (array[first:last].reshape(-1, points), columns[name].null_count == 0)
                    for name, array in arrays.items()
                },
            )


def _disordered(path: Path, key: str) -> SweepError:
    return SweepError(
        f"The rows of {key!r} in {path} are not in the order of trial and step; delete the file, "
        "and sparsebandits results writes it again from the chunks."
    )


def _locks(path: Path) -> dict[str, tuple[float, float]]:
    """Return for each cell the share of trials that locked, and of those that were right."""
    pa = arrow()
    table = parquet().read_table(path, columns=["cell", "locked_at", "support_correct"])
    cells = table.column("cell").combine_chunks()
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.unify_dictionaries().combine_chunks()
    codes, keys = cells.indices.to_numpy(), cells.dictionary.to_pylist()
    locked = np.isfinite(table.column("locked_at").to_numpy())
    correct = table.column("support_correct").to_numpy() & locked
    trials = np.bincount(codes, minlength=len(keys))
    locks = np.bincount(codes, locked, len(keys))
    right = np.bincount(codes, correct, len(keys))
    return {
        key: (
            float(locks[i] / trials[i]) if trials[i] else math.nan,
            float(right[i] / locks[i]) if locks[i] else math.nan,
        )
        for i, key in enumerate(keys)
    }
