"""Least squares over any actions at all: V = sum x x', b = sum x y, sum y^2."""

from typing import Any

import numpy as np

from sparsebandits.estimation.least_squares import are_invertible, inverse_root, solve
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_SPARSE_SHARE = 4


class GramLanes:
    r"""Sufficient statistics of rewards y of actions x, with theta_hat = V^-1 b in each lane.

    All sums are kept in one matrix, sum z z' with z = (x, y). What each addition rounds away is
    kept beside it (Knuth's exact two-sum), so that the sums stay correct to the last digit or so
    however many there are: adding the same action ten million times would otherwise lose six of
    sixteen digits. theta_hat comes from V itself, scaled to a unit diagonal; no inverse is ever
    updated, so none can drift.

    Parameters
    ----------
    lanes : int
    dim : int
        d, the number of coordinates. A lane takes O(d^2) numbers.

    Attributes
    ----------
    moments, lost : (lanes, dim + 1, dim + 1) arrays
        The sums, and what was rounded away.
    counts : (lanes,) array
        The number of rewards.
    known : (lanes,) bool array
        Whether the actions of a lane span R^d up to rounding, whatever their lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.estimation import GramLanes
    >>> data = GramLanes(1, 2)
    >>> data.add(np.array([[1.0, 0.0]]), np.array([3.0]))
    >>> data.known
    array([False])
    >>> data.add_many(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([5.0, 4.0]))
    >>> data.estimate()
    array([[3., 2.]])
    """

    def __init__(self, lanes: int, dim: int) -> None:
        self.moments = np.zeros((lanes, dim + 1, dim + 1))
        self.lost = np.zeros((lanes, dim + 1, dim + 1))
        self.counts: IntArray = np.zeros(lanes, dtype=np.intp)
        self.known: BoolArray = np.zeros(lanes, dtype=np.bool_)

    # ------------------------------------------------------------------ the data

    def add(self, actions: FloatArray, rewards: FloatArray, lanes: IntArray | None = None) -> None:
        """Take in one reward of each lane, or of the given distinct `lanes`."""
        where: Any = slice(None) if lanes is None else lanes
        if len(rewards) == 1:
            self._add_one(actions[0], float(rewards[0]), 0 if lanes is None else int(lanes[0]))
        else:
            z = np.concatenate([actions, rewards[:, None]], axis=1)
            self._accumulate(z[:, :, None] * z[:, None, :], where)
        self.counts[where] += 1
        self.look(where)

    def _add_one(self, action: FloatArray, reward: float, lane: int) -> None:
        """Take in one reward; O(|S|^2) for an action with a small support S."""
        used = np.flatnonzero(action)
        if _SPARSE_SHARE * used.size > action.size:
            used = np.arange(action.size)
        z = np.append(action[used], reward)
        used = np.append(used, action.size)
        self._accumulate(np.outer(z, z), (lane, used[:, None], used))

    def add_many(self, actions: FloatArray, rewards: FloatArray, lane: int = 0) -> None:
        """Take in rewards, (n,), of actions, (n, dim), in one lane."""
        z = np.concatenate([actions, rewards[:, None]], axis=1)
        self._accumulate(z.T @ z, lane)
        self.counts[lane] += len(rewards)
        self.look(np.array([lane]))

    def add_phase(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in several rewards of every lane, (n, lanes), of actions, (n, lanes, dim).

        They are added up among themselves first, so the last bits are not those of `add`.
        """
        z = np.concatenate([actions, rewards[:, :, None]], axis=2).swapaxes(0, 1)
        self._accumulate(np.matmul(z.swapaxes(1, 2), z), slice(None))
        self.counts += rewards.shape[0]
        self.look()

    def _accumulate(self, term: FloatArray, where: Any) -> None:
        old = self.moments[where]
        new = old + term
        added = new - old
        self.lost[where] += (old - (new - added)) + (term - added)  # exact: Knuth's two-sum
        self.moments[where] = new

    def look(self, lanes: Any = slice(None)) -> None:
        """Find out which of these lanes have come to be determined."""
        dim = self.moments.shape[1] - 1
        waiting = ~self.known[lanes] & (self.counts[lanes] >= dim)
        if waiting.any():
            spanned = np.arange(self.counts.size)[lanes][waiting]
            self.known[spanned] = are_invertible(self.gram(spanned))

    # ------------------------------------------------------------------ the sums

    def gram(self, lanes: Any = slice(None)) -> FloatArray:
        """V = sum x x', (n, dim, dim)."""
        return np.asarray((self.moments[lanes] + self.lost[lanes])[..., :-1, :-1])

    def response(self, lanes: Any = slice(None)) -> FloatArray:
        """Return b = sum x y, (n, dim)."""
        return np.asarray(self.moments[lanes, :-1, -1] + self.lost[lanes, :-1, -1])

    def reward_squares(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the sum of y^2, (n,)."""
        return np.asarray(self.moments[lanes, -1, -1] + self.lost[lanes, -1, -1])

    # ------------------------------------------------------------------ least squares

    def estimate(self, lanes: Any = slice(None)) -> FloatArray:
        """theta_hat = V^-1 b of lanes that are known, (n, dim)."""
        return solve(self.gram(lanes), self.response(lanes))

    def least_information(
        self, basis_gram: FloatArray | None = None, *, free: int = 0
    ) -> FloatArray:
        """Return the largest c with V >= c B in each lane, (lanes,); 0 where V is singular.

        Parameters
        ----------
        basis_gram : (dim, dim) array, optional
            B; the identity if left out, and c is then lambda_min(V).
        free : int
            How many columns stand first whose parameters are unknown and not asked about: V is then
            what is left of it about the others, the inverse of their part of V^-1.
        """
        information = np.zeros(self.counts.size)
        known = np.flatnonzero(self.known)
        if known.size:
            # As the largest singular value of a root of V^-1: precise though V be uneven.
            roots = inverse_root(self.gram(known))[0][:, free:]
            if basis_gram is not None:
                roots = np.linalg.cholesky(basis_gram).T @ roots
            information[known] = np.linalg.norm(roots, ord=2, axis=(1, 2)) ** -2
        return information
