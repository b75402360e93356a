"""What every oracle promises on a set, by trying all supports with the set's own `value`."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.oracles import ORACLES, sparse_argmax, sparse_argmax_batch
from sparsebandits.testing.contract import ROUNDS, Promise, SetExam, SparseProblem, close, draw
from sparsebandits.validation import FloatArray

_FEW = 300
"""So many supports are all tried."""


def _usable(X: ActionSet) -> list[int]:
    return [int(i) for i in np.flatnonzero(X.available)]


def _applying(exam: SetExam) -> list[str]:
    """Return the oracles that take this set; one that does not says so."""
    X, sparsity = exam.part
    applying = []
    for method in ORACLES:
        try:
            sparse_argmax(X, np.ones(X.dim), sparsity, method)
        except CompositionError:
            continue
        applying.append(method)
    return applying


def _instances(exam: SetExam) -> Iterator[tuple[ActionSet, FloatArray]]:
    """Yield thetas with the whole set, and with a part of it."""
    X = exam.part.action_set
    for number in range(ROUNDS):
        kept = [i for i in _usable(X) if exam.rng.random() < 0.7]
        theta = exam.rng.uniform(-1, 1, X.dim) * exam.rng.choice([0.0, 1.0, 1.0, 1.0], X.dim)
        part = kept and number % 3 == 2 and _has_sparse(X, kept, exam.part.sparsity)
        yield (X.restrict(kept) if part else X), theta


def _has_sparse(X: ActionSet, kept: list[int], sparsity: int) -> bool:
    """Whether the part of the set on these coordinates has an action of at most H non-zeros."""
    sizes = combinations(kept, min(sparsity, len(kept)))
    return X.contains_zero or any(X.value(np.ones(X.dim), one) > -np.inf for one in sizes)


def _has_start(X: ActionSet) -> bool:
    """Whether greedy can begin: with 0, or with a coordinate that has an action of its own."""
    return X.contains_zero or bool(np.any(X.axis_reach()))


def _best_value(X: ActionSet, theta: FloatArray, sparsity: int) -> float | None:
    """Return the largest h(S; theta) of all S of at most H coordinates; None for too many."""
    usable = _usable(X)
    size = min(sparsity, len(usable))  # h grows with S: only the largest S need be tried
    if math.comb(len(usable), size) > _FEW:
        return None
    return max(float(X.value(theta, support)) for support in combinations(usable, size))


def _honest(exam: SetExam) -> None:
    sparsity, methods = exam.part.sparsity, _applying(exam)
    for X, theta in _instances(exam):
        best = _best_value(X, theta, sparsity)
        unit = X.norm_bound * np.linalg.norm(theta)
        for method in methods:
            if method in ("greedy", "swap") and not _has_start(X):
                continue
            solution = sparse_argmax(X, theta, sparsity, method)
            shown = {"method": method, "theta": theta, "solution": solution, "set": X}
            support, action = solution.support, solution.action
            exam.require(X.contains(action), "the action is not contained", **shown)
            exam.require(set(np.flatnonzero(action)) <= set(support), "off its support", **shown)
            ordered = list(support) == sorted(set(support)) and len(support) <= sparsity
            exam.require(ordered, "the support is no ascending tuple of at most H", **shown)
            worth = close(solution.value, theta @ action, unit) and close(
                solution.value, X.value(theta, support), unit, 1e-8
            )
            exam.require(worth, "the value is not theta·x, nor h(S; theta)", **shown)
            exam.require(solution.gap >= 0 or np.isnan(solution.gap), "the gap", **shown)
            exam.require(method in ("auto", solution.method), "another method", **shown)
            if method in ("exact", "top-h"):
                exam.require(solution.is_exact, "it does not say that it is exact", **shown)
            if best is not None:
                exam.require(solution.value <= best + 1e-8 * unit, f"best is {best}", **shown)
                bounded = solution.upper_bound >= best - 1e-8 * unit
                exam.require(bounded, f"the upper bound is below the best, {best}", **shown)
                exact = not solution.is_exact or close(solution.value, best, unit, 1e-8)
                exam.require(exact, f"not exact: the best is {best}", **shown)


def _picks(
    value: Callable[[list[int]], float], usable: list[int], sparsity: int, rounding: float
) -> tuple[list[int], list[float]] | None:
    """Algorithm 2, lines 5-13: the picks and the step gaps; None where rounding decides."""
    picks: list[int] = []
    gaps: list[float] = []
    for _ in range(min(sparsity, len(usable))):
        base = value(picks)
        values = {v: value([*picks, v]) for v in usable if v not in picks}
        best = max(values, key=lambda v: (values[v], -v))
        if values[best] <= base:
            break
        rest = [one for v, one in values.items() if v != best]
        if rest and base == max(rest) == -np.inf:
            return None  # the only start: by how much is not said
        gaps.append(values[best] - max(*rest, base if rest else -np.inf) if rest else np.inf)
        picks.append(best)
        if min(values[best] - base, gaps[-1]) < rounding:
            return None
    return picks, gaps


def _greedy(exam: SetExam) -> None:
    sparsity = exam.part.sparsity
    for X, theta in _instances(exam):
        unit = float(X.norm_bound * np.linalg.norm(theta))
        if not _has_start(X):
            exam.refuses(partial(sparse_argmax, X, theta, sparsity, "greedy"), "no start")
            continue
        greedy, swap = (sparse_argmax(X, theta, sparsity, name) for name in ("greedy", "swap"))
        shown = {"theta": theta, "set": X, "greedy": greedy, "swap": swap}
        exam.require(swap.value >= greedy.value - 1e-12 * unit, "swap is worse", **shown)
        steps = _picks(partial(X.value, theta), _usable(X), sparsity, 1e-7 * unit)
        if steps is None:
            continue
        picks, gaps = steps
        exam.require(greedy.support == tuple(sorted(picks)), f"the picks are {picks}", **shown)
        equal = len(greedy.step_gaps) == len(gaps) and all(
            mine == theirs or close(mine, theirs, unit, 1e-7)
            for mine, theirs in zip(greedy.step_gaps, gaps, strict=True)
        )
        exam.require(equal, f"the step gaps are {gaps}", **shown)
        expected = np.inf if sparsity >= len(_usable(X)) else min(gaps, default=0.0)
        near = greedy.gap == expected or close(greedy.gap, expected, unit, 1e-7)
        exam.require(near, f"the gap is {expected}", **shown)


def _batches(exam: SetExam) -> None:
    X, sparsity = exam.part
    theta = exam.rng.uniform(-1, 1, (2, 2, X.dim))
    for method in _applying(exam):
        batch = sparse_argmax_batch(X, theta, sparsity, method)
        for place in np.ndindex(2, 2):
            alone = sparse_argmax(X, theta[place], sparsity, method)
            support = tuple(int(i) for i in batch.supports[place] if i >= 0)
            unit = X.norm_bound * np.linalg.norm(theta[place])
            equal = (
                support == alone.support
                and close(batch.actions[place], alone.action, X.norm_bound, 1e-12)
                and close(batch.values[place], alone.value, unit, 1e-12)
                and close(batch.upper_bounds[place], alone.upper_bound, unit, 1e-12)
                and batch.is_exact[place] == alone.is_exact
            )
            exam.require(equal, f"row {place}", method=method, theta=theta, alone=alone)


def _reductions(exam: SetExam) -> None:
    X = exam.part.action_set
    for theta in (draw(exam)[0] for _ in range(ROUNDS)):
        solution = sparse_argmax(X, theta, X.dim, "exact")
        unit = X.norm_bound * np.linalg.norm(theta)
        dense = close(solution.value, X.value(theta), unit, 1e-8) and solution.gap == np.inf
        exam.require(dense, "H = d", theta=theta, solution=solution)
    for method in _applying(exam):
        one, many = (sparse_argmax(X, s * theta, exam.part.sparsity, method) for s in (1.0, 16.0))
        scaled = many.support == one.support and close(many.value, 16 * one.value, 16 * unit)
        exam.require(scaled, "16 theta", method=method, theta=theta, solution=one)
        solution = sparse_argmax(X, np.zeros(X.dim), exam.part.sparsity, method)
        nothing = solution.value == 0 and solution.is_exact
        exam.require(nothing, "theta = 0", method=method, solution=solution)


ORACLE_PROMISES: dict[str, Promise[SparseProblem]] = {
    "An oracle's action is feasible, sparse, and exact where it says so.": _honest,
    "Greedy picks the largest gain at every step, and swap is never worse.": _greedy,
    "An oracle answers a batch row by row.": _batches,
    "H = d gives the dense optimum, theta = 0 nothing, 16 theta 16 times as much.": _reductions,
}
