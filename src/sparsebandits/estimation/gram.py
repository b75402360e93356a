"""Least squares over any actions at all: V = sum x x', b = sum x y, sum y^2."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.linalg

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.estimation.checks import LARGEST_REWARD, as_non_negative, as_reward
from sparsebandits.validation import FloatArray, as_array, as_integer, describe

_SPARSE_SHARE = 4


class GramStatistics:
    r"""Sufficient statistics of rewards y of actions x, with theta_hat = V^-1 b.

    All sums are kept in one matrix, sum z z' with z = (x, y). What each addition rounds away is
    kept beside it (Knuth's exact two-sum), so that the sums stay correct to the last digit or so
    however many there are: adding the same action ten million times would otherwise lose six of
    sixteen digits. theta_hat comes from a Cholesky factor of V, scaled to unit diagonal, made
    anew after the data change; no inverse is ever updated, so none can drift.

    Parameters
    ----------
    dim : int
        d, the number of coordinates. Memory is O(d^2).

    Examples
    --------
    >>> from sparsebandits.estimation import GramStatistics
    >>> data = GramStatistics(2)
    >>> data.add([1.0, 0.0], 3.0)
    >>> data.is_identified
    False
    >>> data.add_many([[1.0, 1.0], [0.0, 2.0]], [5.0, 4.0])
    >>> data.estimate()
    array([3., 2.])
    >>> data.coordinate_variance
    array([0.55555556, 0.22222222])
    """

    def __init__(self, dim: int) -> None:
        self.dim = as_integer("dim", dim, minimum=1)
        self.count = 0
        self._moments = np.zeros((self.dim + 1, self.dim + 1))
        self._lost = np.zeros((self.dim + 1, self.dim + 1))
        self._factors: dict[float, tuple[FloatArray, FloatArray]] = {}

    # ------------------------------------------------------------------ the data

    def add(self, x: Any, reward: float) -> None:
        """Record the reward of one action x, (dim,); O(|S|^2) for an action with support S."""
        action = self._as_actions(x, ndim=1)
        number = as_reward(reward)
        where = np.flatnonzero(action)
        if _SPARSE_SHARE * where.size > self.dim:
            z = np.append(action, number)
            self._accumulate(np.outer(z, z), slice(None))
        else:
            z = np.append(action[where], number)
            where = np.append(where, self.dim)
            self._accumulate(np.outer(z, z), np.ix_(where, where))
        self.count += 1

    def add_many(self, actions: Any, rewards: Any) -> None:
        """Record the rewards, (n,), of n actions, (n, dim)."""
        rows = self._as_actions(actions, ndim=2)
        column = as_array("rewards", rewards, ndim=1)
        if len(column) != len(rows):
            raise InvalidValueError(
                f"There must be one reward per action, got {len(column)} rewards and "
                f"{len(rows)} actions."
            )
        as_reward(np.abs(column).max())
        z = np.concatenate([rows, column[:, None]], axis=1)
        self._accumulate(z.T @ z, slice(None))
        self.count += len(rows)

    def _as_actions(self, x: Any, ndim: int) -> FloatArray:
        name = "x" if ndim == 1 else "actions"
        array = as_array(name, x, ndim=ndim)
        if array.shape[-1] != self.dim:
            raise InvalidValueError(
                f"{name} must have {self.dim} coordinates, got shape {array.shape}."
            )
        if np.abs(array).max() >= LARGEST_REWARD:
            raise InvalidValueError(
                f"{name} must be smaller than {LARGEST_REWARD:g} in size; change the unit."
            )
        return array

    def _accumulate(self, term: FloatArray, where: Any) -> None:
        old = self._moments[where]
        new = old + term
        added = new - old
        self._lost[where] += (old - (new - added)) + (term - added)  # exact: Knuth's two-sum
        self._moments[where] = new
        self._factors.clear()

    @property
    def gram(self) -> FloatArray:
        """V = sum x x', (dim, dim)."""
        return self._moments[:-1, :-1] + self._lost[:-1, :-1]

    @property
    def response(self) -> FloatArray:
        """Return b = sum x y, (dim,)."""
        return self._moments[:-1, -1] + self._lost[:-1, -1]

    @property
    def reward_squares(self) -> float:
        """The sum of y^2."""
        return float(self._moments[-1, -1] + self._lost[-1, -1])

    # ------------------------------------------------------------------ least squares

    @property
    def is_identified(self) -> bool:
        """Whether the actions span R^d up to rounding, whatever their lengths."""
        return _is_invertible(self.gram)

    def _factor(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Return lengths D and lower triangular L with V + ridge I = D L L' D."""
        if ridge not in self._factors:
            regularised = self.gram + as_non_negative("ridge", ridge) * np.eye(self.dim)
            if not _is_invertible(regularised):
                raise InvalidValueError(
                    f"theta_hat is not determined: the {self.count} actions so far do not span "
                    f"all {self.dim} dimensions, and ridge = {ridge:g} does not make up for it. "
                    "Add actions that do, or pass a larger ridge."
                )
            lengths = np.sqrt(np.diag(regularised))
            scaled = regularised / lengths / lengths[:, None]
            lower = np.asarray(np.linalg.cholesky(scaled), dtype=np.float64)
            self._factors[ridge] = np.asarray(lengths), lower
        return self._factors[ridge]

    def estimate(self, ridge: float = 0.0) -> FloatArray:
        """theta_hat = (V + ridge I)^-1 b, (dim,).

        Parameters
        ----------
        ridge : float
            Non-negative; 0 is least squares, and needs actions that span.
        """
        lengths, lower = self._factor(ridge)
        solved = scipy.linalg.cho_solve((lower, True), self.response / lengths)
        return np.asarray(solved / lengths)

    def covariance_factor(self, ridge: float = 0.0) -> FloatArray:
        """F, (dim, dim), with F F' = (V + ridge I)^-1.

        theta_hat + sigma F z with z standard normal is a draw from the posterior.
        """
        lengths, lower = self._factor(ridge)
        inverse = scipy.linalg.solve_triangular(lower, np.diag(1 / lengths), lower=True)
        return np.asarray(inverse).T

    @property
    def coordinate_variance(self) -> FloatArray:
        """diag(V^-1), (dim,): the variance of theta_hat_i with unit noise."""
        return np.asarray((self.covariance_factor() ** 2).sum(axis=1))

    @property
    def largest_variance(self) -> float:
        """1 / lambda_min(V), the largest variance of theta_hat in any unit direction."""
        # As the largest singular value of F, which keeps relative precision if V is uneven.
        return float(np.linalg.norm(self.covariance_factor(), ord=2) ** 2)

    @property
    def residual_squares(self) -> float:
        """The sum of (y - x·theta_hat)^2, with count - dim degrees of freedom.

        It is the difference of two sums of squares, so its error is of the order 1e-16 times the
        sum of y^2: trust it unless the noise is 1e-7 times smaller than the rewards.
        """
        return max(0.0, self.reward_squares - float(self.response @ self.estimate()))

    # ------------------------------------------------------------------ whole states

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe state; `from_dict` reads it back bit for bit."""
        return {
            "count": self.count,
            "moments": self._moments.tolist(),
            "lost": self._lost.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore the state that `to_dict` described."""
        if not isinstance(data, Mapping) or set(data) != {"count", "moments", "lost"}:
            raise InvalidTypeError(
                "Gram statistics must be a table with the keys 'count', 'moments' and 'lost', "
                f"got {describe(data)}."
            )
        moments = as_array("moments", data["moments"], ndim=2)
        lost = as_array("lost", data["lost"], ndim=2)
        size = len(moments)
        if size < 2 or moments.shape != (size, size) or lost.shape != (size, size):
            raise InvalidValueError(
                "moments and lost must be square matrices with dim + 1 rows, got shapes "
                f"{moments.shape} and {lost.shape}."
            )
        restored = cls(size - 1)
        restored.count = as_integer("count", data["count"], minimum=0)
        restored._moments, restored._lost = moments.copy(), lost.copy()
        return restored

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GramStatistics) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"GramStatistics(dim={self.dim}, count={self.count})"


def _is_invertible(gram: FloatArray) -> bool:
    lengths = np.sqrt(np.diag(gram))
    if not lengths.all():
        return False
    eigenvalues = np.linalg.eigvalsh(gram / lengths / lengths[:, None])
    rounding = 4 * len(gram) * np.finfo(np.float64).eps
    return bool(eigenvalues[0] > rounding * eigenvalues[-1])
