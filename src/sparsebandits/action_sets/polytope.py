"""The polytope {x : Gx <= g}: bounded, with 0 inside, a linear program per support."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.forms import Inequalities
from sparsebandits.action_sets.linear_program import LinearProgram, feasibility, is_bounded
from sparsebandits.action_sets.scaling import length
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_sparsity,
    read_only,
)


class Polytope(ActionSet):
    """{x : Gx <= g}, bounded and containing 0.

    h(S; theta) is a linear program. Small ones are solved side by side (`simplex`), the others by
    one live HiGHS solver. Each solve starts afresh, so that the answer is independent of what was
    solved before or beside it.

    Parameters
    ----------
    matrix : array of shape (n_constraints, dim)
        G.
    bounds : array of shape (n_constraints,)
        g, non-negative because 0 must be inside.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> triangle = sb.Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0])
    >>> triangle.value([2.0, 3.0])
    3.0
    >>> triangle.value([2.0, 3.0], support=[0])
    2.0
    """

    kind = "polytope"

    def __init__(self, matrix: Any, bounds: Any, *, names: Sequence[str] | None = None) -> None:
        self.matrix = as_array("matrix", matrix, ndim=2)
        self.bounds = as_array("bounds", bounds, ndim=1)
        super().__init__(self.matrix.shape[1], names)
        if self.bounds.size != self.matrix.shape[0]:
            raise InvalidValueError(
                f"matrix and bounds must have one row per constraint, got {self.matrix.shape[0]} "
                f"rows and {self.bounds.size} bounds."
            )
        violated = np.flatnonzero(self.bounds < 0)
        if violated.size:
            self._refuse_zero_outside(int(violated[0]))
        if not is_bounded(self.matrix):
            raise InvalidValueError(
                f"The polytope is unbounded: its {self.matrix.shape[0]} constraints leave a "
                "direction in which x can grow for ever, so no best action exists. "
                "Add bounds, for example -1 <= x_i <= 1 for every coordinate."
            )
        self._program = LinearProgram(self.matrix, self.bounds)

    def _refuse_zero_outside(self, row: int) -> None:
        if feasibility(self.matrix, self.bounds):
            raise InvalidValueError(
                f"0 must be inside (an unused coordinate is 0), got bounds[{row}] = "
                f"{self.bounds[row]} < 0; shift x so that 0 is feasible."
            )
        raise InvalidValueError(
            f"The polytope is empty: no x satisfies all {self.bounds.size} constraints "
            f"(bounds[{row}] = {self.bounds[row]}). Relax them until 0 is feasible."
        )

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        return self._program.maximize_rows(theta, np.broadcast_to(indices, theta.shape))

    @property
    def form(self) -> Inequalities:
        """Gx <= g, with the linear program that is solved over it."""
        return self.remember(
            "form", lambda: Inequalities(self._program, read_only(np.flatnonzero(self.available)))
        )

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return how far each axis goes before it meets a constraint."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.bounds[:, None] / self.matrix
        upper = np.where(self.matrix > 0, ratios, np.inf).min(axis=0)
        lower = np.where(self.matrix < 0, ratios, -np.inf).max(axis=0)
        # Adding 0 turns -0 into 0.
        return np.where(self.available, lower, 0.0) + 0.0, np.where(self.available, upper, 0.0)

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the norm of the H longest sides of the bounding box: an upper bound."""
        active = as_sparsity(sparsity, self.dim)
        lower, upper = self.form.coordinate_bounds
        return float(length(np.sort(np.maximum(-lower, upper))[::-1][:active]))

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        size = np.maximum(np.abs(x), self._program.unit) @ np.abs(self.matrix).T
        return np.asarray((x @ self.matrix.T <= self.bounds + tolerance * size).all(axis=-1))

    def _section(self, places: IntArray) -> "Polytope":
        # A slice of a bounded set is bounded: it need not be proven again.
        section = copy.copy(self)
        ActionSet.__init__(section, places.size)
        section.matrix = read_only(self.matrix[:, places])
        section._program = LinearProgram(section.matrix, self.bounds)
        return section

    def _parameters(self) -> dict[str, Any]:
        return {"matrix": self.matrix.tolist(), "bounds": self.bounds.tolist()}

    def _summary(self) -> str:
        return f"dim={self.dim}, {self.bounds.size} constraints"
