"""The one algebra against slow, obvious versions: NumPy on one matrix at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsebandits.estimation.least_squares import (
    are_invertible,
    inverse_root,
    solve,
    unit_diagonal,
)
from sparsebandits.validation import FloatArray

DIM = 6
UNITS = np.array([1e-12, 1.0, 1e9, 1e3, 1e-3, 1.0])
SINGULAR = np.ones((DIM, DIM))


def grams(seed: int, number: int = 4) -> FloatArray:
    actions = np.random.default_rng(seed).standard_normal((number, 30, DIM))
    return np.asarray(np.swapaxes(actions, 1, 2) @ actions)


def test_the_diagonal_becomes_one_and_comes_back() -> None:
    matrices = grams(1) * np.outer(UNITS, UNITS)
    scaled, lengths = unit_diagonal(matrices)
    np.testing.assert_allclose(np.diagonal(scaled, axis1=1, axis2=2), 1.0, rtol=1e-15)
    back = scaled * lengths[:, :, None] * lengths[:, None, :]
    np.testing.assert_allclose(back, matrices, rtol=1e-14)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), rank=st.integers(0, DIM), exponent=st.integers(-20, 20))
def test_invertible_means_full_rank_whatever_the_units(seed: int, rank: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    mixed = np.eye(DIM) if rank == DIM else rng.standard_normal((rank, DIM))
    actions = rng.standard_normal((30, rank)) @ mixed
    actions = actions * 10.0 ** np.array([exponent, 0, 1, -exponent, 2, 0])
    both = np.stack([actions.T @ actions, np.eye(DIM)])
    assert are_invertible(both).tolist() == [rank == DIM, True]


@pytest.mark.parametrize("units", [np.ones(DIM), UNITS], ids=["even", "uneven"])
def test_solutions_and_roots_are_those_of_one_matrix_at_a_time(units: FloatArray) -> None:
    plain, rights = grams(2), np.random.default_rng(3).standard_normal((4, DIM))
    matrices = plain * np.outer(units, units)
    solved = solve(matrices, rights * units) * units
    roots, pivots = inverse_root(matrices)
    for matrix, right, theta, root in zip(plain, rights, solved, roots, strict=True):
        np.testing.assert_allclose(theta, np.linalg.solve(matrix, right), rtol=1e-10)
        even = root * units[:, None]
        np.testing.assert_allclose(even @ even.T, np.linalg.inv(matrix), rtol=1e-9, atol=1e-15)
    lower = np.linalg.cholesky(unit_diagonal(plain)[0])
    np.testing.assert_allclose(pivots, np.diagonal(lower, axis1=1, axis2=2).min(axis=1))


def test_a_matrix_without_a_root_spoils_none_beside_it() -> None:
    alone, pivots = inverse_root(grams(4, number=2))
    mixed = np.stack([grams(4, number=2)[0], SINGULAR - 0.5 * np.eye(DIM), grams(4, number=2)[1]])
    roots, found = inverse_root(mixed)
    assert found.tolist() == [pivots[0], 0.0, pivots[1]]
    assert roots[[0, 2]].tobytes() == alone.tobytes()


def test_a_lane_does_not_depend_on_the_lanes_beside_it() -> None:
    matrices, rights = grams(5), np.random.default_rng(5).standard_normal((4, DIM))
    roots, pivots = inverse_root(matrices)
    solved = solve(matrices, rights)
    for lane in range(4):
        here = slice(lane, lane + 1)
        root, pivot = inverse_root(matrices[here])
        assert root.tobytes() == roots[here].tobytes()
        assert pivot.tobytes() == pivots[here].tobytes()
        assert solve(matrices[here], rights[here]).tobytes() == solved[here].tobytes()
