"""The pooled estimate of sigma and its upper bound, against plain formulas."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import sparsebandits as sb
from sparsebandits.estimation import (
    ArmLanes,
    as_sigma,
    pooled_sigma,
    sigma_upper,
    split_delta,
)


def test_pooled_sigma_is_that_of_the_arms() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.standard_normal(n) * 0.5 + n for n in (1, 4, 9)]
    data, lane = ArmLanes(1, 3), np.array([0])
    for arm, rewards in enumerate(groups):
        for reward in rewards:
            data.add(lane, np.array([arm]), np.array([reward]))
    expected = math.sqrt(sum(((g - g.mean()) ** 2).sum() for g in groups) / (0 + 3 + 8))
    found = pooled_sigma(data.residual_squares, data.degrees_of_freedom)
    assert found.tolist() == pytest.approx([expected])


def test_nothing_is_known_without_replications() -> None:
    assert pooled_sigma(0.0, 0) == math.inf
    assert sigma_upper(0.0, 0, 0.1) == math.inf
    assert sigma_upper(0.0, 5, 0.1) == 0.0


def test_the_upper_bound_is_the_chi_square_quantile() -> None:
    nu = np.array([1, 10, 500])
    squares = np.array([[2.0, 3.0, 100.0], [1.0, 5.0, 130.0]])
    for look, number in ((None, nu), (np.array([1, 2, 100]), np.array([1, 2, 100]))):
        level = 6 * 0.05 / (math.pi**2 * number**2.0)
        expected = np.sqrt(squares / scipy.stats.chi2.ppf(level, nu))
        found = sigma_upper(squares, nu, 0.05, look=look)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_upper_bound_comes_down_to_sigma() -> None:
    nu = np.array([10, 100, 10_000, 10**6, 10**8])
    ratio = sigma_upper(0.25 * nu, nu, 0.025) / 0.5
    assert (np.diff(ratio) < 0).all()
    assert 1.0 < ratio[-1] < 1.001
    assert sigma_upper(1.0, 10**6, 1e-300) > 0


def test_a_quantile_too_small_for_floating_point_bounds_nothing() -> None:
    assert sigma_upper(1.0, 1, 1e-300) > 1e100


def test_delta_is_split_only_if_sigma_is_estimated() -> None:
    assert split_delta(0.05, 0.5) == (0.05, 0.0)
    assert split_delta(0.05, "estimate") == (0.025, 0.025)
    assert as_sigma(0) == 0.0
    assert as_sigma("estimate") == "estimate"


@pytest.mark.parametrize("sigma", [-1.0, math.nan, math.inf, "guess", None, True])
def test_bad_sigmas_are_refused(sigma: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="sigma must be"):
        as_sigma(sigma)


def test_arguments_are_checked() -> None:
    with pytest.raises(sb.InvalidValueError, match="squares must be finite and non-negative"):
        pooled_sigma(-1.0, 3)
    with pytest.raises(sb.InvalidValueError, match="squares must be finite and non-negative"):
        sigma_upper(math.nan, 3, 0.1)
    with pytest.raises(sb.InvalidTypeError, match="squares must be an array of numbers"):
        pooled_sigma("many", 3)
    with pytest.raises(sb.InvalidTypeError, match="nu must be an integer"):
        pooled_sigma(1.0, 2.5)
    with pytest.raises(sb.InvalidValueError, match="look must be at least 0"):
        sigma_upper(1.0, 3, 0.1, look=-1)
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(sb.InvalidValueError, match="delta must"):
            sigma_upper(1.0, 3, delta)
