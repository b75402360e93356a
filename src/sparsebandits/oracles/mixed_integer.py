"""The best H-sparse action of a polytope, by mixed-integer linear programming (HiGHS).

``max theta . x`` subject to ``G x <= g``, ``lower_i z_i <= x_i <= upper_i z_i``, ``sum z <= H`` and
``z`` binary: ``z_i = 1`` switches coordinate i on. The bounds are those of the polytope itself, so
switching a coordinate on never cuts anything off.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebandits.action_sets.highs import load_highs, new_solver, pass_rows, run_solver
from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.action_sets.scaling import power_of_two
from sparsebandits.errors import SolverError
from sparsebandits.oracles.solution import BestSupport
from sparsebandits.validation import BoolArray, FloatArray, IntArray

# Entries of a polished action this small, relative to the coordinate's range, are rounding.
_ROUNDING = 1e-12
# A proof must close the gap between the bound and the polished value to this relative accuracy.
_PROOF = 1e-7


@dataclass(frozen=True, kw_only=True)
class MixedIntegerSolution(BestSupport):
    """The best support found, with its action, (dim,), and that action's value.

    The action has at most ``sparsity`` non-zero entries and satisfies the constraints to 1e-9.
    """

    action: FloatArray
    value: float


def sparse_mixed_integer(
    program: LinearProgram,
    theta: FloatArray,
    sparsity: int,
    lower: FloatArray,
    upper: FloatArray,
    *,
    available: BoolArray,
    time_limit: float | None = None,
    incumbent: FloatArray | None = None,
    runner_up: bool = False,
) -> MixedIntegerSolution:
    """Maximise ``theta . x`` over the available x with ``G x <= g`` and at most H non-zeros.

    The answer is a function of the arguments, except that with a time limit it may depend on how
    fast the machine is; ``proven`` tells.

    Parameters
    ----------
    program : LinearProgram
        Over ``{x : G x <= g}``, with ``g >= 0``.
    theta : (dim,) array
    sparsity : int
    lower, upper : (dim,) arrays
        Bounds on the coordinates over the polytope, from ``LinearProgram.coordinate_bounds``.
    available : (dim,) bool array
        Coordinates that may differ from 0.
    time_limit : float, optional
        Seconds for everything, runner-up included; none by default.
    incumbent : (dim,) array, optional
        A feasible sparse action to start from.
    runner_up : bool
        Whether to solve once more for the best support that does not contain the first.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.ones(3)
    >>> cube = LinearProgram(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))
    >>> solution = sparse_mixed_integer(
    ...     cube, np.array([1.0, -3.0, 2.0]), 2, -ones, ones, available=ones > 0
    ... )
    >>> solution.support, solution.value
    ((1, 2), 5.0)
    """
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    low, high = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    # Moving x_i towards 0 keeps every row with no other coordinate, since g >= 0. If it also keeps
    # the shared rows and the value, that side of 0 is never needed.
    shared = program.matrix[np.count_nonzero(program.matrix, axis=1) > 1]
    high = np.where((theta <= 0.0) & np.all(shared >= 0.0, axis=0), 0.0, high)
    low = np.where((theta >= 0.0) & np.all(shared <= 0.0, axis=0), 0.0, low)
    relevant = np.flatnonzero(available & (low < high))
    problem = _Problem(program, theta, sparsity, low, high, relevant)
    supports: list[IntArray] = []
    if incumbent is not None:
        # Coordinates that cannot matter can be left out without loss.
        supports.append(np.intersect1d(np.flatnonzero(incumbent), problem.relevant))
    first = problem.solve(supports, deadline)
    if runner_up and first.proven:
        return replace(first, runner_up=problem.runner_up(first, deadline))
    return first


@dataclass(frozen=True)
class _Problem:
    """The program on the coordinates that can matter, ``relevant``; the others stay 0."""

    program: LinearProgram
    theta: FloatArray
    sparsity: int
    lower: FloatArray
    upper: FloatArray
    relevant: IntArray

    def solve(
        self, supports: Sequence[IntArray], deadline: float, excluded: Sequence[int] = ()
    ) -> MixedIntegerSolution:
        """Find the best of all supports that do not contain ``excluded``; start from ``supports``.

        An empty ``excluded`` excludes nothing.
        """
        start = max(map(self.polish, [*supports, np.zeros(0, dtype=np.intp)]), key=_value)
        if self.relevant.size <= self.sparsity and not excluded:
            return max(self.polish(self.relevant), start, key=_value)
        program = _ScaledProgram(self, excluded)
        support, bound, optimal = program.solve(start.action, deadline)
        best = start if support is None else max(self.polish(support), start, key=_value)
        bound = max(best.value, min(bound, self._trivial_bound()))
        proven = optimal and bound - best.value <= _PROOF * max(program.value_unit, abs(bound))
        return best if proven else replace(best, upper_bound=bound, proven=False)

    def runner_up(self, first: MixedIntegerSolution, deadline: float) -> float:
        """Return the best value over the supports that do not contain the first one."""
        if not first.support:
            return -np.inf
        # Every support minus one coordinate is allowed, and usually close to the best.
        kept = np.array(first.support[1:], dtype=np.intp)
        second = self.solve([kept], deadline, excluded=first.support)
        return second.value if second.proven else float("nan")

    def polish(self, support: IntArray) -> MixedIntegerSolution:
        """Return the exact optimum on a support, with the coordinates in use."""
        entries = self.program.maximize(self.theta[support], support)
        extent = np.maximum(self.upper[support], -self.lower[support])
        action = np.zeros(self.theta.size)
        action[support] = np.where(np.abs(entries) > _ROUNDING * extent, entries, 0.0)
        used = tuple(np.flatnonzero(action).tolist())
        value = float(self.theta @ action)
        return MixedIntegerSolution(used, value, action=action, value=value)

    def _trivial_bound(self) -> float:
        """Bound every sparse value by the H best coordinates, each at its own bound."""
        gains = np.maximum(self.theta * self.lower, self.theta * self.upper)[self.relevant]
        return float(np.sort(gains)[::-1][: self.sparsity].sum())


class _ScaledProgram:
    """The mixed-integer program as HiGHS sees it: every coordinate within [-1, 1], rows about 1.

    Scales are powers of two, so nothing is rounded. HiGHS's tolerances are absolute; in these units
    they are relative.
    """

    def __init__(self, problem: _Problem, excluded: Sequence[int]) -> None:
        self.relevant = problem.relevant
        size = self.relevant.size
        low, high = problem.lower[self.relevant], problem.upper[self.relevant]
        self.unit = 2.0 * power_of_two(np.maximum(high, -low))
        low, high = low / self.unit, high / self.unit
        objective = problem.theta[self.relevant] * self.unit
        self.value_unit = float(power_of_two(np.max(np.abs(objective))))

        rows = problem.program.matrix[:, self.relevant] * self.unit
        scale = power_of_two(np.max(np.abs(rows), axis=1))
        no_good = np.isin(self.relevant, excluded).astype(np.float64)
        zero, switch = np.zeros((1, size)), np.eye(size)
        blocks = [
            np.hstack([rows / scale[:, None], np.zeros(rows.shape)]),
            np.hstack([switch, -np.diag(high)]),
            np.hstack([-switch, np.diag(low)]),
            np.hstack([zero, np.ones((1, size))]),
        ]
        limits = [problem.program.bounds / scale, np.zeros(2 * size), np.array([problem.sparsity])]
        if excluded:
            blocks.append(np.hstack([zero, no_good[None, :]]))
            limits.append(np.array([len(excluded) - 1.0]))
        self._solver = new_solver(
            mip_rel_gap=1e-9, mip_abs_gap=0.0, mip_feasibility_tolerance=1e-9, presolve="on"
        )
        costs = np.concatenate([objective / self.value_unit, np.zeros(size)])
        box = np.concatenate([low, np.zeros(size)]), np.concatenate([high, np.ones(size)])
        upper = np.concatenate(limits)
        pass_rows(self._solver, costs, np.vstack(blocks), (-np.inf, upper), box, binary=size)

    def solve(self, start: FloatArray, deadline: float) -> tuple[IntArray | None, float, bool]:
        """Return the support found (None if none was), the bound, and whether HiGHS finished."""
        size = self.relevant.size
        entries = start[self.relevant] / self.unit
        given = np.concatenate([entries, (entries != 0.0).astype(np.float64)])
        self._solver.setSolution(given.size, np.arange(given.size, dtype=np.int32), given)
        if np.isfinite(deadline):
            self._solver.setOptionValue("time_limit", max(0.0, deadline - time.monotonic()))
        run_solver(self._solver)
        optimal = self._finished()
        info = self._solver.getInfo()
        bound = float(info.mip_dual_bound) * self.value_unit
        solution: Any = self._solver.getSolution()
        if not solution.value_valid:
            return None, bound, optimal
        switches = np.asarray(solution.col_value, dtype=np.float64)[size:]
        return self.relevant[switches > 0.5], bound, optimal

    def _finished(self) -> bool:
        states = load_highs().HighsModelStatus
        status = self._solver.getModelStatus()
        if status not in (states.kOptimal, states.kTimeLimit):
            raise SolverError(
                f"HiGHS ended with the status '{self._solver.modelStatusToString(status)}' on a "
                "mixed-integer program, where an optimum or the time limit was needed; check that "
                "the polytope is bounded, contains 0 and is not badly scaled."
            )
        return bool(status == states.kOptimal)


def _value(candidate: MixedIntegerSolution) -> float:
    return candidate.value
