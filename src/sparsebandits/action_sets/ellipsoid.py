"""The ellipsoid {x : x'Ax <= 1}, solved by Cholesky factors throughout."""

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import blas

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.cholesky import CholeskyMarginals, solve_padded, solve_shared
from sparsebandits.action_sets.forms import QuadraticForm
from sparsebandits.action_sets.scaling import length, unit_rows
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_array, read_only

_ENUMERABLE_SUPPORTS = 20_000
_SAFE = 1e-200
"""Squares between this and its inverse did neither vanish nor overflow on the way."""


class Ellipsoid(ActionSet):
    """{x : x'Ax <= 1} with A symmetric positive definite.

    h(S; theta) = sqrt(theta_S' A_S^-1 theta_S), attained at A_S^-1 theta_S over that value
    (`lemma:ellipsoid solution`). Choosing S is best-subset regression, NP-hard in general; where A
    is diagonal it is sorting.

    Parameters
    ----------
    matrix : array of shape (dim, dim)
        A. Symmetric up to rounding; the symmetric part is kept.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ellipsoid = sb.Ellipsoid([[2.0, 1.0], [1.0, 2.0]])
    >>> print(round(ellipsoid.value([1.0, 1.0]), 6))
    0.816497
    >>> print(round(ellipsoid.value([1.0, 1.0], support=[0]), 6))
    0.707107
    """

    kind = "ellipsoid"
    is_strongly_convex = True

    def __init__(self, matrix: Any, *, names: Sequence[str] | None = None) -> None:
        given = as_array("matrix", matrix, ndim=2)
        if given.shape[0] != given.shape[1]:
            raise InvalidValueError(f"matrix must be square, got shape {given.shape}.")
        super().__init__(given.shape[0], names)
        self._diagonal = np.diag(given)
        self._refuse_wrong_entries(given)
        self.matrix: FloatArray = read_only((given + given.T) / 2)
        self._refuse_flat()
        self._is_diagonal = _is_diagonal(self.matrix)

    def _refuse_wrong_entries(self, given: FloatArray) -> None:
        low = np.flatnonzero(self._diagonal <= 0)
        if low.size:
            i = low[0]
            raise InvalidValueError(
                f"matrix must be positive definite, otherwise the ellipsoid is unbounded; got "
                f"{self._diagonal[i]} at index ({i}, {i}). Make the diagonal positive."
            )
        difference = np.abs(given - given.T)
        if (_to_unit_diagonal(difference, self._diagonal) > 1e-8).any():
            raise InvalidValueError(
                f"matrix must be symmetric, got entries that differ from their mirror image by up "
                f"to {difference.max():.3g}; pass (A + A.T) / 2 if that is what you mean."
            )

    def _refuse_flat(self) -> None:
        try:
            factor = self._factor
        except np.linalg.LinAlgError:
            factor = np.zeros((1, 1))
        # A pivot lost to rounding means that some direction is unbounded for all we can tell. Each
        # is held against its own coordinate: units may differ, directions may not coincide.
        if (np.diag(factor) <= 1e-7 * np.sqrt(self._diagonal)).any():
            unit = _to_unit_diagonal(self.matrix, self._diagonal)
            raise InvalidValueError(
                f"matrix must be positive definite, otherwise the ellipsoid is unbounded; scaled "
                f"to a unit diagonal its smallest eigenvalue is {np.linalg.eigvalsh(unit)[0]:.3g}, "
                "and rounding hides anything below 1e-14. Add a small multiple of the identity."
            )

    @property
    def _factor(self) -> FloatArray:
        """The lower Cholesky factor of A, by columns as LAPACK wants it: no copy at each solve."""
        return self.remember("whole factor", lambda: self._fresh_factor(np.arange(self.dim)))

    # ------------------------------------------------------------------ what it offers

    @property
    def sorting(self) -> Sorting | None:
        """Sorting by abs(theta_i) / sqrt(A_ii), where A is diagonal."""
        if not self._is_diagonal:
            return None
        return self.remember("sorting", lambda: Sorting(2.0, ends=self.axis_reach()))

    @property
    def form(self) -> QuadraticForm:
        """A."""
        return QuadraticForm(self.matrix)

    @property
    def gamma_bound(self) -> float:
        """lambda_min of A scaled to a unit diagonal, on the available coordinates.

        [Das & Kempe 2018, Lemma 13] for the correlation matrix; at least
        lambda_min(A) / max_i A_ii, and unchanged when A or single coordinates are rescaled.
        """
        usable = np.flatnonzero(self.available)
        unit = _to_unit_diagonal(self.matrix[np.ix_(usable, usable)], self._diagonal[usable])
        return min(1.0, float(np.linalg.eigvalsh(unit)[0]))

    def response_lipschitz(self, sparsity: int | None = None) -> float:
        """Return a_max^2 / a_min = sqrt(lambda_max) / lambda_min, with half-axes a_i.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.Ellipsoid([[4.0, 0.0], [0.0, 1.0]]).response_lipschitz()
        2.0
        """
        usable = np.flatnonzero(self.available)
        largest = float(np.linalg.eigvalsh(self.matrix[np.ix_(usable, usable)])[-1])
        # The bound on the norm is 1 / sqrt(lambda_min) of the worst support.
        return math.sqrt(largest) * self.sparse_norm_bound(self._active(sparsity)) ** 2

    def from_sphere(self, points: FloatArray, support: IntArray) -> FloatArray:
        """Map the sphere to the ellipsoid by the inverse of the Cholesky factor of A_S."""
        lower = np.linalg.cholesky(self.matrix[np.ix_(support, support)])
        return np.asarray(np.linalg.solve(lower.T, points.T).T)

    # ------------------------------------------------------------------ responses

    def marginals(self, theta: FloatArray) -> CholeskyMarginals:
        """Gains by a growing partial Cholesky factor: O(dim * k) at step k."""
        return CholeskyMarginals(self.matrix, theta, self.available)

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            solved, squared = self._solve_on(theta, indices)
            if ((squared > _SAFE) & (squared < 1 / _SAFE)).all():
                return np.asarray(solved / np.sqrt(squared))
            # The response does not change with the scale of theta, not even in its last bit.
            solved, squared = self._solve_on(unit_rows(theta)[0], indices)
            return np.where(squared > 0, solved / np.sqrt(squared), 0.0)

    def _solve_on(self, theta: FloatArray, indices: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return A_S^-1 theta_S and h(S; theta)^2 for every row, (n, k) and (n, 1)."""
        if indices.ndim == 1:
            solved = solve_shared(self._factor_on(indices), theta)
        else:
            solved = solve_padded(self.matrix, theta, indices)
        return solved, (theta * solved).sum(axis=-1, keepdims=True)

    def unconstrained_values(self, theta: FloatArray) -> FloatArray:
        """Return ||L^-1 theta||, with L the Cholesky factor on the available coordinates."""
        if theta.shape[0] > 1:
            return super().unconstrained_values(theta)
        usable = np.flatnonzero(self.available)
        half = blas.dtrsv(self._factor_on(usable), theta[0, usable], lower=1)
        return length(half[None])

    def _factor_on(self, support: IntArray) -> FloatArray:
        if support.size == self.dim:
            return self._factor
        if support.size == np.count_nonzero(self.available):
            return self.remember("factor", lambda: self._fresh_factor(support))
        return self._fresh_factor(support)

    def _fresh_factor(self, support: IntArray) -> FloatArray:
        block = self.matrix[np.ix_(support, support)]
        return np.asfortranarray(np.linalg.cholesky(block), dtype=np.float64)

    # ------------------------------------------------------------------ bounds

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the longest half-axis of an A_S, 1 / sqrt(lambda_min(A_S)), or a bound above it.

        Beyond 20,000 supports the larger of lambda_min(A) and the sparse Gershgorin bound
        min_i A_ii - (the H-1 largest abs(A_ij)) stands in for the minimum.
        """
        active = self._active(sparsity)
        return self.remember(("norm", active), lambda: self._longest_half_axis(active))

    def _longest_half_axis(self, active: int) -> float:
        usable = np.flatnonzero(self.available)
        if math.comb(usable.size, active) <= _ENUMERABLE_SUPPORTS:
            chosen = itertools.chain.from_iterable(itertools.combinations(usable, active))
            supports = np.fromiter(chosen, dtype=np.intp).reshape(-1, active)
            blocks = self.matrix[supports[:, :, None], supports[:, None, :]]
            return float(_longest_half_axes(blocks).max())
        block = self.matrix[np.ix_(usable, usable)]
        off_diagonal = np.abs(block - np.diag(np.diag(block)))
        heaviest = np.sort(off_diagonal, axis=1)[:, ::-1][:, : active - 1].sum(axis=1)
        gershgorin = float((np.diag(block) - heaviest).min())
        longest = float(_longest_half_axes(block[None])[0])
        return min(longest, 1.0 / math.sqrt(gershgorin)) if gershgorin > 0 else longest

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return -1 / sqrt(A_kk) and 1 / sqrt(A_kk)."""
        upper = self.available / np.sqrt(self._diagonal)
        return -upper, upper

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        # ||L'x|| is the norm in which the set is a unit ball.
        return np.asarray(np.linalg.norm(x @ self._factor, axis=-1) <= 1 + tolerance)

    def _section(self, places: IntArray) -> "Ellipsoid":
        # What was proven of A holds of its principal blocks: no factor before one is needed.
        section = copy.copy(self)
        ActionSet.__init__(section, places.size)
        section.matrix = read_only(self.matrix[np.ix_(places, places)])
        section._diagonal = np.diag(section.matrix)
        section._is_diagonal = self._is_diagonal or _is_diagonal(section.matrix)
        return section

    def _parameters(self) -> dict[str, Any]:
        return {"matrix": self.matrix.tolist()}

    def _summary(self) -> str:
        shortest = 1.0 / np.sqrt(np.linalg.eigvalsh(self.matrix)[-1])
        longest = _longest_half_axes(self.matrix[None])[0]
        return f"dim={self.dim}, half-axes {shortest:.3g} to {longest:.3g}"


def _is_diagonal(matrix: FloatArray) -> bool:
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diag(matrix)))


def _to_unit_diagonal(matrices: FloatArray, diagonals: FloatArray) -> FloatArray:
    """Divide entry ij by sqrt(diagonal_i diagonal_j): (..., k, k) and (..., k)."""
    roots = np.sqrt(diagonals)
    return np.asarray(matrices / roots[..., :, None] / roots[..., None, :], dtype=np.float64)


def _longest_half_axes(matrices: FloatArray) -> FloatArray:
    """Return 1 / sqrt(lambda_min) of each matrix, (n, k, k) to (n,).

    From the largest eigenvalue of the inverse: the smallest one of A itself is lost in rounding
    where the coordinates have very different units.
    """
    diagonals = np.diagonal(matrices, axis1=-2, axis2=-1)
    unit = _to_unit_diagonal(matrices, diagonals)
    inverses = np.asarray(np.linalg.inv(unit), dtype=np.float64)
    largest = np.linalg.eigvalsh(_to_unit_diagonal(inverses, diagonals))[..., -1]
    return np.asarray(np.sqrt(largest))
