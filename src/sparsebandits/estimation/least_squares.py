"""The rewards of the exploration actions, as d counts, sums and sums of squared deviations."""

from array import array
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.estimation.checks import LARGEST_REWARD, as_reward
from sparsebandits.exploration import Basis
from sparsebandits.exploration.base import listed
from sparsebandits.validation import FloatArray, IntArray, as_array, as_integer, describe


class ArmStatistics:
    r"""Sufficient statistics of the rewards of b_1..b_d, for theta_hat and for the noise level.

    With M the matrix of the actions and N = diag(n_1, ..., n_d) the number of rewards of each,
    least squares over all rewards minimises sum_k n_k (mean_k - b_k·theta)^2 + constant. Since M
    is square and invertible the model is saturated:

    theta_hat = (M'NM)^-1 M'N means = M^-1 N^-1 M^-T M'N means = M^-1 means,

    whatever the counts, as long as each is positive. With n_k = c for all k it is
    `eqn:sparse-PEE-ols`.

    Squared deviations from the mean of each action are updated by the formula of Youngs and
    Cramer (1971), which subtracts no large squares. Memory is three vectors of length d; `add`
    takes well under a microsecond, whatever d.

    Parameters
    ----------
    dim : int
        d, the number of actions.

    Examples
    --------
    >>> from sparsebandits.estimation import ArmStatistics
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> arms = ArmStatistics(2)
    >>> for arm, reward in [(0, 1.0), (1, 4.0), (0, 3.0)]:
    ...     arms.add(arm, reward)
    >>> arms.estimate(DiagonalBasis([1.0, 2.0]))
    array([2., 2.])
    >>> arms.replications, arms.residual_squares, arms.degrees_of_freedom
    (1, 2.0, 1)
    """

    def __init__(self, dim: int) -> None:
        self.dim = as_integer("dim", dim, minimum=1)
        # array.array: 8 bytes an entry as in NumPy, and 4 times as fast one entry at a time.
        self._counts = array("q", bytes(8 * self.dim))
        self._sums = array("d", bytes(8 * self.dim))
        self._squares = array("d", bytes(8 * self.dim))
        self._recount()

    def _recount(self) -> None:
        self._replications = min(self._counts)
        self._laggards = self._counts.count(self._replications)

    def add(self, arm: int, reward: float) -> None:
        """Record one reward of action `arm`."""
        # float() frees a numpy.float64 of its slow arithmetic; as_reward explains what is wrong.
        number = float(reward) if isinstance(reward, float) else as_reward(reward)
        if not -LARGEST_REWARD < number < LARGEST_REWARD:
            number = as_reward(number)
        if not 0 <= arm < self.dim:
            raise InvalidValueError(f"arm must lie in 0..{self.dim - 1}, got {arm}.")
        n = self._counts[arm] + 1
        total = self._sums[arm] + number
        self._counts[arm] = n
        self._sums[arm] = total
        if n > 1:
            deviation = n * number - total
            self._squares[arm] += deviation * deviation / (n * (n - 1))
        # An O(dim) search for the smallest count, once per cycle rather than once per reward.
        if n - 1 == self._replications:
            self._laggards -= 1
            if self._laggards == 0:
                self._recount()

    # ------------------------------------------------------------------ what was recorded

    @property
    def counts(self) -> IntArray:
        """n_k, the number of rewards of each action, (dim,)."""
        return np.array(self._counts, dtype=np.intp)

    @property
    def sums(self) -> FloatArray:
        """The sum of the rewards of each action, (dim,)."""
        return np.array(self._sums)

    @property
    def squares(self) -> FloatArray:
        """The sum of the squared deviations from each action's own mean, (dim,)."""
        return np.array(self._squares)

    @property
    def replications(self) -> int:
        """The smallest count: c, after c complete cycles."""
        return self._replications

    @property
    def means(self) -> FloatArray:
        """The mean reward of each action, (dim,); refused while an action has none."""
        if self._replications == 0:
            missing = np.flatnonzero(self.counts == 0)
            raise InvalidValueError(
                f"theta_hat needs a reward of every action, and actions {listed(missing)} have "
                "none yet; finish the first cycle."
            )
        return np.asarray(np.frombuffer(self._sums) / self.counts)

    def estimate(self, basis: Basis) -> FloatArray:
        """theta_hat, the least squares estimate from all recorded rewards, (dim,)."""
        return basis.estimate(self.means)  # eqn:sparse-PEE-ols

    # ------------------------------------------------------------------ the noise

    @property
    def residual_squares(self) -> float:
        """The pooled sum of squared deviations; over `degrees_of_freedom` it estimates sigma^2."""
        return float(np.frombuffer(self._squares).sum())

    @property
    def degrees_of_freedom(self) -> int:
        """The sum of n_k - 1 (nu), over the actions that have a reward."""
        return int(np.maximum(self.counts - 1, 0).sum())

    # ------------------------------------------------------------------ whole states

    def merged(self, other: "ArmStatistics") -> "ArmStatistics":
        """Return the statistics of both records together, as if one had seen all rewards.

        Deviations combine by the formula of Chan, Golub and LeVeque (1983).
        """
        if other.dim != self.dim:
            raise InvalidValueError(
                f"Both statistics must have the same dim, got {self.dim} and {other.dim}."
            )
        n, m = self.counts, other.counts
        both = (n > 0) & (m > 0)
        shift = np.zeros(self.dim)
        shift[both] = other.sums[both] / m[both] - self.sums[both] / n[both]
        between = shift**2 * n * m / np.maximum(n + m, 1)
        return self._of(n + m, self.sums + other.sums, self.squares + other.squares + between)

    @classmethod
    def _of(cls, counts: IntArray, sums: FloatArray, squares: FloatArray) -> Self:
        made = cls(counts.size)
        made._counts = array("q", counts.tolist())
        made._sums = array("d", sums.tolist())
        made._squares = array("d", squares.tolist())
        made._recount()
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe state; `from_dict` reads it back bit for bit."""
        return {
            "counts": self._counts.tolist(),
            "sums": self._sums.tolist(),
            "squares": self._squares.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore the state that `to_dict` described."""
        if not isinstance(data, Mapping) or set(data) != {"counts", "sums", "squares"}:
            raise InvalidTypeError(
                "Arm statistics must be a table with the keys 'counts', 'sums' and 'squares', "
                f"got {describe(data)}."
            )
        counts = as_array("counts", data["counts"], ndim=1)
        sums = as_array("sums", data["sums"], ndim=1)
        squares = as_array("squares", data["squares"], ndim=1)
        if not counts.size == sums.size == squares.size:
            raise InvalidValueError(
                "counts, sums and squares must have one entry per action each, got "
                f"{counts.size}, {sums.size} and {squares.size}."
            )
        if (counts != np.floor(counts)).any() or counts.min() < 0 or squares.min() < 0:
            raise InvalidValueError(
                "counts must be non-negative integers and squares non-negative, got "
                f"{describe(data['counts'])} and {describe(data['squares'])}."
            )
        return cls._of(counts.astype(np.intp), sums, squares)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArmStatistics) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"ArmStatistics(dim={self.dim}, replications={self.replications})"
