"""Hadamard matrices, and the sign patterns made from them."""

import numpy as np
import pytest

from sparsebandits.exploration.patterns import block_sizes, hadamard, sign_patterns

KNOWN = [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 44, 48, 60, 64]


@pytest.mark.parametrize("order", KNOWN)
def test_hadamard_matrices_are_orthogonal_and_normalised(order: int) -> None:
    matrix = hadamard(order)
    assert matrix is not None
    assert set(np.unique(matrix)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(matrix @ matrix.T, order * np.eye(order))
    assert (matrix[0] == 1).all()
    assert (matrix[:, 0] == 1).all()


@pytest.mark.parametrize("order", [3, 5, 6, 7, 9, 10, 14, 18, 22, 28])
def test_other_orders_are_unknown(order: int) -> None:
    assert hadamard(order) is None


@pytest.mark.parametrize("size", range(1, 20))
def test_patterns_are_square_signs_that_come_in_pairs(size: int) -> None:
    patterns = sign_patterns(size)
    for pattern, opposite in zip(patterns[::2], patterns[1::2], strict=True):
        assert pattern.shape == (size, size)
        assert set(np.unique(pattern)) <= {-1.0, 1.0}
        np.testing.assert_array_equal(pattern, -opposite)


@pytest.mark.parametrize("size", [3, 7, 11, 15])
def test_the_core_gives_the_s_matrix_on_the_unit_box(size: int) -> None:
    ones = [(pattern > 0).astype(float) for pattern in sign_patterns(size)]
    best = min(float((np.linalg.inv(s) ** 2).sum()) for s in ones if abs(np.linalg.det(s)) > 1e-9)
    assert best == pytest.approx(4 * size**2 / (size + 1) ** 2)


def test_block_sizes_hold_the_classical_ones() -> None:
    assert block_sizes(1) == [1]
    assert block_sizes(3) == [3, 2]
    assert block_sizes(5) == [5, 4, 3]
    assert block_sizes(10) == [10, 8, 7]
