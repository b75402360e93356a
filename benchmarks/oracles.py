"""Sparse oracles against their peers, as ratios measured in one run: `make benchmark`.

Peers: `numpy.argpartition`, a greedy with one solve per candidate, scikit-learn's
`orthogonal_mp_gram`, `scipy.optimize.linprog`, a vectorised enumeration, and SCIP.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from pyscipopt import Model, quicksum
from ratios import Ratio, once, seconds
from scipy.optimize import linprog
from scipy.stats import ortho_group
from sklearn.linear_model import orthogonal_mp_gram

import sparsebandits as sb

GROUPS = {tuple(range(i, i + 5)): 1 for i in range(0, 50, 5)}
"""At most one of each five coordinates."""


def ellipsoid(rng: np.random.Generator, dim: int, condition: float) -> sb.Ellipsoid:
    basis = ortho_group.rvs(dim, random_state=rng)
    return sb.Ellipsoid((basis * np.geomspace(1 / condition, 1, dim)) @ basis.T)


def top_h(rng: np.random.Generator) -> Ratio:
    dim, sparsity = 10**6, 10
    theta = rng.standard_normal(dim)
    X = sb.LpBall(dim)
    ours = seconds(lambda: sb.sparse_argmax(X, theta, sparsity, "top-h"))
    theirs = seconds(lambda: np.argpartition(theta, dim - sparsity))
    return Ratio("top-h, d=10^6, H=10 / numpy.argpartition alone", ours, theirs, 3, False)


def in_turns(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 5
) -> tuple[float, float]:
    """Return both median times of this process, in turns: both see the machine's moods."""
    clock = time.process_time
    times = [(once(ours, clock), once(theirs, clock)) for _ in range(rounds)]
    return float(np.median([mine for mine, _ in times])), float(np.median([t for _, t in times]))


def naive_greedy(matrix: np.ndarray, theta: np.ndarray, sparsity: int) -> list[int]:
    picked: list[int] = []
    for _ in range(sparsity):
        values = {}
        for v in range(theta.size):
            if v not in picked:
                s = [*picked, v]
                values[v] = theta[s] @ np.linalg.solve(matrix[np.ix_(s, s)], theta[s])
        picked.append(max(values, key=values.__getitem__))
    return picked


def greedy_against_naive(rng: np.random.Generator) -> Ratio:
    X, theta = ellipsoid(rng, 300, 20.0), rng.uniform(-1, 1, 300)
    found: list[list[int]] = []
    # In turns, so that both see the same moods of the machine.
    ours, theirs = [], []
    for _ in range(5):
        ours.append(seconds(lambda: sb.sparse_argmax(X, theta, 20, "greedy"), repeats=50))
        theirs.append(once(lambda: found.append(naive_greedy(X.matrix, theta, 20))))
    assert tuple(sorted(found[0])) == sb.sparse_argmax(X, theta, 20, "greedy").support
    what = "naive greedy / greedy on the ellipsoid, d=300, H=20"
    return Ratio(what, float(np.median(ours)), float(np.median(theirs)), 200, True)


def greedy_against_omp(rng: np.random.Generator) -> Ratio:
    dim, sparsity = 2000, 50
    design = rng.standard_normal((2 * dim, dim)) / np.sqrt(2 * dim)
    design /= np.linalg.norm(design, axis=0)
    gram = design.T @ design
    theta = design.T @ rng.standard_normal(2 * dim)
    X = sb.Ellipsoid(gram)
    ours = seconds(lambda: sb.sparse_argmax(X, theta, sparsity, "greedy"))
    theirs = seconds(lambda: orthogonal_mp_gram(gram, theta, n_nonzero_coefs=sparsity))
    uncopied = seconds(
        lambda: orthogonal_mp_gram(
            gram.copy(), theta.copy(), n_nonzero_coefs=sparsity, copy_Gram=False, copy_Xy=False
        )
    ) - seconds(lambda: (gram.copy(), theta.copy()))
    note = f"[without its copy of the Gram matrix: {uncopied / ours:.2f}x]"
    what = "orthogonal_mp_gram / greedy on the ellipsoid, d=2000, H=50"
    return Ratio(what, ours, theirs, 1, True, note)


def batched_greedy(rng: np.random.Generator) -> Ratio:
    X, theta = ellipsoid(rng, 20, 20.0), rng.uniform(-1, 1, (10_000, 20))
    ours = seconds(lambda: sb.sparse_argmax_batch(X, theta, 5, "greedy"))
    theirs = once(lambda: [sb.sparse_argmax(X, row, 5, "greedy") for row in theta])
    what = "one by one / 10,000 theta at once, greedy on the ellipsoid, d=20, H=5"
    return Ratio(what, ours, theirs, 50, True)


def linear_programs(rng: np.random.Generator, dim: int, sparsity: int, bound: float) -> Ratio:
    rows = np.vstack([rng.standard_normal((3 * dim, dim)), np.eye(dim), -np.eye(dim)])
    limits = np.concatenate([rng.uniform(1, 2, 3 * dim), np.ones(2 * dim)])
    X = sb.Polytope(rows, limits)
    jobs = [
        (rng.standard_normal(dim), np.sort(rng.choice(dim, sparsity, replace=False)))
        for _ in range(200 if dim <= 20 else 30)
    ]

    def ours() -> list[float]:
        return [X.value(theta, support) for theta, support in jobs]

    def theirs() -> list[float]:
        values = []
        for theta, support in jobs:
            box = np.zeros((dim, 2))
            box[support] = (-np.inf, np.inf)
            values.append(-linprog(-theta, A_ub=rows, b_ub=limits, bounds=box).fun)
        return values

    assert np.allclose(ours(), theirs(), atol=1e-7)
    what = f"linprog / linear programs on a polytope, d={dim}, H={sparsity}, support changed"
    mine, others = in_turns(ours, theirs)
    return Ratio(what, mine / len(jobs), others / len(jobs), bound, True)


def budget_as_polytope(X: sb.Budget) -> sb.Polytope:
    """Write the same set down as rows, which is what the mixed-integer program works on."""
    rows, sides = np.vstack([np.eye(X.dim), -np.eye(X.dim)]), np.zeros(2 * X.dim)
    sides[: X.dim] = X.upper
    total = (np.ones((1, X.dim)), [X.total])
    if X.spend_all:
        return sb.Polytope(rows, sides, equalities=total, min_dose=X.min_dose)
    return sb.Polytope(np.vstack([rows, total[0]]), [*sides, X.total], min_dose=X.min_dose)


def budgets(
    rng: np.random.Generator, kind: str, *, doses: bool, spend_all: bool
) -> Iterator[tuple[sb.Budget, np.ndarray, int | sb.Supports]]:
    """Budgets of 50 coordinates, each with a theta and with H = 5..10, or rules."""
    dim = 50
    for sparsity in range(5, 11):
        upper, theta = rng.uniform(0.2, 1.0, dim), rng.standard_normal(dim)
        if kind == "near ties":  # very many supports are about equally good
            theta = 0.3 + 0.2 * np.minimum(1 / upper, 5.0) + 1e-3 * theta
        min_dose = upper * rng.uniform(0.2, 0.6, dim) if doses else None
        total = rng.uniform(0.3, 0.9) * np.sort(upper)[-sparsity:].sum() / (1 + (kind == "groups"))
        rules = sb.Supports(at_most=sparsity, groups=GROUPS) if kind == "groups" else sparsity
        yield sb.Budget(total, upper, min_dose, spend_all), theta, rules


def budget_rules(*, doses: bool, spend_all: bool) -> str:
    return f"{'min_dose ' * doses}{'spend_all' * spend_all}".strip() or "plain"


def budgets_against_mixed_integer(
    rng: np.random.Generator, kind: str, *, doses: bool, spend_all: bool
) -> Ratio:
    """One theta at a time, each on a budget of its own; all proven, and of the same value."""
    jobs = list(budgets(rng, kind, doses=doses, spend_all=spend_all))
    others = [(budget_as_polytope(X), theta, rules) for X, theta, rules in jobs]
    for mine, theirs in zip(jobs, others, strict=True):
        found, expected = (sb.sparse_argmax(*job, "exact") for job in (mine, theirs))
        assert found.is_exact
        assert np.isclose(found.value, expected.value, atol=1e-6)
    ours, theirs = in_turns(
        lambda: [sb.sparse_argmax(*job, "exact") for job in jobs],
        lambda: [sb.sparse_argmax(*job, "exact") for job in others],
    )
    rows = [(X, np.repeat(theta[None], 20, axis=0), rules) for X, theta, rules in jobs]
    together = in_turns(
        lambda: [sb.sparse_argmax_batch(*job, "exact") for job in rows], lambda: None
    )[0]
    used = budget_rules(doses=doses, spend_all=spend_all)
    what = f"mixed-integer program / exact on a budget, {kind}, {used}, d=50, H=5..10"
    note = f"[one by one, all proven; twenty theta at once {20 * theirs / together:.0f}x]"
    return Ratio(what, ours / len(jobs), theirs / len(jobs), 20, True, note)


def exact_against_enumeration(rng: np.random.Generator) -> Ratio:
    X, theta = ellipsoid(rng, 20, 20.0), rng.uniform(-1, 1, 20)

    def enumeration() -> float:
        supports = np.array(list(itertools.combinations(range(20), 5)))
        blocks = X.matrix[supports[:, :, None], supports[:, None, :]]
        part = theta[supports]
        solved = np.linalg.solve(blocks, part[..., None])[..., 0]
        return float(np.sqrt((part * solved).sum(axis=1).max()))

    assert np.isclose(sb.sparse_argmax(X, theta, 5, "exact").value, enumeration())
    ours = seconds(lambda: sb.sparse_argmax(X, theta, 5, "exact"))
    what = "exact on the ellipsoid, d=20, H=5 / vectorised enumeration"
    return Ratio(what, ours, seconds(enumeration), 1, False)


def scip(X: sb.Ellipsoid, theta: np.ndarray, sparsity: int, limit: float) -> tuple[float, float]:
    """Solve max theta'x over x'Ax <= 1 with SCIP; return the seconds and the remaining gap.

    Of the formulations tried this one suits SCIP best: a convex quadratic constraint, a linear
    objective, and the tightest big-M, the reach sqrt((A^-1)_ii) of the ellipsoid itself.
    """
    dim = X.dim
    reach = np.sqrt(np.diag(np.linalg.inv(X.matrix)))
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", limit)
    model.setParam("parallel/maxnthreads", 1)
    x = [model.addVar(lb=-reach[i], ub=reach[i]) for i in range(dim)]
    z = [model.addVar(vtype="B") for _ in range(dim)]
    for i in range(dim):
        model.addCons(x[i] <= reach[i] * z[i])
        model.addCons(x[i] >= -reach[i] * z[i])
    model.addCons(quicksum(z) <= sparsity)
    pairs = itertools.product(range(dim), repeat=2)
    model.addCons(quicksum(X.matrix[i, j] * x[i] * x[j] for i, j in pairs) <= 1)
    model.setObjective(quicksum(theta[i] * x[i] for i in range(dim)), sense="maximize")
    start = time.perf_counter()
    model.optimize()
    return time.perf_counter() - start, model.getGap()


def exact_against_scip(
    rng: np.random.Generator, dim: int, condition: float, bound: float, limit: float
) -> Ratio:
    X, theta = ellipsoid(rng, dim, condition), rng.uniform(-1, 1, dim)
    found = sb.sparse_argmax(X, theta, 8, "exact")
    assert found.is_exact
    ours = seconds(lambda: sb.sparse_argmax(X, theta, 8, "exact"), repeats=3)
    theirs, gap = scip(X, theta, 8, limit)
    note = f"[ours proven optimal; SCIP's gap after {theirs:.0f} s: {100 * gap:.1f}%]"
    what = f"SCIP / exact on the ellipsoid, condition {condition:g}, d={dim}, H=8"
    return Ratio(what, ours, theirs, bound, True, note)


def measures(scip_limit: float) -> dict[str, Callable[[np.random.Generator], Ratio]]:
    """Return every row of the table by its name."""
    rows: dict[str, Callable[[np.random.Generator], Ratio]] = {
        "top-h": top_h,
        "greedy naive": greedy_against_naive,
        "greedy omp": greedy_against_omp,
        "greedy batch": batched_greedy,
        "polytope 20": partial(linear_programs, dim=20, sparsity=5, bound=5.8),
        "polytope 200": partial(linear_programs, dim=200, sparsity=20, bound=2),
        "enumeration": exact_against_enumeration,
        "scip 60": partial(exact_against_scip, dim=60, condition=5.0, bound=10, limit=scip_limit),
        "scip 40": partial(exact_against_scip, dim=40, condition=50.0, bound=10, limit=scip_limit),
    }
    for kind, doses, spend_all in itertools.product(
        ("random", "near ties", "groups"), (False, True), (False, True)
    ):
        rows[f"budget {kind}, {budget_rules(doses=doses, spend_all=spend_all)}"] = partial(
            budgets_against_mixed_integer, kind=kind, doses=doses, spend_all=spend_all
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scip-limit", type=float, default=40.0, help="seconds for SCIP")
    parser.add_argument("--only", default="", help="rows whose name contains this, e.g. 'budget'")
    options = parser.parse_args()
    rows = measures(options.scip_limit)
    # A stream for each row: its instances are the same whichever others are measured.
    streams = np.random.default_rng(options.seed).spawn(len(rows))
    chosen = {
        name: stream for name, stream in zip(rows, streams, strict=True) if options.only in name
    }
    if not chosen:
        parser.error(f"no row is called {options.only!r}; there are: {'; '.join(rows)}")
    for name, stream in chosen.items():
        print(rows[name](stream), flush=True)


if __name__ == "__main__":
    main()
