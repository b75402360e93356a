"""Intervals against SciPy's own and against their definitions."""

import math

import numpy as np
import pytest
from scipy import stats

from sparsebandits.comparison.intervals import Interval, Means, share_interval, welch
from sparsebandits.errors import InvalidValueError


def test_students_interval_is_scipys() -> None:
    values = np.random.default_rng(0).exponential(size=9)
    low, high = map(float, stats.ttest_1samp(values, 0.0).confidence_interval(0.95))
    interval = Interval.of(values)
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert interval.standard_error == pytest.approx(float(stats.sem(values)))
    assert interval.count == 9


def test_welchs_interval_is_scipys() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal(5), 3 * rng.standard_normal(12) + 1
    ends = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    interval = welch(Interval.of(first), Interval.of(second))
    assert (interval.low, interval.high) == pytest.approx((float(ends.low), float(ends.high)))
    assert interval.mean == pytest.approx(first.mean() - second.mean())


def test_where_nothing_varies_and_where_nothing_is_known() -> None:
    constant = Interval.of(np.full(4, 2.0))
    assert (constant.low, constant.high) == (2.0, 2.0)
    apart = welch(constant, Interval.of(np.full(3, 0.5)))
    assert (apart.mean, apart.low, apart.high) == (1.5, 1.5, 1.5)
    single = Interval.of(np.array([2.0]))
    assert single.mean == 2.0
    assert math.isnan(single.low)
    assert math.isnan(welch(constant, single).high)
    assert single.to_dict() == {
        "mean": 2.0,
        "low": None,
        "high": None,
        "standard_error": None,
        "count": 1,
    }


def test_a_share_has_clopper_and_pearsons_interval() -> None:
    share = share_interval(3, 40)
    # The ends are the shares at which 3 or more, or 3 or fewer, have probability 2.5%.
    assert stats.binom.sf(2, 40, share.low) == pytest.approx(0.025)
    assert stats.binom.cdf(3, 40, share.high) == pytest.approx(0.025)
    assert share_interval(40, 40).high == 1.0
    assert (share_interval(0, 0).low, share_interval(0, 0).high) == (0.0, 1.0)


def test_a_step_that_was_not_recorded_is_refused_with_the_nearest() -> None:
    means = Means.of(np.array([1, 10, 100, 1000]), np.ones((2, 4)))
    assert means[100].mean == 1.0
    for step in (0, 99, 2000):
        with pytest.raises(InvalidValueError, match=f"Step {step} was not recorded; the nearest"):
            means[step]
