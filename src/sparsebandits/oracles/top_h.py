"""Sorting: the exact oracle of every lp ball, box and diagonal ellipsoid, in O(dim)."""

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.base import row_starts
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.solution import BatchSolution, ascending
from sparsebandits.validation import FloatArray, IntArray

_LONG = 2**15
_PIECE = 2**9


def solve_top_h(action_set: ActionSet, theta: FloatArray, sparsity: int) -> BatchSolution:
    """Choose the H coordinates with the largest scores, as `prop:l2_exact_solution` does.

    Lines 11-12 of `alg:adaptive_PEE`, without the sort: a partition finds the H-th and (H+1)-th
    score in O(dim). The lowest index wins a tie. A coordinate whose score is 0 adds nothing and is
    left out; on the l1 ball that is every coordinate but the largest.

    Parameters
    ----------
    theta : (n, dim)
    """
    supports, gaps = top_h_supports(action_set, theta, sparsity)
    actions, values = action_set.respond_on(theta, supports)
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=gaps,
        step_gaps=np.empty((theta.shape[0], 0)),
        is_exact=np.ones(theta.shape[0], dtype=np.bool_),
        upper_bounds=values,
        method="top-h",
    )


def top_h_supports(
    action_set: ActionSet, theta: FloatArray, sparsity: int
) -> tuple[IntArray, FloatArray]:
    """Return the supports, (n, H) padded with -1, and the gaps, without the actions."""
    sorting = action_set.sorting
    if sorting is None:
        raise CompositionError(
            f"top-h needs a set on which sorting is exact (an lp ball, a box, a diagonal "
            f"ellipsoid); {action_set!r} is not one. Use method='greedy', 'swap' or 'exact'."
        )
    usable = action_set.dim
    if not action_set.is_unrestricted:
        usable = int(np.count_nonzero(action_set.available))
    # On the l1 ball (q = inf) only the largest score counts.
    count = 1 if sorting.exponent == np.inf else min(sparsity, usable)
    supports, gaps = _largest(sorting.scores(theta), count)
    if sparsity > count:
        empty = np.full((theta.shape[0], sparsity - count), -1, dtype=np.intp)
        supports = np.concatenate([supports, empty], axis=1)
    if sparsity >= usable:
        gaps = np.full(theta.shape[0], np.inf)
    return supports, gaps


def _largest(scores: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Find the `count` largest positive scores of each row, and the gap below them."""
    dim = scores.shape[1]
    if dim >= _LONG and count < dim // (4 * _PIECE):
        # Row by row, among the few pieces that can hold them.
        kept = [_contenders(row, count + 1) for row in scores]
        parts = [_among(row[places][None], count) for row, places in zip(scores, kept, strict=True)]
        picks = [
            np.where(part[0] < 0, -1, places[part[0]])
            for part, places in zip(parts, kept, strict=True)
        ]
        return np.concatenate(picks), np.concatenate([part[1] for part in parts])
    return _among(scores, count)


def _contenders(scores: FloatArray, count: int) -> IntArray:
    """Return ascending indices that include the `count` largest scores, ties and all.

    At least `count` scores reach the count-th largest of the pieces' maxima, so every score that
    belongs to the largest lies in a piece whose maximum reaches it too.
    """
    whole = scores.size // _PIECE * _PIECE
    tops = scores[:whole].reshape(-1, _PIECE).max(axis=1)
    if whole < scores.size:
        tops = np.append(tops, scores[whole:].max())
    level = np.partition(tops, tops.size - count)[tops.size - count]
    pieces = np.flatnonzero(tops >= level)
    places = (pieces[:, None] * _PIECE + np.arange(_PIECE)).ravel()
    return places if whole == scores.size else places[places < scores.size]


def _among(scores: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Find the `count` largest positive scores by a partition."""
    n, dim = scores.shape
    following: FloatArray | float = -np.inf
    if count < dim:
        order = scores.argpartition(dim - count - 1, axis=1)[:, dim - count - 1 :]
        best = scores.take(order + row_starts(n, dim))
        following, picks, chosen = best[:, 0], order[:, 1:], best[:, 1:]
    else:
        picks = np.arange(dim) + np.zeros((n, 1), dtype=np.intp)
        chosen = scores
    last = chosen.min(axis=1)
    gaps = last - np.maximum(following, 0.0)
    if gaps[gaps.argmin()] > 0:  # no ties, and nothing chosen that earns nothing
        picks.sort(axis=1)
        return picks, gaps
    for row in np.flatnonzero((last == following) & (last > 0)):
        picks[row] = _lowest_of_equals(scores[row], last[row], count)
    few = np.flatnonzero(last <= 0)
    if not few.size:
        return np.sort(picks, axis=1), gaps
    picks[few] = np.where(chosen[few] > 0, picks[few], -1)
    smallest = np.where(chosen[few] > 0, chosen[few], np.inf).min(axis=1)
    last[few] = np.where(np.isinf(smallest), 0.0, smallest)
    return ascending(picks), np.asarray(last - np.maximum(following, 0.0))


def _lowest_of_equals(scores: FloatArray, last: float, count: int) -> IntArray:
    """Choose again where the last score chosen equals one left out: the lowest indices win."""
    above = np.flatnonzero(scores > last)
    return np.concatenate([above, np.flatnonzero(scores == last)[: count - above.size]])
