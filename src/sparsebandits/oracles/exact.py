"""The exact oracle: each form of a set has a search that proves the best support."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from sparsebandits.action_sets import ActionSet, Inequalities, Points, QuadraticForm, Spending
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.knapsack import best_spend
from sparsebandits.oracles.mixed_integer import sparse_mixed_integer
from sparsebandits.oracles.solution import BatchSolution
from sparsebandits.oracles.subset_table import best_subsets, tabulate
from sparsebandits.oracles.swap import solve_swap
from sparsebandits.oracles.top_h import solve_top_h
from sparsebandits.validation import FloatArray, IntArray

ENUMERABLE_SUPPORTS = 20_000
"""Up to this many supports, trying each of them is cheap."""

ENUMERABLE_PROGRAMS = 2_000
"""Up to this many linear programs, one per support, are solved sooner than a mixed-integer one."""

_PROGRAMS_TOGETHER = 2**14
_EQUAL = 1e-12
"""Relative differences of values, or of entries of an action, that are rounding."""


@dataclass(frozen=True)
class BestSupport:
    """What a search proved for one theta."""

    support: tuple[int, ...]
    upper_bound: float
    proven: bool = True
    runner_up: float = math.nan
    """The best value on supports that do not contain `support`; nan if not looked for."""


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
    are at most 2,000, all side by side, else a mixed-integer program; for points a scan. A set of
    no known form is enumerated while it has at most 20,000 supports.

    Parameters
    ----------
    theta : (n, dim)
    """
    if action_set.sorting is not None:
        return replace(solve_top_h(action_set, theta, sparsity), method="exact")
    best = _prove(action_set, theta, sparsity, time_limit, runner_up)
    supports = np.full((theta.shape[0], sparsity), -1, dtype=np.intp)
    for row, proof in enumerate(best):
        supports[row, : len(proof.support)] = proof.support
    actions, values = action_set.respond_on(theta, supports)
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
        case Inequalities():
            # Greedy solves about H d linear programs, and each round of exchanges as many again:
            # beyond this, trying every support costs more than swap does.
            return math.comb(usable, size) <= min(6 * size * usable, ENUMERABLE_PROGRAMS)
        case _:
            return math.comb(usable, size) <= ENUMERABLE_SUPPORTS


def _prove(
    action_set: ActionSet,
    theta: FloatArray,
    sparsity: int,
    time_limit: float | None,
    runner_up: bool,
) -> list[BestSupport]:
    """Answer every row of theta by the search for the form of the set."""
    usable = np.flatnonzero(action_set.available)
    size = min(sparsity, usable.size)
    count = math.comb(usable.size, size)
    match action_set.form:
        case QuadraticForm() as form:
            return _subsets(action_set, form, theta, size, time_limit, runner_up)
        case Spending() as form:
            return _spending(form, theta, sparsity, time_limit, runner_up)
        case Points() as form:
            return [_scan(form.sparse(sparsity), row) for row in theta]
        case Inequalities() as form:
            if count > ENUMERABLE_PROGRAMS:
                return [
                    _mixed_integer(action_set, form, row, sparsity, time_limit, runner_up)
                    for row in theta
                ]
            supports = _all_supports(usable, size)
            together = max(1, _PROGRAMS_TOGETHER // count)
            return [
                best
                for first in range(0, theta.shape[0], together)
                for best in _try_all(action_set, theta[first : first + together], supports)
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


def _try_all(action_set: ActionSet, theta: FloatArray, supports: IntArray) -> list[BestSupport]:
    """Respond on every support, (s, H); a support keeps the coordinates that its action uses."""
    n, count = theta.shape[0], supports.shape[0]
    actions, values = action_set.respond_on(
        np.repeat(theta, count, axis=0), np.tile(supports, (n, 1))
    )
    values = values.reshape(n, count)
    answers = []
    for row in range(n):
        # Supports that share their best vertex differ by rounding: the first of them counts.
        best = int((values[row] >= values[row].max() * (1.0 - _EQUAL)).argmax())
        action = np.abs(actions[row * count + best])
        used = np.flatnonzero(action > _EQUAL * action.max())
        others = np.isin(supports, used).sum(axis=1) < used.size
        runner = float(values[row, others].max()) if others.any() else -math.inf
        value = float(values[row, best])
        answers.append(BestSupport(tuple(used.tolist()), value, runner_up=runner))
    return answers


def _mixed_integer(
    action_set: ActionSet,
    form: Inequalities,
    theta: FloatArray,
    sparsity: int,
    time_limit: float | None,
    runner_up: bool,
) -> BestSupport:
    best = sparse_mixed_integer(
        form.program,
        theta,
        sparsity,
        *form.coordinate_bounds,
        available=action_set.available,
        time_limit=time_limit,
        incumbent=solve_swap(action_set, theta[None, :], sparsity).actions[0],
        runner_up=runner_up,
    )
    return BestSupport(best.support, best.upper_bound, best.proven, best.runner_up_value)


def _spending(
    form: Spending, theta: FloatArray, sparsity: int, time_limit: float | None, runner_up: bool
) -> list[BestSupport]:
    # Half of the time is for the runners-up.
    seconds = math.inf if time_limit is None else theta.shape[0] * time_limit / (1 + runner_up)
    best = best_spend(theta, form.upper, form.total, sparsity, seconds=seconds)
    runners = np.full(theta.shape[0], math.nan)
    if runner_up:
        # A support that does not contain the best one lacks one of its coordinates.
        rows, lacking = np.nonzero(best.supports & best.proven[:, None])
        others = theta[rows]
        others[np.arange(rows.size), lacking] = 0.0
        second = best_spend(others, form.upper, form.total, sparsity, seconds=seconds)
        runners[best.proven] = -math.inf
        np.maximum.at(runners, rows, second.bounds)
        runners[rows[~second.proven]] = math.nan
    supports = [tuple(np.flatnonzero(support).tolist()) for support in best.supports]
    columns = (supports, best.bounds.tolist(), best.proven.tolist(), runners.tolist())
    return [BestSupport(*row) for row in zip(*columns, strict=True)]


def _scan(points: FloatArray, theta: FloatArray) -> BestSupport:
    values = points @ theta
    best = int(values.argmax())
    support = np.flatnonzero(points[best])
    others = values[(points[:, support] == 0).any(axis=1)]
    runner = float(others.max()) if support.size else math.nan
    return BestSupport(tuple(support.tolist()), float(values[best]), runner_up=runner)


def _enumerate(action_set: ActionSet, theta: FloatArray, supports: IntArray) -> BestSupport:
    rows = np.repeat(theta[None, :], supports.shape[0], axis=0)
    values = action_set.respond_on(rows, supports)[1]
    best = int(values.argmax())
    runner = float(np.delete(values, best).max()) if values.size > 1 else math.nan
    return BestSupport(tuple(supports[best].tolist()), float(values[best]), runner_up=runner)
