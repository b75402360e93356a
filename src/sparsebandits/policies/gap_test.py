"""The test that verifies a support: its gap against what the error of the estimate allows."""

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.estimation import ConfidenceBound, PaperBound, sigma_upper, split_delta
from sparsebandits.oracles import SparseOracle
from sparsebandits.validation import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class GapTest:
    """A support is right if its gap exceeds the threshold (`lemma:stopping_condition_l2ball`).

    Parameters
    ----------
    action_set : ActionSet
        X.
    oracle : SparseOracle
        One that measures a gap: top-h, greedy or exact.
    bound : ConfidenceBound
        On the error of theta_hat_c, for unit noise.
    scale : float
        Multiplies the bound; 1 is the literal test, less voids its guarantee.
    sigma : float or "estimate"
    delta : float
        The probability of a wrong verdict, shared with the bound on sigma if it is estimated.
    """

    action_set: ActionSet
    oracle: SparseOracle
    bound: ConfidenceBound
    scale: float
    sigma: float | str
    delta: float

    @cached_property
    def norm(self) -> float:
        """L of the greedy threshold: L_X as printed, or over H-sparse actions for other bounds."""
        return self._norm_of(self.action_set)

    def _norm_of(self, current: ActionSet) -> float:
        if isinstance(self.bound, PaperBound):
            return current.norm_bound
        return current.sparse_norm_bound(self.size)

    @property
    def size(self) -> int:
        """The most coordinates that a support has: H, or what the rules allow."""
        return min(operator.index(self.oracle.sparsity), self.action_set.dim)

    def unit_threshold(self, cycles: Any, current: ActionSet | None = None) -> FloatArray:
        """Return what the gap must exceed after c cycles, per unit of sigma, for any `cycles`.

        On another set than X, L is the larger of the two.
        """
        if self.oracle.method == "top-h":
            weights = None if self.action_set.sorting is None else self.action_set.sorting.weights
            bound = self.bound.top_h_threshold(cycles, weights)  # lemma:stopping_condition_l2ball
            return np.asarray(self.scale * bound)
        norm = self.norm if current is None else max(self.norm, self._norm_of(current))
        radius = self.bound.radius(cycles, self.size)
        return np.asarray(self.scale * 2 * norm * radius)  # lemma:general_consistency

    def sigma_bound(self, squares: Any, freedom: Any, cycles: Any) -> FloatArray:
        """Return the sigma of the threshold: the given one, or its upper bound from residuals.

        The bound is looked at once for each number of cycles.
        """
        if not isinstance(self.sigma, str):
            return np.asarray(self.sigma, dtype=np.float64)
        spare = split_delta(self.delta, self.sigma)[1]
        return sigma_upper(squares, freedom, spare, look=np.maximum(cycles, 1))

    def passes(self, gaps: Any, sigma: Any, cycles: Any) -> BoolArray:
        """Return whether the test passes after c cycles, with sigma from `sigma_bound`.

        An infinite gap has nothing to be compared with: it passes even while sigma is unbounded.
        """
        with np.errstate(invalid="ignore"):
            threshold = sigma * self.unit_threshold(cycles)
        return np.asarray(np.isinf(gaps) | (gaps > threshold))

    def verify(self, theta: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the support that would be locked for every row of theta, and its gap.

        Where every available coordinate fits, all of them are the support and the gap is infinite.
        Where fewer than H coordinates of a sortable set gain, the rest must also be known not to
        gain: their margin counts as a gap too, and is the gap where none gains at all. On other
        sets no such margin is known, and the gap is 0, the paper's own for gains that tie.
        """
        if self.oracle.is_ruled:
            return self.oracle.supports(theta, self.action_set)
        usable, sparsity = np.flatnonzero(self.action_set.available), self.size
        if sparsity >= usable.size:
            everything = np.full((theta.shape[0], sparsity), -1, dtype=np.intp)
            everything[:, : usable.size] = usable
            return everything, np.full(theta.shape[0], np.inf)
        supports, gaps = self.oracle.supports(theta, self.action_set)
        short = np.flatnonzero(supports[:, -1] < 0)
        if not short.size:
            return supports, gaps
        sorting = self.action_set.sorting
        if sorting is None:
            gaps[short] = 0.0
        elif not np.isinf(sorting.exponent):
            chosen = np.where(supports[short, 0] < 0, np.inf, gaps[short])
            gaps[short] = np.minimum(chosen, sorting.idle_margin(theta[short]))
        return supports, gaps
