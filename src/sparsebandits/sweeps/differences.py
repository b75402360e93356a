"""The difference between two cells: trial by trial where the noise was shared."""

import math
from dataclasses import dataclass

import numpy as np

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.folder import landed_runs
from sparsebandits.sweeps.moments import student
from sparsebandits.sweeps.results import CellSummary, Summary
from sparsebandits.validation import FloatArray

_WORLD = ("environment", "dim", "sigma", "horizon")
"""What two cells must share to have seen the same theta* and the same noise in each trial."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The regret of one cell minus that of another after a step, with its 95% interval.

    Attributes
    ----------
    first, second : str
        Keys of the cells; the difference is first minus second.
    step : int
    mean, standard_error, low, high : float
    paired : bool
        Whether it was taken trial by trial; otherwise the interval is Welch's.
    trials : tuple of int
        How many of each cell.
    reason : str
        Why it was, or was not, taken trial by trial.
    """

    first: str
    second: str
    step: int
    mean: float
    standard_error: float
    low: float
    high: float
    paired: bool
    trials: tuple[int, int]
    reason: str


def difference(summary: Summary, first: str, second: str, step: int | None = None) -> Difference:
    """Compare the regret of two cells after a step; the last one that both recorded if left out.

    Paired where both cells share environment, horizon and, since they are of one sweep, the seed:
    then trial i had the same theta* and the same noise in both. Otherwise Welch's interval.
    """
    one, two = summary.cell(first), summary.cell(second)
    if first == second:
        raise SweepError(f"{first!r} is compared with itself; name two cells.")
    common = np.intersect1d(one.steps, two.steps)
    if step is None and common.size == 0:
        raise SweepError(f"{first} and {second} share no recorded step; nothing can be compared.")
    at = int(common[-1]) if step is None else step
    one.place(at), two.place(at)
    values = [_regret(summary, key, at) for key in (first, second)]
    differing = [name for name in _WORLD if one.columns.get(name) != two.columns.get(name)]
    if differing:
        reason = f"Welch: the cells differ in {' and '.join(differing)}, so noise was not shared"
        return _welch(one, two, at, values, reason)
    return _paired(one, two, at, values)


def _regret(summary: Summary, key: str, step: int) -> dict[int, float]:
    """Return the regret of every trial of a cell after a step, by the number of the trial."""
    return {
        first + i: float(regret)
        for _, first, run in landed_runs(summary.folder, key)
        for i, regret in enumerate(run.at(step))
    }


def _paired(
    one: CellSummary, two: CellSummary, step: int, values: list[dict[int, float]]
) -> Difference:
    shared = sorted(values[0].keys() & values[1].keys())
    gaps = np.array([values[0][trial] - values[1][trial] for trial in shared])
    mean, error = _mean_and_error(gaps)
    half = float(student(np.array([gaps.size - 1.0]))[0]) * error
    return Difference(
        first=one.key,
        second=two.key,
        step=step,
        mean=mean,
        standard_error=error,
        low=mean - half,
        high=mean + half,
        paired=True,
        trials=(gaps.size, gaps.size),
        reason="paired: the same theta* and noise in each trial",
    )


def _welch(
    one: CellSummary, two: CellSummary, step: int, values: list[dict[int, float]], reason: str
) -> Difference:
    samples = [np.array(list(side.values())) for side in values]
    (mean, error), (other, second_error) = (_mean_and_error(side) for side in samples)
    whole = math.hypot(error, second_error)
    parts = sum(
        e**4 / (side.size - 1)
        for e, side in zip((error, second_error), samples, strict=True)
        if side.size > 1
    )
    degrees = whole**4 / parts if parts else math.inf  # Welch and Satterthwaite
    half = float(student(np.array([degrees]))[0]) * whole
    return Difference(
        first=one.key,
        second=two.key,
        step=step,
        mean=mean - other,
        standard_error=whole,
        low=mean - other - half,
        high=mean - other + half,
        paired=False,
        trials=(samples[0].size, samples[1].size),
        reason=reason,
    )


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    if values.size == 0:
        return math.nan, math.nan
    if values.size == 1:
        return float(values[0]), math.nan
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size)
