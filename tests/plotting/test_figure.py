"""Series: normalised regret, and bands that are intervals of the mean."""

import numpy as np
import pytest

from sparsebandits.paper.synthetic import made_run
from sparsebandits.plotting.figure import mean_series, regret_panel


def test_normalised_series() -> None:
    (series,) = regret_panel("a", {"b": made_run(0.5)}, exponent=0.5, scatter=True).series
    assert np.ptp(series.y) == pytest.approx(0, abs=1e-9)
    assert series.runs is not None
    assert series.low is not None
    assert (series.low < series.y).all()


def test_the_band_is_a_95_percent_interval_of_the_mean() -> None:
    """2,000 bands of 10 normal numbers; the share that covers 0 is 95% within 4 deviations."""
    values = np.random.default_rng(0).standard_normal((10, 2000))
    series = mean_series(np.arange(2000.0), values, "a", 0)
    assert series.low is not None
    assert series.high is not None
    covered = ((series.low <= 0) & (series.high >= 0)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)
