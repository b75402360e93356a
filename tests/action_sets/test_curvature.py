import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.validation import FloatArray
from tests.contracts.examples import correlated_matrix

CONVEX = [
    sb.LpBall(4),
    sb.LpBall(4, radius=2.5),
    sb.LpBall(2, p=1.5),
    sb.LpBall(20, p=1.5),
    sb.LpBall(60, p=1.1, radius=0.5),
    sb.LpBall(8, p=1.9),
    sb.Ellipsoid(correlated_matrix(np.random.default_rng(0), 6)),
    sb.Ellipsoid(np.diag([0.1, 1.0, 7.0])),
]


def unit_pairs(rng: np.random.Generator, dim: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Pairs of unit vectors at all distances; some with one large entry, where lp balls bend."""
    first = rng.standard_normal((count, dim)) * rng.uniform(0.05, 1, (count, 1))
    first[: count // 2, 0] += rng.uniform(0, 3, count // 2)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    step = rng.standard_normal((count, dim)) * np.geomspace(1e-4, 3, count)[:, None]
    second = first + step
    return first, second / np.linalg.norm(second, axis=1, keepdims=True)


def worst_ratio(X: sb.ActionSet, support: list[int], rng: np.random.Generator) -> float:
    u, v = np.zeros((2, 4000, X.dim))
    u[:, support], v[:, support] = unit_pairs(rng, len(support), 4000)
    moved = X.best_response(u, support) - X.best_response(v, support)
    # On a support of one coordinate many pairs coincide.
    apart = np.linalg.norm(u - v, axis=1) + 1e-300
    return float((np.linalg.norm(moved, axis=1) / apart).max())


@pytest.mark.parametrize("X", CONVEX, ids=repr)
def test_no_pair_of_unit_vectors_violates_it(X: sb.ActionSet) -> None:
    rng = np.random.default_rng(0)
    assert worst_ratio(X, list(range(X.dim)), rng) <= X.response_lipschitz() * (1 + 1e-9)
    for sparsity in (1, 2, X.dim - 1):
        support = sorted(rng.choice(X.dim, sparsity, replace=False).tolist())
        limit = X.response_lipschitz(sparsity)
        assert limit <= X.response_lipschitz() * (1 + 1e-12)
        assert worst_ratio(X, support, rng) <= limit * (1 + 1e-9)


def curvature(ball: sb.LpBall, theta: FloatArray) -> float:
    """The largest eigenvalue of the Hessian of ||theta||_q, times the radius."""
    q = ball.p / (ball.p - 1)
    u = np.abs(theta) / np.linalg.norm(theta)
    norm = float((u**q).sum() ** (1 / q))
    w = (u / norm) ** (q - 1)
    hessian = (q - 1) / norm * (np.diag((u / norm) ** (q - 2)) - np.outer(w, w))
    return ball.radius * float(np.linalg.eigvalsh(hessian)[-1])


def test_the_dimension_matters_for_lp_balls() -> None:
    """(p - 1) / radius holds for the p-norm; radius / (p - 1) is too small for the l2 norm."""
    ball = sb.LpBall(20, p=1.5)
    sizes = [np.r_[m, m, np.full(18, 1.0)] for m in np.linspace(1, 5, 200)]
    worst = max(curvature(ball, theta) for theta in sizes)
    assert 1 / (ball.p - 1) < worst <= ball.response_lipschitz()
    theta = max(sizes, key=lambda theta: curvature(ball, theta))
    u, v = theta / np.linalg.norm(theta), theta + 1e-4 * (np.eye(20)[0] - np.eye(20)[1])
    v /= np.linalg.norm(v)
    moved = np.linalg.norm(ball.best_response(u) - ball.best_response(v))
    assert moved > np.linalg.norm(u - v) / (ball.p - 1)


def test_it_is_attained_where_it_should_be() -> None:
    rng = np.random.default_rng(1)
    assert worst_ratio(CONVEX[1], [0, 1, 2, 3], rng) == pytest.approx(2.5)
    thin = sb.Ellipsoid(np.diag([1.0, 9.0]))
    angle = 1e-3
    u, v = np.array([0.0, 1.0]), np.array([math.sin(angle), math.cos(angle)])
    moved = np.linalg.norm(thin.best_response(u) - thin.best_response(v))
    assert thin.response_lipschitz() == pytest.approx(3.0)
    assert moved / np.linalg.norm(u - v) == pytest.approx(3.0, rel=1e-4)


def test_reductions() -> None:
    ball = sb.LpBall(5, radius=2.0).response_lipschitz()
    assert sb.Ellipsoid(np.eye(5) / 4).response_lipschitz() == pytest.approx(ball)
    assert sb.LpBall(5, p=2 - 1e-9, radius=2.0).response_lipschitz() == pytest.approx(ball)
    stretched = sb.Ellipsoid(np.diag([0.01, 1.0, 1.0]))
    assert stretched.restrict([1, 2]).response_lipschitz() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "X",
    [
        sb.LpBall(3, p=1.0),
        sb.LpBall(3, p=3.0),
        sb.LpBall(3, p=math.inf),
        sb.Box([0, 0], [1, 1]),
        sb.Budget(1.0, [1.0, 1.0]),
        sb.FiniteSet(np.vstack([np.eye(2), np.zeros((1, 2))])),
    ],
    ids=repr,
)
def test_flat_sets_have_none(X: sb.ActionSet) -> None:
    assert X.response_lipschitz() == math.inf
    assert not X.is_strongly_convex


def test_only_unit_vectors_are_meant() -> None:
    """Near 0 the response turns arbitrarily fast: `prop:lipschitz_h` fails as printed."""
    ball = sb.LpBall(2)
    u, v = np.array([1e-6, 0.0]), np.array([0.0, 1e-6])
    moved = np.linalg.norm(ball.best_response(u) - ball.best_response(v))
    assert moved > 1e5 * ball.response_lipschitz() * np.linalg.norm(u - v)


def test_arguments_are_checked() -> None:
    with pytest.raises(sb.SparseBanditsError, match="at most dim = 3"):
        sb.LpBall(3).response_lipschitz(4)
