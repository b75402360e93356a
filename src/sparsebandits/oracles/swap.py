"""Greedy, then single exchanges while they gain."""

from dataclasses import replace

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.oracles.greedy import finish, greedy_picks
from sparsebandits.oracles.solution import BatchSolution
from sparsebandits.validation import FloatArray, IntArray

_LEAST_GAIN = 1e-10
"""Relative gain below which an exchange is rounding; it also bounds the number of exchanges."""


def solve_swap(action_set: ActionSet, theta: FloatArray, sparsity: int) -> BatchSolution:
    """Improve the greedy support by the best exchange of one coordinate, until none gains.

    Never worse than greedy. The gap and the step gaps are those of the greedy run it starts from.

    Parameters
    ----------
    theta : (n, dim)
    """
    picks, step_gaps = greedy_picks(action_set, theta, sparsity)
    answer = finish(action_set, theta, picks, step_gaps, "swap")
    open_rows = np.flatnonzero(~answer.is_exact)
    if not open_rows.size:
        return answer
    supports = answer.supports.copy()
    values = answer.values.copy()
    while open_rows.size:
        better, reached = _best_exchange(action_set, theta[open_rows], supports[open_rows])
        gained = reached > values[open_rows] + _LEAST_GAIN * np.abs(values[open_rows])
        open_rows = open_rows[gained]
        supports[open_rows] = better[gained]
        values[open_rows] = reached[gained]
    improved = finish(action_set, theta, supports, step_gaps, "swap")
    return replace(improved, gaps=answer.gaps)


def _best_exchange(
    action_set: ActionSet, theta: FloatArray, supports: IntArray
) -> tuple[IntArray, FloatArray]:
    """For each row, drop one place (also an empty one) and fill it with the best coordinate."""
    n, width = supports.shape
    lanes = np.arange(n * width)
    repeated = np.repeat(theta, width, axis=0)
    kept = np.repeat(supports, width, axis=0)
    kept[lanes, np.tile(np.arange(width), n)] = -1
    marginals = action_set.marginals(repeated)
    for place in range(width):
        marginals.add(kept[:, place])
    keys = marginals.keys()
    entering = keys.argmax(axis=1)
    candidates = kept.copy()
    dropped = np.tile(np.arange(width), n)
    gaining = keys[lanes, entering] > marginals.floor
    candidates[lanes[gaining], dropped[gaining]] = entering[gaining]
    values = action_set.respond_on(repeated, candidates)[1].reshape(n, width)
    exchange = values.argmax(axis=1)
    rows = np.arange(n)
    return candidates.reshape(n, width, width)[rows, exchange], values[rows, exchange]
