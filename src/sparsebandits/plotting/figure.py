"""What a figure shows, as plain numbers: renderers only draw it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sparsebandits.comparison.intervals import Means
from sparsebandits.simulation import Run
from sparsebandits.validation import FloatArray

Role = Literal["plain", "main", "reference"]
"""How a curve stands out: not at all, as the one looked at, or as a mark that learners miss."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """One curve with its band, and the single runs behind it where they are shown."""

    label: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    runs: FloatArray | None = None
    """(trials, points): drawn as a scatter cloud."""
    style: int = 0
    """Which colour and marker of the palette."""
    role: Role = "plain"


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    lines: tuple[tuple[float, str], ...] = ()
    """Vertical marks: (x, text)."""
    levels: tuple[tuple[float, str], ...] = ()
    """Horizontal marks: (y, text)."""
    categories: tuple[str, ...] = ()
    """Names of x = 0, 1, ...; the series are then drawn as marks, not as curves."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """One figure: its panels, the paper's label, and what must be read beside it."""

    id: str
    label: str
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = field(default=())
    """Scale, benchmark, seed, trials, share of runs that locked: printed on the figure."""


Transform = Callable[[FloatArray, FloatArray], FloatArray]


def cumulative(steps: FloatArray, regret: FloatArray) -> FloatArray:
    """R_t."""
    return regret


def over_power(exponent: float) -> Transform:
    """R_t / t^exponent."""
    return lambda steps, regret: np.asarray(regret / steps**exponent)


def regret_series(
    run: Run,
    label: str,
    style: int,
    transform: Transform = cumulative,
    *,
    scatter: bool = False,
    role: Role = "plain",
) -> Series:
    """Mean over the trials with a 95% interval of the mean (Student)."""
    steps = run.steps.astype(float)
    values = transform(steps, run.regret)
    return mean_series(steps, values, label, style, scatter=scatter, role=role)


def mean_series(
    steps: FloatArray,
    values: FloatArray,
    label: str,
    style: int,
    *,
    scatter: bool = False,
    role: Role = "plain",
) -> Series:
    """Mean of the rows with its 95% interval."""
    means = Means.of(np.arange(values.shape[1]), values)
    return Series(
        label=label,
        x=steps,
        y=means.mean,
        low=means.low,
        high=means.high,
        runs=values if scatter else None,
        style=style,
        role=role,
    )


@dataclass(frozen=True)
class Exponent:
    """The slope of log R_t against log t over the tail, with a bootstrap interval over trials."""

    value: float
    low: float
    high: float


def tail_exponent(
    run: Run, *, start: float = 0.1, seed: int = 0, resamples: int = 1000
) -> Exponent:
    """Fit R_t ~ t^b on the steps after `start` times the horizon.

    Trials are resampled with replacement; the interval is the 2.5 and 97.5 percentile.
    """
    tail = run.steps >= start * run.steps[-1]
    log_steps = np.log(run.steps[tail].astype(float))
    centred = log_steps - log_steps.mean()
    regret = np.maximum(run.regret[:, tail], 1e-12)

    def slope(mean: FloatArray) -> FloatArray:
        logs = np.log(mean)
        return np.asarray(logs @ centred / (centred @ centred))

    rng = np.random.default_rng(seed)
    chosen = rng.integers(regret.shape[0], size=(resamples, regret.shape[0]))
    slopes = slope(regret[chosen].mean(axis=1))
    low, high = np.percentile(slopes, [2.5, 97.5])
    return Exponent(float(slope(regret.mean(axis=0))), float(low), float(high))
