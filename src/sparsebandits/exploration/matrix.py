"""Any d actions that span, as a dense matrix inverted once."""

from typing import Any

import numpy as np
import scipy.linalg

from sparsebandits.errors import InvalidValueError
from sparsebandits.exploration.base import Basis
from sparsebandits.validation import FloatArray, IntArray, as_array


class MatrixBasis(Basis):
    """The rows of a (d, d) matrix M, with its inverse.

    Parameters
    ----------
    matrix : array of shape (dim, dim)
        Row k is b_k.
    name : str

    Examples
    --------
    >>> from sparsebandits.exploration import MatrixBasis
    >>> basis = MatrixBasis([[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    >>> basis.estimate(basis.predict([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    >>> basis.sparsity
    2
    """

    kind = "matrix"

    def __init__(self, matrix: Any, name: str = "matrix") -> None:
        self.matrix = as_array("matrix", matrix, ndim=2)
        if self.matrix.shape[0] != self.matrix.shape[1]:
            raise InvalidValueError(
                f"matrix must be square, one row per action and as many actions as coordinates, "
                f"got shape {self.matrix.shape}."
            )
        labels = np.arange(len(self.matrix))
        super().__init__(name, spanning_singular_values(self.matrix[None], labels[None])[0])
        self._factors = scipy.linalg.lu_factor(self.matrix)
        self._inverse = np.asarray(scipy.linalg.lu_solve(self._factors, np.eye(self.dim)))

    def _action(self, k: int) -> tuple[IntArray, FloatArray]:
        return np.arange(self.dim), self.matrix[k]

    def _support_sizes(self) -> IntArray:
        return np.asarray(np.count_nonzero(self.matrix, axis=1))

    def _predict(self, theta: FloatArray) -> FloatArray:
        return theta @ self.matrix.T

    def _estimate(self, means: FloatArray) -> FloatArray:
        # Row by row, so that an estimate does not depend on those beside it.
        return np.asarray(np.einsum("ij,tj->ti", self._inverse, means))  # eqn:sparse-PEE-ols

    @property
    def coordinate_variance(self) -> FloatArray:
        """The squared length of each row of M^-1, because B^-1 = M^-1 M^-T."""
        return np.asarray((self._inverse**2).sum(axis=1))

    def _inverse_gram_columns(self, indices: IntArray) -> FloatArray:
        units = np.zeros((self.dim, indices.size))
        units[indices, np.arange(indices.size)] = 1.0
        half = scipy.linalg.lu_solve(self._factors, units, trans=1)
        return np.asarray(scipy.linalg.lu_solve(self._factors, half))

    def _parameters(self) -> dict[str, Any]:
        return {"matrix": self.matrix.tolist()}


def spanning_singular_values(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Return the singular values of square blocks of rows, (n, k, k) to (n, k), if they span.

    Whether they do is seen after scaling each row to length 1, so that short actions are not taken
    for dependent ones; `labels`, (n, k), names the rows.
    """
    lengths = np.linalg.norm(rows, axis=-1)
    if not lengths.all():
        k = labels[lengths == 0][0]
        raise InvalidValueError(
            f"Action k = {k} of the basis is 0 and teaches nothing; replace it, or use "
            "basis='standard'."
        )
    unit = rows / lengths[..., None]
    dependent = _first_singular(np.linalg.svd(unit, compute_uv=False))
    if dependent is not None:
        last = scipy.linalg.qr(unit[dependent].T, mode="r", pivoting=True)[1][-1]
        raise InvalidValueError(
            f"The actions do not span: up to rounding, action k = "
            f"{labels[dependent, last]} is a combination of the others. "
            "Replace it, or use basis='standard'."
        )
    singular = np.asarray(np.linalg.svd(rows, compute_uv=False), dtype=np.float64)
    uneven = _first_singular(singular)
    if uneven is not None:
        k = labels[uneven, lengths[uneven].argmin()]
        raise InvalidValueError(
            f"Action k = {k} of the basis has length {lengths[uneven].min():.3g} and another "
            f"{lengths[uneven].max():.3g}: too different to be told apart from 0 in floating "
            "point. Rescale the coordinates."
        )
    return singular


def _first_singular(singular_values: FloatArray) -> int | None:
    rounding = singular_values.shape[1] * np.finfo(np.float64).eps
    lost = np.flatnonzero(singular_values[:, -1] <= rounding * singular_values[:, 0])
    return int(lost[0]) if lost.size else None
