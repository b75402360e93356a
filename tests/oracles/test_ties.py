"""Ties, zero gains and the ends of the range: the decisions 6 and 7 of the design."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb


@pytest.mark.parametrize("method", ["top-h", "greedy", "swap", "exact", "auto"])
def test_the_lowest_index_wins_a_tie(method: Any) -> None:
    theta = np.array([1.0, 2.0, 2.0, 2.0, 2.0])
    for X in (sb.LpBall(5), sb.LpBall(5, p=1.5), sb.Box(np.zeros(5), np.ones(5))):
        found = sb.sparse_argmax(X, theta, 2, method)
        assert found.support == (1, 2)
        assert found.gap == 0


def test_greedy_on_a_correlated_ellipsoid_breaks_ties_low() -> None:
    matrix = 0.9 * np.eye(4) + 0.1
    found = sb.sparse_argmax(sb.Ellipsoid(matrix), np.ones(4), 2, "greedy")
    assert found.support == (0, 1)
    assert found.gap == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("method", ["top-h", "greedy"])
def test_on_the_l1_ball_only_the_largest_counts(method: Any) -> None:
    found = sb.sparse_argmax(sb.LpBall(4, p=1.0), [0.5, -2.0, 1.5, 0.1], 3, method)
    assert found.support == (1,)
    assert found.gap == pytest.approx(0.5)
    assert np.allclose(found.action, [0, -1, 0, 0])


@pytest.mark.parametrize("method", ["top-h", "greedy"])
def test_on_a_box_the_support_stops_where_nothing_gains(method: Any) -> None:
    box = sb.Box(np.zeros(5), np.ones(5))
    found = sb.sparse_argmax(box, [0.7, -1.0, 0.2, -0.3, 0.0], 4, method)
    assert found.support == (0, 2)
    assert found.gap == pytest.approx(0.2)


def test_greedy_step_gaps_on_the_box_are_differences_of_earnings() -> None:
    box = sb.Box(np.zeros(4), [1, 2, 1, 1])
    found = sb.sparse_argmax(box, [0.9, 0.8, 0.5, 0.4], 3, "greedy")
    assert found.support == (0, 1, 2)
    assert found.step_gaps == pytest.approx([0.7, 0.4, 0.1])
    assert found.gap == pytest.approx(0.1)


def test_top_h_gap_is_the_papers() -> None:
    found = sb.sparse_argmax(sb.LpBall(4, radius=3.0), [1.0, -4.0, 2.5, 0.5], 2, "top-h")
    assert found.gap == pytest.approx(2.5 - 1.0)


@pytest.mark.parametrize("method", ["top-h", "greedy", "exact"])
def test_where_everything_fits_the_gap_is_infinite(method: Any) -> None:
    ball = sb.LpBall(4)
    assert sb.sparse_argmax(ball, [1.0, 2.0, 3.0, 4.0], 4, method).gap == np.inf
    few = ball.restrict([0, 2])
    assert sb.sparse_argmax(few, [1.0, 2.0, 3.0, 4.0], 2, method).gap == np.inf
    assert sb.sparse_argmax(few, [1.0, 2.0, 3.0, 4.0], 1, method).gap == 2.0 or method == "greedy"


def test_one_dimension() -> None:
    for X in (sb.LpBall(1), sb.Box([-1], [2]), sb.Ellipsoid([[4.0]]), sb.Budget(1, [3])):
        for method in ("greedy", "swap", "exact"):
            found = sb.sparse_argmax(X, [1.0], 1, method)
            assert found.value == pytest.approx(X.value([1.0]))
            assert found.gap == np.inf


def test_ties_in_a_batch_with_few_positive_scores() -> None:
    box = sb.Box(np.zeros(3), np.ones(3))
    batch = sb.sparse_argmax_batch(box, [[1, 1, 1], [0, 0, 0], [-1, 2, -1]], 2, "top-h")
    assert batch.supports.tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert batch.gaps.tolist() == [0, 0, 2]


def test_top_h_finds_the_largest_of_many() -> None:
    theta = np.random.default_rng(0).standard_normal(10**6)
    found = sb.sparse_argmax(sb.LpBall(10**6), theta, 10)
    order = np.argsort(-np.abs(theta))
    assert set(found.support) == set(order[:10].tolist())
    assert found.gap == np.abs(theta[order[9]]) - np.abs(theta[order[10]])


def test_swap_repairs_a_greedy_mistake() -> None:
    """Two correlated coordinates beat the one that greedy takes first."""
    matrix = np.array([[1.0, 0.7, 0.7], [0.7, 1.0, 0.0], [0.7, 0.0, 1.0]])
    X, theta = sb.Ellipsoid(matrix), [1.05, 1.0, 1.0]
    greedy, swap = (sb.sparse_argmax(X, theta, 2, m) for m in ("greedy", "swap"))
    best = sb.sparse_argmax(X, theta, 2, "exact")
    assert 0 in greedy.support
    assert swap.support == best.support == (1, 2)
    assert swap.value == pytest.approx(np.sqrt(2))
    assert greedy.value < swap.value
    assert greedy.upper_bound >= best.value


@pytest.mark.parametrize("dim", [20, 300])
def test_a_row_does_not_depend_on_the_rows_beside_it(dim: int) -> None:
    """Bit for bit: trial i of a simulation must be the same in any batch."""
    rng = np.random.default_rng(3)
    square = rng.standard_normal((dim, dim))
    X = sb.Ellipsoid(square @ square.T / dim + np.eye(dim))
    theta = rng.standard_normal((7, dim))
    batch = sb.sparse_argmax_batch(X, theta, 5, "greedy")
    for row in range(7):
        alone = sb.sparse_argmax(X, theta[row], 5, "greedy")
        assert (alone.action == batch.actions[row]).all()
        assert (alone.step_gaps == batch.step_gaps[row]).all()


@pytest.mark.parametrize("dim", [2**15, 2**15 + 77])
def test_long_vectors_with_ties_and_few_positive_scores(dim: int) -> None:
    """The search by pieces agrees with a stable sort, ties across pieces included."""
    rng = np.random.default_rng(4)
    rows = np.stack(
        [
            rng.standard_normal(dim),
            rng.integers(0, 4, dim).astype(float),
            np.where(np.arange(dim) % 9999 == 5, 1.0, 0.0),
            np.zeros(dim),
        ]
    )
    batch = sb.sparse_argmax_batch(sb.LpBall(dim), rows, 6, "top-h")
    for row, support, gap in zip(rows, batch.supports, batch.gaps, strict=True):
        order = np.argsort(-np.abs(row), kind="stable")
        expected = sorted(i for i in order[:6] if row[i] != 0)
        assert support[support >= 0].tolist() == expected
        last = np.abs(row[expected]).min() if expected else 0.0
        assert gap == last - np.abs(row[order[len(expected)]])
