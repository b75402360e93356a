"""Bounds made coordinate by coordinate: theta_hat_i has variance B^-1_ii / c, no more."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebandits.estimation.anytime import best_rho, mixture_width, stitched_width, union_width
from sparsebandits.estimation.bound import ConfidenceBound, column
from sparsebandits.estimation.contrasts import largest_contrast_variance, sum_of_two_largest
from sparsebandits.validation import FloatArray, as_cycles, as_integer, as_sparsity, as_weights


@dataclass(frozen=True)
class CoordinateBound(ConfidenceBound):
    """r_i = sqrt(B^-1_ii) g(c), with one boundary g for all d coordinates.

    (theta_hat_c - theta*)_i is a mean of c independent terms, sum_k (M^-1)_ik eta_k, whose
    variance proxy is sigma^2 B^-1_ii. On a support S the l2 error is at most sqrt(sum_S r_i^2),
    and the error of a difference of two scores at most w_i r_i + w_j r_j.
    """

    @abstractmethod
    def _width(self, cycle: FloatArray) -> FloatArray:
        """g(c), valid for all coordinates at once."""

    @cached_property
    def _deviation(self) -> FloatArray:
        return np.sqrt(self.basis.coordinate_variance)

    @cached_property
    def _largest_variances(self) -> FloatArray:
        """Entry s - 1 is the sum of the s largest B^-1_ii."""
        return np.cumsum(np.sort(self.basis.coordinate_variance)[::-1])

    def radius(self, cycle: Any, size: int) -> FloatArray:
        """Return the root of the sum of the `size` largest r_i^2."""
        total = self._largest_variances[as_sparsity(size, self.basis.dim) - 1]
        return np.asarray(self._width(as_cycles(cycle)) * math.sqrt(total))

    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        """Return the largest w_i r_i + w_j r_j of two coordinates."""
        widths = self._width(as_cycles(cycle))
        if weights is None:
            return np.asarray(widths * self._largest_pair)
        scaled = as_weights(weights, self.basis.dim) * self._deviation
        return np.asarray(widths * sum_of_two_largest(scaled))

    @cached_property
    def _largest_pair(self) -> float:
        return sum_of_two_largest(self._deviation)

    def coordinate_radius(self, cycle: Any) -> FloatArray:
        """r_i, (..., dim)."""
        return column(self._width(as_cycles(cycle))) * self._deviation


@dataclass(frozen=True)
class UnionBound(CoordinateBound):
    """The paper's union over cycles and coordinates, with the true variances.

    Each of the two tails of coordinate i at cycle c gets 3 delta / (pi^2 c^2 d), and these add up
    to delta.

    Examples
    --------
    >>> from sparsebandits.estimation import UnionBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> UnionBound(DiagonalBasis([1.0, 2.0]), delta=0.05).coordinate_radius(100).round(3)
    array([0.531, 0.265])
    """

    name = "coordinate"

    def _width(self, cycle: FloatArray) -> FloatArray:
        return union_width(cycle, self.delta / self.basis.dim)


@dataclass(frozen=True)
class StitchedBound(CoordinateBound):
    """Howard et al.'s stitched boundary; the narrowest of all after very many cycles.

    Examples
    --------
    >>> from sparsebandits.estimation import StitchedBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> StitchedBound(DiagonalBasis([1.0, 2.0]), delta=0.05).coordinate_radius(100).round(3)
    array([0.415, 0.208])
    """

    name = "stitched"

    def _width(self, cycle: FloatArray) -> FloatArray:
        return stitched_width(cycle, self.delta / self.basis.dim)


@dataclass(frozen=True)
class MixtureBound(CoordinateBound):
    """Robbins' normal mixture: the narrowest it can be at one cycle, and good far around it.

    It stays within 20% of the best mixture for each cycle from a tenth of `best_cycle` to a
    hundred times it.

    Parameters
    ----------
    basis : Basis
    delta : float
    best_cycle : int
        The cycle at which the bound is to be narrowest.

    Examples
    --------
    >>> from sparsebandits.estimation import MixtureBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> MixtureBound(DiagonalBasis([1.0, 2.0]), delta=0.05).coordinate_radius(100).round(3)
    array([0.328, 0.164])
    """

    best_cycle: int = 100
    name = "mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        cycle = as_integer("best_cycle", self.best_cycle, minimum=1)
        object.__setattr__(self, "best_cycle", cycle)

    @property
    def _level(self) -> float:
        """The failure probability of each coordinate."""
        return self.delta / self.basis.dim

    def _width(self, cycle: FloatArray) -> FloatArray:
        return self._mixture(cycle, self._level)

    def _mixture(self, cycle: FloatArray, alpha: float) -> FloatArray:
        log_level = -math.log(alpha)
        return mixture_width(cycle, log_level, best_rho(log_level, self.best_cycle))


@dataclass(frozen=True)
class PairwiseBound(MixtureBound):
    """The mixture on differences and sums of two coordinates, which is what the top-H test needs.

    Let e = theta_hat_c - theta*. A score that changes by at most w_i per unit of theta_i moves by
    a e_i with some |a| <= w_i, so a difference of two scores is off by a e_i - b e_j. This is
    linear in (a, b), hence largest in modulus at a corner of the rectangle |a| <= w_i,
    |b| <= w_j, that is at |w_i e_i - w_j e_j| or |w_i e_i + w_j e_j|. Bounding these two contrasts
    of each pair, d (d - 1) in all, bounds every difference of scores; for abs(theta_i) the two
    signs are those of theta_i and theta_j, which need not be known.

    A contrast of two independent coordinates has standard deviation sqrt(2) times theirs, not
    twice: that is the gain over `MixtureBound`, for a slightly larger union.

    The contrasts together get 9/10 of delta, and the d coordinates, on which `radius` and
    `coordinate_radius` rest, 1/10, so that all statements hold at once. The test pays less than
    1% in width for the second, and they 5 to 15%.

    Examples
    --------
    >>> from sparsebandits.estimation import MixtureBound, PairwiseBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> basis = DiagonalBasis([1.0] * 20)
    >>> float(PairwiseBound(basis, delta=0.05).top_h_threshold(100).round(3))
    0.666
    >>> float(MixtureBound(basis, delta=0.05).top_h_threshold(100).round(3))
    0.793
    """

    name = "pairwise"

    @property
    def _level(self) -> float:
        return 0.1 * self.delta / self.basis.dim

    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        """Return the largest boundary among the contrasts of two coordinates."""
        dim = self.basis.dim
        alpha = 0.9 * self.delta / max(1, dim * (dim - 1))
        widths = self._mixture(as_cycles(cycle), alpha)
        if weights is None:
            return np.asarray(widths * self._largest_contrast)
        variance = largest_contrast_variance(self.basis, as_weights(weights, dim))
        return np.asarray(widths * math.sqrt(variance))

    @cached_property
    def _largest_contrast(self) -> float:
        return math.sqrt(largest_contrast_variance(self.basis, np.ones(self.basis.dim)))
