"""One test for each statement of the paper about sets and oracles, by its label."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.validation import FloatArray
from tests.contracts.examples import correlated_matrix
from tests.reference.slow import slow_gamma, slow_value

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=40, deadline=None)


@given(seed=seeds, sparsity=st.integers(1, 8))
@some
def test_prop_l2_exact_solution(seed: int, sparsity: int) -> None:
    theta = np.random.default_rng(seed).standard_normal(8)
    found = sb.sparse_argmax(sb.LpBall(8, radius=2.5), theta, sparsity)
    kept = np.where(np.argsort(np.argsort(-np.abs(theta))) < sparsity, theta, 0.0)
    assert np.allclose(found.action, 2.5 * kept / np.linalg.norm(kept))


@given(seed=seeds)
@some
def test_lemma_ellipsoid_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, theta = correlated_matrix(rng, 5), rng.standard_normal(5)
    solved = np.linalg.solve(matrix, theta)
    X = sb.Ellipsoid(matrix)
    assert X.value(theta) == pytest.approx(np.sqrt(theta @ solved))
    assert np.allclose(X.best_response(theta), solved / np.sqrt(theta @ solved))


@given(seed=seeds)
@some
def test_lemma_general_consistency(seed: int) -> None:
    """If the greedy gap exceeds 2 L_X times the error, greedy on the truth picks the same."""
    rng = np.random.default_rng(seed)
    X = sb.Ellipsoid(correlated_matrix(rng, 6))
    estimate = rng.standard_normal(6)
    found = sb.sparse_argmax(X, estimate, 3, "greedy")
    direction = rng.standard_normal(6)
    error = 0.999 * found.gap / (2 * X.norm_bound) / np.linalg.norm(direction)
    truth = estimate + error * direction
    assert sb.sparse_argmax(X, truth, 3, "greedy").support == found.support


@given(seed=seeds)
@some
def test_lemma_stopping_condition_l2ball(seed: int) -> None:
    """If the top-H gap exceeds twice the error, the largest H of the truth are the same."""
    rng = np.random.default_rng(seed)
    X, estimate = sb.LpBall(8), rng.standard_normal(8)
    found = sb.sparse_argmax(X, estimate, 3)
    truth = estimate + 0.499 * found.gap * rng.choice([-1.0, 1.0], 8)
    assert sb.sparse_argmax(X, truth, 3).support == found.support


@given(seed=seeds, condition=st.floats(1.1, 1000))
@some
def test_gamma_of_the_ellipsoid_is_at_least_lambda_min(seed: int, condition: float) -> None:
    """gamma >= lambda_min / max diagonal, and >= the sharper bound for the correlation matrix."""
    rng = np.random.default_rng(seed)
    matrix = correlated_matrix(rng, 5, condition) * np.exp(rng.uniform(-2, 2))
    X, theta = sb.Ellipsoid(matrix), rng.standard_normal(5)
    gamma = sb.submodularity_ratio(X, theta)
    papers = np.linalg.eigvalsh(matrix)[0] / np.diag(matrix).max()
    assert papers <= X.gamma_bound + 1e-12
    assert X.gamma_bound <= gamma + 1e-9
    assert 0 < gamma <= 1


def displayed_bound(X: sb.ActionSet, theta: FloatArray) -> float:
    """The right-hand side displayed in `prop:submodularity_general`."""
    coordinates = range(X.dim)
    subsets = [
        set(s) for size in range(X.dim + 1) for s in itertools.combinations(coordinates, size)
    ]
    ratios = []
    for base, other in itertools.product(subsets, subsets):
        gained = slow_value(X, theta, sorted(base | other)) - slow_value(X, theta, sorted(base))
        if gained > 1e-9:
            alone = sum(slow_value(X, theta, [w]) for w in other - base)
            ratios.append(alone / gained)
    return min(ratios)


def test_prop_submodularity_general_displayed_bound_fails() -> None:
    """A counter-example: the displayed lower bound lies above gamma itself.

    It counts what each coordinate earns alone, which over-counts its gain on top of others.
    """
    X = sb.Ellipsoid([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    theta = np.ones(3)
    assert displayed_bound(X, theta) == pytest.approx(1.0)
    assert slow_gamma(X, theta) == pytest.approx(0.74696, abs=1e-5)
    assert sb.submodularity_ratio(X, theta) == pytest.approx(0.74696, abs=1e-5)


def test_the_displayed_bound_fails_often_on_random_ellipsoids() -> None:
    failures = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, theta = sb.Ellipsoid(correlated_matrix(rng, 4)), rng.uniform(-1, 1, 4)
        failures += displayed_bound(X, theta) > sb.submodularity_ratio(X, theta) + 1e-9
    assert failures >= 10


def test_gamma_can_be_zero_on_a_convex_compact_set() -> None:
    """The segment {(s, s) : 0 <= s <= 1}: no single coordinate gains, the pair does."""
    segment = sb.Polytope([[1, -1], [-1, 1], [1, 0], [-1, 0]], [0, 0, 1, 0])
    theta = np.array([1.0, 1.0])
    assert sb.submodularity_ratio(segment, theta) == 0
    assert sb.sparse_argmax(segment, theta, 2, "greedy").value == 0
    exact = sb.sparse_argmax(segment, theta, 2, "exact")
    assert exact.value == pytest.approx(2)
    assert exact.support == (0, 1)


@pytest.mark.parametrize(
    "X",
    [sb.LpBall(5, p=p) for p in (1.0, 1.5, 2.0, 3.0, np.inf)] + [sb.Box(-np.ones(5), np.ones(5))],
)
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_sorting_is_exact_on_lp_balls_and_boxes(X: sb.ActionSet, seed: int) -> None:
    """Greedy and top-H agree, and both reach the optimum, where gamma is 1."""
    theta = np.random.default_rng(seed).standard_normal(5)
    for sparsity in range(1, 6):
        supports = itertools.combinations(range(5), sparsity)
        best = max(slow_value(X, theta, support) for support in supports)
        for method in ("top-h", "greedy"):
            assert sb.sparse_argmax(X, theta, sparsity, method).value == pytest.approx(best)
