"""The turning ellipsoid against R_t' A R_t written out."""

import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import RotatingEllipsoid
from sparsebandits.validation import FloatArray
from tests.environments.examples import positive_definite


def matrix_at(sequence: RotatingEllipsoid, step: int) -> FloatArray:
    current = sequence.at(step)
    assert isinstance(current, sb.Ellipsoid)
    return current.matrix


def rotation(dim: int, planes: list[tuple[int, int]], angle: float) -> FloatArray:
    turned = np.eye(dim)
    for i, j in planes:
        turned[i, i] = turned[j, j] = math.cos(angle)
        turned[i, j], turned[j, i] = -math.sin(angle), math.sin(angle)
    return turned


def test_the_matrix_is_the_rotated_one_and_keeps_its_eigenvalues() -> None:
    matrix, planes = positive_definite(6), [(0, 4), (5, 2)]
    sequence = RotatingEllipsoid(matrix, angle_per_step=0.1, planes=planes)
    for step in (0, 1, 7, 123, 10_000):
        turn = rotation(6, planes, 0.1 * step)
        current = matrix_at(sequence, step)
        np.testing.assert_allclose(current, turn.T @ matrix @ turn, atol=1e-11)
        np.testing.assert_allclose(
            np.linalg.eigvalsh(current), np.linalg.eigvalsh(matrix), rtol=1e-10
        )
        assert sequence.at(step).norm_bound == pytest.approx(sequence.norm_bound, rel=1e-10)
        assert sequence.at(step).is_strongly_convex
    assert sequence.is_strongly_convex
    np.testing.assert_allclose(matrix_at(sequence, 0), matrix, rtol=0, atol=0)


def test_membership_is_that_of_the_turned_point() -> None:
    sequence = RotatingEllipsoid(positive_definite(3), angle_per_step=0.7, planes=[(1, 2)])
    points = np.random.default_rng(0).standard_normal((200, 3))
    turn = rotation(3, [(1, 2)], 0.7 * 5)
    inside = sequence.at(5).contains(points)
    assert (inside == sequence.base.contains(points @ turn.T)).all()
    assert inside.any()
    assert not inside.all()
    assert (inside != sequence.base.contains(points)).any()


def test_a_period_closes_exactly() -> None:
    sequence = RotatingEllipsoid(positive_definite(4), period=12)
    assert sequence.angle(3) == pytest.approx(math.pi / 2)
    for step in range(12):
        assert sequence.at(step + 12 * 10**6) is sequence.at(step)
    # Half a turn maps the ellipsoid to itself only in the plane that turns.
    assert not np.allclose(matrix_at(sequence, 6), matrix_at(sequence, 0))
    flat = RotatingEllipsoid(positive_definite(2), period=12)
    np.testing.assert_allclose(matrix_at(flat, 6), matrix_at(flat, 0), atol=1e-14)


def test_the_sparse_bound_covers_an_axis_that_turns_into_a_coordinate() -> None:
    tilted = rotation(2, [(0, 1)], math.pi / 4)
    matrix = tilted.T @ np.diag([1.0, 100.0]) @ tilted
    sequence = RotatingEllipsoid(matrix, period=8)
    reached = max(sequence.at(step).sparse_norm_bound(1) for step in range(8))
    assert sequence.at(0).sparse_norm_bound(1) < 0.2
    assert reached == pytest.approx(1.0)
    assert sequence.sparse_norm_bound(1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of angle_per_step and period"),
        ({"period": 4, "angle_per_step": 0.1}, "exactly one of angle_per_step and period"),
        ({"period": 0}, "period must be at least 1"),
        ({"period": 2.5}, "period must be an integer"),
        ({"angle_per_step": math.inf}, "angle_per_step must be a finite number"),
        ({"period": 4, "planes": []}, "planes must be a list of pairs"),
        ({"period": 4, "planes": [0, 1]}, r"planes\[0\] must be a pair"),
        ({"period": 4, "planes": [(0, 1, 2)]}, r"planes\[0\] must be a pair"),
        ({"period": 4, "planes": [(0, 3)]}, r"distinct coordinates in 0..2"),
        ({"period": 4, "planes": [(0, 0)]}, "distinct coordinates"),
        ({"period": 4, "planes": [(0, 1), (1, 2)]}, "distinct coordinates"),
        ({"period": 4, "planes": [(0, -1)]}, r"planes\[0\] must be at least 0"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        RotatingEllipsoid(np.eye(3), **arguments)
    with pytest.raises(sb.SparseBanditsError, match="matrix must be positive definite"):
        RotatingEllipsoid(np.diag([1.0, -1.0]), period=3)


def test_one_coordinate_has_no_plane_to_turn() -> None:
    with pytest.raises(sb.InvalidValueError, match=r"distinct coordinates in 0..0"):
        RotatingEllipsoid([[1.0]], period=3)
