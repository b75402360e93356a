"""The rewards of the exploration actions, as d counts, sums and sums of squared deviations."""

from typing import Any

import numpy as np

from sparsebandits.exploration import Basis
from sparsebandits.validation import FloatArray, IntArray


class ArmLanes:
    r"""Sufficient statistics of the rewards of b_1..b_d, for many learners at once.

    With M the matrix of the actions and N = diag(n_1, ..., n_d) the number of rewards of each,
    least squares over all rewards minimises sum_k n_k (mean_k - b_k·theta)^2 + constant. Since M
    is square and invertible the model is saturated:

    theta_hat = (M'NM)^-1 M'N means = M^-1 N^-1 M^-T M'N means = M^-1 means,

    whatever the counts, as long as each is positive. With n_k = c for all k it is
    `eqn:sparse-PEE-ols`.

    Squared deviations from the mean of each action are updated by the formula of Youngs and
    Cramer (1971), which subtracts no large squares. A lane takes three vectors of length d.

    Parameters
    ----------
    lanes : int
    dim : int
        d, the number of actions.

    Attributes
    ----------
    counts, sums, squares : (lanes, dim) arrays
        n_k, the sum of the rewards of b_k, and that of their squared deviations from their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.estimation import ArmLanes
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> arms = ArmLanes(1, 2)
    >>> for arm, reward in [(0, 1.0), (1, 4.0), (0, 3.0)]:
    ...     arms.add(np.array([0]), np.array([arm]), np.array([reward]))
    >>> arms.estimate(DiagonalBasis([1.0, 2.0]))
    array([[2., 2.]])
    >>> arms.replications, arms.residual_squares, arms.degrees_of_freedom
    (array([1]), array([2.]), array([1]))
    """

    def __init__(self, lanes: int, dim: int) -> None:
        self.counts: IntArray = np.zeros((lanes, dim), dtype=np.intp)
        self.sums = np.zeros((lanes, dim))
        self.squares = np.zeros((lanes, dim))

    def add(self, lanes: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Record one reward of an action in each of these distinct lanes; all are (n,)."""
        here = (lanes, arms)
        counts, totals = self.counts[here] + 1, self.sums[here] + rewards
        self.counts[here] = counts
        self.sums[here] = totals
        self.squares[here] += added_squares(counts, rewards, totals)

    def estimate(self, basis: Basis, lanes: Any = slice(None)) -> FloatArray:
        """theta_hat of lanes in which every action has a reward, (n, dim)."""
        return basis.estimate(self.sums[lanes] / self.counts[lanes])  # eqn:sparse-PEE-ols

    @property
    def replications(self) -> IntArray:
        """The smallest count of each lane, (lanes,): c, after c complete cycles."""
        return np.asarray(self.counts.min(axis=1))

    @property
    def residual_squares(self) -> FloatArray:
        """The pooled sum of squared deviations, (lanes,); over the freedom it estimates sigma^2."""
        return np.asarray(self.squares.sum(axis=1))

    @property
    def degrees_of_freedom(self) -> IntArray:
        """The sum of n_k - 1 (nu), over the actions that have a reward, (lanes,)."""
        return np.asarray(np.maximum(self.counts - 1, 0).sum(axis=1))


def added_squares(counts: Any, rewards: FloatArray, totals: FloatArray) -> FloatArray:
    """Return what a reward adds to the squared deviations; counts and totals include it."""
    deviations = counts * rewards - totals
    return np.asarray(deviations * deviations / np.maximum(counts * (counts - 1), 1))
