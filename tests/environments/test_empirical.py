"""The resampled noise: what is drawn how often, and a sigma that is valid and hardly too large."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sparsebandits as sb
from sparsebandits.environments import Empirical, Noise, film_recommendation

_CLOSE = 1e-4
"""How far above the optimum sigma may lie, as a share of it."""


def slow_quotient(values: list[float], counts: list[int], slope: float) -> float:
    """2 log E exp(lambda eta) / lambda^2 by its definition, one value after the other."""
    total = sum(counts)
    mean = math.fsum(n * value for value, n in zip(values, counts, strict=True)) / total
    exponents = [slope * (value - mean) for value in values]
    top = max(exponents)
    terms = [n / total * math.exp(e - top) for e, n in zip(exponents, counts, strict=True)]
    return 2 * (top + math.log(math.fsum(terms))) / slope**2


def slow_proxy_variance(values: list[float], counts: list[int]) -> float:
    """The largest quotient on a fine grid of lambda of both signs: a little below the supremum."""
    width = max(values) - min(values)
    slopes = np.geomspace(0.05, 200.0, 700) / width
    return max(slow_quotient(values, counts, s) for s in [*slopes, *-slopes])


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    size = draw(st.integers(2, 6))
    whole = st.lists(st.integers(-50, 50), min_size=size, max_size=size)
    values = draw(whole.filter(lambda drawn: len(set(drawn)) > 1))
    counts = draw(st.lists(st.integers(1, 200), min_size=size, max_size=size))
    return [value / 10 for value in values], counts


@given(samples())
@settings(max_examples=40, deadline=None)
def test_sigma_is_the_optimal_proxy_within_its_tolerance(
    sample: tuple[list[float], list[int]],
) -> None:
    values, counts = sample
    noise = Empirical(values, counts)
    slow = math.sqrt(slow_proxy_variance(values, counts))
    # The quotient tends to the variance at 0, which the grid of `slow` does not reach.
    optimum = max(slow, noise.standard_deviation)
    assert optimum * (1 - 1e-12) <= noise.sigma <= optimum * (1 + _CLOSE)
    half_range = (max(values) - min(values)) / 2
    assert noise.sigma <= half_range * (1 + 1e-12)


@pytest.mark.parametrize("share", [1, 3, 20, 1000, 10**6, 10**12])
def test_sigma_of_a_biased_coin_is_known_in_closed_form(share: int) -> None:
    """Kearns and Saul: (1 - 2 p) / (2 log((1 - p) / p)), and 1/4 for the fair coin."""
    p = 1 / (1 + share)
    known = 0.25 if share == 1 else (1 - 2 * p) / (2 * math.log((1 - p) / p))
    for values in ([0.0, 1.0], [1.0, 0.0], [7.0, 6.0]):
        sigma = Empirical(values, counts=[share, 1]).sigma
        assert math.sqrt(known) * (1 - 1e-12) <= sigma <= math.sqrt(known) * (1 + _CLOSE)


def test_the_film_noise_is_sub_gaussian_on_a_grid_of_lambda() -> None:
    noise = film_recommendation().noise
    assert isinstance(noise, Empirical)
    assert noise.counts is not None
    values, counts = list(noise.values), list(noise.counts)
    grid = np.geomspace(1e-2, 1e3, 200)
    quotients = [slow_quotient(values, counts, slope) for slope in [*grid, *-grid]]
    assert max(quotients) <= noise.sigma**2
    assert max(quotients) >= noise.sigma**2 * (1 - 1e-3)


def test_a_scale_or_a_shift_does_what_it_should() -> None:
    values, counts = [0.1, -0.7, 2.0, 0.4], [3, 1, 2, 9]
    plain = Empirical(values, counts)
    for scale in (1e-200, 1e-8, 3.0, 1e90, -2.0):
        scaled = Empirical([scale * value for value in values], counts)
        assert scaled.sigma == pytest.approx(abs(scale) * plain.sigma, rel=1e-9)
        if abs(scale) > 1e-100:
            assert scaled.standard_deviation == pytest.approx(
                abs(scale) * plain.standard_deviation, rel=1e-12
            )
    shifted = Empirical([value + 5.0 for value in values], counts)
    assert shifted.sigma == pytest.approx(plain.sigma, rel=1e-9)
    draws = [noise.draw(np.random.default_rng(0), 50) for noise in (plain, shifted)]
    np.testing.assert_allclose(draws[0], draws[1], atol=1e-14)


def test_counts_are_repetitions() -> None:
    counted, repeated = Empirical([0.0, 3.0], counts=[3, 2]), Empirical([0.0, 0, 0, 3, 3])
    assert counted.sigma == pytest.approx(repeated.sigma, rel=1e-12)
    assert counted.standard_deviation == pytest.approx(math.sqrt(0.24) * 3, rel=1e-14)
    draws = [noise.draw(np.random.default_rng(1), 1000) for noise in (counted, repeated)]
    np.testing.assert_allclose(draws[0], draws[1], atol=1e-15)


def test_values_are_drawn_as_often_as_they_count() -> None:
    values, counts = [-1.0, 0.25, 0.5, 4.0], [5, 70, 24, 1]
    noise = Empirical(values, counts)
    draws = noise.draw(np.random.default_rng(2), 100_000)
    mean = sum(value * n for value, n in zip(values, counts, strict=True)) / 100
    found = [int((np.abs(draws - (value - mean)) < 1e-12).sum()) for value in values]
    assert sum(found) == draws.size
    # A chi-squared test with a false-alarm probability of 1e-6; the seed is fixed.
    assert stats.chisquare(found, [1000 * n for n in counts]).pvalue > 1e-6
    mean_square = sum(n * (value - mean) ** 2 for value, n in zip(values, counts, strict=True))
    assert noise.standard_deviation == pytest.approx(math.sqrt(mean_square / 100), rel=1e-14)


def test_every_uniform_number_finds_a_value() -> None:
    class Fixed(np.random.Generator):
        """Gives the numbers at which a lookup could slip."""

        def random(self, *_: Any, out: Any = None, **__: Any) -> Any:
            out[...] = [0.0, np.nextafter(0.25, 0), 0.25, np.nextafter(1.0, 0)]
            return out

    noise = Empirical([-3.0, 1.0], counts=[1, 3])
    assert noise.draw(Fixed(np.random.PCG64(0)), 4).tolist() == [-3.0, -3.0, 1.0, 1.0]


def test_one_value_is_no_noise() -> None:
    for noise in (Empirical([0.3]), Empirical([0.3, 0.3], counts=[2, 5])):
        assert noise.sigma == pytest.approx(0, abs=1e-15)
        assert noise.standard_deviation == pytest.approx(0, abs=1e-15)
        assert np.abs(noise.draw(np.random.default_rng(0), 5)).max() < 1e-15


def test_equality_and_the_round_trip_of_the_given_numbers() -> None:
    noise = Empirical([0.1, 0.2, 0.7], counts=[1, 2, 3])
    written = noise.to_dict()
    assert written == {"kind": "empirical", "values": [0.1, 0.2, 0.7], "counts": [1, 2, 3]}
    assert Noise.from_dict(json.loads(json.dumps(written))) == noise
    assert Noise.from_dict({"kind": "empirical", "values": [1, 2]}) == Empirical([1.0, 2.0])
    assert noise != Empirical([0.1, 0.2, 0.7], counts=[1, 2, 4])
    assert len({noise, Empirical((0.1, 0.2, 0.7), (1, 2, 3)), Empirical([0.1, 0.2, 0.7])}) == 2
    assert repr(noise) == f"Empirical(3 values, sigma={noise.sigma:.4g})"


@pytest.mark.parametrize(
    ("values", "counts", "message"),
    [
        ([], None, "values must be a non-empty array"),
        ("abc", None, "values must be an array of numbers"),
        ([1.0, math.nan], None, "values must be finite, got nan at index 1"),
        ([1.0, -1e200], None, "values must lie within 1e[+]100 of 0, got -1e[+]200; rescale"),
        ([1.0, 2.0], 3, "counts must be a list of integers, one for each of the 2 values, got 3"),
        ([1.0, 2.0], "12", "counts must be a list of integers"),
        ([1.0, 2.0], [1], "counts must have one entry for each of the 2 values, got 1"),
        ([1.0, 2.0], [1, 0], r"counts\[1\] must be at least 1, got 0"),
        ([1.0, 2.0], [1, 0.5], r"counts\[1\] must be an integer, got 0\.5"),
    ],
)
def test_arguments_are_checked(values: Any, counts: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        Empirical(values, counts)
