"""Slow and obvious versions: definitions written down, nothing shared with the package."""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
from scipy.optimize import linprog

import sparsebandits as sb
from sparsebandits.validation import FloatArray


def _lp_ball(ball: sb.LpBall, theta: FloatArray) -> float:
    if ball.p == 1:
        return float(ball.radius * np.abs(theta).max())
    dual = 1.0 if np.isinf(ball.p) else ball.p / (ball.p - 1)
    return float(ball.radius * (np.abs(theta) ** dual).sum() ** (1 / dual))


def _program(matrix: FloatArray, bounds: FloatArray, theta: FloatArray) -> float:
    # By default HiGHS takes a gain below 1e-7 for none, however small theta is.
    answer = linprog(
        -theta,
        A_ub=matrix,
        b_ub=bounds,
        bounds=(None, None),
        method="highs",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )
    assert answer.fun is not None
    return -float(answer.fun)


def slow_value_all_on(action_set: sb.Budget, theta: FloatArray, support: Iterable[int]) -> float:
    """The best value with all of these on, each with its least dose; minus infinity if none is."""
    on = list(support)
    budget = action_set
    doses = np.zeros(len(on)) if budget.min_dose is None else budget.min_dose[on]
    total = np.array([budget.total])
    if not on:
        return -np.inf if budget.spend_all else 0.0
    everything = np.ones((1, len(on)))
    sides = (
        {"A_eq": everything, "b_eq": total}
        if budget.spend_all
        else {"A_ub": everything, "b_ub": total}
    )
    answer = linprog(-theta[on], **sides, bounds=np.column_stack([doses, budget.upper[on]]))
    return -float(answer.fun) if answer.status == 0 else -np.inf


def slow_value(action_set: sb.ActionSet, theta: FloatArray, support: Iterable[int]) -> float:
    """h(S; theta), by the definition of each set with everything off S cut away."""
    chosen = [i for i in support if action_set.available[i]]
    if isinstance(action_set, sb.Budget) and (
        action_set.spend_all or action_set.min_dose is not None
    ):
        return max(
            slow_value_all_on(action_set, theta, on)
            for size in range(len(chosen) + 1)
            for on in itertools.combinations(chosen, size)
        )
    if not chosen:
        return 0.0
    part = theta[chosen]
    match action_set:
        case sb.LpBall():
            return _lp_ball(action_set, part)
        case sb.Ellipsoid():
            block = action_set.matrix[np.ix_(chosen, chosen)]
            return float(np.sqrt(part @ np.linalg.solve(block, part)))
        case sb.Box():
            corners = [action_set.lower[chosen], action_set.upper[chosen]]
            return float(np.maximum(part * corners[0], part * corners[1]).sum())
        case sb.Budget():
            identity = np.eye(len(chosen))
            rows = np.vstack([np.ones(len(chosen)), identity, -identity])
            bounds = np.concatenate(
                [[action_set.total], action_set.upper[chosen], np.zeros(len(chosen))]
            )
            return _program(rows, bounds, part)
        case sb.Polytope():
            return _program(action_set.matrix[:, chosen], action_set.bounds, part)
        case sb.FiniteSet():
            off = [i for i in range(action_set.dim) if i not in chosen]
            kept = [point for point in action_set.points if not point[off].any()]
            return float(max(point @ theta for point in kept))
    raise AssertionError(f"no slow value for {action_set!r}")


def all_supports(action_set: sb.ActionSet, sparsity: int) -> Iterable[tuple[int, ...]]:
    usable = np.flatnonzero(action_set.available).tolist()
    for size in range(min(sparsity, len(usable)) + 1):
        yield from itertools.combinations(usable, size)


def brute_force_runner_up(
    action_set: sb.ActionSet, theta: FloatArray, sparsity: int, best: tuple[int, ...]
) -> float:
    """The largest h over the supports that do not contain `best`."""
    others = [s for s in all_supports(action_set, sparsity) if not set(best) <= set(s)]
    return max(slow_value(action_set, theta, support) for support in others)


def slow_greedy(
    value: Callable[[tuple[int, ...]], float], usable: list[int], sparsity: int
) -> tuple[list[int], list[float]]:
    """Algorithm 2, lines 5-13, line by line: the picks and the step gaps."""
    picks: list[int] = []
    gaps: list[float] = []
    for _ in range(min(sparsity, len(usable))):
        base = value(tuple(picks))
        gains = {v: value((*picks, v)) - base for v in usable if v not in picks}
        best = max(gains, key=lambda v: (gains[v], -v))
        if gains[best] <= 1e-12:
            break
        rest = [gain for v, gain in gains.items() if v != best]
        gaps.append(gains[best] - max(rest) if rest else np.inf)
        picks.append(best)
    return picks, gaps


def slow_gamma(action_set: sb.ActionSet, theta: FloatArray) -> float:
    """`def:submodularity ratio`, over every pair of sets, overlapping ones too."""
    coordinates = range(action_set.dim)
    subsets = [
        frozenset(s)
        for size in range(action_set.dim + 1)
        for s in itertools.combinations(coordinates, size)
    ]
    h = {s: slow_value(action_set, theta, sorted(s)) for s in subsets}
    least = 1.0
    for base in subsets:
        for other in subsets:
            denominator = h[base | other] - h[base]
            if denominator > 1e-9:
                numerator = sum(h[base | {w}] - h[base] for w in other - base)
                least = min(least, numerator / denominator)
    return least
