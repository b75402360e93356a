"""The cycle of the paper as a rule: explore b_1..b_d, estimate, verify, exploit m_c times."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.estimation import ArmLanes, GramLanes, cycles_to_lock, pooled_sigma
from sparsebandits.exploration import Basis
from sparsebandits.exploration.axes import longest_ends
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.gap_test import GapTest
from sparsebandits.policies.rule import EXPLOIT, Rule, check_sums
from sparsebandits.policies.schedules import Schedule, lengths
from sparsebandits.validation import BoolArray, FloatArray, IntArray, describe

_KEPT_ACTIONS = 2000
"""Up to this many dimensions the exploration actions are kept as a matrix."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cycle:
    """The parts of the cycle.

    Parameters
    ----------
    action_set : ActionSet
        X.
    oracle : SparseOracle
    schedule : function
        m_c: from the cycle to its number of exploitation steps.
    basis : Basis or None
        b_1..b_d. None explores the axes of the current set, the one played least first: for sets
        that move.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too.
    test : GapTest or None
        What must pass before anything is exploited: with a basis once, and the support is locked;
        without, on the current set at every step. None exploits in every cycle.
    forever : bool
        Whether the first exploitation never ends: its support is committed to.
    confidence : str
        The name of the test's bound.
    """

    action_set: ActionSet
    oracle: SparseOracle
    schedule: Schedule
    basis: Basis | None
    use_all_data: bool = False
    test: GapTest | None = None
    forever: bool = False
    confidence: str = "none"

    @property
    def locks(self) -> bool:
        """Whether the support is locked for good once the test passes."""
        return self.test is not None and self.basis is not None

    @property
    def keeps_all(self) -> bool:
        """Whether every reward enters the estimate; always where there is no basis."""
        return self.use_all_data or self.basis is None

    @cached_property
    def _matrix(self) -> FloatArray | None:
        if self.basis is None or self.basis.dim > _KEPT_ACTIONS:
            return None
        return self.basis.actions

    def explorations(self, arms: IntArray) -> FloatArray:
        """Return b_k for every k of `arms`, (n, dim)."""
        if self._matrix is not None:
            return np.asarray(self._matrix[arms])
        assert self.basis is not None
        return np.array([self.basis.action(int(k)) for k in arms])

    @cached_property
    def _places(self) -> dict[bytes, int]:
        # Adding 0 turns -0 into 0, which is another pattern of bytes.
        rows = () if self._matrix is None else self._matrix
        return {(action + 0.0).tobytes(): k for k, action in enumerate(rows)}

    def arm_of(self, action: FloatArray) -> int | None:
        """Return the k with b_k = action, (dim,), if there is one."""
        return self._places.get((action + 0.0).tobytes())


class CycleRule(Rule):
    """Algorithms 1 and 2 (`alg:adaptive_PEE`, `alg:adaptive_general_PEE`), and their relatives.

    When rewards are late or missing, the estimate uses those that came, the gap test counts only
    complete replications (what the data are worth in cycles: V >= c B), and is made once for each
    number of replications, as its union bound over cycles requires. Exploration actions that do
    not fit the set of a step stay due; if none fits, the step plays the oracle's action for the
    data so far, beside the schedule. A cycle that ends while theta is not determined exploits
    nothing.

    Attributes
    ----------
    cycle : (lanes,) array
        c, from 1.
    due : (lanes, dim) bool array
        Which explorations this cycle has still to make; by number only where there is no basis.
    closed : (lanes,) bool array
        Whether the exploration of this cycle was closed: theta_hat_c is made.
    left : (lanes,) array
        Exploitation steps left.
    plan : (lanes, dim) array
        theta_hat_c of the last closed exploration, on which the cycle exploits; where `planned`.
    support : (lanes, H) array
        The locked support, padded with -1; where `locked`.
    tested : (lanes,) array
        The replications of the last gap test.
    information : (lanes,) array
        The replications behind the plan, where the test is made at every step.
    mass : (lanes, dim) array
        The sum of x_i^2 over the explorations of each axis; empty where there is a basis.
    """

    least: ClassVar[dict[str, float]] = {
        "squares": 0.0,
        "support": -1.0,
        "mass": 0.0,
        "information": 0.0,
    }

    def __init__(self, cycle: Cycle, lanes: int) -> None:
        super().__init__(cycle.action_set, cycle.oracle, lanes)
        self._parts, dim = cycle, self.dim
        self.commits, self.explorations = cycle.locks or cycle.forever, dim
        self.cycle = np.ones(lanes, dtype=np.intp)
        self.due: BoolArray = np.ones((lanes, dim), dtype=np.bool_)
        self.closed: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.left = np.zeros(lanes, dtype=np.intp)
        self.plan = np.zeros((lanes, dim))
        self.planned: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.locked: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self.support = np.full((lanes, cycle.oracle.sparsity), -1, dtype=np.intp)
        self.tested = np.zeros(lanes, dtype=np.intp)
        self.information = np.zeros(lanes)
        self.arms = None if cycle.basis is None else ArmLanes(lanes, dim)
        self.sums = GramLanes(lanes, dim) if cycle.keeps_all else None
        self.mass = np.zeros((lanes, dim if cycle.basis is None else 0))
        self._last_test = math.nan, math.nan
        self._best = np.zeros((lanes, dim))  # a_c, kept while the plan stays the same
        self._is_best: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self._own: tuple[ActionSet, bool] = (cycle.action_set, True)
        self._fits: tuple[ActionSet | None, BoolArray] = (None, self.due[0])

    # ------------------------------------------------------------------ choose

    def choose(self, current: ActionSet) -> FloatArray:
        """Play an exploration that is due, or exploit."""
        complete = ~self.due.any(axis=1) & (self.left == 0)
        names = ("cycle", "due", "closed", "left", "plan", "planned", "locked", "support")
        more = ("tested", "information")
        before = {n: getattr(self, n).copy() for n in names + more} if complete.any() else {}
        try:
            if before:
                self._advance(complete)
            actions, pulls = self._play(current)
        except BaseException:
            for name, array in before.items():
                setattr(self, name, array)
            raise
        self._count(actions, pulls)
        self.pulls = pulls
        return actions

    def _advance(self, complete: BoolArray) -> None:
        """Close explorations that are complete, and start the cycles that are due."""
        closing = np.flatnonzero(complete & ~self.closed)
        if closing.size:
            self._close(closing)
        over = complete & (self.left == 0)
        self.cycle[over] += 1
        self.due[over], self.closed[over] = True, False

    def _close(self, lanes: IntArray) -> None:
        """Lines 8-15: estimate and verify; then plan the exploitation of this cycle."""
        self.closed[lanes] = True
        lanes = lanes[self._is_known(lanes)]
        if not lanes.size:
            return
        self.plan[lanes], self.planned[lanes] = self._estimate(lanes), True
        self._is_best[lanes] = False
        if self._parts.locks:
            self._verify(lanes[~self.locked[lanes]])
            lanes = lanes[self.locked[lanes]]
        elif self._parts.test is not None:
            self.information[lanes] = self.replications()[lanes]
        cycles, places = np.unique(self.cycle[lanes], return_inverse=True)
        self.left[lanes] = lengths(self._parts.schedule, cycles)[places]

    def _verify(self, lanes: IntArray) -> None:
        """Lock the support where the gap test passes; once for each number of replications."""
        test, replications = self._parts.test, self.replications()
        assert test is not None
        lanes = lanes[replications[lanes] > self.tested[lanes]]
        if not lanes.size:
            return
        self.tested[lanes] = replications[lanes]
        supports, gaps = test.verify(self.plan[lanes])
        sigma = self._sigma(replications)[lanes]
        passed = test.passes(gaps, sigma, replications[lanes])
        self.support[lanes[passed]], self.locked[lanes[passed]] = supports[passed], True

    def _play(self, current: ActionSet) -> tuple[FloatArray, IntArray]:
        """Return the action of every lane, and what it is played for."""
        actions, pulls = np.zeros((self.lanes, self.dim)), np.full(self.lanes, EXPLOIT)
        # Both phases may end in an exploration, so a set without one is refused at every step.
        ends = _axis_ends(current) if self._parts.basis is None else None
        explore: BoolArray = np.asarray(self.due.any(axis=1))
        if not explore.all():
            lanes = np.flatnonzero(~explore)
            actions[lanes], passed = self._exploitations(lanes, current)
            explore[lanes] = np.logical_not(passed)
        lanes = np.flatnonzero(explore)
        if ends is not None:
            # The usable axis on which least has been played so far, the longer way.
            usable = np.flatnonzero(ends)
            axes = usable[self.mass[np.ix_(lanes, usable)].argmin(axis=1)]
            actions[lanes], pulls[lanes] = 0.0, axes
            actions[lanes, axes] = ends[axes]
        elif lanes.size:
            pulls[lanes] = self._due_arms(self.due[lanes], current)
            actions[lanes] = self._explorations(lanes, pulls[lanes], current)
        return actions, pulls

    def _count(self, actions: FloatArray, pulls: IntArray) -> None:
        """Count what is played; nothing fails here."""
        exploring = self.due.any(axis=1)
        self.left[~exploring] -= 1
        lanes = np.flatnonzero(pulls != EXPLOIT)
        arms = pulls[lanes]
        if self._parts.basis is None:
            self.mass[lanes, arms] += actions[lanes, arms] ** 2
            # Any exploration is one of the d of its cycle.
            lanes = np.flatnonzero(exploring)
            arms = self.due[lanes].argmax(axis=1)
        self.due[lanes, arms] = False

    # ------------------------------------------------------------------ what is played

    def _exploitations(
        self, lanes: IntArray, current: ActionSet
    ) -> tuple[FloatArray, BoolArray | bool]:
        """Return the best actions for the plans on the current set, and where one may exploit."""
        if self._parts.basis is None:
            may = self._parts.test is None or self._passes_on(current, lanes)
            return self.oracle.actions(self.plan[lanes], current), may
        new = lanes[~self._is_best[lanes]]
        if new.size:
            self._best[new] = self._best_actions(new)
            self._is_best[new] = True
        actions = self._best[lanes]
        if not self._is_own(current):
            # On a part of X an action that is there is still the best; elsewhere it need not be.
            elsewhere: BoolArray = np.ones(lanes.size, dtype=np.bool_)
            if self._is_own(current.whole):
                elsewhere = ~np.asarray(current.contains(actions, tolerance=0.0))
            if elsewhere.any():
                actions[elsewhere] = self.oracle.actions(self.plan[lanes[elsewhere]], current)
        return actions, True

    def _best_actions(self, lanes: IntArray) -> FloatArray:
        """Return a_c on X: on the locked support where one is locked."""
        if self._parts.locks:
            return self.action_set.respond_on(self.plan[lanes], self.support[lanes])[0]
        return self.oracle.actions(self.plan[lanes], self.action_set)

    def _passes_on(self, current: ActionSet, lanes: IntArray) -> BoolArray:
        """Return whether the gap on the current set exceeds the threshold in each lane."""
        test = self._parts.test
        assert test is not None
        gaps = self.oracle.supports(self.plan[lanes], current)[1]
        cycles = self.information[lanes].astype(np.intp)
        thresholds = np.full(lanes.size, np.inf)
        known = cycles >= 1
        sigma = test.sigma_bound(0.0, 0, 1)
        thresholds[known] = sigma * test.unit_threshold(cycles[known], current)
        self._last_test = float(gaps[0]), float(thresholds[0])
        return np.asarray(gaps > thresholds)

    def _explorations(self, lanes: IntArray, arms: IntArray, current: ActionSet) -> FloatArray:
        """Return b_k, or what is played where none of the explorations that are due fits."""
        fits = arms >= 0
        if fits.all():
            return self._parts.explorations(arms)
        actions = np.tile(longest_way(current), (lanes.size, 1))
        actions[fits] = self._parts.explorations(arms[fits])
        known = self._is_known(lanes) & ~fits
        if known.any():
            actions[known] = self.oracle.actions(self._estimate(lanes[known]), current)
        return actions

    def _due_arms(self, due: BoolArray, current: ActionSet) -> IntArray:
        """Return the first exploration of each row that is due and fits; -1 where none does."""
        if not self._is_own(current):
            if self._fits[0] is not current:
                assert self._parts.basis is not None
                self._fits = (current, self._parts.basis.fitting(current))
            due = due & self._fits[1]
        return np.where(due.any(axis=1), due.argmax(axis=1), EXPLOIT)

    def _is_own(self, current: ActionSet) -> bool:
        """Whether this is the policy's set; the answer for the last one is kept."""
        if self._own[0] is not current:
            self._own = (current, current == self.action_set)
        return self._own[1]

    # ------------------------------------------------------------------ learn

    def learn(
        self,
        actions: FloatArray,
        rewards: FloatArray,
        pulls: IntArray,
        lanes: IntArray | None = None,
    ) -> None:
        """Take in rewards: those of explorations, or all of them."""
        where = self.everyone if lanes is None else lanes
        explored = pulls != EXPLOIT
        if self.sums is not None:
            kept = explored | self._parts.keeps_all
            if kept.all():
                self.sums.add(actions, rewards, lanes)
            elif kept.any():
                self.sums.add(actions[kept], rewards[kept], where[kept])
        if self.arms is not None and explored.any():
            self.arms.add(where[explored], pulls[explored], rewards[explored])

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane.

        Pairs whose action is an exploration action count as replications of it. Others enter
        through the Gram matrix, from then on also the estimate's basis. The gap test counts the
        replications c for which the data are as good as c cycles, that is V >= c B.
        """
        arms = [None if self.arms is None else self._parts.arm_of(action) for action in actions]
        if self.sums is None and None in arms:
            self.sums = self._sums_of_arms()
        if self.sums is not None:
            self.sums.add_many(actions, rewards)
        for arm, reward in zip(arms, rewards, strict=True):
            if arm is not None and self.arms is not None:
                self.arms.add(np.array([0]), np.array([arm]), np.array([reward]))

    def _sums_of_arms(self) -> GramLanes:
        """Start the Gram matrix with what the exploration actions have shown so far.

        Each action is entered once, scaled by the root of its count: the same V and the same b.
        """
        assert self.arms is not None
        sums = GramLanes(1, self.dim)
        seen = np.flatnonzero(self.arms.counts[0])
        if seen.size:
            roots = np.sqrt(self.arms.counts[0, seen])
            actions = self._parts.explorations(seen) * roots[:, None]
            sums.add_many(actions, self.arms.sums[0, seen] / roots)
        return sums

    # ------------------------------------------------------------------ what is known

    def _is_known(self, lanes: IntArray) -> BoolArray:
        if self.sums is not None:
            return np.asarray(self.sums.known[lanes])
        assert self.arms is not None
        return np.asarray(self.arms.counts[lanes].all(axis=1))

    def _estimate(self, lanes: IntArray) -> FloatArray:
        """theta_hat of lanes that are known, by least squares over all that counts."""
        if self.sums is not None:
            return self.sums.estimate(lanes)
        assert self.arms is not None
        assert self._parts.basis is not None
        return self.arms.estimate(self._parts.basis, lanes)

    @property
    def estimate(self) -> FloatArray | None:
        """theta_hat of each lane from the rewards so far."""
        known = self._is_known(self.everyone)
        if not known.any():
            return None
        theta = np.full((self.lanes, self.dim), np.nan)
        theta[known] = self._estimate(np.flatnonzero(known))
        return theta

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """theta_hat_c of the last closed exploration of each lane."""
        if not self.planned.any():
            return None
        return np.where(self.planned[:, None], self.plan, np.nan)

    def cycle_of(self, lane: int) -> int:
        """Return c of the last choice."""
        return int(self.cycle[lane])

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the locked support; None until locked, and where nothing is verified."""
        if self._parts.forever and self.left[lane]:
            return self.oracle.solve(self.plan[lane], self.action_set).support
        if not self.locked[lane]:
            return None
        return tuple(int(i) for i in self.support[lane] if i >= 0)

    def replications(self) -> IntArray:
        """Return the complete cycles that the data of each lane are worth: V >= c B."""
        complete = np.zeros(self.lanes, dtype=np.intp)
        if self.arms is not None:
            complete = self.arms.replications
        if self.sums is None:
            return complete
        basis = self._parts.basis
        information = self.sums.least_information(None if basis is None else basis.gram)
        # V = c B is common, and must not be rounded down to c - 1 cycles.
        return np.maximum(complete, np.floor(information * (1 + 1e-9)).astype(np.intp))

    def _sigma(self, replications: IntArray) -> FloatArray:
        """Return the sigma of the threshold in each lane."""
        test = self._parts.test
        assert test is not None
        if self.arms is None:
            return np.broadcast_to(test.sigma_bound(0.0, 0, 1), self.lanes)
        squares, freedom = self.arms.residual_squares, self.arms.degrees_of_freedom
        return np.broadcast_to(test.sigma_bound(squares, freedom, replications), self.lanes)

    def certificate(self, horizon: int | None, draws: int) -> Certificate:
        """Say where the gap test stands, and warn if it cannot pass within `horizon` more steps."""
        test, replications = self._parts.test, self.replications()
        certificate = Certificate(
            locked=self.support_in(0) is not None,
            support=self.support_in(0),
            cycle=int(self.cycle[0]),
            replications=int(replications[0]),
        )
        if test is None:
            return certificate
        certificate = replace(
            certificate,
            sigma=float(self._sigma(replications)[0]),
            confidence=self._parts.confidence,
            confidence_scale=test.scale,
        )
        if not self._parts.locks:
            gap, threshold = self._last_test
            warning = None if horizon is None or gap > threshold else _UNFORESEEABLE
            return replace(certificate, gap=gap, threshold=threshold, warning=warning)
        gap = threshold = math.nan
        estimate = self.estimate
        if certificate.replications and estimate is not None:
            gap = float(test.verify(estimate[:1])[1][0])
            threshold = certificate.sigma * float(test.unit_threshold(certificate.replications))
        cycles = 0.0 if self.locked[0] else self._cycles_to_lock(gap, certificate.replications)
        return replace(
            certificate,
            gap=gap,
            threshold=threshold,
            cycles_to_lock=cycles,
            steps_to_lock=cycles * self.dim,
            warning=None if horizon is None else _warning(cycles * self.dim, gap, horizon),
        )

    def _cycles_to_lock(self, gap: float, replications: int) -> float:
        test, arms = self._parts.test, self.arms
        assert test is not None
        assert arms is not None
        if isinstance(test.sigma, str):
            # In the long run the upper bound on sigma comes down to the estimate.
            sigma = float(pooled_sigma(arms.residual_squares[0], arms.degrees_of_freedom[0]))
        else:
            sigma = float(test.sigma)
        if math.isnan(gap) or math.isinf(sigma):
            return math.nan
        return max(cycles_to_lock(gap, test.unit_threshold, sigma=sigma) - replications, 1.0)

    # ------------------------------------------------------------------ one lane, saved

    def arrays(self) -> dict[str, Any]:
        """Return the place in the cycle, its plan and its lock, and the rewards of the arms."""
        names = ("cycle", "due", "closed", "left", "plan", "planned", "locked", "support", "tested")
        arrays = {name: getattr(self, name) for name in (*names, "information", "mass")}
        if self.arms is not None:
            arrays |= {name: getattr(self.arms, name) for name in ("counts", "sums", "squares")}
        return arrays

    def state(self) -> dict[str, Any]:
        """Return the only lane, JSON-safe."""
        sums = self.sums
        gram = None if sums is None else [getattr(sums, name)[0].tolist() for name in _SUMS]
        return {**super().state(), "gram": gram, "last_test": [repr(x) for x in self._last_test]}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; what follows from it is worked out again."""
        super().restore(state, asked)
        self._restore_sums(state["gram"])
        self._last_test = _read_floats("last_test", state["last_test"])
        cycle, left = int(self.cycle[0]), int(self.left[0])
        exploring = bool(self.due[0].any())
        if cycle < 1 or (cycle - 1) * self.dim > asked:
            raise InvalidValueError(
                f"state.cycle must lie in 1..{asked // self.dim + 1} after {asked} decisions, "
                f"got {cycle}."
            )
        if exploring and self.closed[0]:
            raise InvalidValueError(
                "state.closed must be false while state.due names explorations, got true."
            )
        may_exploit = self.planned[0] and (self.locked[0] or not self._parts.locks)
        ready = self.closed[0] and may_exploit
        if left and (not ready or left > self._parts.schedule(cycle)):
            raise InvalidValueError(
                "state.left must be 0 until the exploration is closed and theta known, and at "
                f"most the {self._parts.schedule(cycle)} steps of cycle {cycle}, got {left}."
            )
        self._check_lock()
        self._check_arms()
        replications = int(self.replications()[0])
        if max(int(self.tested[0]), float(self.information[0])) > replications:
            raise InvalidValueError(
                f"state.tested and state.information must be at most the {replications} cycles "
                f"that the data are worth, got {self.tested[0]} and {self.information[0]}."
            )
        self._is_best[:] = False

    def _restore_sums(self, saved: Any) -> None:
        if saved is None and not self._parts.keeps_all:
            self.sums = None
            return
        if not isinstance(saved, list) or len(saved) != len(_SUMS):
            raise InvalidValueError(
                f"state.gram must be [{', '.join(_SUMS)}], and not be missing where every reward "
                f"is used, got {describe(saved)}."
            )
        self.sums = GramLanes(1, self.dim)
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

    def _check_lock(self) -> None:
        support = [int(i) for i in self.support[0] if i >= 0]
        usable = set(np.flatnonzero(self.action_set.available).tolist())
        sound = support == sorted(set(support)) and set(support) <= usable
        verified = self._parts.locks and self.planned[0] and self.tested[0]
        may = verified if self.locked[0] else not support
        if not (sound and may):
            raise InvalidValueError(
                "state.support must hold distinct available coordinates, ascending, and none "
                f"while nothing is locked, got {self.support[0].tolist()}."
            )

    def check_pull(self, action: FloatArray, pull: int) -> None:
        """Refuse an open decision that is no exploration of this basis."""
        super().check_pull(action, pull)
        if pull == EXPLOIT:
            return
        if self._parts.basis is None:
            expected = np.where(np.arange(self.dim) == pull, action, 0.0)
        else:
            expected = self._parts.explorations(np.array([pull]))[0]
        if (expected != action).any():
            raise InvalidValueError(
                f"state.open must hold the exploration actions that it names, got {pull} for "
                f"{describe(action.tolist())}."
            )


_SUMS = ("moments", "lost", "counts")

_UNFORESEEABLE = (
    "The gap test on the last set did not pass; with moving sets it is made anew at each "
    "exploitation step, so no number of cycles can be promised."
)


def _warning(steps_to_lock: float, gap: float, steps: int) -> str | None:
    if math.isnan(steps_to_lock) or steps_to_lock <= steps:
        return None
    when = "never" if math.isinf(steps_to_lock) else f"after about {steps_to_lock:.3g} steps"
    return (
        f"With the current gap of {gap:.3g} the test passes {when}, not within the {steps} steps "
        "asked about: until then every step explores. Use a sharper bound (confidence='mixture' or "
        "'pairwise'), CompactAPSEEG, or a smaller confidence_scale, which voids the guarantee."
    )


def longest_way(current: ActionSet) -> FloatArray:
    """Return the longest way along the first axis that has one, (dim,): an action for no data."""
    ends = longest_ends(current)
    action = np.zeros(current.dim)
    axis = int(np.argmax(ends != 0))
    action[axis] = ends[axis]
    return action


def _axis_ends(current: ActionSet) -> FloatArray:
    ends = longest_ends(current)
    if not ends.any():
        raise CompositionError(
            f"{current!r} has no action along an axis, so the current set cannot be explored."
        )
    return ends


def _read_floats(name: str, saved: Any) -> tuple[float, float]:
    """Return two floats saved as text, which may be infinite or nan."""
    try:
        first, second = (float(text) for text in saved if isinstance(text, str))
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"state.{name} must be two numbers written as text, got {describe(saved)}."
        ) from None
    return first, second
