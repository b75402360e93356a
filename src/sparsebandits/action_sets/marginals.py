"""Marginal gains rho_k(v; theta) = h(G + v; theta) - h(G; theta), kept up as G grows.

The greedy algorithm asks for the gains of all coordinates, adds its pick, and asks again. How
cheaply the answer can be kept up to date depends on the set, so each set chooses its bookkeeping.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.validation import BoolArray, FloatArray, IntArray


class Marginals(ABC):
    """The gains of every coordinate for n parameters at once.

    Candidates are compared by `keys`, which order them as their gains do and cost less; the gains
    themselves are worked out once, at the end, for the keys that matter.
    """

    floor: FloatArray | float = 0.0
    """Keys at or below it, (n,), are a gain of 0 up to rounding."""

    @abstractmethod
    def keys(self) -> FloatArray:
        """Return, as a fresh (n, dim) array, numbers >= 0 that increase with rho(v; theta).

        0 where nothing is gained, and for coordinates that were picked or are not available.
        """

    def gains(self, picked: FloatArray, keys: FloatArray) -> FloatArray:
        """Return rho_k(v; theta) of keys[:, k], seen at step k: the keys, where they are the gains.

        `picked`, (n, steps) as `keys` is, holds the keys of the picks in order.
        """
        return keys

    @abstractmethod
    def add(self, picks: IntArray) -> None:
        """Add coordinate picks[i] to the support of row i; -1 leaves the row as it is."""


def before(steps: FloatArray) -> FloatArray:
    """Return what had been added up before each step, (n, steps)."""
    return np.asarray(np.cumsum(steps, axis=1) - steps)


class SortedMarginals(Marginals):
    """Closed form where h is proportional to the q-norm of coordinate scores."""

    def __init__(self, sorting: Sorting, theta: FloatArray) -> None:
        self._exponent = sorting.exponent
        scores = sorting.scores(theta)
        largest = scores.max(axis=-1, keepdims=True)
        self._scale = sorting.scale * largest
        # Scaled to [0, 1], so that no power overflows; greedy picks the largest score first.
        with np.errstate(invalid="ignore"):
            self._scores = np.where(largest > 0, scores / largest, 0.0)
        self._lanes = np.arange(scores.shape[0])

    def keys(self) -> FloatArray:
        """Return the scores that are left."""
        return self._scores.copy()

    def gains(self, picked: FloatArray, keys: FloatArray) -> FloatArray:
        """Return (P + s^q)^(1/q) - P^(1/q) without the cancellation of that formula."""
        q = self._exponent
        if q in (1.0, np.inf):
            return np.asarray(self._scale * keys)
        total = before(picked**q)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = np.expm1(np.log1p(keys**q / total) / q)
            grown = total ** (1.0 / q) * relative
        return np.asarray(self._scale * np.where(total > 0, grown, keys))

    def add(self, picks: IntArray) -> None:
        """Strike the picks; where only the largest score counts, nothing gains after it."""
        moved = picks >= 0
        if self._exponent == np.inf:
            self._scores[moved] = 0.0
        else:
            self._scores[self._lanes[moved], picks[moved]] = 0.0


class ResolvedMarginals(Marginals):
    """Solve h(G + v) anew for every v: right for any set, and as slow as its best response.

    Parameters
    ----------
    respond : callable
        The set's best responses: (n, k) theta and (n, k) indices to (n, k) entries.
    available : (dim,) bool array
    theta : (n, dim)
    contains_zero : bool
        Whether h of no coordinate is 0, and not minus infinity.
    """

    def __init__(
        self,
        respond: Callable[[FloatArray, IntArray], FloatArray],
        available: BoolArray,
        theta: FloatArray,
        contains_zero: bool = True,
    ) -> None:
        self._respond = respond
        self._contains_zero = contains_zero
        self._available = available
        self._theta = theta
        self._picked = np.zeros((theta.shape[0], 0), dtype=np.intp)

    def _values(self, rows: IntArray, indices: IntArray) -> FloatArray:
        theta = np.where(indices < 0, 0.0, self._theta[rows[:, None], indices])
        values = np.asarray((theta * self._respond(theta, indices)).sum(axis=-1))
        if self._contains_zero:
            return values
        return np.where(np.isnan(values) | (indices < 0).all(axis=1), -np.inf, values)

    def keys(self) -> FloatArray:
        """Return h(G + v) - h(G), at least 0, for every available v outside G."""
        candidates = np.broadcast_to(self._available, self._theta.shape).copy()
        rows, places = np.nonzero(self._picked >= 0)
        candidates[rows, self._picked[rows, places]] = False
        rows, coordinates = np.nonzero(candidates)
        keys = np.zeros(self._theta.shape)
        extended = np.concatenate([self._picked[rows], coordinates[:, None]], axis=1)
        values = self._values(rows, extended)
        current = np.zeros(self._theta.shape[0])  # h of no coordinate is 0
        if self._picked.shape[1]:
            current = self._values(np.arange(self._theta.shape[0]), self._picked)
        elif not self._contains_zero:
            current[:] = -np.inf
        if not self._contains_zero:
            current = self._below(current, rows, values)
            values = np.maximum(values, current[rows])  # no action: no gain
        gain = values - current[rows]
        # h is monotone in S; what is left below rounding is a gain of zero.
        keys[rows, coordinates] = np.where(gain > 1e-12 * np.abs(values), gain, 0.0)
        return keys

    def _below(self, current: FloatArray, rows: IntArray, values: FloatArray) -> FloatArray:
        """Return what stands for no action yet: something below all values that are reached."""
        finite = np.where(np.isfinite(values), values, np.inf)
        least = np.full(current.size, np.inf)
        np.minimum.at(least, rows, finite)
        size = np.zeros(current.size)
        np.maximum.at(size, rows, np.where(np.isfinite(values), np.abs(values), 0.0))
        below = np.where(np.isfinite(least), least, 0.0) - size - 1e-300
        return np.where(np.isneginf(current), below, current)

    def add(self, picks: IntArray) -> None:
        """Append the picks."""
        self._picked = np.concatenate([self._picked, picks[:, None]], axis=1)
