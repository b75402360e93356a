"""The polytope {x : Gx <= g, Ax = b}: bounded, a linear program per support."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.doses import as_doses
from sparsebandits.action_sets.forms import Inequalities
from sparsebandits.action_sets.linear_program import LinearProgram, feasibility, is_bounded
from sparsebandits.action_sets.mixed_integer import MixedIntegerSolution, sparse_mixed_integer
from sparsebandits.action_sets.scaling import length
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_sparsity,
    describe,
    read_only,
)

_ROUNDING = 1e-9
"""What the solver leaves of a dose, or of an interval, relative to the coordinate's reach."""


class Polytope(ActionSet):
    """{x : Gx <= g, Ax = b}, bounded, where each x_i may have to be 0 or at least a least dose.

    h(S; theta) is a linear program. Small ones are solved side by side (`simplex`), the others by
    one live HiGHS solver. Each solve starts afresh, so that the answer is independent of what was
    solved before or beside it. Where 0 is not inside, some supports have no action; with least
    doses the set is not convex and a response is a mixed-integer program.

    Parameters
    ----------
    matrix : array of shape (n_constraints, dim)
        G.
    bounds : array of shape (n_constraints,)
        g; 0 is inside where it is non-negative and there is no equality b != 0.
    equalities : pair of arrays, optional
        A of shape (n_equalities, dim) and b of shape (n_equalities,).
    min_dose : float or array of shape (dim,), optional
        Where it is positive, x_i is 0 or at least that much, and never negative.
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
    >>> portfolio = sb.Polytope(
    ...     [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0.6, 0.6, 0.6],
    ...     equalities=([[1, 1, 1]], [1.0]), min_dose=0.25,
    ... )
    >>> portfolio.best_response([3.0, 2.0, 1.0])
    array([0.6, 0.4, 0. ])
    >>> portfolio.value([3.0, 2.0, 1.0], support=[0])  # 0.6 of the 1.0 that must be invested
    -inf
    """

    kind = "polytope"

    def __init__(
        self,
        matrix: Any,
        bounds: Any,
        equalities: Any = None,
        min_dose: Any = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        self.matrix = as_array("matrix", matrix, ndim=2)
        self.bounds = as_array("bounds", bounds, ndim=1)
        super().__init__(self.matrix.shape[1], names)
        if self.bounds.size != self.matrix.shape[0]:
            raise InvalidValueError(
                f"matrix and bounds must have one row per constraint, got {self.matrix.shape[0]} "
                f"rows and {self.bounds.size} bounds."
            )
        self.equalities = self._as_equalities(equalities)
        self.min_dose = as_doses(min_dose, np.full(self.dim, np.inf))
        self._build()
        if not self.contains_zero and not feasibility(self._program.matrix, self._program.bounds):
            raise InvalidValueError(
                f"The polytope is empty: no x satisfies all {self._count()} constraints. "
                "Relax them."
            )
        if not is_bounded(self._program.matrix):
            raise InvalidValueError(
                f"The polytope is unbounded: its {self._count()} constraints leave a "
                "direction in which x can grow for ever, so no best action exists. "
                "Add bounds, for example -1 <= x_i <= 1 for every coordinate."
            )
        self.refuse_empty(self.dim)

    def _as_equalities(self, equalities: Any) -> tuple[FloatArray, FloatArray] | None:
        if equalities is None:
            return None
        if not isinstance(equalities, Sequence) or len(equalities) != 2:
            raise InvalidTypeError(
                "equalities must be a pair (A, b) of arrays of shapes (k, dim) and (k,), got "
                f"{describe(equalities)}."
            )
        rows = as_array("equalities[0]", equalities[0], ndim=2)
        sides = as_array("equalities[1]", equalities[1], ndim=1)
        if rows.shape != (sides.size, self.dim):
            raise InvalidValueError(
                f"equalities must have one row of {self.dim} entries per right-hand side, got "
                f"shapes {rows.shape} and {sides.shape}."
            )
        return rows, sides

    def _build(self) -> None:
        """Make the linear programs: over all rows, and with the least doses of what is on."""
        rows, sides = [self.matrix], [self.bounds]
        if self.equalities is not None:
            rows += [self.equalities[0], -self.equalities[0]]
            sides += [self.equalities[1], -self.equalities[1]]
        dosed = np.zeros(0, dtype=np.intp)
        if self.min_dose is not None:
            dosed = np.flatnonzero(self.min_dose > 0)
            rows.append(-np.eye(self.dim)[dosed])
            sides.append(np.zeros(dosed.size))
        matrix, bounds = read_only(np.vstack(rows)), read_only(np.concatenate(sides))
        plain = self.equalities is None and self.min_dose is None
        self._program = LinearProgram(*((self.matrix, self.bounds) if plain else (matrix, bounds)))
        self._dosed = self._program
        if self.min_dose is not None:
            self._dosed = LinearProgram(matrix, bounds, self.min_dose)
        self.contains_zero = self._program.zero_inside
        self.is_convex = self.min_dose is None

    def _count(self) -> int:
        return self.bounds.size + (0 if self.equalities is None else self.equalities[1].size)

    # ------------------------------------------------------------------ responses

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        supports = np.broadcast_to(indices, theta.shape)
        relaxed = self._program.maximize_rows(theta, supports)
        if self.min_dose is None:
            return relaxed
        doses = np.where(supports < 0, 0.0, self.min_dose[supports])
        slack = _ROUNDING * self._program.unit[supports]
        short = ((relaxed > slack) & (relaxed < doses - slack)).any(axis=1)
        for row in np.flatnonzero(short).tolist():
            relaxed[row] = self._respond_dosed(theta[row], supports[row])
        # What the solver left of a dose is none, and what it took off is put back.
        relaxed[(doses > 0) & (relaxed <= slack)] = 0.0
        return np.where((relaxed > 0) & (doses > 0), np.maximum(relaxed, doses), relaxed)

    def _respond_dosed(self, theta: FloatArray, support: IntArray) -> FloatArray:
        """Respond on one support where the best without least doses breaks one of them."""
        used = support[support >= 0]
        full = np.zeros(self.dim)
        full[used] = theta[support >= 0]
        found = self._search(full, Choice(self.dim, self.dim), np.isin(np.arange(self.dim), used))
        entries = np.zeros(theta.size)
        entries[support >= 0] = found.action[used] if found.value > -np.inf else np.nan
        return entries

    def _respond_all_on(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        return self._dosed.maximize_rows(theta, np.broadcast_to(indices, theta.shape))

    def _search(self, theta: FloatArray, choice: Choice, usable: BoolArray) -> MixedIntegerSolution:
        lower, upper = self.form.coordinate_bounds
        return sparse_mixed_integer(self._dosed, theta, choice, lower, upper, available=usable)

    def support_for(self, theta: FloatArray, choice: Choice) -> BoolArray | None:
        """Return the support of the best action that the rules allow; None if there is none."""
        if self.contains_zero and self.min_dose is None:
            return super().support_for(theta, choice)
        usable = np.flatnonzero(self.available)
        if self._program.maximize(np.zeros(usable.size), usable, may_be_empty=True) is None:
            return None
        found = self._search(theta, choice, self.available)
        if found.value == -np.inf:
            return None
        return np.isin(np.arange(self.dim), found.support)

    def _may_rest(self) -> BoolArray:
        return self.available if self.min_dose is None else self.available & (self.min_dose == 0)

    def _why_empty(self, sparsity: int) -> str:
        parts = "its constraints need more coordinates to be on"
        return f"{parts}, or the least doses leave gaps" if self.min_dose is not None else parts

    # ------------------------------------------------------------------ what it offers

    @property
    def form(self) -> Inequalities:
        """Gx <= g with the equalities, and the linear program that is solved over it."""
        return self.remember(
            "form",
            lambda: Inequalities(
                self._dosed, self._program, read_only(np.flatnonzero(self.available))
            ),
        )

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return how far each axis goes before it meets a constraint; 0 where it misses the set."""
        matrix, bounds = self._program.matrix, self._program.bounds
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = bounds[:, None] / matrix
        upper = np.where(matrix > 0, ratios, np.inf).min(axis=0)
        lower = np.where(matrix < 0, ratios, -np.inf).max(axis=0)
        reached = self.available.copy()
        if not self.contains_zero:
            missed = ((matrix == 0) & (bounds < 0)[:, None]).any(axis=0)
            slack = _ROUNDING * self._program.unit
            reached &= ~missed & (lower <= upper + slack)
            lower = np.minimum(lower, upper)
        if self.min_dose is not None:
            dosed = self.min_dose > 0
            reached &= ~dosed | (upper >= self.min_dose)
            least = 0.0 if self.contains_zero else np.maximum(lower, self.min_dose)
            lower = np.where(dosed, least, lower)
        # Adding 0 turns -0 into 0.
        return np.where(reached, lower, 0.0) + 0.0, np.where(reached, upper, 0.0) + 0.0

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the norm of the H longest sides of the bounding box: an upper bound."""
        active = as_sparsity(sparsity, self.dim)
        lower, upper = self.form.coordinate_bounds
        return float(length(np.sort(np.maximum(-lower, upper))[::-1][:active]))

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        reach = np.maximum(np.abs(x), self._program.unit)
        matrix, bounds = self._program.matrix, self._program.bounds
        size = reach @ np.abs(matrix).T
        rounding = tolerance if self.contains_zero else max(tolerance, 1e-12)
        inside = np.asarray((x @ matrix.T <= bounds + rounding * size).all(axis=-1))
        if self.min_dose is None:
            return inside
        slack = tolerance * reach
        dosed = (np.abs(x) <= slack) | (x >= self.min_dose - slack) | (self.min_dose == 0)
        return np.asarray(inside & dosed.all(axis=-1))

    # ------------------------------------------------------------------ identity

    def _section(self, places: IntArray) -> "Polytope":
        # A slice of a bounded set is bounded: it need not be proven again.
        section = copy.copy(self)
        ActionSet.__init__(section, places.size)
        section.matrix = read_only(self.matrix[:, places])
        if self.equalities is not None:
            section.equalities = read_only(self.equalities[0][:, places]), self.equalities[1]
        if self.min_dose is not None:
            section.min_dose = as_doses(self.min_dose[places], np.full(places.size, np.inf))
        section._build()
        section.refuse_empty(places.size)
        return section

    def _parameters(self) -> dict[str, Any]:
        parameters = {"matrix": self.matrix.tolist(), "bounds": self.bounds.tolist()}
        if self.equalities is not None:
            parameters["equalities"] = [part.tolist() for part in self.equalities]
        if self.min_dose is not None:
            parameters["min_dose"] = self.min_dose.tolist()
        return parameters

    def _summary(self) -> str:
        text = f"dim={self.dim}, {self.bounds.size} constraints"
        if self.equalities is not None:
            text += f", {self.equalities[1].size} equalities"
        if self.min_dose is not None:
            text += f", min_dose={self.min_dose.min():g}..{self.min_dose.max():g}"
        return text
