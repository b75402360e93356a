"""What a figure shows, as plain numbers: renderers only draw it."""

from collections.abc import Mapping
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


def regret_panel(
    title: str,
    runs: Mapping[str, Run],
    *,
    exponent: float = 0.0,
    y_label: str = "regret (reward units)",
    x_log: bool = False,
    scatter: bool = False,
) -> Panel:
    """R_t / t^exponent of runs by their labels: mean and 95% interval, with the runs if asked."""
    return Panel(
        title=title,
        x_label="step T (log scale)" if x_log else "step T",
        y_label=y_label,
        series=tuple(
            regret_series(run, label, style, exponent, scatter=scatter)
            for style, (label, run) in enumerate(runs.items())
        ),
        x_log=x_log,
    )


def regret_series(
    run: Run, label: str, style: int, exponent: float = 0.0, *, scatter: bool = False
) -> Series:
    """R_t / t^exponent: mean over the trials with a 95% interval of the mean (Student)."""
    steps = run.steps.astype(float)
    return mean_series(steps, run.regret / steps**exponent, label, style, scatter=scatter)


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
