"""The best action of a polytope that rules allow, by mixed-integer linear programming (HiGHS).

``max theta . x`` subject to ``G x <= g``, ``lower_i z_i <= x_i <= upper_i z_i``, rules on ``z``
such as ``sum z <= H``, and ``z`` binary: ``z_i = 1`` switches coordinate i on. The bounds are those
of the polytope itself, so switching a coordinate on never cuts anything off; where a coordinate has
a least dose, that is its lower bound. Blocks have a switch each, which is on if one of theirs is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.highs import load_highs, new_solver, pass_rows, run_solver
from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.action_sets.scaling import power_of_two
from sparsebandits.errors import SolverError
from sparsebandits.validation import BoolArray, FloatArray, IntArray

# Entries of a polished action this small, relative to the coordinate's range, are rounding.
_ROUNDING = 1e-12
# A proof must close the gap between the bound and the polished value to this relative accuracy.
_PROOF = 1e-7


@dataclass(frozen=True, kw_only=True)
class MixedIntegerSolution:
    """The best support found, with its action, (dim,), and that action's value.

    The action has at most ``sparsity`` non-zero entries and satisfies the constraints to 1e-9. The
    value is minus infinity where no action is allowed at all, and `proven` says so.
    """

    support: tuple[int, ...]
    upper_bound: float
    proven: bool = True
    runner_up: float = float("nan")
    """The best value on supports that do not contain `support`; nan if not looked for."""
    action: FloatArray
    value: float


def sparse_mixed_integer(
    program: LinearProgram,
    theta: FloatArray,
    choice: Choice,
    lower: FloatArray,
    upper: FloatArray,
    *,
    available: BoolArray,
    time_limit: float | None = None,
    incumbent: FloatArray | None = None,
    runner_up: bool = False,
) -> MixedIntegerSolution:
    """Maximise ``theta . x`` over the available x with ``G x <= g`` that the rules allow.

    The answer is a function of the arguments, except that with a time limit it may depend on how
    fast the machine is; ``proven`` tells.

    Parameters
    ----------
    program : LinearProgram
        Over ``{x : G x <= g}``, with the least doses of what is on.
    theta : (dim,) array
    choice : Choice
    lower, upper : (dim,) arrays
        Bounds on the coordinates over the polytope, from ``LinearProgram.coordinate_bounds``.
    available : (dim,) bool array
        Coordinates that may differ from 0.
    time_limit : float, optional
        Seconds for everything, runner-up included; none by default.
    incumbent : (dim,) array, optional
        An allowed action to start from.
    runner_up : bool
        Whether to solve once more for the best support that does not contain the first.

    Examples
    --------
    >>> import numpy as np
    >>> ones = np.ones(3)
    >>> cube = LinearProgram(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))
    >>> solution = sparse_mixed_integer(
    ...     cube, np.array([1.0, -3.0, 2.0]), Choice(3, 2), -ones, ones, available=ones > 0
    ... )
    >>> solution.support, solution.value
    ((1, 2), 5.0)
    """
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    low, high = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    is_forced = bool(choice.at_least or choice.always)
    is_free = program.zero_inside and not is_forced
    if is_free:
        # Moving x_i to 0 keeps every row with no other coordinate, since g >= 0. If it also keeps
        # the shared rows and the value, that side of 0 is never needed.
        shared = program.matrix[np.count_nonzero(program.matrix, axis=1) > 1]
        high = np.where((theta <= 0.0) & np.all(shared >= 0.0, axis=0), 0.0, high)
        low = np.where((theta >= 0.0) & np.all(shared <= 0.0, axis=0), 0.0, low)
    # What can only be 0 matters where something has to be on.
    relevant = np.flatnonzero(available & ((low < high) | is_forced))
    problem = _Problem(program, theta, choice, low, high, relevant, is_free)
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
    choice: Choice
    lower: FloatArray
    upper: FloatArray
    relevant: IntArray
    is_free: bool
    """Whether 0 is an action, and the rules let anything be left out."""

    def solve(
        self, supports: Sequence[IntArray], deadline: float, excluded: Sequence[int] = ()
    ) -> MixedIntegerSolution:
        """Find the best of all supports that do not contain ``excluded``; start from ``supports``.

        An empty ``excluded`` excludes nothing.
        """
        start = self._nothing()
        if self.is_free:
            start = max(map(self.polish, [*supports, np.zeros(0, dtype=np.intp)]), key=_value)
        if not np.isin(list(self.choice.always), self.relevant).all():
            return self._nothing()
        if not self.relevant.size and not self._is_easy():
            return start
        if self._is_easy() and not excluded:
            return max(self.polish(self.relevant), start, key=_value)
        program = _ScaledProgram(self, excluded)
        support, bound, optimal = program.solve(start.action if self.is_free else None, deadline)
        best = start if support is None else max(self.polish(support), start, key=_value)
        if np.isneginf(bound):
            return best
        bound = max(best.value, min(bound, self._trivial_bound()))
        proven = optimal and bound - best.value <= _PROOF * max(program.value_unit, abs(bound))
        if proven:
            return replace(best, upper_bound=best.value)
        return replace(best, upper_bound=bound, proven=False)

    def _is_easy(self) -> bool:
        """Whether everything may be on at once, and nothing is lost by it."""
        everything = np.isin(np.arange(self.choice.dim), self.relevant)
        fits = self.choice.allows(everything[None])[0]
        return bool(fits) and not self.program.doses[self.relevant].any()

    def _nothing(self) -> MixedIntegerSolution:
        """Return what stands for no action at all."""
        return MixedIntegerSolution(
            support=(), upper_bound=-np.inf, action=np.zeros(self.theta.size), value=-np.inf
        )

    def runner_up(self, first: MixedIntegerSolution, deadline: float) -> float:
        """Return the best value over the supports that do not contain the first one."""
        if not first.support:
            return -np.inf
        # Every support minus one coordinate is allowed, and usually close to the best.
        kept = np.array(first.support[1:], dtype=np.intp)
        second = self.solve([kept], deadline, excluded=first.support)
        return second.value if second.proven else float("nan")

    def polish(self, support: IntArray) -> MixedIntegerSolution:
        """Return the exact optimum with all of a support on: with the coordinates in use, if free.

        Minus infinity if there is no such action.
        """
        entries = self.program.maximize(self.theta[support], support, may_be_empty=True)
        if entries is None:
            return self._nothing()
        extent = np.maximum(self.upper[support], -self.lower[support])
        action = np.zeros(self.theta.size)
        is_used = (np.abs(entries) > _ROUNDING * extent) & (extent > 0)
        action[support] = np.where(is_used, entries, 0.0)
        used = np.flatnonzero(action) if self.choice.is_plain else np.sort(support)
        value = float(self.theta @ action)
        return MixedIntegerSolution(
            support=tuple(used.tolist()), upper_bound=value, action=action, value=value
        )

    def _trivial_bound(self) -> float:
        """Bound every sparse value by the H best coordinates, each at its own bound."""
        if not self.is_free:
            return np.inf
        gains = np.zeros((1, self.choice.dim))
        reach = np.maximum(self.theta * self.lower, self.theta * self.upper)
        gains[0, self.relevant] = reach[self.relevant]
        state = self.choice.start(np.ones((1, self.choice.dim), dtype=np.bool_))
        return float(gains[self.choice.select(gains, state)].sum())


class _ScaledProgram:
    """The mixed-integer program as HiGHS sees it: every coordinate within [-1, 1], rows about 1.

    Scales are powers of two, so nothing is rounded. HiGHS's tolerances are absolute; in these units
    they are relative. The columns are x, the switches of blocks, and the switches z.
    """

    def __init__(self, problem: _Problem, excluded: Sequence[int]) -> None:
        self.relevant = problem.relevant
        size = self.relevant.size
        low, high = problem.lower[self.relevant], problem.upper[self.relevant]
        extent = np.maximum(high, -low)
        self.unit = 2.0 * power_of_two(np.where(extent > 0, extent, 1.0))
        low, high = low / self.unit, high / self.unit
        objective = np.where(extent > 0, problem.theta[self.relevant] * self.unit, 0.0)
        self.value_unit = float(power_of_two(np.max(np.abs(objective), initial=0.0)))

        rows = problem.program.matrix[:, self.relevant] * self.unit
        scale = power_of_two(np.max(np.abs(rows), axis=1, initial=0.0))
        rules, least, most = _rule_rows(problem.choice, self.relevant, excluded)
        blocks = rules.shape[1] - size
        doses = problem.program.doses[self.relevant] / self.unit
        switch, gap = np.eye(size), np.zeros((size, blocks))
        matrix = np.vstack(
            [
                np.hstack([rows / scale[:, None], np.zeros((rows.shape[0], blocks + size))]),
                np.hstack([switch, gap, -np.diag(high)]),
                np.hstack([-switch, gap, np.diag(np.where(doses > 0.0, doses, low))]),
                np.hstack([np.zeros((rules.shape[0], size)), rules]),
            ]
        )
        free = np.full(rows.shape[0] + 2 * size, -np.inf)
        limits = (
            np.concatenate([free, least]),
            np.concatenate([problem.program.bounds / scale, np.zeros(2 * size), most]),
        )
        self._solver = new_solver(
            mip_rel_gap=1e-9, mip_abs_gap=0.0, mip_feasibility_tolerance=1e-9, presolve="on"
        )
        costs = np.concatenate([objective / self.value_unit, np.zeros(blocks + size)])
        on = np.isin(self.relevant, list(problem.choice.always)).astype(np.float64)
        box = (
            np.concatenate([low, np.zeros(blocks), on]),
            np.concatenate([high, np.ones(blocks + size)]),
        )
        # The switches of blocks would be binary anyway. Told so: with them continuous, the presolve
        # of HiGHS 1.15.1 found a program infeasible that has a solution.
        pass_rows(self._solver, costs, matrix, limits, box, binary=blocks + size)

    def solve(
        self, start: FloatArray | None, deadline: float
    ) -> tuple[IntArray | None, float, bool]:
        """Return the support found (None if none was), the bound, and whether HiGHS finished."""
        size = self.relevant.size
        if start is not None:
            entries = start[self.relevant] / self.unit
            given = np.concatenate([entries, (entries != 0.0).astype(np.float64)])
            places = np.concatenate(
                [np.arange(size), self._solver.getNumCol() - size + np.arange(size)]
            )
            self._solver.setSolution(given.size, places.astype(np.int32), given)
        if np.isfinite(deadline):
            self._solver.setOptionValue("time_limit", max(0.0, deadline - time.monotonic()))
        run_solver(self._solver)
        if self._is_infeasible():
            self._solver.setOptionValue("presolve", "off")  # a second opinion: see above
            self._solver.clearSolver()
            run_solver(self._solver)
        if self._is_infeasible():
            return None, -np.inf, True
        optimal = self._finished()
        info = self._solver.getInfo()
        bound = float(info.mip_dual_bound) * self.value_unit
        solution: Any = self._solver.getSolution()
        if not solution.value_valid:
            return None, bound, optimal
        switches = np.asarray(solution.col_value, dtype=np.float64)[-size:]
        return self.relevant[switches > 0.5], bound, optimal

    def _is_infeasible(self) -> bool:
        states = load_highs().HighsModelStatus
        # x lies in a box, so that "unbounded or infeasible" is infeasible.
        return self._solver.getModelStatus() in (states.kInfeasible, states.kUnboundedOrInfeasible)

    def _finished(self) -> bool:
        states = load_highs().HighsModelStatus
        status = self._solver.getModelStatus()
        if status not in (states.kOptimal, states.kTimeLimit):
            raise SolverError(
                f"HiGHS ended with the status '{self._solver.modelStatusToString(status)}' on a "
                "mixed-integer program, where an optimum or the time limit was needed; check that "
                "the polytope is bounded and not badly scaled."
            )
        return bool(status == states.kOptimal)


def _rule_rows(
    choice: Choice, relevant: IntArray, excluded: Sequence[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rules as rows over the switches of blocks and coordinates, and their limits."""
    size = relevant.size
    large = [block for block in choice.blocks if np.isin(relevant, block).sum() > 1]
    counted = np.ones(size)  # coordinates that are blocks of their own count themselves
    rows: list[FloatArray] = []
    least: list[float] = []
    most: list[float] = []

    def add(blocks: FloatArray, switches: FloatArray, low: float, high: float) -> None:
        rows.append(np.concatenate([blocks, switches]))
        least.append(low)
        most.append(high)

    for number, block in enumerate(large):
        own, members = np.eye(len(large))[number], np.isin(relevant, block)
        counted[members] = 0.0
        for member in np.flatnonzero(members):
            add(-own, np.eye(size)[member], -np.inf, 0.0)
        if choice.at_least:
            add(own, -members.astype(np.float64), -np.inf, 0.0)
    nothing = np.zeros(len(large))
    add(np.ones(len(large)), counted, choice.at_least or -np.inf, choice.at_most)
    for group, limit in choice.groups:
        add(nothing, np.isin(relevant, group).astype(np.float64), -np.inf, limit)
    if len(excluded):
        inside = np.isin(relevant, excluded).astype(np.float64)
        add(nothing, inside, -np.inf, len(excluded) - 1.0)
    return np.array(rows), np.array(least), np.array(most)


def _value(candidate: MixedIntegerSolution) -> float:
    return candidate.value
