"""The propositions about sets and oracles: Lipschitz constants, sorting, submodularity, bases."""

import itertools
from typing import Any

import numpy as np

import sparsebandits as sb
from sparsebandits.experiments.base import DIM, SPARSITY
from sparsebandits.experiments.claim import Claim
from sparsebandits.experiments.ellipsoid import random_matrix
from sparsebandits.experiments.verdicts import (
    ROUNDING,
    Share,
    always,
    share_claim,
    sometimes,
    with_change,
)
from sparsebandits.validation import BoolArray, FloatArray

# ---------------------------------------------------------------------- prop:lipschitz_h


def lipschitz_value(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`eqn:lipschitz_valuefunction` and convexity, on sets of every kind."""
    dim, n, rounds = 6, 100, (2 if quick else 20)
    broken, largest = [], 0.0
    for X in _sets_of_all_kinds(rng, dim):
        for _ in range(rounds):
            support = rng.choice(dim, size=rng.integers(1, dim + 1), replace=False)
            first = rng.standard_normal((n, dim))
            second = first + rng.standard_normal((n, dim)) * rng.exponential(1.0, (n, 1))
            values = [X.value(theta, support) for theta in (first, second, (first + second) / 2)]
            ratio = np.abs(values[0] - values[1]) / (
                X.norm_bound * np.linalg.norm(first - second, axis=1)
            )
            concave = values[2] > (values[0] + values[1]) / 2 + ROUNDING
            broken.append((ratio > 1 + ROUNDING) | concave)
            largest = max(largest, float(ratio.max()))
    share = Share.of(np.concatenate(broken))
    return [
        share_claim(
            share,
            always(share),
            id="lipschitz-value",
            label="eqn:lipschitz_valuefunction",
            statement="On any compact set, h(S; theta) is convex and L_X-Lipschitz in theta.",
            measured=f"Violated in {share} pairs on sets of every kind; the largest quotient was "
            f"{largest:.3f} L_X.",
            details={"dim": dim, "largest_ratio": largest},
        )
    ]


def _sets_of_all_kinds(rng: np.random.Generator, dim: int) -> list[sb.ActionSet]:
    rows = np.vstack([rng.standard_normal((2 * dim, dim)), np.eye(dim), -np.eye(dim)])
    points = rng.standard_normal((8 * dim, dim)) * (rng.random((8 * dim, dim)) < 0.5)
    return [
        *(sb.LpBall(dim, p=p) for p in (1.0, 1.5, 2.0, 3.0, np.inf)),
        sb.Ellipsoid(random_matrix(rng, dim, 20.0)),
        sb.Box(-rng.uniform(0, 2, dim), rng.uniform(0, 2, dim)),
        sb.Budget(1.5, rng.uniform(0.1, 1.0, dim)),
        sb.Polytope(rows, rng.uniform(0.3, 1.5, len(rows))),
        sb.FiniteSet(np.vstack([points, np.zeros((1, dim))])),
    ]


def lipschitz_gradient(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`eqn:lipschitz_gradient`: on all of R^d, and on parameters of unit norm on S."""
    dim, n = 6, 500 if quick else 5000
    matrix = random_matrix(rng, dim, 20.0)
    eigenvalues = np.linalg.eigvalsh(matrix)
    # L_grad is the radius R of the balls whose intersection the set is.
    cases: list[tuple[sb.ActionSet, float]] = [
        (sb.LpBall(dim, radius=2.0), 2.0),
        (sb.LpBall(dim, p=1.5), dim ** (1 / 1.5 - 0.5) / 0.5),
        (sb.Ellipsoid(matrix), float(np.sqrt(eigenvalues[-1]) / eigenvalues[0])),
    ]

    def quotients(X: sb.ActionSet, lipschitz: float, scale: float) -> FloatArray:
        support = rng.choice(dim, size=rng.integers(2, dim + 1), replace=False)
        first, second = (np.zeros((n, dim)) for _ in range(2))
        first[:, support] = rng.standard_normal((n, support.size))
        step = rng.standard_normal((n, support.size)) * rng.exponential(0.5, (n, 1))
        second[:, support] = first[:, support] + step
        first, second = (
            scale * theta / np.linalg.norm(theta, axis=1, keepdims=True)
            for theta in (first, second)
        )
        moved = X.best_response(first, support) - X.best_response(second, support)
        apart = lipschitz * np.linalg.norm(first - second, axis=1)
        return np.asarray(np.linalg.norm(moved, axis=1) / apart)

    scales = (1.0, 0.1, 0.01, 0.001)
    by_scale = {s: np.concatenate([quotients(*case, s) for case in cases]) for s in scales}
    largest = {f"{s:g}": float(by_scale[s].max()) for s in scales}
    everywhere = Share.of(np.concatenate([by_scale[s] for s in scales]) > 1 + 1e-6)
    sphere = Share.of(by_scale[1.0] > 1 + 1e-6)
    return [
        share_claim(
            everywhere,
            with_change(always(everywhere), always(sphere)),
            "for parameters with ||theta(S)|| = 1 (the proofs of both theorems normalise first); "
            "for all theta with ||theta(S)|| >= r the constant is L_grad / r.",
            id="lipschitz-gradient",
            label="eqn:lipschitz_gradient",
            statement="On a strongly convex set, ||x*(S; theta_1) - x*(S; theta_2)|| <= L_grad "
            "||theta_1 - theta_2|| for all theta.",
            measured=f"Violated in {everywhere} pairs of norm 1 to 0.001, with quotients up to "
            f"{largest['0.001']:.0f} L_grad at norm 0.001 (x* depends on the direction alone); at "
            f"norm 1 in {sphere}, with quotients up to {largest['1']:.3f}.",
            details={"largest_by_norm": largest, "sphere_violations": sphere.count, "dim": dim},
        )
    ]


def normalised_vectors(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """Check the inequality for normalised vectors that both regret proofs use."""
    n, dim = (10_000 if quick else 200_000), 5
    z = rng.standard_normal((n, dim))
    w = z + rng.standard_normal((n, dim)) * 10 ** rng.uniform(-4, 1, (n, 1))
    w[::4] = -z[::4] * 10 ** rng.uniform(-6, 0, (len(w[::4]), 1))  # the worst: short and opposite
    norms = [np.linalg.norm(v, axis=1, keepdims=True) for v in (w, z)]
    left = np.linalg.norm(w / norms[0] - z / norms[1], axis=1)
    ratio = left / (2 * np.linalg.norm(w - z, axis=1) / norms[1][:, 0])
    share = Share.of(ratio > 1 + ROUNDING)
    return [
        share_claim(
            share,
            always(share),
            id="normalised-vectors",
            label="thm:regret_adaptive",
            statement="||w/||w|| - z/||z|| || <= 2 ||w - z|| / ||z||.",
            measured=f"Violated in {share} pairs; the largest left side was {ratio.max():.4f} of "
            "the right.",
        )
    ]


# ---------------------------------------------------------------------- sorting and closed forms


def sorting(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """Where sorting or greedy is exact: the l2 ball, the box, the l1.5 ball."""
    dim, n = 8, 300 if quick else 3000
    cases: dict[str, tuple[sb.ActionSet, Any]] = {
        "top-h": (sb.LpBall(dim, radius=2.0), lambda t: 2.0 * np.linalg.norm(t, axis=-1)),
        "greedy": (sb.Box(np.zeros(dim), np.ones(dim)), lambda t: np.maximum(t, 0).sum(axis=-1)),
        "l1.5": (sb.LpBall(dim, p=1.5), lambda t: (np.abs(t) ** 3).sum(axis=-1) ** (1 / 3)),
    }
    missed: dict[str, list[BoolArray]] = {name: [] for name in cases}
    for sparsity in range(1, dim):
        supports = np.array(list(itertools.combinations(range(dim), sparsity)))
        theta = rng.uniform(-1, 1, (n, dim))
        for name, (X, value) in cases.items():
            best = value(theta[:, supports]).max(axis=1)
            method: Any = "greedy" if name == "greedy" else "top-h"
            found = sb.sparse_argmax_batch(X, theta, sparsity, method)
            earned = np.einsum("nd,nd->n", found.actions, theta)
            missed[name].append(np.abs(earned - best) > ROUNDING * (1 + best))
    shares = {name: Share.of(np.concatenate(parts)) for name, parts in missed.items()}
    details = {"dim": dim, "sparsity": f"1 to {dim - 1}"}
    return [
        share_claim(
            shares["top-h"],
            always(shares["top-h"]),
            id="top-h-exact",
            label="prop:l2_exact_solution",
            statement="On the l2 ball the best H-sparse action is L_max theta(S_H) / "
            "||theta(S_H)|| on the H largest |theta_i|.",
            measured=f"It earned other than the best of all supports in {shares['top-h']} cases.",
            details=details,
        ),
        share_claim(
            shares["greedy"],
            always(shares["greedy"]),
            id="greedy-exact-on-box",
            label="fig:video_rec",
            statement="On the box [0, 1]^d greedy finds the true optimum (alpha = 1).",
            measured=f"Greedy earned other than the best of all supports in {shares['greedy']} "
            "cases.",
            details=details,
        ),
        share_claim(
            shares["l1.5"],
            sometimes(shares["l1.5"]),
            id="no-sorting-on-l1.5",
            label="fig:case2_app",
            statement="The l1.5 ball does not admit a trivial sorting-based solution for the "
            "optimal sparse support.",
            measured=f"The H largest |theta_i| missed the best of all supports in "
            f"{shares['l1.5']} cases: h(S) = ||theta(S)||_3 grows with every |theta_i|, so sorting "
            "is exact.",
            details=details,
        ),
    ]


def ellipsoid_solution(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`lemma:ellipsoid solution` against random feasible points."""
    dim, n, points = 5, (50 if quick else 500), 400
    broken = []
    for condition in np.geomspace(1.5, 500, n):
        matrix = random_matrix(rng, dim, float(condition))
        support = rng.choice(dim, size=3, replace=False)
        theta, block = rng.standard_normal(3), matrix[np.ix_(support, support)]
        solved = np.linalg.solve(block, theta)
        value = np.sqrt(theta @ solved)
        action = solved / value
        # Random points of the boundary: half anywhere, half around the action.
        others = rng.standard_normal((points, 3))
        others[::2] = action + 0.1 * others[::2]
        others /= np.sqrt(np.einsum("ni,ij,nj->n", others, block, others))[:, None]
        feasible = action @ block @ action <= 1 + ROUNDING
        attained = abs(action @ theta - value) <= ROUNDING * value
        best = (others @ theta).max() <= value * (1 + ROUNDING)
        broken.append(not (feasible and attained and best))
    share = Share.of(np.array(broken))
    return [
        share_claim(
            share,
            always(share),
            id="ellipsoid-solution",
            label="lemma:ellipsoid solution",
            statement="On an ellipsoid x*(S) = A_S^-1 theta_S / sqrt(theta_S' A_S^-1 theta_S) "
            "attains h(S) = sqrt(theta_S' A_S^-1 theta_S).",
            measured=f"Infeasible, not attained, or beaten by one of {points} feasible points in "
            f"{share} cases.",
            details={"dim": dim, "points": points},
        )
    ]


# ---------------------------------------------------------------------- submodularity


def displayed_bound(X: sb.ActionSet, theta: FloatArray) -> float:
    """Compute the right-hand side that `prop:submodularity_general` displays.

    Examples
    --------
    >>> import numpy as np
    >>> print(round(displayed_bound(sb.LpBall(3), np.ones(3)), 6))
    1.0
    """
    full = 2**X.dim - 1
    members = [[i for i in range(X.dim) if code >> i & 1] for code in range(full + 1)]
    h = np.array([X.value(theta, support) for support in members])
    alone = np.array([sum(h[1 << i] for i in support) for support in members])
    least = np.inf
    for base in range(full + 1):
        others = np.array([code for code in range(1, full + 1) if not code & base], dtype=np.intp)
        gained = h[base | others] - h[base]
        counts = gained > 1e-9
        if counts.any():
            least = min(least, float((alone[others][counts] / gained[counts]).min()))
    return least


def submodularity(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`prop:submodularity_general`: the displayed bound, and lambda_min(A) on ellipsoids."""
    dim, n = 4, 40 if quick else 400
    rows = []
    for condition in (1.0, 2.0, 10.0, 100.0):
        for _ in range(1 if condition == 1 else n):
            matrix = random_matrix(rng, dim, condition) if condition > 1 else np.eye(dim)
            theta = rng.uniform(-1, 1, dim)
            scaled = sb.Ellipsoid(matrix * 10 ** rng.uniform(-2, 2))
            X = sb.Ellipsoid(matrix)
            rows.append(
                (
                    sb.submodularity_ratio(X, theta),
                    displayed_bound(X, theta),
                    float(np.linalg.eigvalsh(matrix)[0]),
                    sb.ellipsoid_gamma_bound(scaled),
                )
            )
    gamma, displayed, smallest, ours = np.array(rows).T
    above = Share.of(displayed > gamma + ROUNDING)
    strict = Share.of(gamma <= smallest + ROUNDING)
    weak, free = Share.of(gamma < smallest - ROUNDING), Share.of(gamma < ours - ROUNDING)
    example, ones = [[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]], np.ones(3)
    X = sb.Ellipsoid(example)
    instance = {
        "matrix": example,
        "theta": ones.tolist(),
        "displayed": displayed_bound(X, ones),
        "gamma": sb.submodularity_ratio(X, ones),
    }
    return [
        share_claim(
            above,
            always(above),
            id="submodularity-displayed-bound",
            label="prop:submodularity_general",
            statement="gamma is at least the least sum of single-coordinate values over "
            "h(S + Omega) - h(S).",
            measured=f"The displayed bound lies above gamma in {above} random ellipsoids; for A = "
            f"{example} and theta = (1, 1, 1) it is {instance['displayed']:.3f} and gamma is "
            f"{instance['gamma']:.3f}.",
            details={"dim": dim, "instance": instance},
        ),
        share_claim(
            strict,
            with_change(always(strict), always(weak)),
            "gamma >= lambda_min(A), as the appendix has it.",
            id="gamma-above-lambda-min",
            label="prop:submodularity_general",
            statement="On an ellipsoid with lambda_max(A) <= 1, gamma > lambda_min(A).",
            measured=f"gamma <= lambda_min in {strict} ellipsoids (for A = I they are "
            f"{gamma[0]:.3f} and {smallest[0]:.3f}) and gamma < lambda_min in {weak}; the "
            f"median of gamma / lambda_min is {np.median(gamma / smallest):.1f}.",
            details={"dim": dim, "gamma_of_identity": float(gamma[0])},
        ),
        share_claim(
            free,
            always(free),
            id="gamma-scale-free-bound",
            label="prop:submodularity_general (sharper)",
            statement="Ours: gamma is at least lambda_min of A scaled to a unit diagonal, whatever "
            "the scale of A.",
            measured=f"Above gamma in {free} ellipsoids; it is {np.median(ours / smallest):.2f} "
            "times lambda_min in the median.",
            details={"dim": dim},
        ),
    ]


def positive_gamma(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """Whether gamma > 0 on every convex compact set: two polytopes."""
    segment = sb.Polytope([[1, -1], [-1, 1], [1, 0], [-1, 0]], [0, 0, 1, 0])
    # |x_1| + |x_2 - x_3| <= 1: from x_1 = 1, moving x_2 or x_3 alone costs x_1, both together not.
    signs = [[a, b, -b] for a, b in itertools.product((1, -1), repeat=2)]
    sides = [[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    prism = sb.Polytope([*signs, *sides], [1] * 8)
    cases: dict[str, tuple[sb.ActionSet, list[float]]] = {
        "segment {(s, s) : 0 <= s <= 1}": (segment, [1.0, 1.0]),
        "{|x_1| + |x_2 - x_3| <= 1, |x_2|, |x_3| <= 1}": (prism, [1.0, 0.5, 0.5]),
    }
    gammas = {name: sb.submodularity_ratio(X, theta) for name, (X, theta) in cases.items()}
    n = 10 if quick else 100
    others = [
        sb.submodularity_ratio(sb.Ellipsoid(random_matrix(rng, 4, 50.0)), rng.uniform(-1, 1, 4))
        for _ in range(n)
    ]
    share = Share.of(np.array([*gammas.values(), *others]) <= 0)
    listed = ", ".join(f"{gamma:.3f} on {name}" for name, gamma in gammas.items())
    return [
        share_claim(
            share,
            always(share),
            id="gamma-positive",
            label="prop:submodularity_general",
            statement="gamma > 0 on every convex compact set that contains the origin, if some "
            "action earns something (also used under ass:convex_hull).",
            measured=f"gamma is {listed}; it was 0 in {share} sets, the rest being ellipsoids with "
            f"gamma at least {min(others):.3f}.",
            details={"gamma": gammas, "theta": {name: t for name, (_, t) in cases.items()}},
        )
    ]


def greedy_ratio(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`lemma:approximation ratio expression` on ellipsoids, gamma by its definition."""
    dim, sparsity, n = (6, 3, 30) if quick else (8, 3, 250)
    ratios, alphas = np.empty(n), np.empty(n)
    for i, condition in enumerate(np.geomspace(2, 1000, n)):
        X, theta = sb.Ellipsoid(random_matrix(rng, dim, float(condition))), rng.uniform(-1, 1, dim)
        ratios[i] = sb.certified_ratio(X, theta, sparsity)
        alphas[i] = sb.approximation_ratio(sb.submodularity_ratio(X, theta))
    share = Share.of(ratios < alphas - ROUNDING)
    return [
        share_claim(
            share,
            always(share),
            id="greedy-approximation",
            label="lemma:approximation ratio expression",
            statement="Greedy earns at least 1 - exp(-gamma) of the optimum.",
            measured=f"It earned less in {share} ellipsoids; the smallest share of the optimum was "
            f"{ratios.min():.3f} and the mean {ratios.mean():.3f}, against alpha of "
            f"{alphas.min():.3f} to {alphas.max():.3f}.",
            details={
                "dim": dim,
                "sparsity": sparsity,
                "smallest": float(ratios.min()),
                "mean": float(ratios.mean()),
                "mean_alpha": float(alphas.mean()),
            },
        )
    ]


# ---------------------------------------------------------------------- exploration


def random_bases(rng: np.random.Generator, quick: bool) -> list[Claim]:
    """`ass:arms during exploration` for the random orthogonal bases of the experiments."""
    n = 10 if quick else 100
    dense, sparse, smallest = [], [], np.inf
    for _ in range(n):
        X = sb.Ellipsoid(random_matrix(rng, DIM, 20.0))
        for entries in (rng.standard_normal((DIM, DIM)), rng.uniform(-1, 1, (DIM, DIM))):
            rows = np.linalg.qr(entries)[0]
            dense.append((np.abs(rows) > 1e-12).sum(axis=1) > SPARSITY)
        for name in ("block-gaussian", "block-uniform"):
            basis = sb.make_basis(name, X, SPARSITY, rng)
            sparse.append((basis.actions != 0).sum(axis=1) > SPARSITY)
            smallest = min(smallest, basis.lambda_0)
    printed, changed = Share.of(np.concatenate(dense)), Share.of(np.concatenate(sparse))
    return [
        share_claim(
            printed,
            with_change(always(printed), always(changed)),
            "orthogonal blocks of at most H coordinates on a random partition.",
            id="random-bases-sparse",
            label="ass:arms during exploration",
            statement="The random orthogonal bases of the experiments satisfy the assumption, "
            "which demands |S_k| <= H.",
            measured=f"More than H = {SPARSITY} of {DIM} entries are non-zero in {printed} actions "
            f"of random orthogonal bases, and in {changed} of block-orthogonal ones, whose "
            f"lambda_0 is at least {smallest:.3f}.",
            details={"dim": DIM, "sparsity": SPARSITY, "lambda_0": float(smallest)},
        )
    ]
