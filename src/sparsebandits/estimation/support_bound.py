"""A bound on the l2 error of whole supports, which is what greedy and exact oracles need."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.estimation.anytime import best_rho, mixture_width
from sparsebandits.estimation.bound import column
from sparsebandits.estimation.contrasts import sum_of_two_largest
from sparsebandits.estimation.coordinate import MixtureBound
from sparsebandits.validation import FloatArray, as_cycles, as_sparsity, as_weights


@dataclass(frozen=True)
class SupportBound(MixtureBound):
    """The mixture in |S| dimensions, on every support S at once.

    For one support of s coordinates let Sigma = (B^-1)_SS. Mixing over lambda ~ N(0, Sigma^-1 /
    rho) in R^s bounds e' Sigma^-1 e for e = (theta_hat_c - theta*)_S, at level alpha and for all
    c, by (c + rho) (2 ln(1 / alpha) + s ln(1 + c / rho)) / c^2, and ||e||_2^2 is at most
    lambda_max(Sigma) <= 1 / lambda_0 times that. Adding up coordinates instead, as `MixtureBound`
    does, pays for the union over coordinates s times.

    Supports of s coordinates share 0.9 delta / (s (s + 1)), which adds up over s to 9/10 of delta;
    there are binom(d, s) of them, and each smaller support is inside one. The d coordinates get
    1/10. Each method returns the smallest of the bounds that follow: supports of the size asked
    for, all coordinates as one support, and coordinate by coordinate, which is narrower when a few
    variances are much larger than the rest.

    Examples
    --------
    >>> from sparsebandits.estimation import MixtureBound, SupportBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> basis = DiagonalBasis([1.0] * 20)
    >>> for size in (5, 20):
    ...     bounds = MixtureBound(basis, delta=0.05), SupportBound(basis, delta=0.05)
    ...     print(size, [float(bound.radius(100, size).round(2)) for bound in bounds])
    5 [0.89, 0.7]
    20 [1.77, 0.78]
    """

    name = "support"

    @property
    def _level(self) -> float:
        return 0.1 * self.delta / self.basis.dim

    def radius(self, cycle: Any, size: int) -> FloatArray:
        """Return the smallest bound for supports of at most `size` coordinates."""
        by_coordinate = super().radius(cycle, size)
        c, dim = as_cycles(cycle), self.basis.dim
        whole = np.minimum(self._whole(c, as_sparsity(size, dim)), self._whole(c, dim))
        return np.asarray(np.minimum(by_coordinate, whole))

    def _whole(self, cycle: FloatArray, size: int) -> FloatArray:
        log_level = _log_binomial(self.basis.dim, size) + math.log(size * (size + 1))
        log_level -= math.log(0.9 * self.delta)
        rho = best_rho(log_level, self.best_cycle, size)
        return mixture_width(cycle, log_level, rho, size) / math.sqrt(self.basis.lambda_0)

    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        """w_i |e_i| + w_j |e_j| is at most sqrt(w_i^2 + w_j^2) times the l2 error of the pair."""
        by_coordinate = super().top_h_threshold(cycle, weights)
        if self.basis.dim == 1:
            return by_coordinate
        squares = np.ones(2) if weights is None else as_weights(weights, self.basis.dim) ** 2
        by_pair = math.sqrt(sum_of_two_largest(squares)) * self.radius(cycle, 2)
        return np.asarray(np.minimum(by_coordinate, by_pair))

    def coordinate_radius(self, cycle: Any) -> FloatArray:
        """r_i, or the radius of supports of one coordinate where that is smaller, (..., dim)."""
        return np.minimum(super().coordinate_radius(cycle), column(self.radius(cycle, 1)))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
