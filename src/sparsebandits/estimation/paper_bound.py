"""epsilon_c exactly as the paper prints it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebandits.estimation.bound import ConfidenceBound, column
from sparsebandits.estimation.contrasts import sum_of_two_largest
from sparsebandits.validation import FloatArray, as_cycles, as_sparsity, as_weights


@dataclass(frozen=True)
class PaperBound(ConfidenceBound):
    """epsilon_c = sqrt(h_1 ln(2 d c^2 / delta) / c), a bound on the whole l2 error.

    It serves for every support, and coordinate by coordinate (`lemma:stopping_condition_l2ball`),
    where it is about sqrt(d) times too wide.

    The proof of `lemma:ols-bound-hp` gives each event the share delta / (2 d c^2), which would
    make the logarithm ln(4 d c^2 / delta); with the printed one its union bound adds up to
    (pi^2 / 6) delta = 1.64 delta. The slack elsewhere makes up for it many times over.

    Examples
    --------
    >>> from sparsebandits.estimation import PaperBound
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> bound = PaperBound(DiagonalBasis([1.0] * 20), delta=0.05)
    >>> float(0.5 * bound.top_h_threshold(100).round(3))
    2.5215
    """

    name = "paper"

    @cached_property
    def _h_1(self) -> float:
        return self.basis.h_1(1.0)

    def epsilon_c(self, cycle: Any) -> FloatArray:
        """epsilon_c for sigma = 1."""
        c = as_cycles(cycle)
        logarithm = np.log(2 * self.basis.dim * c**2 / self.delta)
        return np.asarray(np.sqrt(self._h_1 * logarithm / c))  # eqn:ols-bound-hp

    def radius(self, cycle: Any, size: int) -> FloatArray:
        """epsilon_c, whatever the size."""
        as_sparsity(size, self.basis.dim)
        return self.epsilon_c(cycle)

    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        """2 epsilon_c; with weights, the largest w_i + w_j times epsilon_c."""
        factor = 2.0  # lemma:stopping_condition_l2ball
        if weights is not None:
            factor = sum_of_two_largest(as_weights(weights, self.basis.dim))
        return np.asarray(factor * self.epsilon_c(cycle))

    def coordinate_radius(self, cycle: Any) -> FloatArray:
        """epsilon_c for every coordinate, (..., dim)."""
        return np.repeat(column(self.epsilon_c(cycle)), self.basis.dim, axis=-1)
