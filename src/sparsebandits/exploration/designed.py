"""The designed basis: blocks of actions chosen for a small tr(B^-1)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.exploration.base import Basis, listed
from sparsebandits.exploration.block import BlockBasis
from sparsebandits.exploration.diagonal import DiagonalBasis, longest_ends
from sparsebandits.exploration.exchange import improve, inverse_traces
from sparsebandits.exploration.patterns import block_sizes, sign_patterns
from sparsebandits.validation import FloatArray, IntArray

# Gains below this are not worth leaving the axes for.
_SMALLEST_GAIN = 1e-6

# Enough to tell good partitions from bad; the best one is then improved until it stops gaining.
_TRIAL_SWEEPS = 6
_FINAL_SWEEPS = 40


def designed_basis(
    action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
) -> Basis:
    """Actions that make tr(B^-1) small, never worse than `boundary`; deterministic.

    The coordinates are cut into blocks of at most H, with as many actions on each as it has
    coordinates. A block starts from the boundary basis and from the best responses to the rows of
    known weighing designs (Hadamard and S-matrices), and is improved by exchange: O(d H^2) for a
    sweep over all blocks, plus the best responses. The best of a few partitions is returned; where
    no block gains, that is the boundary basis.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis
    >>> cube = sb.Box(-np.ones(8), np.ones(8))
    >>> print(round(make_basis("boundary", cube, sparsity=4).inverse_trace, 9))
    8.0
    >>> print(round(make_basis("designed", cube, sparsity=4).inverse_trace, 9))
    2.0
    """
    ends = longest_ends(action_set)
    trials = [
        [_tried_blocks(action_set, indices, ends) for indices in parts]
        for parts in _partitions(ends, sparsity)
    ]
    best = min(trials, key=_total_trace)
    if not np.isfinite(_total_trace(best)):
        stuck = np.flatnonzero(ends == 0)
        raise CompositionError(
            f"No {sparsity}-sparse actions of {action_set!r} that span were found: it has none "
            f"along the axes of coordinates {listed(stuck)}, nor in a block with others. "
            "Raise the sparsity, widen the set, or pass your own (dim, dim) matrix of actions."
        )
    final = [_better(action_set, part, part.rows, _FINAL_SWEEPS) for part in best]
    blocks = [
        small
        for part in final
        for indices, rows in zip(part.indices, part.rows, strict=True)
        for small in _split_if_diagonal(indices, rows)
    ]
    if len(blocks) == action_set.dim:
        return DiagonalBasis(ends, "designed")
    return BlockBasis(blocks, "designed")


def _split_if_diagonal(indices: IntArray, rows: FloatArray) -> list[tuple[IntArray, FloatArray]]:
    """Cut a block that stayed on the axes into single coordinates: those need not be of a size."""
    if (rows != np.diag(np.diag(rows))).any():
        return [(indices, rows)]
    return [(indices[i : i + 1], rows[i : i + 1, i : i + 1]) for i in range(len(rows))]


@dataclass(frozen=True)
class _Part:
    """Blocks of one size: coordinates (n, k), actions (n, k, k) and their tr(B^-1), (n,)."""

    indices: IntArray
    rows: FloatArray
    traces: FloatArray


def _total_trace(parts: list[_Part]) -> float:
    return sum(float(part.traces.sum()) for part in parts)


def _partitions(ends: FloatArray, sparsity: int) -> Iterator[list[IntArray]]:
    """Yield ways to cut the coordinates into blocks, each a list of (n, k) index arrays.

    In their own order, and, where the axes differ in length, dealt out so that every block has long
    and short ones: an ellipsoid gains from unlike coordinates in one block. Blocks are of one size
    with a smaller one for the rest, or as equal as H allows.
    """
    dim = ends.size
    orders = [np.arange(dim)]
    lengths = np.abs(ends)
    if sparsity > 1 and lengths.max() > lengths.min() * (1 + _SMALLEST_GAIN):
        orders.append(np.argsort(-lengths, kind="stable"))
    shapes = [[(dim // size, size), (1, dim % size)] for size in block_sizes(sparsity)]
    count = -(-dim // sparsity)
    if dim % sparsity:
        shapes.append([(dim % count, dim // count + 1), (count - dim % count, dim // count)])
    for shape in shapes:
        for dealt, order in enumerate(orders):
            starts = np.cumsum([0, *(n * size for n, size in shape)])
            yield [
                part.reshape(size, n).T if dealt else part.reshape(n, size)
                for (n, size), start in zip(shape, starts[:-1], strict=True)
                if (part := order[start : start + n * size]).size
            ]


def _tried_blocks(action_set: ActionSet, indices: IntArray, ends: FloatArray) -> _Part:
    """Return the better of two starts for every block: the boundary, and a weighing design."""
    size = indices.shape[1]
    rows = ends[indices][:, :, None] * np.eye(size)
    with np.errstate(divide="ignore"):
        along_axes = _Part(indices, rows, (ends[indices] ** -2.0).sum(axis=1))
    if size == 1:
        return along_axes
    part = _better(action_set, along_axes, rows, _TRIAL_SWEEPS)
    return _better(action_set, part, _best_start(action_set, indices), _TRIAL_SWEEPS)


def _better(action_set: ActionSet, part: _Part, start: FloatArray, sweeps: int) -> _Part:
    """Improve the start by exchange, and take the blocks that beat those of `part`."""
    spans = np.flatnonzero(np.isfinite(inverse_traces(start)))
    if spans.size == 0:
        return part
    improved = improve(action_set, part.indices[spans], start[spans], sweeps)
    reached = inverse_traces(improved)
    wins = reached < part.traces[spans] * (1 - _SMALLEST_GAIN)
    rows, traces = part.rows.copy(), part.traces.copy()
    rows[spans[wins]], traces[spans[wins]] = improved[wins], reached[wins]
    return _Part(part.indices, rows, traces)


def _best_start(action_set: ActionSet, indices: IntArray) -> FloatArray:
    """Return, for every block, the best responses to the sign pattern that serves it best."""
    count, size = indices.shape
    repeated = np.repeat(indices, size, axis=0)
    best = np.zeros((count, size, size))
    traces = np.full(count, np.inf)
    for pattern in sign_patterns(size):
        responses = action_set._respond(np.tile(pattern, (count, 1)), repeated)
        rows = responses.reshape(count, size, size)
        reached = inverse_traces(rows)
        better = reached < traces
        best[better], traces[better] = rows[better], reached[better]
    return best
