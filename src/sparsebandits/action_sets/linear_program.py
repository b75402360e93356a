"""Linear programs over ``{x : G x <= g}``, solved by HiGHS.

The policies ask for the maximiser of ``theta . x`` over the slice of a polytope spanned by a few
coordinates, again and again with a new support. Two facts shape this module:

* The slice has few coordinates and many rows, so the *dual* program,
  ``min g . y`` subject to ``G_S' y = theta, y >= 0``, has a tiny basis (one row per coordinate of
  the support). Its slack basis is dual feasible whenever 0 lies in the polytope (``g >= 0``), so
  the dual simplex starts at once, and the maximiser is read off the row duals.
* Every solve starts from that slack basis, never from the previous optimum. An optimum that is
  not unique is then chosen by the problem alone and not by what was solved before, so a policy
  gives the same bits before and after a save and a load. Starting afresh is also faster here: a
  basis that was optimal for another support is a poor start.
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sparsebandits.action_sets.highs import (
    load_highs,
    new_solver,
    pass_rows,
    run_solver,
    solve_to_optimum,
)
from sparsebandits.action_sets.scaling import power_of_two
from sparsebandits.action_sets.simplex import maximize_together
from sparsebandits.errors import SolverError
from sparsebandits.validation import FloatArray, IntArray, read_only

_EQUILIBRATION_PASSES = 10
_SMALL_PROGRAM = 4_096  # entries of G on the support: up to here dense steps in company are faster


class LinearProgram:
    """Maximise linear functions over slices of ``{x : G x <= g}``: G (rows, dim) and g (rows,).

    Where there are least doses, the coordinates of a slice have at least theirs.

    Each thread gets its own live HiGHS solver, built on first use, so one object may serve several
    threads. Only ``G`` and ``g`` are pickled or copied.

    Examples
    --------
    >>> import numpy as np
    >>> square = LinearProgram(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))
    >>> square.maximize(np.array([-3.0]), np.array([1]))
    array([-1.])
    """

    def __init__(
        self, matrix: FloatArray, bounds: FloatArray, doses: FloatArray | None = None
    ) -> None:
        load_highs()
        self.matrix, self.bounds = matrix, bounds
        self.doses = read_only(np.zeros(matrix.shape[1])) if doses is None else doses
        """What x_i must be at least where i is in the support, (dim,); 0 for no such rule."""
        dosed = np.flatnonzero(self.doses > 0.0)
        self.has_doses = bool(dosed.size)
        rows = np.vstack([self.matrix, -np.eye(matrix.shape[1])[dosed]])
        self._is_dose = np.arange(rows.shape[0]) >= matrix.shape[0]
        scaled, row_scale, column_scale = _equilibrate(rows)
        row_bounds = np.concatenate([self.bounds, -self.doses[dosed]]) / row_scale
        # HiGHS's tolerances are absolute: bring the distances to the facets to about 1.
        positive = row_bounds[row_bounds > 0.0]
        unit = float(power_of_two(np.median(positive))) if positive.size else 1.0
        self.unit = read_only(unit * column_scale)
        """About how far each coordinate reaches; what is solved is right to 1e-9 of that."""
        self._column_scale = column_scale
        self._costs = row_bounds / unit
        self.zero_inside = bool(np.all(self.bounds >= 0.0))
        self._scaled = scaled
        columns = sparse.csc_array(scaled)
        self._starts = np.asarray(columns.indptr, dtype=np.int32)
        self._rows = np.asarray(columns.indices, dtype=np.int32)
        self._values = np.asarray(columns.data, dtype=np.float64)
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[LinearProgram], tuple[FloatArray, FloatArray, FloatArray]]:
        """Rebuild from ``G`` and ``g``: a live solver can be neither pickled nor copied."""
        return type(self), (self.matrix, self.bounds, self.doses)

    @overload
    def maximize(self, theta: FloatArray, support: IntArray) -> FloatArray: ...

    @overload
    def maximize(
        self, theta: FloatArray, support: IntArray, *, may_be_empty: bool
    ) -> FloatArray | None: ...

    def maximize(
        self, theta: FloatArray, support: IntArray, *, may_be_empty: bool = False
    ) -> FloatArray | None:
        """Return a maximiser of ``theta . x`` among the points that vanish off the support.

        All are (k,): theta and the answer on the support, a vertex of the slice, or 0 when
        ``theta`` is 0. It depends on the arguments alone, not on earlier calls. `SolverError` if
        the slice is unbounded in the direction ``theta``, or HiGHS fails, or the slice is empty;
        where that may be, None is returned.
        """
        index = np.asarray(support, dtype=np.int32)
        objective = theta * self._column_scale[index]
        largest = float(np.max(np.abs(objective), initial=0.0))
        if largest == 0.0 and self.zero_inside and not self.doses[index].any():
            return np.zeros(index.size)
        if index.size == 0:
            return None if may_be_empty else self._refuse_empty()
        objective = objective / power_of_two(largest)
        solver = self._solver()
        self._pass_dual(solver, objective, index)
        if not solve_to_optimum(solver, may_be_unbounded=may_be_empty):
            return None
        scaled = np.asarray(solver.getSolution().row_dual, dtype=np.float64)
        # Adding 0 turns a negative zero into zero.
        return scaled * self.unit[index] + 0.0

    def maximize_rows(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Answer `maximize` for every row; nan where the slice is empty.

        Small programs are solved together (`simplex`), and by HiGHS what that could not prove;
        large ones by HiGHS alone. Which way a row goes depends on that row alone. All are (n, k);
        the supports are padded with -1, and theta and the answer are 0 there.
        """
        entries = np.zeros_like(theta)
        objective = theta * np.where(indices < 0, 0.0, self._column_scale[indices])
        largest = np.abs(objective).max(axis=1, initial=0.0)
        if not self.zero_inside or self.has_doses:
            return self._maximize_each(theta, indices)
        rows = np.flatnonzero(largest > 0.0)
        if self._scaled.shape[0] * theta.shape[1] <= _SMALL_PROGRAM:
            scaled = objective[rows] / power_of_two(largest[rows])[:, None]
            vertices, proven = maximize_together(self._scaled, self._costs, scaled, indices[rows])
            entries[rows] = vertices * np.where(indices[rows] < 0, 0.0, self.unit[indices[rows]])
            rows = rows[~proven]
        for row in rows.tolist():
            used = indices[row] >= 0
            entries[row] = 0.0
            entries[row, used] = self.maximize(theta[row, used], indices[row, used])
        # Adding 0 turns a negative zero into zero.
        return entries + 0.0

    def _maximize_each(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Answer `maximize` for rows whose slices may be empty."""
        entries = np.zeros_like(theta)
        for row, support in enumerate(indices):
            # In one order, so that among equals the same is chosen whatever order was given.
            used = np.flatnonzero(support >= 0)
            used = used[np.argsort(support[used])]
            answer = self.maximize(theta[row, used], support[used], may_be_empty=True)
            entries[row, used] = np.nan if answer is None else answer
        return entries + 0.0

    def coordinate_bounds(self, support: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each coordinate, (dim,) each.

        0 off the support, the coordinates allowed to differ from 0: all of them if omitted.
        """
        dim = self.matrix.shape[1]
        index = np.asarray(range(dim) if support is None else support, dtype=np.int32)
        lower, upper = np.zeros(dim), np.zeros(dim)
        solver = self._solver()
        self._pass_dual(solver, np.zeros(index.size), index)
        # Only the right-hand side changes, so the model stays; the basis does not, because a start
        # from the slack basis measured faster than one from the last optimum.
        for row, coordinate in enumerate(index.tolist()):
            for sign, ends in ((1.0, upper), (-1.0, lower)):
                solver.changeRowBounds(row, sign, sign)
                solver.clearSolver()
                solve_to_optimum(solver)
                ends[coordinate] = sign * solver.getObjectiveValue() * self.unit[coordinate]
            solver.changeRowBounds(row, 0.0, 0.0)
        return lower + 0.0, upper + 0.0

    def _refuse_empty(self) -> NoReturn:
        raise SolverError("The slice without any coordinate is empty: 0 is not in the polytope.")

    def _solver(self) -> Any:
        solver = getattr(self._local, "solver", None)
        if solver is None:
            # The model is equilibrated once, on construction, and its slack basis is dual
            # feasible: HiGHS's own scaling and presolve would cost more than the solve.
            solver = new_solver(
                solver="simplex", simplex_strategy=1, presolve="off", simplex_scale_strategy=0
            )
            self._local.solver = solver
        return solver

    def _pass_dual(self, solver: Any, objective: FloatArray, index: npt.NDArray[np.int32]) -> None:
        """Give the solver ``min g . y`` subject to ``G_S' y = objective, y >= 0``."""
        spans = [slice(self._starts[i], self._starts[i + 1]) for i in index]
        rows = np.concatenate([self._rows[span] for span in spans] or [self._rows[:0]])
        values = np.concatenate([self._values[span] for span in spans] or [self._values[:0]])
        starts = np.zeros(index.size + 1, dtype=np.int32)
        np.cumsum(self._starts[index + 1] - self._starts[index], out=starts[1:])
        # A row of G that is 0 on the support matters only if it makes the slice empty.
        used = (self._costs < 0.0) & ~self._is_dose
        used[rows] = True
        position = np.cumsum(used, dtype=np.int32) - 1
        costs = self._costs[used]
        count = costs.size
        rowwise, minimize = 2, 1  # HiGHS's own codes
        solver.passModel(
            count,
            index.size,
            values.size,
            rowwise,
            minimize,
            0.0,
            costs,
            np.zeros(count),
            np.full(count, np.inf),
            *(objective, objective),
            *(starts, position[rows].astype(np.int32), values),
            np.zeros(count, dtype=np.int32),
        )


def feasibility(matrix: FloatArray, bounds: FloatArray) -> bool:
    """Tell whether ``{x : G x <= g}`` has a point."""
    scaled, row_scale, _ = _equilibrate(matrix)
    limits = bounds / row_scale
    limits = limits / power_of_two(np.max(np.abs(limits), initial=0.0))
    solver = new_solver()
    pass_rows(solver, np.zeros(matrix.shape[1]), scaled, (-np.inf, limits))
    run_solver(solver)
    status = load_highs().HighsModelStatus
    # Presolve may stop at "unbounded or infeasible", and a zero objective is never unbounded.
    if solver.getModelStatus() in (status.kInfeasible, status.kUnboundedOrInfeasible):
        return False
    solve_to_optimum(solver)
    return True


def is_bounded(matrix: FloatArray) -> bool:
    """Tell whether ``{x : G x <= g}``, if it has a point, is bounded.

    It is when the cone ``{x : G x <= 0}`` is only 0: when ``G`` has full column rank and no ``x``
    has ``G x <= 0`` with ``G x != 0``, which by Stiemke's lemma is when some ``y > 0`` has
    ``G' y = 0``. One linear program decides the second part: over ``-1 <= G x <= 0`` the largest
    ``-sum(G x)`` is 0, or it is reached where some row is exactly -1. That gap makes the decision
    robust; cones narrower than about 1e-9 are taken for 0.
    """
    rows, dim = matrix.shape
    scaled, _, _ = _equilibrate(matrix)
    if rows < dim or np.linalg.matrix_rank(scaled) < dim:
        return False
    solver = new_solver()
    pass_rows(solver, -scaled.sum(axis=0), scaled, (-1.0, np.zeros(rows)))
    solve_to_optimum(solver)
    direction = np.asarray(solver.getSolution().col_value, dtype=np.float64)
    return bool(np.max(-scaled @ direction, initial=0.0) < 0.5)


def _equilibrate(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scale columns, then rows, by powers of two so that the entries are about 1.

    The column scales make the exponents of the entries as equal as possible in the least-squares
    sense (Curtis and Reid); the row scales then bring the largest entry of each row to [1, 2).
    Returns the scaled matrix and the scales: ``matrix = row_scale * scaled / column_scale``.
    """
    nonzero = matrix != 0.0
    exponents = np.where(nonzero, np.frexp(matrix)[1], 0).astype(np.float64)
    in_row = np.maximum(nonzero.sum(axis=1), 1)
    in_column = np.maximum(nonzero.sum(axis=0), 1)
    column = np.zeros(matrix.shape[1])
    for _ in range(_EQUILIBRATION_PASSES):
        row = (exponents + nonzero * column).sum(axis=1) / in_row
        column = (nonzero * row[:, None] - exponents).sum(axis=0) / in_column
    column_scale = np.exp2(np.rint(column))
    row_scale = power_of_two(np.abs(matrix * column_scale).max(axis=1))
    return matrix * column_scale / row_scale[:, None], row_scale, column_scale
