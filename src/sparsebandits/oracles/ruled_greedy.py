"""Greedy and swap under rules: the best coordinate that still fits, then single exchanges."""

from dataclasses import replace

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.choices import FREE, IN, OUT, Choice
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.greedy import certify, refuse_no_start
from sparsebandits.oracles.solution import BatchSolution, padded
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_LEAST_GAIN = 1e-10
"""Relative gain below which an exchange is rounding; it also bounds the number of exchanges."""


def ruled_greedy(action_set: ActionSet, theta: FloatArray, choice: Choice) -> BatchSolution:
    """Add the allowed coordinate with the largest marginal gain while one gains.

    Without a guarantee: that of `lemma:approximation ratio expression` is for H alone. What is
    always on comes first; where more must be on than gain, the lowest that fit are added.

    Parameters
    ----------
    theta : (n, dim)
    """
    _refuse_forced_doses(action_set, choice)
    refuse_no_start(action_set)
    on, step_gaps = _picks(action_set, theta, choice)
    return _finish(action_set, theta, choice, on, step_gaps, "greedy")


def ruled_swap(action_set: ActionSet, theta: FloatArray, choice: Choice) -> BatchSolution:
    """Improve the greedy support by the best allowed exchange, until none gains."""
    start = ruled_greedy(action_set, theta, choice)
    on = np.zeros(theta.shape, dtype=np.bool_)
    rows, places = np.nonzero(start.supports >= 0)
    on[rows, start.supports[rows, places]] = True
    for row in np.flatnonzero(~start.is_exact).tolist():
        value = start.values[row]
        while True:
            better, reached = _best_exchange(action_set, theta[row], choice, on[row])
            if not reached > value + _LEAST_GAIN * abs(value):
                break
            on[row], value = better, reached
    improved = _finish(action_set, theta, choice, on, start.step_gaps, "swap")
    return replace(improved, gaps=start.gaps)


def _refuse_forced_doses(action_set: ActionSet, choice: Choice) -> None:
    if action_set.is_convex or not (choice.always or choice.at_least):
        return
    raise CompositionError(
        f"On {action_set!r}, what must be on takes a least dose, or is not 0, and greedy would "
        "have to undo its picks to make room. Use method='exact'."
    )


def _picks(
    action_set: ActionSet, theta: FloatArray, choice: Choice
) -> tuple[BoolArray, FloatArray]:
    """Return the supports, (n, dim), and the step gaps, (n, width), of Algorithm 2 under rules."""
    n, width = theta.shape[0], choice.width
    lanes = np.arange(n)
    marginals = action_set.marginals(theta)
    state = choice.start(np.broadcast_to(action_set.available, theta.shape))
    choice.propagate(state)
    best, second = np.zeros((n, width)), np.zeros((n, width))
    chosen = np.zeros((n, width), dtype=np.bool_)
    forced = list(choice.always)
    for step in range(width):
        keys = marginals.keys()
        if step < len(forced):
            pick: IntArray = np.full(n, forced[step])
            best[:, step] = np.maximum(keys[lanes, pick], 0.0)
        else:
            keys[state != FREE] = 0.0
            pick = keys.argmax(axis=1)
            best[:, step] = keys[lanes, pick]
            keys[lanes, pick] = 0.0
            second[:, step] = keys.max(axis=1)
            stops = best[:, step] <= marginals.floor
            if stops.all():
                break
            pick = np.where(stops, -1, pick)
            chosen[:, step] = ~stops
        moved = pick >= 0
        best[~moved, step] = 0.0
        state[lanes[moved], pick[moved]] = IN
        choice.propagate(state)
        marginals.add(pick)
    delta = marginals.gains(best, best) - marginals.gains(best, second)
    return np.asarray(state == IN), np.where(chosen, delta, np.inf)


def _finish(
    action_set: ActionSet,
    theta: FloatArray,
    choice: Choice,
    on: BoolArray,
    step_gaps: FloatArray,
    method: str,
) -> BatchSolution:
    for row in np.flatnonzero(~choice.allows(on)).tolist():
        completed = choice.complete(on[row], action_set.available)
        if completed is None:
            raise CompositionError(
                f"{method} came to a dead end: the rules do not let enough other coordinates be on "
                f"beside {np.flatnonzero(on[row]).tolist()}. Use method='exact'."
            )
        on[row] = completed
    supports = padded(on, choice.width)
    actions, values = action_set.respond_on(theta, supports)
    if np.isneginf(values).any():
        raise CompositionError(
            f"{method} found no action of {action_set!r} on what the rules let it pick one by one. "
            "Use method='exact'."
        )
    bounds, attained = certify(action_set, theta, values)
    if action_set.sorting is not None:  # exact for H alone
        bounds = action_set.unconstrained_values(theta)
        attained = bounds <= values + 1e-12 * np.abs(values)
    everything = choice.allows(action_set.available[None])[0]
    least = np.full(theta.shape[0], np.inf) if everything else step_gaps.min(axis=1)
    idle = np.isinf(step_gaps).all(axis=1) & ~everything
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=np.where(idle, 0.0, least),
        step_gaps=step_gaps,
        is_exact=attained,
        upper_bounds=np.where(attained, values, bounds),
        method=method,
    )


def _best_exchange(
    action_set: ActionSet, theta: FloatArray, choice: Choice, on: BoolArray
) -> tuple[BoolArray, float]:
    """Drop one coordinate, or none, and take the best that is then allowed; the best of all."""
    dropped = np.array([-1, *(i for i in np.flatnonzero(on) if i not in choice.always)])
    state = choice.start(np.broadcast_to(action_set.available, (dropped.size, on.size)))
    state[:, on] = IN
    rows = np.flatnonzero(dropped >= 0)
    state[rows, dropped[rows]] = OUT
    possible = choice.propagate(state)
    repeated = np.repeat(theta[None], dropped.size, axis=0)
    marginals = action_set.marginals(repeated)
    for coordinate in np.flatnonzero(on).tolist():
        marginals.add(np.where(dropped == coordinate, -1, coordinate))
    keys = np.where(state == FREE, marginals.keys(), 0.0)
    entering = keys.argmax(axis=1)
    candidates = np.asarray(state == IN)
    lanes = np.arange(dropped.size)
    gaining = keys[lanes, entering] > marginals.floor
    candidates[lanes[gaining], entering[gaining]] = True
    values = action_set.respond_on(repeated, padded(candidates, choice.width))[1]
    values = np.where(possible & choice.allows(candidates), values, -np.inf)
    best = int(values.argmax())
    return candidates[best], float(values[best])
