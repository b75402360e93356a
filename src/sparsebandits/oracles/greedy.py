"""The greedy oracle: Algorithm 2, lines 5-13, for many parameters at once."""

import numpy as np

from sparsebandits.action_sets import ActionSet, Marginals
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.solution import BatchSolution, ascending
from sparsebandits.validation import BoolArray, FloatArray, IntArray


def solve_greedy(action_set: ActionSet, theta: FloatArray, sparsity: int) -> BatchSolution:
    """Add the coordinate with the largest marginal gain, H times (`alg:adaptive_general_PEE`).

    The lowest index wins a tie. A pick that gains nothing changes nothing: the support stops
    growing there, and the gap is taken over the picks that gain. The value is within
    1 - exp(-gamma) of the best (`lemma:approximation ratio expression`); where 0 is not in the set,
    or least doses leave gaps in it, no such gamma is known, and the exact oracle is the one to ask.

    Parameters
    ----------
    theta : (n, dim)
    """
    picks, step_gaps = greedy_picks(action_set, theta, sparsity)
    return finish(action_set, theta, picks, step_gaps, "greedy")


def greedy_picks(
    action_set: ActionSet, theta: FloatArray, sparsity: int
) -> tuple[IntArray, FloatArray]:
    """Run lines 5-13: the picks in order, (n, H) padded with -1, and the step gaps delta_k."""
    refuse_no_start(action_set)
    n = theta.shape[0]
    marginals = action_set.marginals(theta)
    usable = int(np.count_nonzero(action_set.available))
    steps = min(sparsity, usable)
    picks = np.full((n, sparsity), -1, dtype=np.intp)
    best, second = np.zeros((n, steps)), np.zeros((n, steps))
    if n == 1:
        _pick_one(marginals, picks[0, :steps], best[0], second[0])
    else:
        _pick_all(marginals, picks[:, :steps], best, second)
    picked = picks[:, :steps] >= 0
    best *= picked
    # Lines 8 and 11: rho_k(v; theta) of the best and the second, and delta_k.
    delta = marginals.gains(best, best) - marginals.gains(best, second)
    step_gaps = np.full((n, sparsity), np.inf)
    step_gaps[:, :steps] = np.where(picked, delta, np.inf)
    if steps == usable:
        step_gaps[:, steps - 1] = np.inf  # the last coordinate has no rival
    return picks, step_gaps


def refuse_no_start(action_set: ActionSet) -> None:
    """Refuse a set on which no coordinate has an action of its own to begin with."""
    if action_set.contains_zero or np.any(action_set.axis_reach()):
        return
    raise CompositionError(
        f"greedy has no start on {action_set!r}: 0 is not in it, and no action uses a single "
        "coordinate. Use method='exact', which looks at supports as a whole."
    )


def _pick_all(marginals: Marginals, picks: IntArray, best: FloatArray, second: FloatArray) -> None:
    """Fill in the picks and their keys, (n, steps) each, for all rows at once."""
    steps = picks.shape[1]
    lanes = np.arange(picks.shape[0])
    stopped: BoolArray | None = None
    for k in range(steps):
        keys = marginals.keys()
        pick = keys.argmax(axis=1)  # line 9: g_k
        best[:, k] = keys[lanes, pick]
        keys[lanes, pick] = 0.0
        np.maximum.reduce(keys, axis=1, out=second[:, k])  # line 10: v_second
        ends = best[:, k] <= marginals.floor
        if stopped is not None or ends.any():
            stopped = ends if stopped is None else stopped | ends
            if stopped.all():
                break
            pick = np.where(stopped, -1, pick)
        picks[:, k] = pick
        if k + 1 < steps:
            marginals.add(pick)  # line 13: G_k


def _pick_one(marginals: Marginals, picks: IntArray, best: FloatArray, second: FloatArray) -> None:
    """Do the same for one row, (steps,) each, with scalars: what an online learner waits for."""
    floor = float(np.max(marginals.floor))
    for k in range(picks.size):
        keys = marginals.keys()[0]
        pick = int(keys.argmax())
        best[k] = largest = keys[pick]
        keys[pick] = 0.0
        second[k] = keys.max()
        if largest <= floor:
            return
        picks[k] = pick
        if k + 1 < picks.size:
            marginals.add(picks[k : k + 1])


def minimum_gaps(action_set: ActionSet, picks: IntArray, step_gaps: FloatArray) -> FloatArray:
    """Delta_c^Greedy: the smallest step gap; 0 if nothing gained, infinite if everything fits."""
    if picks.shape[1] >= np.count_nonzero(action_set.available):
        return np.full(picks.shape[0], np.inf)
    return np.where(picks[:, 0] < 0, 0.0, step_gaps.min(axis=1))  # line 12


def finish(
    action_set: ActionSet, theta: FloatArray, picks: IntArray, step_gaps: FloatArray, method: str
) -> BatchSolution:
    """Compute the best responses on the picks, and bound what an exact oracle could add."""
    supports = ascending(picks)
    actions, values = action_set.respond_on(theta, supports)
    bounds, exact = certify(action_set, theta, values)
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=minimum_gaps(action_set, picks, step_gaps),
        step_gaps=step_gaps,
        is_exact=exact,
        upper_bounds=bounds,
        method=method,
    )


def certify(
    action_set: ActionSet, theta: FloatArray, values: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Bound the optimum by the value without a sparsity constraint; exact where it is attained."""
    if action_set.sorting is not None:
        return values, np.ones(values.shape, dtype=np.bool_)
    dense = action_set.unconstrained_values(theta)
    attained = dense <= values + 1e-12 * np.abs(values)
    return np.where(attained, values, dense), attained
