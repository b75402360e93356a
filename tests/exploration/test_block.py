"""Block bases: numbering, memory, and what the constructor refuses."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import BlockBasis

_PAIR = [[1.0, 1.0], [1.0, -1.0]]


def test_action_k_belongs_to_the_block_of_coordinate_k() -> None:
    basis = BlockBasis([([3, 1], [[1, 2], [3, 4]]), ([2], [[5]]), ([0], [[6]])])
    np.testing.assert_array_equal(basis.action(3), [0, 2, 0, 1])
    np.testing.assert_array_equal(basis.action(1), [0, 4, 0, 3])
    np.testing.assert_array_equal(basis.action(2), [0, 0, 5, 0])
    np.testing.assert_array_equal(basis.action(0), [6, 0, 0, 0])


def test_blocks_can_be_read_back() -> None:
    basis = BlockBasis([([3, 1], _PAIR), ([2, 0], _PAIR)])
    assert BlockBasis(basis.blocks) == basis


def test_memory_is_of_the_order_of_d_times_block_size() -> None:
    count = 10_000
    pairs = np.arange(2 * count).reshape(count, 2)
    blocks = [(pair, _PAIR) for pair in pairs]
    tracemalloc.start()
    basis = BlockBasis(blocks)
    theta = basis.estimate(np.ones(2 * count))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(theta[:4], [1, 0, 1, 0], atol=1e-12)
    # A dense matrix of this dimension would take 3.2 GB.
    assert peak < 50e6


def test_a_dependent_block_is_refused_by_action() -> None:
    with pytest.raises(sb.InvalidValueError, match=r"action k = [12] is a combination"):
        BlockBasis([([0], [[1.0]]), ([2, 1], [[1.0, 2.0], [2.0, 4.0]])])
    with pytest.raises(sb.InvalidValueError, match=r"Action k = 1 of the basis is 0"):
        BlockBasis([([0], [[1.0]]), ([2, 1], [[1.0, 2.0], [0.0, 0.0]])])


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "non-empty list"),
        ("ab", "non-empty list"),
        (3, "non-empty list"),
        ([([0], [[1.0]], 1)], r"blocks\[0\] must be a pair"),
        ([5], r"blocks\[0\] must be a pair"),
        ([([0.5], [[1.0]])], "flat list of integer coordinates"),
        ([([[0]], [[1.0]])], "flat list of integer coordinates"),
        ([([0, 1], [[1.0]])], r"needs a matrix of shape \(2, 2\), got \(1, 1\)"),
        ([([0], [[1.0]]), ([0], [[1.0]])], r"0 is given 2 times"),
        ([([0], [[1.0]]), ([2], [[1.0]])], r"1 is missing"),
        ([([0], [[np.nan]])], r"The rows of blocks\[0\] must be finite"),
    ],
)
def test_malformed_blocks_are_refused(blocks: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        BlockBasis(blocks)
