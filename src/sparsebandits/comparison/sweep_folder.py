"""The cells of a sweep side by side, read from its folder as they are now."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.comparison.entries import Entries, Entry
from sparsebandits.comparison.intervals import Means
from sparsebandits.errors import SweepError
from sparsebandits.sweeps.arrow import parquet
from sparsebandits.sweeps.folder import bring_up_to_date
from sparsebandits.sweeps.tidy import MEASURES, STEPS, TRIALS
from sparsebandits.validation import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SweepComparison(Entries):
    """Every cell of a sweep's folder, in the order of the sweep; those without trials left out."""

    folder: Path
    manifest: dict[str, Any]


def compare_sweep(folder: Path | str) -> SweepComparison:
    """Set the cells of a sweep side by side, read row group after row group.

    Where the sweep was interrupted, or runs still, the tables are first written from the chunks
    that have landed.

    Parameters
    ----------
    folder : path
        What was the `out` of `sweep`.

    Examples
    --------
    >>> import tempfile
    >>> import sparsebandits as sb
    >>> plan = {
    ...     "trials": 3, "horizon": 50, "sparsity": 1, "dim": 4,
    ...     "policies": [{"kind": "sparse-thompson"}, {"kind": "clairvoyant"}],
    ...     "environments": [
    ...         {"action_set": {"kind": "lp-ball"}, "theta_star": {"kind": "uniform-cube"}},
    ...     ],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cells = sb.compare_sweep(sb.sweep(plan, folder).folder)
    ...     cells.difference("sparse-thompson/l2-ball", "clairvoyant/l2-ball").paired
    True
    """
    folder = Path(folder)
    manifest = bring_up_to_date(folder)
    measures = read_means(folder / STEPS)
    locks = _locks(folder / TRIALS)
    own = ("key", "trials", "fingerprint", "trials_done", "seconds")
    entries = [
        Entry(
            label=cell["key"],
            columns={name: value for name, value in cell.items() if name not in own},
            trials=int(measures[cell["key"]]["regret"].count[-1]),
            planned=cell["trials"],
            measures=measures[cell["key"]],
            regret_by_trial=partial(_regret_by_trial, folder / STEPS, cell["key"]),
            locked_share=locks[cell["key"]][0],
            correct_share=locks[cell["key"]][1],
        )
        for cell in manifest["cells"]
        if cell["key"] in measures
    ]
    return SweepComparison(entries=tuple(entries), folder=folder, manifest=manifest)


def _regret_by_trial(path: Path, key: str, step: int) -> tuple[IntArray, FloatArray]:
    rows = parquet().read_table(
        path, columns=["trial", "regret"], filters=[("cell", "==", key), ("step", "==", step)]
    )
    return rows.column("trial").to_numpy(), rows.column("regret").to_numpy()


def read_means(path: Path) -> dict[str, dict[str, Means]]:
    """Return every measure of each cell in `steps.parquet`."""
    means: dict[str, dict[str, Means]] = {}
    for key, steps, values in _blocks(path):
        cell = means.setdefault(key, {name: Means(steps) for name in values})
        if not np.array_equal(cell["regret"].steps, steps):
            raise _disordered(path, key)
        for name, (rows, complete) in values.items():
            cell[name].add(rows, complete=complete)
    return means


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
    trials = parquet().read_table(path, columns=["cell", "locked_at", "support_correct"])
    sums = [("cell", "count"), ("locked", "sum"), ("support_correct", "sum")]
    cells = (
        trials.unify_dictionaries()
        .append_column("locked", trials.column("locked_at").is_valid())
        .group_by("cell")
        .aggregate(sums)
    )
    return {
        cell["cell"]: (
            cell["locked_sum"] / cell["cell_count"],
            cell["support_correct_sum"] / cell["locked_sum"] if cell["locked_sum"] else math.nan,
        )
        for cell in cells.to_pylist()
    }
