"""A finite list of actions: compact, and not convex."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.forms import Points
from sparsebandits.action_sets.marginals import Marginals
from sparsebandits.action_sets.scaling import length
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_sparsity,
    describe,
    read_only,
)


class FiniteSet(ActionSet):
    """A list of points; 0, the action that uses nothing, may be one of them.

    h(S; theta) is the largest theta·x over the points whose support lies in S, if there are any.
    The set is compact but not convex: greedy has no guarantee, and the exact oracle is a scan.

    Parameters
    ----------
    points : array of shape (n_points, dim)
        Distinct points are kept in the order given; the first of equals wins a tie.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> slates = sb.FiniteSet([[0, 0], [1, 0], [0.8, 0.8]])
    >>> slates.best_response([1.0, 0.5])
    array([0.8, 0.8])
    """

    kind = "finite-set"
    is_convex = False

    def __init__(self, points: Any, *, names: Sequence[str] | None = None) -> None:
        self.points = as_array("points", points, ndim=2)
        super().__init__(self.points.shape[1], names)
        self._uses = self.points != 0
        self.contains_zero = not self._uses.any(axis=1).all()

    @property
    def form(self) -> Points:
        """The points that use available coordinates only."""
        return self.remember("form", self._usable_points)

    def _usable_points(self) -> Points:
        if self.is_unrestricted:
            return Points(self.points)
        usable = ~self._uses[:, ~self.available].any(axis=1)
        return Points(read_only(self.points[usable]))

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        if indices.ndim == 1:
            return self._best_of(theta, self._points_on(indices))
        return self._respond_each(theta, indices, all_on=False)

    def _respond_all_on(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        supports = np.broadcast_to(indices, theta.shape)
        return self._respond_each(theta, supports, all_on=True)

    def _respond_each(self, theta: FloatArray, indices: IntArray, *, all_on: bool) -> FloatArray:
        response = np.zeros_like(theta)
        for row, support in enumerate(indices):
            used = support >= 0
            points = self._points_on(support[used])
            if all_on:
                points = points[(points != 0).all(axis=1)]
            response[row, used] = self._best_of(theta[None, row, used], points)[0]
        return response

    def _points_on(self, support: IntArray) -> FloatArray:
        """Return the points that vanish elsewhere, (m, k)."""
        outside = np.ones(self.dim, dtype=np.bool_)
        outside[support] = False
        return np.asarray(self.points[~self._uses[:, outside].any(axis=1)][:, support])

    @staticmethod
    def _best_of(theta: FloatArray, candidates: FloatArray) -> FloatArray:
        if not len(candidates):
            return np.full(theta.shape, np.nan)
        return np.asarray(candidates[(theta @ candidates.T).argmax(axis=1)])

    def support_for(self, theta: FloatArray, choice: Choice) -> BoolArray | None:
        """Return the support of the best point that the rules allow; None if there is none."""
        points = self.form.points
        allowed = points[choice.allows(points != 0)]
        return np.asarray(allowed[(allowed @ theta).argmax()] != 0) if len(allowed) else None

    def _why_empty(self, sparsity: int) -> str:
        return f"none of its {len(self.points)} points is one"

    def marginals(self, theta: FloatArray) -> Marginals:
        """Gains from one pass over the points per step, not one per candidate."""
        return _PointMarginals(self.form.points, theta)

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the largest norm among the points with at most H non-zeros: attained."""
        points = self.form.sparse(as_sparsity(sparsity, self.dim))
        return float(length(points).max(initial=0.0))

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the extreme points on each axis; 0 where no point but 0 lies on it."""
        points = self.form.sparse(1)
        if self.contains_zero:
            return points.min(axis=0), points.max(axis=0)
        on = points != 0
        lower = np.where(on, points, np.inf).min(axis=0, initial=np.inf)
        upper = np.where(on, points, -np.inf).max(axis=0, initial=-np.inf)
        reached = np.isfinite(lower)
        return np.where(reached, lower, 0.0), np.where(reached, upper, 0.0)

    def sample(self, rng: np.random.Generator, sparsity: int) -> FloatArray:
        """Draw one of the usable points with at most `sparsity` non-zeros."""
        self.refuse_empty(sparsity)
        points = self.form.sparse(as_sparsity(sparsity, self.dim))
        return np.array(points[rng.choice(len(points))])

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        scale = tolerance * float(np.abs(self.points).max())
        inside = np.zeros(x.shape[0], dtype=np.bool_)
        for row, point in enumerate(x):
            inside[row] = (np.abs(self.points - point).max(axis=1) <= scale).any()
        return inside

    def _section(self, places: IntArray) -> "FiniteSet":
        points = self._points_on(places)
        if not len(points):
            raise InvalidValueError(
                f"None of the {len(self.points)} points uses only the coordinates "
                f"{describe(places.tolist())}, so there is no such section."
            )
        return FiniteSet(points)

    def _parameters(self) -> dict[str, Any]:
        return {"points": self.points.tolist()}

    def _summary(self) -> str:
        return f"{self.points.shape[0]} points, dim={self.dim}"


class _PointMarginals(Marginals):
    """A point becomes reachable by adding v when v is all of its support that is still missing."""

    def __init__(self, points: FloatArray, theta: FloatArray) -> None:
        self._uses = points != 0
        self._values = theta @ points.T
        # How many coordinates of each point are still missing, and the sum of their indices:
        # where one is missing, that sum is the coordinate itself.
        self._missing = np.tile(self._uses.sum(axis=1), (theta.shape[0], 1))
        self._missing_sum = np.tile(self._uses @ np.arange(theta.shape[1]), (theta.shape[0], 1))
        self._dim = theta.shape[1]

    def keys(self) -> FloatArray:
        """Return the best newly reachable value above the best reachable one."""
        n = self._values.shape[0]
        least = self._values.min(axis=1) - 1.0  # stands for no action yet
        current = np.where(self._missing == 0, self._values, least[:, None]).max(axis=1)
        best = np.repeat(current[:, None], self._dim, axis=1)
        rows, points = np.nonzero(self._missing == 1)
        coordinates = self._missing_sum[rows, points]
        np.maximum.at(best, (rows, coordinates), self._values[rows, points])
        return np.asarray(best - current.reshape(n, 1))

    def add(self, picks: IntArray) -> None:
        """Strike the picks off the missing coordinates."""
        covered = np.where(picks[:, None] < 0, False, self._uses[:, picks].T)
        self._missing = self._missing - covered
        self._missing_sum = self._missing_sum - covered * picks[:, None]
