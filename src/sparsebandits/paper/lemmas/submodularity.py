"""The propositions about greedy: submodularity ratios, and what greedy reaches by them."""

import itertools
from collections.abc import Iterator

import numpy as np

import sparsebandits as sb
from sparsebandits.environments.paper_setting import random_matrix
from sparsebandits.paper.claim import OURS, Claim
from sparsebandits.paper.verdicts import ROUNDING, Share, share_claim
from sparsebandits.validation import FloatArray


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
    for chosen in range(full + 1):
        others = np.array([code for code in range(1, full + 1) if not code & chosen], dtype=np.intp)
        gained = h[chosen | others] - h[chosen]
        counts = gained > 1e-9
        if counts.any():
            least = min(least, float((alone[others][counts] / gained[counts]).min()))
    return least


def gamma_bounds(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
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
                    scaled.gamma_bound,
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
    yield share_claim(
        above,
        brief=f"above gamma itself on {above.brief} random ellipsoids",
        id="submodularity-displayed-bound",
        label="prop:submodularity_general",
        statement="gamma is at least the least sum of single-coordinate values over "
        "h(S + Omega) - h(S).",
        measured=f"The displayed bound lies above gamma in {above} random ellipsoids; for A = "
        f"{example} and theta = (1, 1, 1) it is {instance['displayed']:.3f} and gamma is "
        f"{instance['gamma']:.3f}.",
        details={"dim": dim, "instance": instance},
    )
    yield share_claim(
        strict,
        repaired=weak,
        change="gamma >= lambda_min(A), as the appendix has it.",
        id="gamma-above-lambda-min",
        label="prop:submodularity_general",
        statement="On an ellipsoid with lambda_max(A) <= 1, gamma > lambda_min(A).",
        measured=f"gamma <= lambda_min in {strict} ellipsoids (for A = I they are "
        f"{gamma[0]:.3f} and {smallest[0]:.3f}) and gamma < lambda_min in {weak}; the "
        f"median of gamma / lambda_min is {np.median(gamma / smallest):.1f}.",
        details={"dim": dim, "gamma_of_identity": float(gamma[0])},
    )
    yield share_claim(
        free,
        id="gamma-scale-free-bound",
        label=OURS,
        statement="Beside prop:submodularity_general: gamma is at least lambda_min of A scaled to "
        "a unit diagonal, whatever the scale of A.",
        measured=f"Above gamma in {free} ellipsoids; it is {np.median(ours / smallest):.2f} "
        "times lambda_min in the median.",
        details={"dim": dim},
    )


def positive_gamma(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
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
    yield share_claim(
        share,
        brief="gamma = 0 on the segment {(s, s)}",
        id="gamma-positive",
        label="prop:submodularity_general",
        statement="gamma > 0 on every convex compact set that contains the origin, if some "
        "action earns something (also used under ass:convex_hull).",
        measured=f"gamma is {listed}; it was 0 in {share} sets, the rest being ellipsoids with "
        f"gamma at least {min(others):.3f}.",
        details={"gamma": gammas, "theta": {name: t for name, (_, t) in cases.items()}},
    )


def greedy_ratio(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """`lemma:approximation ratio expression` on ellipsoids, gamma by its definition."""
    dim, sparsity, n = (6, 3, 30) if quick else (8, 3, 250)
    ratios, alphas = np.empty(n), np.empty(n)
    for i, condition in enumerate(np.geomspace(2, 1000, n)):
        X, theta = sb.Ellipsoid(random_matrix(rng, dim, float(condition))), rng.uniform(-1, 1, dim)
        ratios[i] = sb.certified_ratio(X, theta, sparsity)
        alphas[i] = sb.approximation_ratio(sb.submodularity_ratio(X, theta))
    share = Share.of(ratios < alphas - ROUNDING)
    yield share_claim(
        share,
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
