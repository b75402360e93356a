"""What a cycle keeps: where it stands, what it has locked, and the rewards behind its estimate."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import ArmLanes, GramLanes
from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.cycle_summary import described, rewards_behind, thetas_drawn
from sparsebandits.policies.design import Design
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.saved_arrays import check_sums
from sparsebandits.policies.summary import Summary
from sparsebandits.validation import BoolArray, FloatArray, IntArray, describe

_PLAN = ("plan", "planned", "locked", "support", "tested", "information")
PLACE = ("cycle", "due", "closed", "left", *_PLAN)
"""Where a lane stands in its cycle."""

_SUMS = ("moments", "lost", "counts")
"""What is saved of the sums over all actions."""


class CycleMemory(Rule):
    """The place of each lane in its cycle, and least squares on the rewards that count.

    Attributes
    ----------
    cycle : (lanes,) array
        c, from 1.
    due : (lanes, explorations) bool array
        Which explorations this cycle has still to make; by number only where there is no basis.
    closed : (lanes,) bool array
        Whether the exploration of this cycle was closed: theta_hat_c is made.
    left : (lanes,) array
        Exploitation steps left.
    plan : (lanes, dim) array
        theta_hat_c of the last closed exploration, on which the cycle exploits; where `planned`.
    support : (lanes, H) array
        The locked support, padded with -1; where `locked`.
    explored : (lanes, explorations) bool array
        Which explorations a cycle makes: all, until the locked support may need fewer.
    tested : (lanes,) array
        The replications of the last gap test.
    information : (lanes,) array
        The replications behind the plan, where the test is made at every step.
    last_test : (float, float)
        Gap and threshold of the last test of the first lane, where it is made at every step.
    mass : (lanes, explorations) array
        The sum of x_i^2 over the explorations of each axis, and last that of the origin, where
        there is a baseline; empty where there is a basis.
    anchor : (lanes,) array
        With a baseline the first reward, from which all others are measured, so that a constant in
        every reward costs no digits and changes no decision; where `anchored`.
    """

    least: ClassVar[dict[str, float]] = {
        "squares": 0.0,
        "support": -1.0,
        "mass": 0.0,
        "information": 0.0,
    }

    def __init__(self, cycle: Cycle, lanes: int) -> None:
        super().__init__(cycle.action_set, cycle.oracle, lanes)
        self.parts, dim = cycle, self.dim
        self.commits, self.explorations = cycle.locks or cycle.forever, cycle.explorations
        self.design = Design(dim, cycle.intercept)
        self.cycle = np.ones(lanes, dtype=np.intp)
        self.due: BoolArray = np.ones((lanes, self.explorations), dtype=np.bool_)
        self.closed: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.left = np.zeros(lanes, dtype=np.intp)
        self.plan = np.zeros((lanes, dim))
        self.planned: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.locked: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.support = np.full((lanes, cycle.oracle.width), -1, dtype=np.intp)
        self.explored: BoolArray = np.ones((lanes, self.explorations), dtype=np.bool_)
        self.tested = np.zeros(lanes, dtype=np.intp)
        self.information = np.zeros(lanes)
        self.arms = None if cycle.basis is None else ArmLanes(lanes, self.explorations)
        self.sums = GramLanes(lanes, self.design.size) if cycle.keeps_all else None
        self.mass = np.zeros((lanes, self.explorations if cycle.basis is None else 0))
        self.anchor = np.zeros(lanes)
        self.anchored: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.last_test = math.nan, math.nan

    # ------------------------------------------------------------------ learn

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        explored = pulls != EXPLOIT
        kept = explored | self.parts.keeps_all
        if self.parts.intercept:
            rewards = self._above_anchor(rewards, lanes, kept)
        if self.sums is not None:
            columns = self.design.columns(actions)
            if kept.all():
                self.sums.add(columns, rewards, None if lanes is self.everyone else lanes)
            elif kept.any():
                self.sums.add(columns[kept], rewards[kept], lanes[kept])
        if self.arms is not None and explored.any():
            self.arms.add(lanes[explored], pulls[explored], rewards[explored])

    def _above_anchor(self, rewards: FloatArray, lanes: Any, kept: BoolArray) -> FloatArray:
        """Return how far rewards are above their lane's first one that is kept."""
        first = kept & ~self.anchored[lanes]
        if first.any():
            self.anchor[lanes[first]], self.anchored[lanes[first]] = rewards[first], True
        return np.asarray(rewards - self.anchor[lanes])

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane.

        Pairs whose action is an exploration action count as replications of it. Others enter
        through the Gram matrix, from then on also the estimate's basis. The gap test counts the
        replications c for which the data are as good as c cycles, that is V >= c B.
        """
        if self.parts.intercept and rewards.size:
            self._above_anchor(rewards[:1], self.everyone, np.ones(1, dtype=np.bool_))
            rewards = rewards - self.anchor[0]
        arms = [None if self.arms is None else self.parts.arm_of(action) for action in actions]
        if self.sums is None and None in arms:
            self.sums = self._sums_of_arms()
        if self.sums is not None:
            self.sums.add_many(self.design.columns(actions), rewards)
        for arm, reward in zip(arms, rewards, strict=True):
            if arm is not None and self.arms is not None:
                self.arms.add(np.array([0]), np.array([arm]), np.array([reward]))

    def _sums_of_arms(self) -> GramLanes:
        """Start the Gram matrix with what the exploration actions have shown so far.

        Each action is entered once, scaled by the root of its count: the same V and the same b.
        """
        assert self.arms is not None
        sums = GramLanes(1, self.design.size)
        seen = np.flatnonzero(self.arms.counts[0])
        if seen.size:
            roots = np.sqrt(self.arms.counts[0, seen])
            columns = self.design.columns(self.parts.actions(seen)) * roots[:, None]
            sums.add_many(columns, self.arms.sums[0, seen] / roots)
        return sums

    # ------------------------------------------------------------------ what is known

    def is_known(self, lanes: IntArray) -> BoolArray:
        """Return whether the rewards of these lanes determine theta, (n,)."""
        if self.sums is not None:
            return np.asarray(self.sums.known[lanes])
        assert self.arms is not None
        return np.asarray(self.arms.counts[lanes].all(axis=1))

    def least_squares(self, lanes: IntArray) -> FloatArray:
        """theta_hat of lanes that are known, by least squares over all that counts."""
        if self.sums is not None:
            return self.design.thetas(self.sums.estimate(lanes))
        assert self.arms is not None
        assert self.parts.basis is not None
        return self.arms.estimate(self.parts.basis, lanes)

    @property
    def estimate(self) -> FloatArray | None:
        """theta_hat of each lane from the rewards so far."""
        known = self.is_known(self.everyone)
        if not known.any():
            return None
        theta = np.full((self.lanes, self.dim), np.nan)
        theta[known] = self.least_squares(np.flatnonzero(known))
        return theta

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """theta_hat_c of the last closed exploration of each lane."""
        if not self.planned.any():
            return None
        return np.where(self.planned[:, None], self.plan, np.nan)

    def summary(self, draws: int) -> Summary:
        """Return what is known of each coordinate in the only lane, and of the baseline."""
        known = bool(self.is_known(self.everyone)[0])
        summary = replace(super().summary(draws), rewards=rewards_behind(self.arms, self.sums))
        return described(self, summary, draws) if known else summary

    def thetas_drawn(self, draws: int, context: FloatArray | None = None) -> FloatArray | None:
        """Return theta by the estimate, then by the draws of `summary`, (1 + draws, dim)."""
        return thetas_drawn(self, draws)

    def cycle_of(self, lane: int) -> int:
        """Return c of the last choice."""
        return int(self.cycle[lane])

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the locked support; None until locked, and where nothing is verified."""
        if self.parts.forever and self.left[lane]:
            return self.oracle.solve(self.plan[lane], self.action_set).support
        if not self.locked[lane]:
            return None
        return tuple(int(i) for i in self.support[lane] if i >= 0)

    def replications(self) -> IntArray:
        """Return the complete cycles that the data of each lane are worth: V >= c B.

        With a baseline both are about the mean action: what is known of theta whatever b is.
        """
        complete = np.zeros(self.lanes, dtype=np.intp)
        if self.arms is not None:
            complete = self.arms.replications
        if self.sums is None:
            return complete
        basis = self.parts.basis
        gram = None if basis is None else basis.gram
        information = self.sums.least_information(gram, free=self.design.base)
        # V = c B is common, and must not be rounded down to c - 1 cycles.
        return np.maximum(complete, np.floor(information * (1 + 1e-9)).astype(np.intp))

    def sigma_bound(self, replications: IntArray) -> FloatArray:
        """Return the sigma of the threshold in each lane."""
        test = self.parts.test
        assert test is not None
        if self.arms is None:
            return np.broadcast_to(test.sigma_bound(0.0, 0, 1), self.lanes)
        squares, freedom = self.arms.residual_squares, self.arms.degrees_of_freedom
        return np.broadcast_to(test.sigma_bound(squares, freedom, replications), self.lanes)

    # ------------------------------------------------------------------ one lane, saved

    def arrays(self) -> dict[str, Any]:
        """Return the place in the cycle, its plan and its lock, and the rewards of the arms."""
        arrays = {name: getattr(self, name) for name in (*PLACE, "mass")}
        if self.parts.intercept:
            arrays |= {"anchor": self.anchor, "anchored": self.anchored}
        if self.arms is not None:
            arrays |= {name: getattr(self.arms, name) for name in ("counts", "sums", "squares")}
        return arrays

    def state(self) -> dict[str, Any]:
        """Return the only lane, JSON-safe."""
        sums = self.sums
        gram = None if sums is None else [getattr(sums, name)[0].tolist() for name in _SUMS]
        return {**super().state(), "gram": gram, "last_test": [repr(x) for x in self.last_test]}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; what follows from it is worked out again."""
        super().restore(state, asked)
        self._restore_sums(state["gram"])
        self.last_test = _read_floats("last_test", state["last_test"])
        cycle, left = int(self.cycle[0]), int(self.left[0])
        exploring = bool(self.due[0].any())
        if self.parts.locks and self.locked[0] and (self.support[0] < self.dim).all():
            self.explored[0] = self.parts.explored(self.support[0])
        shortest = int(np.count_nonzero(self.explored[0]))
        if cycle < 1 or (cycle - 1) * shortest > asked:
            raise InvalidValueError(
                f"state.cycle must lie in 1..{asked // shortest + 1} after {asked} decisions, "
                f"got {cycle}."
            )
        if exploring and self.closed[0]:
            raise InvalidValueError(
                "state.closed must be false while state.due names explorations, got true."
            )
        schedule = self.parts.schedule
        if self.parts.locks and not self.locked[0]:
            schedule = self.parts.waiting or _nothing
        ready = self.closed[0] and self.planned[0]
        if left and (not ready or left > schedule(cycle)):
            raise InvalidValueError(
                "state.left must be 0 until the exploration is closed and theta known, and at "
                f"most the {schedule(cycle)} steps of cycle {cycle}, got {left}."
            )
        self._check_lock()
        self._check_arms()
        self._check_anchor()
        replications = int(self.replications()[0])
        if max(int(self.tested[0]), float(self.information[0])) > replications:
            raise InvalidValueError(
                f"state.tested and state.information must be at most the {replications} cycles "
                f"that the data are worth, got {self.tested[0]} and {self.information[0]}."
            )

    def _restore_sums(self, saved: Any) -> None:
        if saved is None and not self.parts.keeps_all:
            self.sums = None
            return
        if not isinstance(saved, list) or len(saved) != len(_SUMS):
            raise InvalidValueError(
                f"state.gram must be [{', '.join(_SUMS)}], and not be missing where every reward "
                f"is used, got {describe(saved)}."
            )
        self.sums = GramLanes(1, self.design.size)
        for name, given in zip(_SUMS, saved, strict=True):
            array = getattr(self.sums, name)
            array[0] = self._read(name, given, array)
        check_sums(self.sums)
        self.sums.look()

    def _check_arms(self) -> None:
        if self.arms is None:
            return
        unseen = self.arms.counts == 0
        if self.arms.sums[unseen].any() or self.arms.squares[unseen].any():
            raise InvalidValueError(
                "state.sums and state.squares must be 0 where state.counts is 0, got "
                f"{describe(self.arms.sums[0].tolist())} and "
                f"{describe(self.arms.squares[0].tolist())}."
            )

    def _check_anchor(self) -> None:
        told = (self.arms is not None and self.arms.counts.any()) or (
            self.sums is not None and self.sums.counts.any()
        )
        if self.parts.intercept and bool(told) != bool(self.anchored[0]):
            raise InvalidValueError(
                "state.anchored must be true once a reward counts, and not before, got "
                f"{bool(self.anchored[0])} with {'some' if told else 'no'} rewards."
            )
        if self.anchor[0] and not self.anchored[0]:
            raise InvalidValueError(
                f"state.anchor must be 0 until there is one, got {self.anchor[0]}."
            )

    def _check_lock(self) -> None:
        support = [int(i) for i in self.support[0] if i >= 0]
        usable = set(np.flatnonzero(self.action_set.available).tolist())
        sound = support == sorted(set(support)) and set(support) <= usable
        verified = self.parts.locks and self.planned[0] and self.tested[0]
        may = verified if self.locked[0] else not support
        if not (sound and may):
            raise InvalidValueError(
                "state.support must hold distinct available coordinates, ascending, and none "
                f"while nothing is locked, got {self.support[0].tolist()}."
            )

    def _exploration(self, pull: int, action: FloatArray) -> FloatArray:
        if self.parts.basis is None:
            is_axis = pull < self.dim  # the origin is what its set had, 0 mostly
            return np.where(np.arange(self.dim) == pull, action, 0.0) if is_axis else action
        return np.asarray(self.parts.actions(np.array([pull]))[0])


def _nothing(cycle: int) -> int:
    return 0


def _read_floats(name: str, saved: Any) -> tuple[float, float]:
    """Return two floats saved as text, which may be infinite or nan."""
    try:
        first, second = (float(text) for text in saved if isinstance(text, str))
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"state.{name} must be two numbers written as text, got {describe(saved)}."
        ) from None
    return first, second
