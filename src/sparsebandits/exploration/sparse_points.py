"""A basis from a list of points: d independent ones among them."""

import numpy as np
import scipy.linalg

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.exploration.base import listed
from sparsebandits.exploration.matrix import MatrixBasis
from sparsebandits.validation import FloatArray

_SWEEPS = 10
_SMALLEST_GAIN = 1e-9


def from_points(action_set: ActionSet, points: FloatArray, name: str) -> MatrixBasis:
    """Choose d independent points; a finite set has no others, whatever the basis name.

    Pivoted QR takes, again and again, the point that is furthest from the span of those taken.
    For ``designed`` the choice is then improved: each action is replaced by the point that makes
    tr(B^-1) smallest, while that falls.

    Parameters
    ----------
    points : (n, dim)
        The points of the set, or actions found in it, that are sparse enough.
    """
    if not len(points):
        raise CompositionError(f"No basis: {action_set!r} has no action that is sparse enough.")
    chosen = _independent(action_set, points)
    rows = points[chosen]
    return MatrixBasis(_exchanged(rows, points) if name == "designed" else rows, name)


def _independent(action_set: ActionSet, points: FloatArray) -> list[int]:
    dim = action_set.dim
    unused = np.flatnonzero(~(points != 0).any(axis=0))
    if unused.size:
        raise CompositionError(
            f"No basis: the {len(points)} points of {action_set!r} that are sparse enough "
            f"never use coordinates {listed(unused)}. Add points that do, or raise the "
            "sparsity."
        )
    r, order = scipy.linalg.qr(points.T, mode="r", pivoting=True)
    pivots = np.abs(np.diag(r))
    rank = int(np.count_nonzero(pivots > dim * np.finfo(np.float64).eps * pivots[0]))
    if rank < dim:
        raise CompositionError(
            f"No basis: the {len(points)} points of {action_set!r} that are sparse enough "
            f"span only {rank} of {dim} dimensions. Add points, or raise the sparsity."
        )
    return sorted(int(i) for i in order[:dim])


def _exchanged(rows: FloatArray, points: FloatArray) -> FloatArray:
    """Replace rows by points while tr(B^-1) falls; the formulas are those of `exchange`."""
    rows = rows.copy()
    for _ in range(_SWEEPS):
        inverse = np.linalg.inv(rows)
        trace = before = float((inverse**2).sum())
        for r in range(len(rows)):
            dual = inverse[:, r].copy()
            products = inverse.T @ dual
            weights = points @ inverse
            c = weights[:, r].copy()
            weights[:, r] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                w = weights / c[:, None]
                traces = trace - products[r] - 2 * w @ products
                traces += products[r] * ((w**2).sum(axis=1) + c**-2.0)
            traces[~np.isfinite(traces)] = np.inf
            best = int(traces.argmin())
            if traces[best] < trace * (1 - _SMALLEST_GAIN):
                rows[r], trace = points[best], float(traces[best])
                inverse -= np.outer(dual, w[best])
                inverse[:, r] = dual / c[best]
        if trace >= before * (1 - _SMALLEST_GAIN):
            break
    return rows
