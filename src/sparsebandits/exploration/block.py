"""Actions inside small blocks of coordinates, so that B is block diagonal."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.exploration.base import Basis
from sparsebandits.exploration.matrix import spanning_singular_values
from sparsebandits.validation import FloatArray, IntArray, as_array, describe


class BlockBasis(Basis):
    """A partition of the coordinates into blocks, each with as many actions as coordinates.

    Action number coordinates[r] is row r of its block, so action k always belongs to the block
    that holds coordinate k. With blocks of at most H coordinates every action is H-sparse, memory
    is O(d H), and least squares falls apart into the blocks.

    Parameters
    ----------
    blocks : sequence of (coordinates, rows)
        Coordinates of shape (k,) and a matrix of shape (k, k) whose rows are the actions.
    name : str

    Examples
    --------
    >>> from sparsebandits.exploration import BlockBasis
    >>> basis = BlockBasis([([0, 2], [[1, 1], [1, -1]]), ([1], [[0.5]])])
    >>> basis.action(2)
    array([ 1.,  0., -1.])
    >>> basis.inverse_trace
    5.0
    """

    kind = "block"

    def __init__(self, blocks: Sequence[Any], name: str = "block") -> None:
        parsed = [_parsed(number, block) for number, block in enumerate(_as_sequence(blocks))]
        dim = sum(coordinates.size for coordinates, _ in parsed)
        _refuse_no_partition(np.concatenate([coordinates for coordinates, _ in parsed]), dim)
        # Blocks of one size are stacked, so that numpy works on all of them at once.
        self._stacks: list[tuple[IntArray, FloatArray, FloatArray]] = []
        self._place = np.zeros((dim, 3), dtype=np.intp)
        singular = []
        for size in sorted({coordinates.size for coordinates, _ in parsed}):
            same = [block for block in parsed if block[0].size == size]
            indices = np.stack([coordinates for coordinates, _ in same])
            rows = np.stack([matrix for _, matrix in same])
            singular.append(spanning_singular_values(rows, indices).ravel())
            stack = len(self._stacks)
            block_of, row_of = np.indices(indices.shape)
            self._place[indices] = np.stack([np.full_like(indices, stack), block_of, row_of], -1)
            inverse = np.asarray(np.linalg.inv(rows), dtype=np.float64)
            for array in (indices, rows, inverse):
                array.setflags(write=False)
            self._stacks.append((indices, rows, inverse))
        super().__init__(name, np.concatenate(singular))

    def _action(self, k: int) -> tuple[IntArray, FloatArray]:
        stack, block, row = self._place[k]
        indices, rows, _ = self._stacks[stack]
        return indices[block], rows[block, row]

    def _support_sizes(self) -> IntArray:
        sizes = np.zeros(self.dim, dtype=np.intp)
        for indices, rows, _ in self._stacks:
            sizes[indices] = np.count_nonzero(rows, axis=-1)
        return sizes

    def _predict(self, theta: FloatArray) -> FloatArray:
        return self._apply([rows for _, rows, _ in self._stacks], theta)

    def _estimate(self, means: FloatArray) -> FloatArray:
        return self._apply([inverse for _, _, inverse in self._stacks], means)  # eqn:sparse-PEE-ols

    def _apply(self, matrices: list[FloatArray], vectors: FloatArray) -> FloatArray:
        result = np.empty(vectors.shape)
        for (indices, _, _), matrix in zip(self._stacks, matrices, strict=True):
            result[:, indices] = np.einsum("nij,tnj->tni", matrix, vectors[:, indices])
        return result

    @property
    def coordinate_variance(self) -> FloatArray:
        """The squared length of each row of M^-1, because B^-1 = M^-1 M^-T."""
        variance = np.empty(self.dim)
        for indices, _, inverse in self._stacks:
            variance[indices] = (inverse**2).sum(axis=-1)
        return variance

    def _inverse_gram_columns(self, indices: IntArray) -> FloatArray:
        columns = np.zeros((self.dim, indices.size))
        for column, index in enumerate(indices):
            stack, block, row = self._place[index]
            coordinates, _, inverse = self._stacks[stack]
            columns[coordinates[block], column] = inverse[block] @ inverse[block, row]
        return columns

    @property
    def blocks(self) -> list[tuple[IntArray, FloatArray]]:
        """The blocks as (coordinates, rows), the smallest blocks first."""
        return [
            (coordinates, matrix)
            for indices, rows, _ in self._stacks
            for coordinates, matrix in zip(indices, rows, strict=True)
        ]

    def _parameters(self) -> dict[str, Any]:
        return {
            "blocks": [
                [[int(i) for i in coordinates], rows.tolist()] for coordinates, rows in self.blocks
            ]
        }


def _as_sequence(blocks: Any) -> Sequence[Any]:
    if isinstance(blocks, str) or not isinstance(blocks, Sequence) or len(blocks) == 0:
        raise InvalidTypeError(
            f"blocks must be a non-empty list of (coordinates, rows) pairs, got {describe(blocks)}."
        )
    return blocks


def _parsed(number: int, block: Any) -> tuple[IntArray, FloatArray]:
    if not isinstance(block, Sequence) or len(block) != 2:
        raise InvalidTypeError(
            f"blocks[{number}] must be a pair (coordinates, rows), got {describe(block)}."
        )
    coordinates = np.asarray(block[0])
    if coordinates.ndim != 1 or not np.issubdtype(coordinates.dtype, np.integer):
        raise InvalidTypeError(
            f"blocks[{number}] must start with a flat list of integer coordinates, "
            f"got {describe(block[0])}."
        )
    rows = as_array(f"The rows of blocks[{number}]", block[1], ndim=2)
    if rows.shape != (coordinates.size, coordinates.size):
        raise InvalidValueError(
            f"blocks[{number}] has {coordinates.size} coordinates and needs a matrix of shape "
            f"({coordinates.size}, {coordinates.size}), got {rows.shape}."
        )
    return coordinates.astype(np.intp), rows


def _refuse_no_partition(coordinates: IntArray, dim: int) -> None:
    counts = np.bincount(coordinates[(coordinates >= 0) & (coordinates < dim)], minlength=dim)
    wrong = np.flatnonzero(counts != 1)
    if wrong.size:
        times = "missing" if counts[wrong[0]] == 0 else f"given {counts[wrong[0]]} times"
        raise InvalidValueError(
            f"blocks must hold each of the coordinates 0..{dim - 1} once, got "
            f"{describe(sorted(int(i) for i in coordinates))}: {wrong[0]} is {times}."
        )
