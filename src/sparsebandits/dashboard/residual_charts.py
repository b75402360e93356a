"""Residuals over time, and beside the normal distribution."""

import numpy as np
import scipy.special

from sparsebandits.dashboard.charts import Band, Chart, Dots, Line, along, axis
from sparsebandits.dashboard.history import History
from sparsebandits.dashboard.rewards import POINTS, evenly, moving_mean
from sparsebandits.dashboard.sample import Sample, residuals

_DOTS = 1000


def residual_chart(history: History, sample: Sample, by_time: bool = False) -> Chart | None:
    """Draw residuals over time with their moving mean; None with too few rewards."""
    if not sample.is_enough:
        return None
    rest = residuals(sample)
    dots = evenly(np.arange(rest.size), _DOTS)
    curve = moving_mean(rest)
    x = along(history, sample.places[curve.places], by_time)
    outside = float(((curve.low > 0) | (curve.high < 0)).mean())
    return Chart(
        id="residuals",
        title="Residuals over time",
        y_label="reward minus fitted reward",
        layers=(
            Band(x=x, low=curve.low, high=curve.high, label="95% interval of the mean"),
            Dots(x=along(history, sample.places[dots], by_time), y=rest[dots], label="residuals"),
            Line(x=x, y=curve.mean, label=f"mean of {curve.window:,}"),
        ),
        sentence=f"The mean should keep to 0: its interval leaves 0 out {outside:.0%} of the time, "
        "and about 5% is chance; a curve that wanders is drift.",
        **axis(history, by_time),
    )


def quantile_chart(sample: Sample) -> Chart | None:
    """Draw residuals against normal quantiles; None with too few rewards."""
    if not sample.is_enough:
        return None
    rest = residuals(sample)
    spread = float(rest.std())
    if not spread > 0:
        return None
    ordered = np.sort(rest) / spread
    shown = evenly(np.arange(rest.size), POINTS)
    expected = scipy.special.ndtri((shown + 0.5) / rest.size)
    ends = [float(expected[0]), float(expected[-1])]
    return Chart(
        id="quantiles",
        title="Residuals beside the normal distribution",
        x_label="normal quantile (deviations)",
        y_label="residual (deviations)",
        layers=(
            Line(x=ends, y=ends, label="normal", role="second", dash="dash"),
            Dots(x=expected, y=ordered[shown], label="residuals", role="main"),
        ),
        sentence="On the line, residuals are normal; ends that turn away are outliers, steps are "
        "rewards with few values.",
    )
