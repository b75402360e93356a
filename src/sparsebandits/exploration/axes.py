"""The standard basis and the boundary basis: one action along each axis."""

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.exploration.base import listed
from sparsebandits.exploration.diagonal import DiagonalBasis
from sparsebandits.validation import FloatArray


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
