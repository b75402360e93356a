"""The bound on whole supports: its share of delta, and when it is the narrowest."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from sparsebandits.estimation import MixtureBound, PairwiseBound, PaperBound, SupportBound
from sparsebandits.estimation.anytime import best_rho, mixture_width
from sparsebandits.exploration import DiagonalBasis
from tests.estimation.simulation import BASES

BASIS = DiagonalBasis([1.0] * 20)


def whole(size: int, share: float, cycle: int, dim: int = 20) -> float:
    level = -math.log(share / scipy.special.comb(dim, size))
    return float(mixture_width(np.array(float(cycle)), level, best_rho(level, 100.0, size), size))


def test_the_shares_add_up_to_delta() -> None:
    delta = 0.05
    shares = [0.9 * delta / (s * (s + 1)) for s in range(1, 21)]
    assert sum(shares) + 0.1 * delta < delta
    bound = SupportBound(BASIS, delta)
    for size in (2, 5, 9, 20):
        expected = min(whole(size, shares[size - 1], 50), whole(20, shares[19], 50))
        assert bound.radius(50, size) == pytest.approx(expected)
    twin = MixtureBound(BASIS, 0.1 * delta)
    assert bound.radius(50, 1) == pytest.approx(min(whole(1, shares[0], 50), twin.radius(50, 1)))
    np.testing.assert_allclose(bound.coordinate_radius(50), np.full(20, bound.radius(50, 1)))
    uneven = DiagonalBasis([0.01, *[1.0] * 19])
    others = MixtureBound(uneven, 0.1 * delta).coordinate_radius(50)[1:]
    np.testing.assert_allclose(SupportBound(uneven, delta).coordinate_radius(50)[1:], others)


def test_the_vector_mixture_martingale_is_one_over_alpha_on_the_boundary() -> None:
    """The average of exp(lambda·S - c |lambda|^2 / 2) over lambda ~ N(0, I / rho), by axes."""
    rho, c, size, alpha = 7.0, 12.0, 3, 0.02
    norm = c * float(mixture_width(np.array(c), -math.log(alpha), rho, size))
    average = 1.0
    for s in (norm * 0.6, norm * 0.8, 0.0):
        grid = s / (c + rho) + np.linspace(-12, 12, 4001) / math.sqrt(c + rho)
        density = np.exp(grid * s - grid**2 * (c + rho) / 2) * math.sqrt(rho / (2 * math.pi))
        average *= density.sum() * (grid[1] - grid[0])
    assert average == pytest.approx(1 / alpha, rel=1e-6)


def test_whole_supports_beat_adding_up_coordinates() -> None:
    cycles = np.array([10, 100, 1000, 10_000])
    support, mixture = SupportBound(BASIS, 0.05), MixtureBound(BASIS, 0.05)
    paper = PaperBound(BASIS, 0.05)
    for size in (5, 10, 20):
        ratio = support.radius(cycles, size) / mixture.radius(cycles, size)
        print(size, ratio.round(3), (support.radius(cycles, size) / paper.epsilon_c(1)).round(3))
        assert (ratio < 0.85).all()
    # No narrower than the quantile of a chi variable for one support at one cycle.
    fixed = scipy.stats.chi.isf(0.05, 20) / np.sqrt(cycles)
    assert (support.radius(cycles, 20) > fixed).all()
    assert (support.top_h_threshold(cycles) < mixture.top_h_threshold(cycles)).all()
    assert (
        support.top_h_threshold(cycles) > PairwiseBound(BASIS, 0.05).top_h_threshold(cycles)
    ).all()


def test_one_noisy_coordinate_does_not_spoil_the_rest() -> None:
    basis = DiagonalBasis([0.01, *[1.0] * 19])
    support, coordinates = SupportBound(basis, 0.05), MixtureBound(basis, 0.1 * 0.05)
    assert support.radius(100, 5) == coordinates.radius(100, 5)


def test_sizes_are_ordered_and_bounded_by_lambda_0() -> None:
    bound = SupportBound(BASES["correlated"], 0.1)
    widths = [float(bound.radius(30, size)) for size in range(1, 7)]
    assert widths == sorted(widths)
    unit = SupportBound(DiagonalBasis([1.0] * 6), 0.1)
    scale = 1 / math.sqrt(BASES["correlated"].lambda_0)
    assert bound.radius(30, 6) == pytest.approx(scale * unit.radius(30, 6))


def test_a_huge_union_does_not_underflow() -> None:
    bound = SupportBound(DiagonalBasis(np.ones(100_000)), 0.05)
    assert 0 < bound.radius(10, 5000) < math.inf
