"""Actions along the axes, kept as d numbers: the standard basis, the boundary basis, any other."""

from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.exploration.base import Basis, listed
from sparsebandits.validation import FloatArray, IntArray, as_array

_TOLERANCE = 1e-9


class DiagonalBasis(Basis):
    """b_k = scales_k e_k; signs are allowed.

    Everything costs O(d) time and memory, so a million coordinates are no trouble.

    Parameters
    ----------
    scales : array of shape (dim,)
        None of them 0.
    name : str

    Examples
    --------
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> basis = DiagonalBasis([1.0, -2.0])
    >>> basis.estimate([3.0, 4.0])
    array([ 3., -2.])
    >>> basis.inverse_trace
    1.25
    """

    kind = "diagonal"

    def __init__(self, scales: Any, name: str = "diagonal") -> None:
        self.scales = as_array("scales", scales, ndim=1)
        zero = np.flatnonzero(self.scales == 0)
        if zero.size:
            raise InvalidValueError(
                f"scales must not be 0, got scales[{zero[0]}] = 0: coordinate {zero[0]} would "
                "never be explored. Give it a non-zero scale."
            )
        super().__init__(name, np.abs(self.scales))

    def _action(self, k: int) -> tuple[IntArray, FloatArray]:
        return np.array([k]), self.scales[k : k + 1]

    def column_sums(self) -> FloatArray:
        """M'1, which are the scales, (dim,)."""
        return self.scales

    def _support_sizes(self) -> IntArray:
        return np.ones(self.dim, dtype=np.intp)

    def _predict(self, theta: FloatArray) -> FloatArray:
        return theta * self.scales

    def _estimate(self, means: FloatArray) -> FloatArray:
        return means / self.scales  # eqn:sparse-PEE-ols

    @property
    def coordinate_variance(self) -> FloatArray:
        """1 / scales_i^2."""
        return self.scales**-2.0

    def _inverse_gram_columns(self, indices: IntArray) -> FloatArray:
        columns = np.zeros((self.dim, indices.size))
        columns[indices, np.arange(indices.size)] = self.scales[indices] ** -2.0
        return columns

    def _first_outside(self, action_set: ActionSet) -> int | None:
        if not action_set.is_convex:  # what lies between two actions may be outside
            return super()._first_outside(action_set)
        lower, upper = action_set.axis_reach()
        slack = 1 + _TOLERANCE
        outside = np.flatnonzero((self.scales < lower * slack) | (self.scales > upper * slack))
        return int(outside[0]) if outside.size else None

    def _parameters(self) -> dict[str, Any]:
        return {"scales": self.scales.tolist()}


def standard(
    action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
) -> DiagonalBasis:
    """Take e_k, shrunk only where e_k is outside X; -e_k where X has nothing on the positive side.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis
    >>> make_basis("standard", sb.Box([-1, -1, -3], [2, 0.5, 0]), sparsity=1).scales
    array([ 1. ,  0.5, -1. ])
    """
    lower, upper = action_set.axis_reach()
    scales = np.where(upper > 0, np.minimum(upper, 1.0), np.maximum(lower, -1.0))
    if not (action_set.is_convex and action_set.contains_zero):
        # Between 0 and the end there may be nothing.
        short = ~np.array([action_set.contains(scale * axis) for scale, axis in
                           zip(scales, np.eye(action_set.dim), strict=True)])  # fmt: skip
        scales = np.where(short, longest_ends(action_set), scales)
    return _along_axes(action_set, scales, "standard")


def boundary(
    action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
) -> DiagonalBasis:
    """Go along each axis out to the boundary of X, on the longer side; + on ties.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis
    >>> make_basis("boundary", sb.Box([-1, -1, -3], [2, 0.5, 0]), sparsity=1).scales
    array([ 2., -1., -3.])
    """
    return _along_axes(action_set, longest_ends(action_set), "boundary")


def longest_ends(action_set: ActionSet) -> FloatArray:
    """Return the longest x_k with x_k e_k in X, (dim,); the positive one on ties, 0 if none."""
    lower, upper = action_set.axis_reach()
    return np.where(upper >= -lower, upper, lower)


def _along_axes(action_set: ActionSet, scales: FloatArray, name: str) -> DiagonalBasis:
    stuck = np.flatnonzero(scales == 0)
    if stuck.size:
        raise CompositionError(
            f"{action_set!r} has no action along the axes of coordinates {listed(stuck)}, so "
            f"basis={name!r} cannot explore them. Widen the set there, drop the coordinates if "
            "they are always 0, or use basis='designed' with sparsity >= 2 if they can move "
            "together with others."
        )
    return DiagonalBasis(scales, name)
