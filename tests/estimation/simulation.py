"""Exact and sub-Gaussian simulations of theta_hat_c - theta*, for the coverage tests."""

from functools import lru_cache

import numpy as np
import scipy.stats

from sparsebandits.exploration import AffineBasis, Basis, BlockBasis, DiagonalBasis
from sparsebandits.validation import BoolArray, FloatArray

RUNS = 2000
CYCLES = 600
FALSE_ALARM = 1e-6

BASES: dict[str, Basis] = {
    "standard": DiagonalBasis([1.0] * 6, name="standard"),
    "correlated": BlockBasis(
        [
            ([0, 3], [[1.0, 0.8], [0.2, 0.9]]),
            ([1, 2, 5], [[1.0, 0.9, 0.0], [0.0, 1.0, 0.9], [0.5, 0.0, 1.0]]),
            ([4], [[0.7]]),
        ]
    ),
    "baseline": AffineBasis(DiagonalBasis([1.0, 0.8, -1.0, 0.9, 1.0, 0.7]), np.zeros(6)),
}


def draw(noise: str, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """1-sub-Gaussian noise: Gaussian, or Rademacher signs, whose proxy is exactly 1 too."""
    if noise == "gaussian":
        return rng.standard_normal(shape)
    return np.where(rng.integers(0, 2, shape) == 1, 1.0, -1.0)


@lru_cache(maxsize=1)
def errors(noise: str, basis_name: str) -> FloatArray:
    """theta_hat_c - theta* with unit noise, (RUNS, CYCLES, dim), by cumulative sums."""
    basis = BASES[basis_name]
    rng = np.random.default_rng([20, len(noise), len(basis_name)])
    sums = draw(noise, rng, (RUNS, CYCLES, basis.count)).cumsum(axis=1)
    sums /= np.arange(1, CYCLES + 1)[:, None]
    # A baseline is in all means alike, and cancels.
    return basis.estimate(sums - 100.0 if basis.count > basis.dim else sums)


def most_allowed(runs: int, delta: float) -> int:
    """How many failures a bound that holds with probability 1 - delta may show.

    More of them have probability at most FALSE_ALARM.
    """
    return int(scipy.stats.binom.isf(FALSE_ALARM, runs, delta))


def ever(violated: BoolArray) -> BoolArray:
    """Per run: whether it happened at any cycle."""
    return np.asarray(violated.reshape(len(violated), -1).any(axis=1))
