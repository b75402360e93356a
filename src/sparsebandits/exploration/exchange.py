"""Exchange: make tr(B^-1) smaller by moving one action at a time towards a best response.

For k actions in k dimensions, M^-1 has the dual vectors d_1..d_k as columns (b_i·d_j = 1 if i = j,
else 0), and tr(B^-1) = sum_j ||d_j||^2. If b_r is replaced by b with b·d_r = c and b·d_j = u_j,
then d_r becomes d_r / c and d_j becomes d_j - (u_j / c) d_r, so the new trace costs O(k) given the
products d_j·d_r.
"""

from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.validation import BoolArray, FloatArray, IntArray

# A sweep that gains less than this ends the search; a single move must beat rounding only.
_WORTHWHILE_GAIN = 1e-5
_SMALLEST_GAIN = 1e-9
_WORST_RATIO = 1e-9


@dataclass
class _Design:
    """n blocks of k actions: rows M, the inverses, and the traces tr(B^-1)."""

    rows: FloatArray
    inverse: FloatArray
    traces: FloatArray


def inverse_traces(rows: FloatArray) -> FloatArray:
    """tr(B^-1) of every block of rows, (n, k, k) to (n,); infinite where the rows do not span."""
    singular = np.linalg.svd(rows, compute_uv=False)
    spans = singular[:, -1] > _WORST_RATIO * singular[:, 0]
    traces = np.full(len(rows), np.inf)
    traces[spans] = (singular[spans] ** -2.0).sum(axis=-1)
    return traces


def improve(action_set: ActionSet, indices: IntArray, rows: FloatArray, sweeps: int) -> FloatArray:
    """Return blocks with smaller tr(B^-1), inside X if the given ones are and X is convex.

    Parameters
    ----------
    indices : (n, k)
        The coordinates of each block.
    rows : (n, k, k)
        The actions on them, which must span.
    sweeps : int
        How often, at most, every action is tried.
    """
    improved = rows.copy()
    active = np.arange(len(rows))
    for _ in range(sweeps):
        part = improved[active]
        inverse = np.asarray(np.linalg.inv(part), dtype=np.float64)
        before = (inverse**2).sum(axis=(1, 2))
        design = _Design(part, inverse, before.copy())
        for r in range(rows.shape[1]):
            _exchange(action_set, indices[active], design, r)
        improved[active] = design.rows
        active = active[design.traces < before * (1 - _WORTHWHILE_GAIN)]
        if active.size == 0:
            break
    return improved


def _exchange(action_set: ActionSet, indices: IntArray, design: _Design, r: int) -> None:
    """Move action r of every block towards the best of a few responses, if that helps."""
    dual = design.inverse[:, :, r]
    products = np.einsum("nij,ni->nj", design.inverse, dual)
    # The gradient of tr(B^-1) in b_r is -2 B^-2 b_r, and B^-2 b_r = B^-1 d_r. Since b and -b serve
    # alike, the far side of X is tried too: along -d_r the determinant grows. (On random boxes and
    # polytopes these two directions did as well as all four signs, at half the cost.)
    steepest = np.einsum("nij,nj->ni", design.inverse, products)
    best = design.traces * (1 - _SMALLEST_GAIN)
    target = design.rows[:, r].copy()
    moved = np.zeros(len(best), dtype=np.bool_)
    for direction in (steepest, -dual):
        response = action_set._respond(direction, indices)
        steps, traces = _line_search(design, r, products, response)
        better = traces < best
        best = np.where(better, traces, best)
        toward = design.rows[:, r] + steps[:, None] * (response - design.rows[:, r])
        target = np.where(better[:, None], toward, target)
        moved |= better
    _replace(design, r, target, best, moved)


def _line_search(
    design: _Design, r: int, products: FloatArray, response: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the best step t in (0, 1] from b_r towards the response, and tr(B^-1) there.

    In w = t / c the trace is a parabola: with q = response·d_r - 1, A = sum of squares of the
    other response·d_j and E = sum of (response·d_j)(d_j·d_r),
    tr = N ((1 - q w)^2 + A w^2) - 2 E w + rest, where N = ||d_r||^2.
    """
    along = np.einsum("ni,nij->nj", response, design.inverse)
    norm = products[:, r]
    rest = design.traces - norm
    q = along[:, r] - 1.0
    along[:, r] = 0.0
    squares = (along**2).sum(axis=-1)
    cross = (along * products).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        vertex = (norm * q + cross) / (norm * (q**2 + squares))
        inner = vertex / (1.0 - q * vertex)
        candidates = np.stack([np.ones_like(q), inner])
        w = np.stack([1.0 / (1.0 + q), vertex])
        traces = norm * ((1.0 - q * w) ** 2 + squares * w**2) - 2 * cross * w + rest
    # NaN (a response equal to b_r, or one that makes the block singular) is no candidate.
    allowed = (candidates > 0) & (candidates <= 1) & np.isfinite(traces) & (traces > 0)
    traces = np.where(allowed, traces, np.inf)
    pick = traces.argmin(axis=0)[None]
    steps = np.where(allowed, candidates, 0.0)
    return np.take_along_axis(steps, pick, 0)[0], np.take_along_axis(traces, pick, 0)[0]


def _replace(
    design: _Design, r: int, target: FloatArray, traces: FloatArray, at: BoolArray
) -> None:
    """Put the targets in as action r of the blocks marked, and update the inverses."""
    inverse = design.inverse[at]
    weights = np.einsum("ni,nij->nj", target[at], inverse)
    dual = inverse[:, :, r] / weights[:, r, None]
    inverse -= dual[:, :, None] * weights[:, None, :]
    inverse[:, :, r] = dual
    design.inverse[at] = inverse
    design.rows[at, r] = target[at]
    design.traces[at] = traces[at]
