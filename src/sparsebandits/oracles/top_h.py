"""Sorting: the exact oracle of every lp ball, box and diagonal ellipsoid, in O(dim)."""

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.solution import BatchSolution, padded
from sparsebandits.validation import BoolArray, FloatArray


def top_h(action_set: ActionSet, theta: FloatArray, sparsity: int) -> BatchSolution:
    """Choose the H coordinates with the largest scores, as `prop:l2_exact_solution` does.

    Lines 11-12 of `alg:adaptive_PEE`, without the sort: a partition finds the H-th and (H+1)-th
    score in O(dim). The lowest index wins a tie. A coordinate whose score is 0 adds nothing and is
    left out; on the l1 ball that is every coordinate but the largest.

    Parameters
    ----------
    theta : (n, dim)
    """
    if not action_set.is_sortable:
        raise CompositionError(
            f"top-h needs a set on which sorting is exact (an lp ball, a box, a diagonal "
            f"ellipsoid); {action_set!r} is not one. Use method='greedy', 'swap' or 'exact'."
        )
    scores = action_set.scores(theta)
    if not action_set.is_unrestricted:
        scores = np.where(action_set.available, scores, -1.0)
    usable = int(np.count_nonzero(action_set.available))
    # On the l1 ball (q = inf) only the largest score counts.
    wanted = 1 if np.isinf(action_set.score_exponent) else min(sparsity, usable)
    chosen, gaps = _largest(scores, wanted)
    supports = padded(chosen, sparsity)
    if sparsity >= usable:
        gaps = np.full(theta.shape[0], np.inf)
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


def _largest(scores: FloatArray, count: int) -> tuple[BoolArray, FloatArray]:
    """Mark the `count` largest positive scores of each row; return the gap below them too."""
    dim = scores.shape[1]
    if count < dim:
        parted = np.partition(scores, dim - count - 1, axis=1)
        last, following = parted[:, dim - count :].min(axis=1), parted[:, dim - count - 1]
    else:
        last, following = scores.min(axis=1), np.full(scores.shape[0], -np.inf)
    # Where fewer than `count` are positive, the last pick is the smallest positive score.
    few = np.flatnonzero(last <= 0)
    last = np.array(last)
    for row in few:
        positive = scores[row][scores[row] > 0]
        last[row] = positive.min() if positive.size else np.inf
    gaps = np.asarray(last - np.maximum(following, 0.0))
    gaps[np.isinf(last)] = 0.0
    chosen = scores >= last[:, None]
    if (np.count_nonzero(chosen, axis=1) > count).any():
        ties = scores == last[:, None]
        room = count - (chosen & ~ties).sum(axis=1, keepdims=True)
        chosen &= ~ties | (np.cumsum(ties, axis=1) <= room)
    return chosen, gaps
