"""Linear programs side by side, against HiGHS one by one."""

import numpy as np
import pytest

from sparsebandits.action_sets import simplex
from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.action_sets.simplex import maximize_together
from sparsebandits.validation import FloatArray, IntArray

KINDS = ("cone", "cube", "degenerate", "badly scaled")


def random_polytope(rng: np.random.Generator, kind: str) -> tuple[FloatArray, FloatArray]:
    """A box, or a part of one, cut by a few rows."""
    dim, cuts = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    rows = rng.uniform(0, 1, (cuts, dim)) if kind == "cone" else rng.normal(size=(cuts, dim))
    limits = rng.uniform(0, 2, cuts)
    if kind == "degenerate":
        rows, limits = rows.round(1), rng.integers(0, 2, cuts).astype(np.float64)
    matrix = np.vstack([np.eye(dim), -np.eye(dim), rows])
    lower = np.full(dim, 1.0 if kind == "cube" else 0.0)
    bounds = np.concatenate([rng.uniform(0.1, 2, dim), lower, limits])
    if kind == "badly scaled":
        matrix = matrix * 10.0 ** rng.uniform(-3, 3, dim)
    return matrix, bounds


def random_rows(
    rng: np.random.Generator, dim: int, kind: str, count: int
) -> tuple[FloatArray, IntArray]:
    """Objectives and supports, some places of them empty."""
    width = int(rng.integers(1, dim + 1))
    indices = np.array([rng.permutation(dim)[:width] for _ in range(count)])
    theta = rng.normal(size=(count, width))
    if kind == "degenerate":
        theta = theta.round(0)
    empty = rng.random((count, width)) < 0.2
    return np.where(empty, 0.0, theta), np.where(empty, -1, indices)


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_that_of_highs(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(20):
        matrix, bounds = random_polytope(rng, kind)
        program = LinearProgram(matrix, bounds)
        theta, indices = random_rows(rng, matrix.shape[1], kind, 20)
        entries = program.maximize_rows(theta, indices)
        for row in range(20):
            used = indices[row] >= 0
            reference = program.maximize(theta[row, used], indices[row, used])
            expected = theta[row, used] @ reference
            assert theta[row] @ entries[row] == pytest.approx(expected, rel=1e-10, abs=1e-10)
            assert (entries[row, ~used] == 0.0).all()
            reach = matrix[:, indices[row, used]] @ entries[row, used]
            assert (reach <= bounds + 1e-9 * np.maximum(1.0, np.abs(matrix).max(axis=1))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_hardly_anything_is_left_to_highs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    calls = []

    def counted(self: LinearProgram, theta: FloatArray, support: IntArray) -> FloatArray:
        calls.append(support)
        return np.zeros(support.size)

    monkeypatch.setattr(LinearProgram, "maximize", counted)
    for _ in range(20):
        matrix, bounds = random_polytope(rng, kind)
        LinearProgram(matrix, bounds).maximize_rows(*random_rows(rng, matrix.shape[1], kind, 20))
    assert len(calls) <= 4  # of 400


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_its_neighbours(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    matrix, bounds = random_polytope(rng, kind)
    program = LinearProgram(matrix, bounds)
    theta, indices = random_rows(rng, matrix.shape[1], kind, 60)
    together = program.maximize_rows(theta, indices)
    alone = [program.maximize_rows(theta[i : i + 1], indices[i : i + 1])[0] for i in range(60)]
    np.testing.assert_array_equal(together, alone)
    monkeypatch.setattr(simplex, "_ENTRIES", 200)
    np.testing.assert_array_equal(program.maximize_rows(theta, indices), together)


def test_what_cannot_be_proven_goes_to_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    matrix, bounds = random_polytope(rng, "cube")
    program = LinearProgram(matrix, bounds)
    theta, indices = random_rows(rng, matrix.shape[1], "cube", 10)
    expected = (theta * program.maximize_rows(theta, indices)).sum(axis=1)
    monkeypatch.setattr(simplex, "_LEAST_PIVOT", np.inf)  # no row stops anything
    scaled = np.where(indices < 0, 0.0, theta)
    assert not maximize_together(matrix, bounds, scaled, indices)[1][theta.any(axis=1)].any()
    values = (theta * program.maximize_rows(theta, indices)).sum(axis=1)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)


def test_a_coordinate_that_gains_nothing_stays_zero() -> None:
    cube = np.vstack([np.eye(3), -np.eye(3)])
    x = LinearProgram(cube, np.ones(6)).maximize_rows(
        np.array([[2.0, 0.0, -1.0]]), np.array([[0, 1, 2]])
    )
    assert x.tolist() == [[1.0, 0.0, -1.0]]


def test_a_coordinate_that_only_makes_room_is_used() -> None:
    # x_0 <= x_1 <= 1: nothing is earned on x_1, and nothing without it.
    matrix = np.array([[1.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    program = LinearProgram(matrix, np.array([0.0, 1.0, 0.0, 0.0]))
    assert program.maximize_rows(np.array([[1.0, 0.0]]), np.array([[0, 1]])).tolist() == [
        [1.0, 1.0]
    ]
