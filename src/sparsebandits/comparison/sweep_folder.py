"""The cells of a sweep side by side, read from its folder as they are now."""

from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.comparison.entries import Entries, entry_of
from sparsebandits.sweeps import landed_runs
from sparsebandits.sweeps.manifest import read_manifest
from sparsebandits.validation import FloatArray, IntArray

_OWN = ("key", "trials", "fingerprint", "trials_done", "seconds")
"""What the manifest says of a cell besides its columns."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SweepComparison(Entries):
    """Every cell of a sweep's folder, in the order of the sweep; those without trials left out."""

    folder: Path
    manifest: dict[str, Any]


def compare_sweep(folder: Path | str) -> SweepComparison:
    """Set the cells of a sweep side by side, part after part.

    Where the sweep was interrupted, or runs still: what has landed.

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
    manifest = read_manifest(folder)
    cells = {cell["key"]: cell for cell in manifest["cells"]}
    entries = [
        entry_of(
            (run for _, _, run in parts),
            regret_by_trial=partial(_regret_by_trial, folder, key),
            label=key,
            columns={name: value for name, value in cells[key].items() if name not in _OWN},
            planned=cells[key]["trials"],
        )
        for key, parts in groupby(landed_runs(folder), key=lambda part: part[0])
    ]
    return SweepComparison(entries=tuple(entries), folder=folder, manifest=manifest)


def _regret_by_trial(folder: Path, key: str, step: int) -> tuple[IntArray, FloatArray]:
    parts = [(first, run.at(step)) for _, first, run in landed_runs(folder, key)]
    trials = [np.arange(first, first + regret.size) for first, regret in parts]
    return np.concatenate(trials), np.concatenate([regret for _, regret in parts])
