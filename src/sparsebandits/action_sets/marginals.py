"""Marginal gains rho_k(v; theta) = h(G + v; theta) - h(G; theta), kept up as G grows.

The greedy algorithm asks for the gains of all coordinates, adds its pick, and asks again. How
cheaply the answer can be kept up to date depends on the set, so each set chooses its bookkeeping.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from sparsebandits.validation import FloatArray, IntArray

if TYPE_CHECKING:
    from sparsebandits.action_sets.base import ActionSet


class Marginals(ABC):
    """The gains of every coordinate for n parameters at once.

    Candidates are compared by `keys`, which order them as their gains do and cost less; a gain is
    worked out only for the few keys that matter.
    """

    @abstractmethod
    def keys(self) -> FloatArray:
        """Return, as a fresh (n, dim) array, numbers >= 0 that increase with rho(v; theta).

        Entries of coordinates that were picked mean nothing.
        """

    @abstractmethod
    def gains(self, keys: FloatArray) -> FloatArray:
        """Return rho(v; theta) for some of the current keys, (n, m); 0 below rounding."""

    @abstractmethod
    def add(self, picks: IntArray) -> None:
        """Add coordinate picks[i] to the support of row i; -1 leaves the row as it is."""


class SortableMarginals(Marginals):
    """Closed form where h is proportional to the q-norm of coordinate scores.

    Parameters
    ----------
    scores : (n, dim)
        Non-negative.
    exponent : float
        q in [1, inf].
    scale : float
        h(S) = scale * ||scores_S||_q.
    """

    def __init__(self, scores: FloatArray, exponent: float, scale: float) -> None:
        self._exponent = exponent
        largest = scores.max(axis=-1, keepdims=True)
        self._scale = scale * largest
        # Scaled to [0, 1], so that no power overflows; greedy picks the largest score first.
        with np.errstate(invalid="ignore"):
            self._scores = np.where(largest > 0, scores / largest, 0.0)
        self._total = np.zeros_like(largest)

    def keys(self) -> FloatArray:
        """Return the scores."""
        return self._scores.copy()

    def gains(self, keys: FloatArray) -> FloatArray:
        """Return (P + s^q)^(1/q) - P^(1/q) without the cancellation of that formula."""
        q = self._exponent
        if q == 1.0:
            return np.asarray(self._scale * keys)
        if q == np.inf:
            return np.asarray(self._scale * np.maximum(keys - self._total, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = np.expm1(np.log1p(keys**q / self._total) / q)
            grown = self._total ** (1.0 / q) * relative
        return np.asarray(self._scale * np.where(self._total > 0, grown, keys))

    def add(self, picks: IntArray) -> None:
        """Add the picked score to the sum of powers, or to the maximum."""
        rows = np.arange(picks.size)
        added = np.where(picks < 0, 0.0, self._scores[rows, picks])[:, None]
        if self._exponent == np.inf:
            self._total = np.maximum(self._total, added)
        else:
            self._total = self._total + added**self._exponent


class ResolvedMarginals(Marginals):
    """Solve h(G + v) anew for every v: right for any set, and as slow as its best response."""

    def __init__(self, action_set: "ActionSet", theta: FloatArray) -> None:
        self._set = action_set
        self._theta = theta
        self._picked = np.zeros((theta.shape[0], 0), dtype=np.intp)
        self._value = np.zeros(theta.shape[0])

    def _values_with(self, rows: IntArray, coordinates: IntArray) -> FloatArray:
        indices = np.concatenate([self._picked[rows], coordinates[:, None]], axis=1)
        theta = np.where(indices < 0, 0.0, self._theta[rows[:, None], indices])
        responses = self._set._respond(theta, indices)
        return np.asarray((theta * responses).sum(axis=-1))

    def keys(self) -> FloatArray:
        """Return h(G + v) - h(G), at least 0, for every available v outside G."""
        candidates = np.broadcast_to(self._set.available, self._theta.shape).copy()
        rows, places = np.nonzero(self._picked >= 0)
        candidates[rows, self._picked[rows, places]] = False
        rows, coordinates = np.nonzero(candidates)
        gains = np.zeros(self._theta.shape)
        values = self._values_with(rows, coordinates)
        gain = values - self._value[rows]
        # h is monotone in S; what is left below rounding is a gain of zero.
        gains[rows, coordinates] = np.where(gain > 1e-12 * np.abs(values), gain, 0.0)
        return gains

    def gains(self, keys: FloatArray) -> FloatArray:
        """Return the keys: they are the gains."""
        return keys

    def add(self, picks: IntArray) -> None:
        """Append the picks and solve once for the new h(G)."""
        moved = np.flatnonzero(picks >= 0)
        self._value = self._value.copy()
        self._value[moved] = self._values_with(moved, picks[moved])
        self._picked = np.concatenate([self._picked, picks[:, None]], axis=1)
