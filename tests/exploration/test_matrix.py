"""Dense bases: what the constructor refuses."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import MatrixBasis


def test_a_matrix_must_be_square() -> None:
    with pytest.raises(sb.InvalidValueError, match=r"must be square.* got shape \(2, 3\)"):
        MatrixBasis(np.ones((2, 3)))


def test_the_action_that_adds_nothing_is_named() -> None:
    rows = np.eye(4)
    rows[2] = 0.3 * rows[0] - 0.1 * rows[1]
    with pytest.raises(sb.InvalidValueError, match=r"action k = [012] is a combination"):
        MatrixBasis(rows)
    rows[2] = 0.0
    with pytest.raises(sb.InvalidValueError, match="Action k = 2 of the basis is 0"):
        MatrixBasis(rows)


def test_dependence_up_to_rounding_is_dependence() -> None:
    rows = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16]])
    rows[1] /= 3.0
    with pytest.raises(sb.InvalidValueError, match="do not span"):
        MatrixBasis(rows)
    MatrixBasis([[1.0, 1.0], [1.0, 1.0 + 1e-9]])


def test_short_actions_are_not_taken_for_dependent_ones() -> None:
    basis = MatrixBasis([[1e-10, 1e-10], [1.0, -1.0]])
    np.testing.assert_allclose(basis.estimate(basis.predict([1.0, 2.0])), [1.0, 2.0])
    assert basis.lambda_0 == pytest.approx(2e-20, rel=1e-4)


def test_an_action_lost_beside_the_others_is_named() -> None:
    with pytest.raises(sb.InvalidValueError, match=r"k = 1 of the basis has length 1.41e-18"):
        MatrixBasis([[1.0, -1.0], [1e-18, 1e-18]])
