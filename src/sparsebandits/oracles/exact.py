"""The exact oracle: each form of a set has a search that proves the best support."""

import itertools
import math
from dataclasses import replace

import numpy as np

from sparsebandits.action_sets import ActionSet, Inequalities, Points, QuadraticForm, Spending
from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.mixed_integer import sparse_mixed_integer
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.solution import BatchSolution, BestSupport
from sparsebandits.oracles.spending import solve_spending
from sparsebandits.oracles.subset_table import best_subsets, tabulate
from sparsebandits.oracles.swap import solve_swap
from sparsebandits.oracles.top_h import solve_top_h
from sparsebandits.validation import BoolArray, FloatArray, IntArray

ENUMERABLE_SUPPORTS = 20_000
"""Up to this many supports, trying each of them is cheap."""

ENUMERABLE_PROGRAMS = 5_000
"""Up to this many linear programs, one per support, cost less than swap: most are ruled out."""

_PROGRAMS_TOGETHER = 2**14
_FIRST = 8
_PRUNE = 1e-7
"""How far a bound on a coordinate, from a linear program of its own, may be off, with room."""
_EQUAL = 1e-12
"""Relative differences of values, or of entries of an action, that are rounding."""


def solve_exact(
    action_set: ActionSet,
    theta: FloatArray,
    sparsity: int,
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BatchSolution:
    """Prove the best support, or stop at `time_limit` seconds per theta with what is known then.

    Closed form where sorting is exact. Elsewhere the form in which the set is written down has a
    search: for a quadratic form branch and bound or enumeration (`subset_search`), with a table
    kept for the next theta (`subset_table`); for a spending a branch and bound (`knapsack`), which
    stops unproven after 20,000 nodes; for inequalities a linear program per support while there
    are at most 5,000, side by side, else a mixed-integer program; for points a scan. A set of
    no known form is enumerated while it has at most 20,000 supports.

    Parameters
    ----------
    theta : (n, dim)
    """
    if action_set.sorting is not None:
        return replace(solve_top_h(action_set, theta, sparsity), method="exact")
    if isinstance(action_set.form, Spending):
        choice = Choice(action_set.dim, sparsity)
        return solve_spending(
            action_set, action_set.form, theta, choice, time_limit=time_limit, runner_up=runner_up
        )
    best = _prove(action_set, action_set.form, theta, sparsity, time_limit, runner_up)
    supports = np.full((theta.shape[0], sparsity), -1, dtype=np.intp)
    for row, proof in enumerate(best):
        supports[row, : len(proof.support)] = proof.support
    # What was found is on: with its least doses, where there are any.
    actions, values = action_set.respond_on(theta, supports, all_on=True)
    proven = np.array([proof.proven for proof in best], dtype=np.bool_)
    bounds = np.array([proof.upper_bound for proof in best])
    gaps = np.maximum(values - np.array([proof.runner_up for proof in best]), 0.0)
    if sparsity >= np.count_nonzero(action_set.available):
        gaps = np.full(theta.shape[0], np.inf)
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=gaps,
        step_gaps=np.empty((theta.shape[0], 0)),
        is_exact=proven,
        upper_bounds=np.where(proven, values, np.maximum(bounds, values)),
        method="exact",
    )


def is_cheap(action_set: ActionSet, sparsity: int) -> bool:
    """Whether ``method="auto"`` goes for the exact oracle: see `sparse_argmax`."""
    usable = int(np.count_nonzero(action_set.available))
    size = min(sparsity, usable)
    match action_set.form:
        case Points() | Spending():
            return True
        case Inequalities() as form:
            # Where a support may have no action, there is nothing to climb from.
            return not form.is_plain or math.comb(usable, size) <= ENUMERABLE_PROGRAMS
        case _:
            return math.comb(usable, size) <= ENUMERABLE_SUPPORTS


def _prove(
    action_set: ActionSet,
    form: QuadraticForm | Points | Inequalities | None,
    theta: FloatArray,
    sparsity: int,
    time_limit: float | None,
    runner_up: bool,
) -> list[BestSupport]:
    """Answer every row of theta by the search for the form of the set."""
    usable = np.flatnonzero(action_set.available)
    size = min(sparsity, usable.size)
    count = math.comb(usable.size, size)
    match form:
        case QuadraticForm():
            return _subsets(action_set, form, theta, size, time_limit, runner_up)
        case Points():
            return [_scan(form.sparse(sparsity), row) for row in theta]
        case Inequalities():
            if count > ENUMERABLE_PROGRAMS or not form.is_plain:
                return [
                    _mixed_integer(action_set, form, row, sparsity, time_limit, runner_up)
                    for row in theta
                ]
            supports = _all_supports(usable, size)
            together = max(1, _PROGRAMS_TOGETHER // count)
            return [
                best
                for first in range(0, theta.shape[0], together)
                for best in _try_all(
                    action_set, form, theta[first : first + together], supports, runner_up
                )
            ]
        case None:
            if count > ENUMERABLE_SUPPORTS:
                raise CompositionError(
                    f"No exact oracle is known for {action_set!r}, and its {count} supports are "
                    "too many to try. Use method='swap' or 'greedy'."
                )
            supports = _all_supports(usable, size)
            return [_enumerate(action_set, row, supports) for row in theta]


def _all_supports(usable: IntArray, size: int) -> IntArray:
    """List the supports of `size` usable coordinates, (s, size)."""
    chosen = itertools.chain.from_iterable(itertools.combinations(usable.tolist(), size))
    return np.fromiter(chosen, dtype=np.intp).reshape(-1, size)


def _subsets(
    action_set: ActionSet,
    form: QuadraticForm,
    theta: FloatArray,
    size: int,
    time_limit: float | None,
    runner_up: bool,
) -> list[BestSupport]:
    usable = np.flatnonzero(action_set.available)
    matrix = form.matrix[np.ix_(usable, usable)]
    table = action_set.remember(("subset table", size), lambda: tabulate(matrix, size))
    searches = best_subsets(
        matrix, theta[:, usable], size, table, time_limit=time_limit, runner_up=runner_up
    )
    return [
        BestSupport(
            support=tuple(usable[list(best.support)].tolist()),
            upper_bound=math.sqrt(best.squared_bound),
            proven=best.proven,
            runner_up=math.sqrt(best.runner_up_squared_value),
        )
        for best in searches
    ]


def _try_all(
    action_set: ActionSet,
    form: Inequalities,
    theta: FloatArray,
    supports: IntArray,
    runner_up: bool,
) -> list[BestSupport]:
    """Respond on every support, (s, H), that may be best; for a runner-up, on every one.

    The coordinates' own bounds limit the value on a support. The supports of the largest limits are
    tried first, and then only those whose limit reaches the best value so far. A support keeps the
    coordinates that its action uses.
    """
    n, count = theta.shape[0], supports.shape[0]
    values = np.full((n, count), -np.inf)

    def respond(tried: BoolArray) -> None:
        rows, places = np.nonzero(tried)
        values[tried] = action_set.respond_on(theta[rows], supports[places])[1]

    lower, upper = form.coordinate_bounds
    limits = np.maximum(theta * lower, theta * upper)[:, supports].sum(axis=2)
    place = max(count - _FIRST, 0)
    level = np.partition(limits, place, axis=1)[:, place]
    first = limits >= (-np.inf if runner_up else level[:, None])
    respond(first)
    reach = values.max(axis=1, keepdims=True) * (1.0 - _PRUNE)
    respond(~first & (limits >= reach))
    # Supports that share their best vertex differ by rounding: the first of them counts.
    best = (values >= values.max(axis=1, keepdims=True) * (1.0 - _EQUAL)).argmax(axis=1)
    actions = np.abs(action_set.respond_on(theta, supports[best])[0])
    answers = []
    for row, action in enumerate(actions):
        used = np.flatnonzero(action > _EQUAL * action.max())
        runner = math.nan
        if runner_up:
            others = np.isin(supports, used).sum(axis=1) < used.size
            runner = float(values[row, others].max(initial=-np.inf))
        value = float(values[row, best[row]])
        answers.append(BestSupport(tuple(used.tolist()), value, True, runner))
    return answers


def _mixed_integer(
    action_set: ActionSet,
    form: Inequalities,
    theta: FloatArray,
    sparsity: int,
    time_limit: float | None,
    runner_up: bool,
) -> BestSupport:
    found = sparse_mixed_integer(
        form.program,
        theta,
        Choice(theta.size, sparsity),
        *form.coordinate_bounds,
        available=action_set.available,
        time_limit=time_limit,
        incumbent=solve_swap(action_set, theta[None, :], sparsity).actions[0]
        if form.is_plain
        else None,
        runner_up=runner_up,
    )
    return BestSupport(found.support, found.upper_bound, found.proven, found.runner_up)


def _scan(points: FloatArray, theta: FloatArray) -> BestSupport:
    values = points @ theta
    best = int(values.argmax())
    support = np.flatnonzero(points[best])
    others = values[(points[:, support] == 0).any(axis=1)]
    runner = float(others.max(initial=-math.inf)) if support.size else math.nan
    return BestSupport(tuple(support.tolist()), float(values[best]), runner_up=runner)


def _enumerate(action_set: ActionSet, theta: FloatArray, supports: IntArray) -> BestSupport:
    rows = np.repeat(theta[None, :], supports.shape[0], axis=0)
    values = action_set.respond_on(rows, supports)[1]
    best = int(values.argmax())
    runner = float(np.delete(values, best).max()) if values.size > 1 else math.nan
    return BestSupport(tuple(supports[best].tolist()), float(values[best]), runner_up=runner)
