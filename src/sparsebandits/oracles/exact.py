"""The exact oracle: which search proves the best support of each kind of set."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.knapsack import best_spend
from sparsebandits.oracles.mixed_integer import sparse_mixed_integer
from sparsebandits.oracles.solution import BatchSolution
from sparsebandits.oracles.subset_table import best_subsets, tabulate
from sparsebandits.oracles.swap import swap
from sparsebandits.oracles.top_h import top_h
from sparsebandits.validation import FloatArray, IntArray

ENUMERABLE_SUPPORTS = 20_000
"""Up to this many supports, trying each of them is cheap."""

ENUMERABLE_PROGRAMS = 2_000
"""Up to this many linear programs, one per support, are solved sooner than a mixed-integer one."""

_PROGRAMS_TOGETHER = 2**14
_EQUAL = 1e-12
"""Relative differences of values, or of entries of an action, that are rounding."""


@dataclass(frozen=True)
class Search:
    """What one search found for one theta."""

    support: tuple[int, ...]
    upper_bound: float
    proven: bool
    runner_up: float = math.nan
    """The best value on supports that do not contain `support`; nan if not looked for."""


Solver = Callable[[Any, FloatArray, int, float | None, bool], list[Search]]
"""Takes rows of theta, (n, dim), and finds an answer for each of them."""


def exact(
    action_set: ActionSet,
    theta: FloatArray,
    sparsity: int,
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BatchSolution:
    """Prove the best support, or stop at `time_limit` seconds per theta with what is known then.

    Closed form where sorting is exact; branch and bound or enumeration on the ellipsoid
    (`best_subset`), with a table kept for the next theta (`subset_table`); a branch and bound on
    budgets (`knapsack`), which stops unproven after 20,000 nodes; on polytopes a linear program
    per support while there are at most 2,000, all side by side, else a mixed-integer program; a
    scan on finite sets; enumeration on anything else while there are at most 20,000 supports.

    Parameters
    ----------
    theta : (n, dim)
    """
    if action_set.is_sortable:
        sorted_answer = top_h(action_set, theta, sparsity)
        return BatchSolution(**{**vars(sorted_answer), "method": "exact"})
    solve = SOLVERS[action_set.exact_form]
    found = solve(action_set, theta, sparsity, time_limit, runner_up)
    supports = np.full((theta.shape[0], sparsity), -1, dtype=np.intp)
    for row, search in enumerate(found):
        supports[row, : len(search.support)] = search.support
    actions, values = action_set.respond_on(theta, supports)
    proven = np.array([search.proven for search in found], dtype=np.bool_)
    bounds = np.array([search.upper_bound for search in found])
    gaps = np.maximum(values - np.array([search.runner_up for search in found]), 0.0)
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
    if action_set.exact_form in ("finite", "budget"):
        return True
    size = min(sparsity, usable)
    if action_set.exact_form == "linear":
        # Greedy solves about H d linear programs, and each round of exchanges as many again:
        # beyond this, trying every support costs more than swap does.
        return math.comb(usable, size) <= min(6 * size * usable, ENUMERABLE_PROGRAMS)
    return math.comb(usable, size) <= ENUMERABLE_SUPPORTS


def _quadratic(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> list[Search]:
    usable = np.flatnonzero(action_set.available)
    size = min(sparsity, usable.size)
    matrix = action_set.matrix[np.ix_(usable, usable)]
    searches = best_subsets(
        matrix,
        theta[:, usable],
        size,
        action_set.remember(("subset table", size), lambda: tabulate(matrix, size)),
        time_limit=time_limit,
        runner_up=runner_up,
    )
    return [
        Search(
            support=tuple(usable[list(found.support)].tolist()),
            upper_bound=math.sqrt(found.squared_bound),
            proven=found.proven,
            runner_up=math.sqrt(found.runner_up_squared_value),
        )
        for found in searches
    ]


def _row_by_row(solve: Callable[[Any, FloatArray, int, float | None, bool], Search]) -> Solver:
    def solve_rows(
        action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
    ) -> list[Search]:
        return [solve(action_set, row, sparsity, time_limit, runner_up) for row in theta]

    return solve_rows


def _linear(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> list[Search]:
    usable = np.flatnonzero(action_set.available)
    if math.comb(usable.size, min(sparsity, usable.size)) > ENUMERABLE_PROGRAMS:
        return [_mixed_integer(action_set, row, sparsity, time_limit, runner_up) for row in theta]
    supports = _all_supports(usable, sparsity)
    together = max(1, _PROGRAMS_TOGETHER // supports.shape[0])
    return [
        search
        for first in range(0, theta.shape[0], together)
        for search in _try_all(action_set, theta[first : first + together], supports)
    ]


def _try_all(action_set: Any, theta: FloatArray, supports: IntArray) -> list[Search]:
    """Respond on every support, (s, H); a support keeps the coordinates that its action uses."""
    n, count = theta.shape[0], supports.shape[0]
    actions, values = action_set.respond_on(
        np.repeat(theta, count, axis=0), np.tile(supports, (n, 1))
    )
    values = values.reshape(n, count)
    found = []
    for row in range(n):
        # Supports that share their best vertex differ by rounding: the first of them counts.
        best = int((values[row] >= values[row].max() * (1.0 - _EQUAL)).argmax())
        action = np.abs(actions[row * count + best])
        used = np.flatnonzero(action > _EQUAL * action.max())
        others = np.isin(supports, used).sum(axis=1) < used.size
        runner = float(values[row, others].max()) if others.any() else -math.inf
        found.append(Search(tuple(used.tolist()), float(values[row, best]), True, runner))
    return found


def _mixed_integer(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> Search:
    lower, upper = action_set.coordinate_bounds
    matrix, bounds = action_set.linear_constraints()
    found = sparse_mixed_integer(
        matrix,
        bounds,
        theta,
        sparsity,
        lower,
        upper,
        available=action_set.available,
        time_limit=time_limit,
        incumbent=swap(action_set, theta[None, :], sparsity).actions[0],
        runner_up=runner_up,
    )
    return Search(found.support, found.upper_bound, found.proven, found.runner_up_value)


def _budget(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> list[Search]:
    upper = np.where(action_set.available, action_set.upper, 0.0)
    # Half of the time is for the runners-up.
    seconds = math.inf if time_limit is None else theta.shape[0] * time_limit / (1 + runner_up)
    best = best_spend(theta, upper, action_set.total, sparsity, seconds=seconds)
    runners = np.full(theta.shape[0], math.nan)
    if runner_up:
        # A support that does not contain the best one lacks one of its coordinates.
        rows, lacking = np.nonzero(best.supports & best.proven[:, None])
        others = theta[rows]
        others[np.arange(rows.size), lacking] = 0.0
        second = best_spend(others, upper, action_set.total, sparsity, seconds=seconds)
        runners[best.proven] = -math.inf
        np.maximum.at(runners, rows, second.bounds)
        runners[rows[~second.proven]] = math.nan
    return [
        Search(tuple(np.flatnonzero(support).tolist()), bound, proven, runner)
        for support, bound, proven, runner in zip(
            best.supports,
            best.bounds.tolist(),
            best.proven.tolist(),
            runners.tolist(),
            strict=True,
        )
    ]


def _finite(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> Search:
    points = action_set.points[action_set.sparse_points(sparsity)]
    values = points @ theta
    best = int(values.argmax())
    support = np.flatnonzero(points[best])
    if support.size:
        others = values[(points[:, support] == 0).any(axis=1)]
        return Search(tuple(support.tolist()), float(values[best]), True, float(others.max()))
    return Search((), float(values[best]), True)


def _enumerate(
    action_set: Any, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> Search:
    usable = np.flatnonzero(action_set.available)
    size = min(sparsity, usable.size)
    if math.comb(usable.size, size) > ENUMERABLE_SUPPORTS:
        raise CompositionError(
            f"No exact oracle is known for {action_set!r}, and its {math.comb(usable.size, size)} "
            "supports are too many to try. Use method='swap' or 'greedy'."
        )
    supports = _all_supports(usable, size)
    rows = np.repeat(theta[None, :], supports.shape[0], axis=0)
    values = action_set.respond_on(rows, supports)[1]
    best = int(values.argmax())
    runner = float(np.delete(values, best).max()) if values.size > 1 else math.nan
    return Search(tuple(supports[best].tolist()), float(values[best]), True, runner)


def _all_supports(usable: IntArray, sparsity: int) -> IntArray:
    """List the supports of H usable coordinates, or of all where there are fewer, (s, H)."""
    size = min(sparsity, usable.size)
    chosen = itertools.chain.from_iterable(itertools.combinations(usable.tolist(), size))
    return np.fromiter(chosen, dtype=np.intp).reshape(-1, size)


SOLVERS: dict[str, Solver] = {
    "quadratic": _quadratic,
    "linear": _linear,
    "budget": _budget,
    "finite": _row_by_row(_finite),
    "other": _row_by_row(_enumerate),
}
