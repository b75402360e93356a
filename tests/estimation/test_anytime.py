"""The three boundaries against their published forms."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from sparsebandits.estimation.anytime import best_rho, mixture_width, stitched_width, union_width

CYCLES = np.array([1.0, 2.0, 10.0, 137.0, 1e4, 1e9])


@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-9])
def test_the_union_inverts_its_tail(alpha: float) -> None:
    tails = 2 * np.exp(-CYCLES * union_width(CYCLES, alpha) ** 2 / 2)
    np.testing.assert_allclose(tails, 6 * alpha / (math.pi * CYCLES) ** 2, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-9])
@pytest.mark.parametrize("rho", [0.3, 20.0])
def test_on_the_boundary_the_mixture_martingale_is_one_over_alpha(alpha: float, rho: float) -> None:
    for c in (1.0, 10.0, 137.0):
        boundary = c * float(mixture_width(np.array(c), -math.log(alpha), rho))
        # The average over lambda ~ N(0, 1 / rho) of exp(lambda S - lambda^2 c / 2), on a grid.
        peak = boundary / (c + rho)
        grid = peak + np.linspace(-12, 12, 4001) / math.sqrt(c + rho)
        logs = grid * boundary - grid**2 * (c + rho) / 2
        average = np.exp(logs).sum() * (grid[1] - grid[0]) * math.sqrt(rho / (2 * math.pi))
        assert average == pytest.approx(1 / alpha, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-4, 1e-200])
@pytest.mark.parametrize(("cycle", "size"), [(1.0, 1), (100.0, 1), (100.0, 20)])
def test_best_rho_is_where_the_width_is_smallest(alpha: float, cycle: float, size: int) -> None:
    found = scipy.optimize.minimize_scalar(
        lambda log: float(mixture_width(np.array(cycle), -math.log(alpha), math.exp(log), size)),
        bounds=(math.log(cycle) - 9, math.log(cycle) + 9),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert best_rho(-math.log(alpha), cycle, size) == pytest.approx(math.exp(found.x), rel=1e-3)


def test_stitching_is_the_published_curve() -> None:
    """1.7 sqrt(v (ln ln(2 v) + 0.72 ln(5.2 / alpha))), one-sided: equation (2) of Howard et al."""
    alpha = 0.05
    for v in (10.0, 1e3, 1e6):
        published = 1.7 * math.sqrt(v * (math.log(math.log(2 * v)) + 0.72 * math.log(5.2 / alpha)))
        ours = v * float(stitched_width(np.array(v), 2 * alpha))
        assert ours == pytest.approx(published, rel=5e-3)


def test_widths_shrink_and_rank_as_they_should() -> None:
    alpha = 0.0025
    log_level = -math.log(alpha)
    rho = best_rho(log_level, 100.0)
    cycles = np.unique(np.geomspace(1, 1e12, 300).round())
    widths = [union_width(cycles, alpha), mixture_width(cycles, log_level, rho)]
    widths.append(stitched_width(cycles, alpha))
    for width in widths:
        assert (np.diff(width) < 0).all()
    union, mixture, stitched = (width[cycles == 1e12][0] for width in widths)
    assert stitched < mixture < union
    # No boundary may be narrower than a single Gaussian interval at a fixed cycle.
    assert (np.array(widths) > scipy.stats.norm.isf(alpha / 2) / np.sqrt(cycles)).all()
