"""Which H-sparse action earns most for this theta: one question, five ways to answer it."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.scaling import unit_rows
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.oracles.exact import is_cheap, solve_exact
from sparsebandits.oracles.greedy import greedy_picks, minimum_gaps, solve_greedy
from sparsebandits.oracles.ruled import ruled_supports, solve_ruled
from sparsebandits.oracles.solution import BatchSolution, Solution, ascending, join
from sparsebandits.oracles.supports import Limit, Supports, as_limit
from sparsebandits.oracles.swap import solve_swap
from sparsebandits.oracles.top_h import solve_top_h, top_h_supports
from sparsebandits.oracles.unproven import note_proofs
from sparsebandits.validation import (
    FloatArray,
    IntArray,
    as_choice,
    as_floats,
    as_number,
    as_theta,
    describe,
)

ORACLES = ("auto", "top-h", "greedy", "swap", "exact")
"""What contracts and the command line read."""

_BLOCK = 2**14
"""Numbers per block of theta: its temporaries stay in the cache and off the page-fault path."""


def sparse_argmax(
    action_set: ActionSet,
    theta: Any,
    sparsity: int | Supports,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> Solution:
    """Maximise theta·x over the actions x in X with at most H non-zeros.

    Parameters
    ----------
    action_set : ActionSet
    theta : array of shape (dim,)
    sparsity : int or Supports
        H, in 1..dim; or rules for what may be on.
    method : {"auto", "top-h", "greedy", "swap", "exact"}
        "auto" is top-h where sorting is exact; otherwise exact where that is cheap: on a finite
        set, on a budget (proven within 20,000 nodes, else ``is_exact`` is false), on a polytope
        with at most 5,000 supports or without 0 or with least doses, on another set with at most
        20,000; otherwise swap.
    time_limit : float, optional
        Seconds after which "exact" stops with the best found, an upper bound and
        ``is_exact=False``.
    runner_up : bool
        Whether "exact" also looks for the best value on any other support, for the gap.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> best = sb.sparse_argmax(sb.LpBall(dim=4), [0.1, -3.0, 0.2, 4.0], sparsity=2)
    >>> best.support, best.value, best.is_exact
    ((1, 3), 5.0, True)
    >>> best.action
    array([ 0. , -0.6,  0. ,  0.8])
    """
    parameter = as_floats("theta", theta, "of shape (dim,)")
    if parameter.ndim != 1:
        raise InvalidValueError(
            f"theta must have shape (dim,), got shape {parameter.shape}; "
            "use sparse_argmax_batch for many at once."
        )
    batch = sparse_argmax_batch(
        action_set, parameter[None], sparsity, method, time_limit=time_limit, runner_up=runner_up
    )
    found = batch.row(0)
    is_ruled = not action_set.choice_of(as_limit(sparsity, action_set)).is_plain
    if found.is_exact or found.method == "exact" or (action_set.gamma_bound > 0 and not is_ruled):
        return found
    where = "under rules" if is_ruled else f"on {action_set!r}, of which no gamma > 0 is known"
    warning = f"{found.method} has no guarantee {where}. Use method='exact'."
    return replace(found, warning=warning)


def sparse_argmax_batch(
    action_set: ActionSet,
    theta: Any,
    sparsity: int | Supports,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BatchSolution:
    """Answer `sparse_argmax` for every theta of an array of shape (..., dim) at once.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> best = sb.sparse_argmax_batch(sb.LpBall(dim=3), [[1, 2, 3], [3, 2, 1]], sparsity=1)
    >>> best.supports.tolist(), best.values.tolist()
    ([[2], [0]], [3.0, 3.0])
    """
    if not isinstance(action_set, ActionSet):
        raise InvalidTypeError(
            f"action_set must be an action set such as sb.LpBall(dim=20), "
            f"got {describe(action_set)}."
        )
    parameters = as_theta(theta, action_set.dim)
    limit = as_limit(sparsity, action_set)
    if time_limit is not None:
        time_limit = as_number("time_limit", time_limit, positive=True)
    rows = parameters.reshape(-1, action_set.dim)
    parts = [
        _dispatch(action_set, block, limit, method, time_limit, runner_up)
        for block in _blocks(rows)
    ]
    return join(parts).reshape(parameters.shape[:-1])


def choose_supports(
    action_set: ActionSet, theta: FloatArray, sparsity: Limit, oracle: str
) -> tuple[IntArray, FloatArray]:
    """Return what the gap test needs and no more: the supports and their gaps, unchecked.

    Parameters
    ----------
    theta : (n, dim)

    Returns
    -------
    supports : (n, H)
        Ascending, padded with -1.
    gaps : (n,)
    """
    parts = [_supports(action_set, block, sparsity, oracle) for block in _blocks(theta)]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def best_actions(
    action_set: ActionSet, theta: FloatArray, sparsity: Limit, oracle: str
) -> FloatArray:
    """Return what a policy plays and no more: the action for every theta, (n, dim), unchecked."""
    sorts = oracle == "top-h" or (oracle == "auto" and action_set.sorting is not None)
    if sorts and isinstance(sparsity, int):
        supports, _ = top_h_supports(action_set, theta, sparsity)
        return action_set.act_on(theta, supports)
    parts = [
        _dispatch(action_set, block, sparsity, oracle, None, False) for block in _blocks(theta)
    ]
    found = join(parts)
    note_proofs(found.is_exact)
    return found.actions


def _blocks(rows: FloatArray) -> list[FloatArray]:
    size = max(1, _BLOCK // rows.shape[1])
    return [rows[first : first + size] for first in range(0, max(rows.shape[0], 1), size)]


def _supports(
    action_set: ActionSet, rows: FloatArray, sparsity: Limit, oracle: str
) -> tuple[IntArray, FloatArray]:
    if isinstance(sparsity, Supports):
        unit, scales = unit_rows(rows)
        ruled = ruled_supports(action_set, unit, sparsity, oracle)
        return ruled.supports, ruled.gaps * scales[:, 0]
    if oracle == "top-h":
        return top_h_supports(action_set, rows, sparsity)
    if oracle == "greedy":
        unit, scales = unit_rows(rows)
        picks, step_gaps = greedy_picks(action_set, unit, sparsity)
        return ascending(picks), minimum_gaps(action_set, picks, step_gaps * scales)
    solution = _dispatch(action_set, rows, sparsity, oracle, None, True)
    return solution.supports, solution.gaps


def _dispatch(
    action_set: ActionSet,
    rows: FloatArray,
    sparsity: Limit,
    oracle: str,
    time_limit: float | None,
    runner_up: bool,
) -> BatchSolution:
    chosen = as_choice("method", oracle, ORACLES)
    if isinstance(sparsity, Supports):
        unit, scales = unit_rows(rows)
        ruled = solve_ruled(
            action_set, unit, sparsity, chosen, time_limit=time_limit, runner_up=runner_up
        )
        return ruled.scaled(scales)
    if chosen == "auto":
        if action_set.sorting is not None:
            chosen = "top-h"
        else:
            chosen = "exact" if is_cheap(action_set, sparsity) else "swap"
    if chosen == "top-h":
        return solve_top_h(action_set, rows, sparsity)
    # Squares of theta must neither overflow nor vanish.
    unit, scales = unit_rows(rows)
    match chosen:
        case "greedy":
            answer = solve_greedy(action_set, unit, sparsity)
        case "swap":
            answer = solve_swap(action_set, unit, sparsity)
        case _:
            answer = solve_exact(
                action_set, unit, sparsity, time_limit=time_limit, runner_up=runner_up
            )
    return answer.scaled(scales)
