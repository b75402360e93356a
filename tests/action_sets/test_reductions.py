"""Sets that are the same set must give the same answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from tests.contracts.examples import correlated_matrix

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=30, deadline=None)


def corners(dim: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.vstack([np.eye(dim), -np.eye(dim)])


PAIRS = {
    "identity ellipsoid = l2 ball": (sb.Ellipsoid(np.eye(4)), sb.LpBall(4)),
    "scaled identity = radius": (sb.Ellipsoid(np.eye(4) / 9), sb.LpBall(4, radius=3.0)),
    "l-infinity ball = cube": (
        sb.LpBall(4, p=np.inf, radius=2.0),
        sb.Box(-2 * np.ones(4), 2 * np.ones(4)),
    ),
    "box as a polytope": (
        sb.Box([-1, 0, 0, -2], [1, 1, 2, 0]),
        sb.Polytope(corners(4), [1, 1, 2, 0, 1, 0, 0, 2]),
    ),
    "l1 ball as a polytope": (
        sb.LpBall(4, p=1.0),
        sb.Polytope(np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T, np.ones(16)),
    ),
    "budget as a polytope": (
        sb.Budget(1.0, [0.5, 0.7, 0.2, 2.0]),
        sb.Polytope(np.vstack([np.ones((1, 4)), corners(4)]), [1, 0.5, 0.7, 0.2, 2.0, 0, 0, 0, 0]),
    ),
    "a loose budget = a box": (sb.Budget(99.0, [1, 2, 3, 4]), sb.Box(np.zeros(4), [1, 2, 3, 4])),
}


@pytest.mark.parametrize("name", PAIRS)
@given(seed=seeds, sparsity=st.integers(1, 4))
@few
def test_the_same_set_twice(name: str, seed: int, sparsity: int) -> None:
    first, second = PAIRS[name]
    theta = np.random.default_rng(seed).standard_normal(4)
    assert first.value(theta) == pytest.approx(second.value(theta), abs=1e-8)
    answers = [sb.sparse_argmax(X, theta, sparsity, "exact") for X in (first, second)]
    assert answers[0].value == pytest.approx(answers[1].value, abs=1e-8)
    assert answers[0].support == answers[1].support
    steps = [sb.sparse_argmax(X, theta, sparsity, "greedy") for X in (first, second)]
    assert steps[0].support == steps[1].support
    assert steps[0].step_gaps == pytest.approx(steps[1].step_gaps, abs=1e-8)


@given(seed=seeds)
@few
def test_large_p_tends_to_the_cube_and_p_near_1_to_the_cross_polytope(seed: int) -> None:
    theta = np.random.default_rng(seed).standard_normal(5)
    assert sb.LpBall(5, p=2000).value(theta) == pytest.approx(np.abs(theta).sum(), rel=1e-2)
    assert sb.LpBall(5, p=1.0005).value(theta) == pytest.approx(np.abs(theta).max(), rel=1e-2)


@given(seed=seeds)
@few
def test_renaming_the_coordinates_renames_the_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, theta, order = correlated_matrix(rng, 6), rng.standard_normal(6), rng.permutation(6)
    plain = sb.sparse_argmax(sb.Ellipsoid(matrix), theta, 3, "exact")
    renamed = sb.sparse_argmax(sb.Ellipsoid(matrix[np.ix_(order, order)]), theta[order], 3, "exact")
    assert renamed.value == pytest.approx(plain.value, rel=1e-9)
    assert sorted(order[list(renamed.support)]) == list(plain.support)


def test_sparse_norm_bound_of_the_ellipsoid_is_exact_when_enumerable() -> None:
    matrix = correlated_matrix(np.random.default_rng(1), 6)
    X = sb.Ellipsoid(matrix)
    smallest = min(
        np.linalg.eigvalsh(matrix[np.ix_([i, j], [i, j])])[0] for i in range(6) for j in range(i)
    )
    assert X.sparse_norm_bound(2) == pytest.approx(1 / np.sqrt(smallest))
    assert X.norm_bound == pytest.approx(np.sqrt(20.0))


def test_sparse_norm_bound_beyond_enumeration_is_valid() -> None:
    rng = np.random.default_rng(2)
    X = sb.Ellipsoid(correlated_matrix(rng, 40))
    bound = X.sparse_norm_bound(8)
    assert bound <= X.norm_bound
    for _ in range(200):
        support = rng.choice(40, 8, replace=False)
        smallest = np.linalg.eigvalsh(X.matrix[np.ix_(support, support)])[0]
        assert 1 / np.sqrt(smallest) <= bound
