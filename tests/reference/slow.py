"""Slow and obvious versions: definitions written down, nothing shared with the package."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

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


def _is_extended(action_set: sb.ActionSet) -> bool:
    """Whether which coordinates are on is a choice of its own, also on a given support."""
    if not isinstance(action_set, (sb.Budget, sb.Polytope)):
        return False
    return action_set.min_dose is not None or not action_set.contains_zero


def slow_value_all_on(action_set: sb.ActionSet, theta: FloatArray, support: Iterable[int]) -> float:
    """The best value with all of these on, each with its least dose; minus infinity if none is."""
    on = list(support)
    if not isinstance(action_set, (sb.Budget, sb.Polytope)):
        return slow_value(action_set, theta, on)
    if not on:
        return 0.0 if action_set.contains_zero else -np.inf
    doses = np.zeros(action_set.dim) if action_set.min_dose is None else action_set.min_dose
    sides: dict[str, Any] = {}
    if isinstance(action_set, sb.Budget):
        box = np.column_stack([doses[on], action_set.upper[on]])
        kind = "eq" if action_set.spend_all else "ub"
        sides = {f"A_{kind}": np.ones((1, len(on))), f"b_{kind}": np.array([action_set.total])}
        if (box[:, 0] > box[:, 1]).any():
            return -np.inf
    else:
        lower = np.where(doses[on] > 0, doses[on], -np.inf)
        box = np.column_stack([lower, np.full(len(on), np.inf)])
        sides = {"A_ub": action_set.matrix[:, on], "b_ub": action_set.bounds}
        if action_set.equalities is not None:
            sides["A_eq"], sides["b_eq"] = action_set.equalities[0][:, on], action_set.equalities[1]
    answer = linprog(-theta[on], **sides, bounds=box.tolist())
    return -float(answer.fun) if answer.status == 0 else -np.inf


def slow_value(action_set: sb.ActionSet, theta: FloatArray, support: Iterable[int]) -> float:
    """h(S; theta), by the definition of each set with everything off S cut away."""
    chosen = [i for i in support if action_set.available[i]]
    if _is_extended(action_set):
        return max(
            slow_value_all_on(action_set, theta, on)
            for size in range(len(chosen) + 1)
            for on in itertools.combinations(chosen, size)
        )
    if isinstance(action_set, sb.FiniteSet):
        off = [i for i in range(action_set.dim) if i not in chosen]
        kept = [point for point in action_set.points if not point[off].any()]
        return float(max((point @ theta for point in kept), default=-np.inf))
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


def slow_allows(rules: sb.Supports, support: Iterable[int]) -> bool:
    """The rules, read one by one; coordinates are given by index."""
    on = set(support)
    blocks = [set(block) for block in rules.blocks or ()]
    alone = on - set().union(*blocks)
    count = len(alone) + sum(bool(on & block) for block in blocks)
    return (
        rules.at_least <= count <= rules.at_most
        and all(len(on & set(members)) <= limit for members, limit in rules.groups)
        and set(rules.always) <= on
        and all(len(on & set(few)) <= 1 for few in rules.never_together)
    )


def allowed_values(
    action_set: sb.ActionSet, theta: FloatArray, rules: sb.Supports | None = None
) -> dict[frozenset[int], float]:
    """The best value with exactly this on, for every support, or for those that rules allow."""
    supports = all_supports(action_set, action_set.dim)
    allowed = [support for support in supports if rules is None or slow_allows(rules, support)]
    if isinstance(action_set, sb.FiniteSet):
        return {
            frozenset(support): max(
                (p @ theta for p in action_set.points if tuple(np.flatnonzero(p)) == support),
                default=-np.inf,
            )
            for support in allowed
        }
    if isinstance(action_set, sb.Budget):
        # What can take nothing cannot be on.
        allowed = [s for s in allowed if (np.minimum(action_set.upper, 1)[list(s)] > 0).all()]
    return {frozenset(s): slow_value_all_on(action_set, theta, s) for s in allowed}
