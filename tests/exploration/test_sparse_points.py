"""Bases from finite sets: actual points, H-sparse, independent, exchanged for the design."""

import itertools

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import BASES, make_basis
from tests.exploration.examples import finite_set


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("sparsity", [2, 3])
def test_every_name_gives_points_of_the_set(name: str, sparsity: int) -> None:
    action_set = finite_set(6, seed=2)
    basis = make_basis(name, action_set, sparsity)
    assert basis.name == name
    points = {tuple(point) for point in action_set.points}
    for k in range(6):
        assert tuple(basis.action(k)) in points
    assert basis.sparsity <= sparsity


def test_the_design_is_the_best_of_a_small_set() -> None:
    rng = np.random.default_rng(1)
    points = np.vstack([np.zeros(3), rng.standard_normal((8, 3)).round(1)])
    action_set = sb.FiniteSet(points)
    traces = []
    for rows in itertools.combinations(points[1:], 3):
        gram = np.array(rows).T @ np.array(rows)
        if np.linalg.cond(gram) < 1e12:
            traces.append(np.trace(np.linalg.inv(gram)))
    designed = make_basis("designed", action_set, 3).inverse_trace
    assert designed == pytest.approx(min(traces))
    assert designed < 0.99 * make_basis("boundary", action_set, 3).inverse_trace


def test_points_with_too_many_non_zeros_do_not_count() -> None:
    action_set = sb.FiniteSet([[0, 0], [1, 0], [3, 3], [0, 0.1]])
    np.testing.assert_array_equal(make_basis("standard", action_set, 1).actions, [[1, 0], [0, 0.1]])


def test_a_coordinate_that_no_sparse_point_uses_is_named() -> None:
    action_set = sb.FiniteSet([[0, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 2]])
    with pytest.raises(sb.CompositionError, match="never use coordinates 1, 2"):
        make_basis("standard", action_set, 1)
    make_basis("standard", action_set, 2)


def test_points_that_do_not_span_are_refused() -> None:
    action_set = sb.FiniteSet([[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 2, 1], [2, 2, 0]])
    with pytest.raises(sb.CompositionError, match="span only 2 of 3 dimensions"):
        make_basis("designed", action_set, 3)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(sb.CompositionError, match="span only 1 of 3 dimensions"):
        make_basis("standard", sb.FiniteSet([[0, 0, 0], [1, 1, 1]]), 3)
