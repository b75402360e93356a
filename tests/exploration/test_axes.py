"""Standard and boundary bases: the closed forms, and sets that have no action on an axis."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.action_sets import ACTION_SETS
from sparsebandits.exploration import DiagonalBasis, make_basis
from sparsebandits.exploration.diagonal import longest_ends
from tests.exploration.examples import ALL_SETS, CONVEX_SETS, DIM


def scales(name: str, action_set: sb.ActionSet) -> list[float]:
    basis = make_basis(name, action_set, 1)
    assert isinstance(basis, DiagonalBasis)
    assert basis.name == name
    return list(basis.scales)


def test_the_papers_constant() -> None:
    assert make_basis("standard", sb.LpBall(dim=20), sparsity=5).h_1(sigma=0.5) == 10.0


def test_standard_shrinks_only_where_it_must() -> None:
    assert scales("standard", sb.LpBall(2, radius=3.0)) == [1.0, 1.0]
    assert scales("standard", sb.LpBall(2, radius=0.5)) == [0.5, 0.5]
    assert scales("standard", sb.Box([-9, -0.2, -5], [0.3, 0, 0])) == [0.3, -0.2, -1.0]
    assert scales("standard", sb.Budget(0.7, [0.5, 9.0])) == [0.5, 0.7]


def test_boundary_goes_to_the_longer_side() -> None:
    assert scales("boundary", sb.LpBall(2, p=1, radius=3.0)) == [3.0, 3.0]
    assert scales("boundary", sb.Box([-9, -0.2, -2], [0.3, 0, 2])) == [-9.0, -0.2, 2.0]
    assert scales("boundary", sb.Ellipsoid([[4.0, 1.0], [1.0, 1.0]])) == [0.5, 1.0]


@pytest.mark.parametrize("name", CONVEX_SETS)
def test_boundary_ends_where_the_set_ends(name: str) -> None:
    action_set = CONVEX_SETS[name]
    rows = make_basis("boundary", action_set, 1).actions
    assert action_set.contains(rows).all()
    assert not action_set.contains(rows * 1.001).any()


@pytest.mark.parametrize("name", CONVEX_SETS)
def test_no_axis_action_is_longer(name: str) -> None:
    action_set = CONVEX_SETS[name]
    ends = longest_ends(action_set)
    for k in range(DIM):
        for sign in (1.0, -1.0):
            direction = sign * np.eye(DIM)[k]
            assert abs(action_set.best_response(direction, [k])[k]) <= abs(ends[k]) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["standard", "boundary"])
def test_a_coordinate_that_cannot_move_is_named(name: str) -> None:
    stuck = sb.Box([-1, 0, -1, 0], [1, 0, 1, 0])
    with pytest.raises(sb.CompositionError, match=r"axes of coordinates 1, 3, so basis="):
        make_basis(name, stuck, 1)


def test_long_lists_of_coordinates_are_cut() -> None:
    stuck = sb.Box(np.zeros(30), np.zeros(30))
    with pytest.raises(sb.CompositionError, match=r"0, 1, 2, 3, 4, 5, 6, 7, \.\.\. \(30 in all\)"):
        make_basis("standard", stuck, 1)


def test_the_examples_cover_every_registered_set() -> None:
    assert {action_set.kind for action_set in ALL_SETS.values()} == set(ACTION_SETS)
