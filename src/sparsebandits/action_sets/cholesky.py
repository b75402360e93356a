"""Cholesky factors of A_S: solves on many supports at once, and marginal gains as S grows."""

import math

import numpy as np
import scipy.linalg
from scipy.linalg import blas

from sparsebandits.action_sets.marginals import Marginals, before
from sparsebandits.validation import BoolArray, FloatArray, IntArray

LONG_ROW = 256
"""From this dimension on, rows are updated one by one."""

_NARROW = 10
_SHORT = 64
_TINY = 1e-300


def solve_shared(factor: FloatArray, theta: FloatArray) -> FloatArray:
    """Solve A_S z = theta_S for every row, given the lower Cholesky factor of A_S."""
    width = factor.shape[0]
    if theta.shape[0] == 1:
        # LAPACK's cho_solve takes several times as long for one right-hand side. A factor in C
        # order is, read by columns, the upper one.
        by_columns = factor.flags.f_contiguous
        stored = factor if by_columns else factor.T
        half = blas.dtrsv(stored, theta[0], lower=by_columns, trans=not by_columns)
        full = blas.dtrsv(stored, half, lower=by_columns, trans=by_columns)
        return np.asarray(full)[None]
    if theta.shape[0] > _NARROW and width <= _SHORT:
        # Many short rows: LAPACK would start threads for less work than starting them takes.
        return _substitute(np.broadcast_to(factor, (theta.shape[0], width, width)), theta)
    return np.asarray(scipy.linalg.cho_solve((factor, True), theta.T, check_finite=False)).T


def solve_padded(
    matrix: FloatArray, theta: FloatArray, indices: IntArray, which: IntArray | None = None
) -> FloatArray:
    """Solve A_S z = theta_S for every row's own S, by batched Cholesky; padding (-1) gives 0.

    Where the rows have several A, `matrix` is (matrices, dim, dim) and which[i] that of row i.
    """
    padding = indices < 0
    pairs = indices[:, :, None], indices[:, None, :]
    blocks = matrix[pairs] if which is None else matrix[(which[:, None, None], *pairs)]
    if padding.any():
        # Padded rows and columns become those of the identity, which leaves the rest untouched.
        blocks = np.where(padding[:, :, None] | padding[:, None, :], 0.0, blocks)
        blocks += np.eye(indices.shape[1]) * padding[:, None, :]
    factors = np.linalg.cholesky(blocks).astype(np.float64, copy=False)
    width = indices.shape[1]
    # Chosen by the width alone: a row's bits must not depend on the rows beside it.
    if width > _NARROW:
        rows = [solve_shared(factors[n], theta[n, None])[0] for n in range(theta.shape[0])]
        return np.array(rows).reshape(theta.shape)
    return _substitute(factors, theta)


def _substitute(factors: FloatArray, theta: FloatArray) -> FloatArray:
    """Solve forwards and backwards, all rows at once: factors (n, k, k), theta (n, k)."""
    solved = theta.copy()
    width = theta.shape[1]
    for i in range(width):
        solved[:, i] -= np.einsum("nj,nj->n", factors[:, i, :i], solved[:, :i])
        solved[:, i] /= factors[:, i, i]
    for i in reversed(range(width)):
        solved[:, i] -= np.einsum("nj,nj->n", factors[:, i + 1 :, i], solved[:, i + 1 :])
        solved[:, i] /= factors[:, i, i]
    return solved


class CholeskyMarginals(Marginals):
    """Greedy bookkeeping: residuals of theta and Schur complements of the diagonal of A.

    With G picked, let r_v = theta_v - A_vG A_G^-1 theta_G and s_v = A_vv - A_vG A_G^-1 A_Gv. Then
    h(G + v)^2 = h(G)^2 + r_v^2 / s_v. Adding a pick appends one row to the partial Cholesky factor
    of A and updates r and s: O(dim * k) for the k-th pick, never a solve per candidate. An infinite
    s keeps a coordinate out.

    Parameters
    ----------
    matrix : (dim, dim) array
        A; or several, (matrices, dim, dim), which must be smaller than `LONG_ROW`.
    theta : (n, dim)
    available : (dim,) bool array
    which : (n,) int array, optional
        The matrix of each row, where there are several.
    """

    def __init__(
        self,
        matrix: FloatArray,
        theta: FloatArray,
        available: BoolArray,
        which: IntArray | None = None,
    ) -> None:
        self._matrix, self._which = matrix, which
        self._lanes = np.arange(theta.shape[0])
        self._factor = np.empty((4, *theta.shape))
        self._size = 0
        self._residual = theta.copy()
        diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
        if which is not None:
            diagonal = diagonal[which]
        self._schur = np.array(np.broadcast_to(np.where(available, diagonal, np.inf), theta.shape))
        self._least = 1e-13 * diagonal
        # A residual this small is rounding: the coordinate adds nothing.
        self.floor = 1e-28 * (theta**2 / diagonal).max(axis=-1)

    def keys(self) -> FloatArray:
        """Return r^2 / s, the gain in h^2."""
        keys = np.square(self._residual)
        keys /= self._schur
        return keys

    def gains(self, picked: FloatArray, keys: FloatArray) -> FloatArray:
        """Return sqrt(g + r^2/s) - sqrt(g) without the cancellation of that formula."""
        squared = before(picked)
        # The last term is lost in rounding, but where 0 would be divided by 0.
        return np.asarray(keys / (np.sqrt(squared + keys) + np.sqrt(squared) + _TINY))

    def add(self, picks: IntArray) -> None:
        """Append the pick's row to the factor; update residuals and Schur complements."""
        if self._size == self._factor.shape[0]:
            self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
        # Which way is chosen by dim alone: a row's bits must not depend on the rows beside it.
        if self._matrix.shape[0] >= LONG_ROW:
            for lane, pick in enumerate(picks.tolist()):
                self._add_one(lane, pick)
        else:
            self._add_all(picks)
        self._size += 1
        # Rounding can push the Schur complement of a near-duplicate below 0; its gain is then 0
        # because its residual is noise too.
        np.maximum(self._schur, self._least, out=self._schur)

    def _add_one(self, lane: int, pick: int) -> None:
        """Update one lane with few operations on long vectors."""
        row = self._factor[self._size, lane]
        if pick < 0:
            row[:] = 0.0
            return
        schur, residual = self._schur[lane], self._residual[lane]
        root = math.sqrt(schur[pick])
        if self._size:
            earlier = self._factor[: self._size, lane]
            # One call for A_p - earlier' weights, over the root.
            row[:] = blas.dgemv(
                -1.0 / root, earlier.T, earlier[:, pick], 1.0 / root, self._matrix[pick]
            )
        else:
            np.divide(self._matrix[pick], root, out=row)
        residual -= (residual[pick] / root) * row
        schur -= np.square(row)
        schur[pick] = np.inf

    def _add_all(self, picks: IntArray) -> None:
        """Update all lanes at once, each operation over many short vectors."""
        lanes = self._lanes
        row = self._matrix[picks if self._which is None else (self._which, picks)]
        for past in self._factor[: self._size]:
            row -= past[lanes, picks][:, None] * past
        root = np.sqrt(self._schur[lanes, picks])
        coefficient = self._residual[lanes, picks] / root
        row /= root[:, None]
        stopped = picks < 0
        if stopped.any():
            row[stopped] = 0.0
            coefficient[stopped] = 0.0
        self._factor[self._size] = row
        self._residual -= coefficient[:, None] * row
        np.square(row, out=row)
        self._schur -= row
        moved = ~stopped
        self._schur[lanes[moved], picks[moved]] = np.inf
