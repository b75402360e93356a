"""The oracles under rules (`Supports`): each method of `sparse_argmax`, with the rules taken in."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sparsebandits.action_sets import ActionSet, Inequalities, Points, QuadraticForm, Spending
from sparsebandits.action_sets.choices import FREE, IN, OUT, Choice
from sparsebandits.action_sets.mixed_integer import sparse_mixed_integer
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.ruled_greedy import ruled_greedy, ruled_swap
from sparsebandits.oracles.ruled_sorting import best_by_sorting
from sparsebandits.oracles.ruled_subsets import best_ruled_subset
from sparsebandits.oracles.solution import BatchSolution, padded
from sparsebandits.oracles.spending import solve_spending
from sparsebandits.oracles.supports import Supports
from sparsebandits.validation import BoolArray, FloatArray

_ENUMERABLE = 20_000
"""Up to this many supports of a set of no known form are all tried."""


def solve_ruled(
    action_set: ActionSet,
    theta: FloatArray,
    rules: Supports,
    method: str,
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BatchSolution:
    """Answer `sparse_argmax` under rules for rows of theta, (n, dim), whose entries are about 1."""
    if not action_set.is_unrestricted:  # what is left may be too little
        action_set.refuse_empty(action_set.dim, rules)
    choice = rules.on(action_set)
    chosen = _cheapest(action_set, choice) if method == "auto" else method
    match chosen:
        case "top-h":
            _refuse_no_sorting(action_set, choice)
            return _sorted(action_set, theta, choice)
        case "greedy":
            return ruled_greedy(action_set, theta, choice)
        case "swap":
            return ruled_swap(action_set, theta, choice)
        case _:
            return _exact(action_set, theta, choice, time_limit, runner_up)


def _cheapest(action_set: ActionSet, choice: Choice) -> str:
    """Return what ``method="auto"`` is: sorting or the exact search, unless that takes long."""
    if action_set.sorting is not None:
        return "top-h" if choice.is_matroid else "exact"
    if isinstance(action_set.form, (Points, Spending, Inequalities)):
        return "exact"
    usable = int(np.count_nonzero(action_set.available))
    return "exact" if math.comb(usable, min(choice.width, usable)) <= _ENUMERABLE else "swap"


def _refuse_no_sorting(action_set: ActionSet, choice: Choice) -> None:
    if action_set.sorting is None:
        raise CompositionError(
            f"top-h needs a set on which sorting is exact (an lp ball, a box, a diagonal "
            f"ellipsoid); {action_set!r} is not one. Use method='greedy', 'swap' or 'exact'."
        )
    if not choice.is_matroid:
        raise CompositionError(
            "top-h takes the best coordinate that still fits, which is best only where groups, "
            "pairs and blocks do not overlap; these rules do. Use method='exact'."
        )


def _sorted(action_set: ActionSet, theta: FloatArray, choice: Choice) -> BatchSolution:
    """Choose by matroid greedy; the gap is the least that an exchange of two coordinates costs."""
    sorting = action_set.sorting
    assert sorting is not None
    usable = np.broadcast_to(action_set.available, theta.shape)
    on = best_by_sorting(sorting, theta, choice, usable)
    supports = padded(on, choice.width)
    actions, values = action_set.respond_on(theta, supports, all_on=True)
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=_exchange_gaps(action_set, theta, choice, on),
        step_gaps=np.empty((theta.shape[0], 0)),
        is_exact=np.ones(theta.shape[0], dtype=np.bool_),
        upper_bounds=values,
        method="top-h",
    )


def _exchange_gaps(
    action_set: ActionSet, theta: FloatArray, choice: Choice, on: BoolArray
) -> FloatArray:
    """Return by how much every exchange of one coordinate loses, in the scores, (n,).

    If no exchange gains, no other support is better: that is the matroid's own property. Where a
    coordinate could be added that gains nothing, the gap is no more than it is short of gaining.
    With blocks the choice is between sums of scores, and the gap is nan.
    """
    sorting = action_set.sorting
    assert sorting is not None
    if choice.blocks:
        return np.full(theta.shape[0], np.nan)
    scores = sorting.scores(theta)
    everything = choice.start(np.broadcast_to(action_set.available, theta.shape))
    if np.isinf(sorting.exponent):  # only the largest score counts
        choice.propagate(everything)
        ranked = np.sort(np.where(everything == OUT, 0.0, scores), axis=1)
        return np.asarray(ranked[:, -1] - ranked[:, -2:-1].max(axis=1, initial=0.0))
    rows, dropped = np.nonzero(choice.movable(on))
    state = everything[rows]
    state[on[rows]] = IN
    state[np.arange(rows.size), dropped] = OUT
    choice.propagate(state)
    rivals = np.where(state == FREE, scores[rows], 0.0).max(axis=1, initial=0.0)
    gaps = np.full(theta.shape[0], np.inf)
    np.minimum.at(gaps, rows, scores[rows, dropped] - rivals)
    everything[on] = IN
    choice.propagate(everything)
    idle = (everything == FREE).any(axis=1)
    if idle.any():
        gaps[idle] = np.minimum(gaps[idle], sorting.idle_margin(theta[idle]))
    return np.asarray(np.maximum(gaps, 0.0))


@dataclass(frozen=True)
class _Proof:
    """Supports, (n, dim), upper bounds, (n,), and which are proven best, (n,)."""

    on: BoolArray
    bounds: FloatArray
    proven: BoolArray


def _exact(
    action_set: ActionSet,
    theta: FloatArray,
    choice: Choice,
    time_limit: float | None,
    runner_up: bool,
) -> BatchSolution:
    form = action_set.form
    if isinstance(form, Spending):
        return solve_spending(
            action_set, form, theta, choice, time_limit=time_limit, runner_up=runner_up
        )
    n = theta.shape[0]
    # Half of the time is for the runners-up.
    seconds = math.inf if time_limit is None else time_limit / (1 + runner_up)
    usable = np.broadcast_to(action_set.available, theta.shape)
    proof = _prove(action_set, form, theta, choice, usable, seconds)
    supports = padded(proof.on, choice.width)
    actions, values = action_set.respond_on(theta, supports, all_on=True)
    gaps = np.full(n, np.nan)
    if runner_up:
        # A support that does not contain the best one lacks one of its coordinates; none lacks
        # what is always on.
        rows, lacking = np.nonzero(choice.movable(proof.on) & proof.proven[:, None])
        allowed = usable[rows].copy()
        allowed[np.arange(rows.size), lacking] = False
        second = _prove(action_set, form, theta[rows], choice, allowed, seconds / choice.width)
        gaps[proof.proven] = np.inf
        worth = np.where(second.proven, second.bounds, np.nan)
        np.minimum.at(gaps, rows, np.maximum(values[rows] - worth, 0.0))
    return BatchSolution(
        supports=supports,
        actions=actions,
        values=values,
        gaps=gaps,
        step_gaps=np.empty((n, 0)),
        is_exact=proof.proven,
        upper_bounds=np.where(proof.proven, values, np.maximum(proof.bounds, values)),
        method="exact",
    )


def _prove(
    action_set: ActionSet,
    form: QuadraticForm | Points | Inequalities | None,
    theta: FloatArray,
    choice: Choice,
    usable: BoolArray,
    seconds: float,
) -> _Proof:
    """Find the best allowed support of each row; a bound of minus infinity if there is none."""
    proven = np.ones(theta.shape[0], dtype=np.bool_)
    if action_set.sorting is not None:
        on = best_by_sorting(action_set.sorting, theta, choice, usable)
        values = action_set.respond_on(theta, padded(on, choice.width))[1]
        return _Proof(on, np.where(choice.allows(on), values, -np.inf), proven)
    match form:
        case Points():
            return _Proof(*_scan(form.points, theta, choice, usable), proven)
        case QuadraticForm():
            found = [
                best_ruled_subset(form.matrix, row, choice, can, seconds=seconds)
                for row, can in zip(theta, usable, strict=True)
            ]
            bounds = np.array([math.sqrt(one.squared_bound) if one.squared_bound >= 0 else -np.inf
                               for one in found])  # fmt: skip
            on = np.array([one.on for one in found]).reshape(theta.shape)
            return _Proof(on, bounds, np.array([one.proven for one in found], dtype=np.bool_))
        case Inequalities():
            return _by_mixed_integer(form, theta, choice, usable, seconds)
        case None:
            return _Proof(*_try_all(action_set, theta, choice, usable), proven)


def _by_mixed_integer(
    form: Inequalities, theta: FloatArray, choice: Choice, usable: BoolArray, seconds: float
) -> _Proof:
    found = [
        sparse_mixed_integer(
            form.program,
            row,
            choice,
            *form.coordinate_bounds,
            available=can,
            time_limit=None if math.isinf(seconds) else seconds,
        )
        for row, can in zip(theta, usable, strict=True)
    ]
    on = np.zeros(theta.shape, dtype=np.bool_)
    for row, one in enumerate(found):
        on[row, list(one.support)] = True
    bounds = np.array([one.upper_bound for one in found])
    return _Proof(on, bounds, np.array([one.proven for one in found], dtype=np.bool_))


def _scan(
    points: FloatArray, theta: FloatArray, choice: Choice, usable: BoolArray
) -> tuple[BoolArray, FloatArray]:
    """Look at every point that the rules allow; what is not 0 is on."""
    used = points != 0
    allowed = choice.allows(used)
    on, bounds = np.zeros(theta.shape, dtype=np.bool_), np.full(theta.shape[0], -np.inf)
    for row, (parameter, can) in enumerate(zip(theta, usable, strict=True)):
        candidates = np.flatnonzero(allowed & ~used[:, ~can].any(axis=1))
        if candidates.size:
            values = points[candidates] @ parameter
            best = int(values.argmax())
            on[row], bounds[row] = used[candidates[best]], values[best]
    return on, bounds


def _try_all(
    action_set: ActionSet, theta: FloatArray, choice: Choice, usable: BoolArray
) -> tuple[BoolArray, FloatArray]:
    """Try every allowed support of a set of no known form."""
    everything = np.flatnonzero(action_set.available)
    width = min(choice.width, everything.size)
    if sum(math.comb(everything.size, size) for size in range(width + 1)) > _ENUMERABLE:
        raise CompositionError(
            f"No exact oracle is known for {action_set!r} under these rules, and its supports are "
            "too many to try. Use method='swap' or 'greedy'."
        )
    masks = np.array(list(_subsets(everything.tolist(), width, action_set.dim)))
    masks = masks[choice.allows(masks)]
    on, bounds = np.zeros(theta.shape, dtype=np.bool_), np.full(theta.shape[0], -np.inf)
    for row, (parameter, can) in enumerate(zip(theta, usable, strict=True)):
        kept = masks[~masks[:, ~can].any(axis=1)]
        if len(kept):
            rows = np.repeat(parameter[None], len(kept), axis=0)
            values = action_set.respond_on(rows, padded(kept, width), all_on=True)[1]
            best = int(values.argmax())
            on[row], bounds[row] = kept[best], values[best]
    return on, bounds


def _subsets(coordinates: list[int], width: int, dim: int) -> Iterator[BoolArray]:
    for size in range(width + 1):
        for support in itertools.combinations(coordinates, size):
            mask = np.zeros(dim, dtype=np.bool_)
            mask[list(support)] = True
            yield mask


def ruled_supports(
    action_set: ActionSet, theta: FloatArray, rules: Supports, method: str
) -> BatchSolution:
    """Return the solution whose gap a policy tests: with the runner-up, where there is one."""
    solution = solve_ruled(action_set, theta, rules, method, runner_up=True)
    return replace(solution, gaps=np.where(np.isnan(solution.gaps), 0.0, solution.gaps))
