"""The cells of a sweep side by side, read from its folder as they are now."""

import math
from dataclasses import dataclass
from functools import partial
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

_STATISTICS = ("count", "mean", "variance")


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
    """Return every measure of each cell in `steps.parquet`, one row group in memory at a time."""
    file = parquet().ParquetFile(path)
    names = [name for name in MEASURES if name in file.schema_arrow.names]
    statistics = [(name, part) for name in names for part in _STATISTICS]
    means: dict[str, dict[str, Means]] = {}
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=["cell", "step", *names])
        # In one thread, so that sums are added up in the same order and give the same bits.
        groups = rows.group_by(["cell", "step"], use_threads=False)
        points = groups.aggregate(statistics).sort_by("step")
        columns = {name: points.column(name).to_numpy() for name in points.column_names}
        for key in np.unique(columns["cell"]):
            here = columns["cell"] == key
            cell = means.setdefault(key, {name: Means(columns["step"][here]) for name in names})
            if not np.array_equal(cell["regret"].steps, columns["step"][here]):
                raise SweepError(
                    f"The trials of {key!r} in {path} are recorded at different steps; delete the "
                    "file, and sparsebandits results writes it again from the chunks."
                )
            for name in names:
                cell[name].merge(*(columns[f"{name}_{part}"][here] for part in _STATISTICS))
    return means


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
