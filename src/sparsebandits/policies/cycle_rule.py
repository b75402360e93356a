"""The cycle of the paper as a rule: explore b_1..b_d, estimate, verify, exploit m_c times."""

import math
import operator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.estimation import cycles_to_lock, pooled_sigma
from sparsebandits.exploration.affine import off_plane
from sparsebandits.exploration.diagonal import longest_ends
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.cycle_memory import PLACE, CycleMemory
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.rule import PerSet
from sparsebandits.policies.schedules import Schedule, lengths
from sparsebandits.validation import BoolArray, FloatArray, IntArray


class CycleRule(CycleMemory):
    """Algorithms 1 and 2 (`alg:adaptive_PEE`, `alg:adaptive_general_PEE`), and their relatives.

    When rewards are late or missing, the estimate uses those that came, the gap test counts only
    complete replications (what the data are worth in cycles: V >= c B), and is made once for each
    number of replications, as its union bound over cycles requires. Exploration actions that do
    not fit the set of a step stay due; if none fits, the step plays the oracle's action for the
    data so far, beside the schedule. A cycle that ends while theta is not determined exploits
    nothing.
    """

    def __init__(self, cycle: Cycle, lanes: int) -> None:
        super().__init__(cycle, lanes)
        self._best = np.zeros((lanes, self.dim))  # a_c, kept while the plan stays the same
        self._is_best: BoolArray = np.zeros(lanes, dtype=np.bool_)
        self._is_own = PerSet(partial(operator.eq, cycle.action_set))
        self._is_own_whole = PerSet(partial(operator.eq, cycle.action_set))
        self._fitting = None if cycle.basis is None else PerSet(cycle.basis.fitting)
        self._origin = PerSet(self._find_origin)

    # ------------------------------------------------------------------ choose

    def choose(self, current: ActionSet) -> FloatArray:
        """Play an exploration that is due, or exploit."""
        complete = ~self.due.any(axis=1) & (self.left == 0)
        if complete.any():
            with self._undone_on_error((*PLACE, "explored")):
                self._advance(complete)
                actions, pulls = self._play(current)
        else:
            actions, pulls = self._play(current)
        self._count(actions, pulls, current)
        self.pulls = pulls
        return actions

    def _advance(self, complete: BoolArray) -> None:
        """Close explorations that are complete, and start the cycles that are due."""
        closing = np.flatnonzero(complete & ~self.closed)
        if closing.size:
            self._close(closing)
        over = complete & (self.left == 0)
        self.cycle[over] += 1
        self.due[over], self.closed[over] = self.explored[over], False

    def _close(self, lanes: IntArray) -> None:
        """Lines 8-15: estimate and verify; then plan the exploitation of this cycle."""
        self.closed[lanes] = True
        lanes = lanes[self.is_known(lanes)]
        if not lanes.size:
            return
        self.plan[lanes], self.planned[lanes] = self.least_squares(lanes), True
        self._is_best[lanes] = False
        if self.parts.locks:
            self._verify(lanes[~self.locked[lanes]])
            self._plan(lanes[~self.locked[lanes]], self.parts.waiting)
            lanes = lanes[self.locked[lanes]]
        elif self.parts.test is not None:
            self.information[lanes] = self.replications()[lanes]
        self._plan(lanes, self.parts.schedule)

    def _plan(self, lanes: IntArray, schedule: Schedule | None) -> None:
        """Set how many steps this cycle exploits."""
        if schedule is not None and lanes.size:
            cycles, places = np.unique(self.cycle[lanes], return_inverse=True)
            self.left[lanes] = lengths(schedule, cycles)[places]

    def _verify(self, lanes: IntArray) -> None:
        """Lock the support where the gap test passes; once for each number of replications."""
        test, replications = self.parts.test, self.replications()
        assert test is not None
        lanes = lanes[replications[lanes] > self.tested[lanes]]
        if not lanes.size:
            return
        self.tested[lanes] = replications[lanes]
        supports, gaps = test.verify(self.plan[lanes])
        sigma = self.sigma_bound(replications)[lanes]
        passed = test.passes(gaps, sigma, replications[lanes])
        self.support[lanes[passed]], self.locked[lanes[passed]] = supports[passed], True
        for lane in lanes[passed]:
            self.explored[lane] = self.parts.explored(self.support[lane])

    def _play(self, current: ActionSet) -> tuple[FloatArray, IntArray]:
        """Return the action of every lane, and what it is played for."""
        actions, pulls = np.zeros((self.lanes, self.dim)), np.full(self.lanes, EXPLOIT)
        # Both phases may end in an exploration, so a set without one is refused at every step.
        ends = axis_ends(current) if self.parts.basis is None else None
        explore: BoolArray = np.asarray(self.due.any(axis=1))
        if not explore.all():
            lanes = np.flatnonzero(~explore)
            actions[lanes], passed = self._exploitations(lanes, current)
            explore[lanes] = np.logical_not(passed)
        lanes = np.flatnonzero(explore)
        if ends is not None:
            # The usable axis on which least has been played so far, the longer way.
            usable, origin = np.flatnonzero(ends), self._origin(current)
            if origin is not None:
                usable = np.append(usable, self.dim)
            axes = usable[self.mass[np.ix_(lanes, usable)].argmin(axis=1)]
            actions[lanes], pulls[lanes] = 0.0, axes
            along = axes < self.dim
            actions[lanes[along], axes[along]] = ends[axes[along]]
            if origin is not None:
                actions[lanes[~along]] = origin
        elif lanes.size:
            pulls[lanes] = self._due_arms(self.due[lanes], current)
            actions[lanes] = self._explorations(lanes, pulls[lanes], current)
        return actions, pulls

    def _find_origin(self, current: ActionSet) -> FloatArray | None:
        """Return what is played beside the axes for a baseline, where there is one: 0 mostly."""
        if self.parts.basis is not None or not self.parts.intercept:
            return None
        ends = axis_ends(current)
        plane = np.divide(1.0, ends, out=np.zeros(self.dim), where=ends != 0)
        return off_plane(plane, current, current.choice_of(self.oracle.sparsity))

    def _count(self, actions: FloatArray, pulls: IntArray, current: ActionSet) -> None:
        """Count what is played; nothing fails here."""
        exploring = self.due.any(axis=1)
        self.left[~exploring] -= 1
        lanes = np.flatnonzero(pulls != EXPLOIT)
        arms = pulls[lanes]
        if self.parts.basis is None:
            # The origin counts as the shortest axis: it is played as often as that one.
            sizes = np.append(longest_ends(current), 0.0)
            sizes[-1] = np.abs(sizes[sizes != 0]).min()
            self.mass[lanes, arms] += sizes[arms] ** 2
            # Any exploration is one of the d of its cycle.
            lanes = np.flatnonzero(exploring)
            arms = self.due[lanes].argmax(axis=1)
        self.due[lanes, arms] = False

    # ------------------------------------------------------------------ what is played

    def _exploitations(
        self, lanes: IntArray, current: ActionSet
    ) -> tuple[FloatArray, BoolArray | bool]:
        """Return the best actions for the plans on the current set, and where one may exploit."""
        if self.parts.basis is None:
            may = self.parts.test is None or self._passes_on(current, lanes)
            return self.oracle.actions(self.plan[lanes], current), may
        new = lanes[~self._is_best[lanes]]
        if new.size:
            self._best[new] = self._best_actions(new)
            self._is_best[new] = True
        actions = self._best[lanes]
        if not self._is_own(current):
            # On a part of X an action that is there is still the best; elsewhere it need not be.
            elsewhere: BoolArray = np.ones(lanes.size, dtype=np.bool_)
            if self._is_own_whole(current.whole):
                elsewhere = ~np.asarray(current.contains(actions, tolerance=0.0))
            if elsewhere.any():
                actions[elsewhere] = self.oracle.actions(self.plan[lanes[elsewhere]], current)
        return actions, True

    def _best_actions(self, lanes: IntArray) -> FloatArray:
        """Return a_c on X: on the locked support where one is locked."""
        actions, locked = np.empty((lanes.size, self.dim)), self.locked[lanes]
        if locked.any():
            on, ruled = lanes[locked], self.oracle.is_ruled
            support = self.support[on]
            chosen = self.action_set.respond_on(self.plan[on], support, all_on=ruled)
            actions[locked] = chosen[0]
        if not locked.all():
            actions[~locked] = self.oracle.actions(self.plan[lanes[~locked]], self.action_set)
        return actions

    def _passes_on(self, current: ActionSet, lanes: IntArray) -> BoolArray:
        """Return whether the gap on the current set exceeds the threshold in each lane."""
        gaps = self.oracle.supports(self.plan[lanes], current)[1]
        thresholds = self._thresholds_on(current, lanes)
        self.last_test = float(gaps[0]), float(thresholds[0])
        return np.asarray(gaps > thresholds)

    def _thresholds_on(self, current: ActionSet, lanes: IntArray) -> FloatArray:
        """Return what the gap on the current set must exceed in each lane."""
        test = self.parts.test
        assert test is not None
        cycles = self.information[lanes].astype(np.intp)
        thresholds = np.full(lanes.size, np.inf)
        known = cycles >= 1
        sigma = test.sigma_bound(0.0, 0, 1)
        thresholds[known] = sigma * test.unit_threshold(cycles[known], current)
        return thresholds

    def _explorations(self, lanes: IntArray, arms: IntArray, current: ActionSet) -> FloatArray:
        """Return b_k, or what is played where none of the explorations that are due fits."""
        fits = arms >= 0
        if fits.all():
            return self.parts.actions(arms)
        actions = np.tile(action_without_data(current, self.oracle), (lanes.size, 1))
        actions[fits] = self.parts.actions(arms[fits])
        known = self.is_known(lanes) & ~fits
        if known.any():
            actions[known] = self.oracle.actions(self.least_squares(lanes[known]), current)
        return actions

    def _due_arms(self, due: BoolArray, current: ActionSet) -> IntArray:
        """Return the first exploration of each row that is due and fits; -1 where none does."""
        if not self._is_own(current) and self._fitting is not None:
            due = due & self._fitting(current)
        return np.where(due.any(axis=1), due.argmax(axis=1), EXPLOIT)

    # ------------------------------------------------------------------ what is known

    def certificate(self, horizon: int | None, draws: int) -> Certificate:
        """Say where the gap test stands, and warn if it cannot pass within `horizon` more steps."""
        test, replications = self.parts.test, self.replications()
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
            sigma=float(self.sigma_bound(replications)[0]),
            confidence=self.parts.confidence,
            confidence_scale=test.scale,
        )
        if not self.parts.locks:
            gap, threshold = self.last_test
            warning = None if horizon is None or gap > threshold else _UNFORESEEABLE
            return replace(certificate, gap=gap, threshold=threshold, warning=warning)
        gap = threshold = math.nan
        estimate = self.estimate
        if certificate.replications and estimate is not None:
            gap = float(test.verify(estimate[:1])[1][0])
            threshold = certificate.sigma * float(test.unit_threshold(certificate.replications))
        cycles = 0.0 if self.locked[0] else self._cycles_to_lock(gap, certificate.replications)
        steps = cycles * self.explorations
        return replace(
            certificate,
            gap=gap,
            threshold=threshold,
            cycles_to_lock=cycles,
            steps_to_lock=steps,
            warning=None if horizon is None else self._warning(steps, gap, horizon),
        )

    def _cycles_to_lock(self, gap: float, replications: int) -> float:
        test, arms = self.parts.test, self.arms
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

    def _warning(self, steps_to_lock: float, gap: float, steps: int) -> str | None:
        if math.isnan(steps_to_lock) or steps_to_lock <= steps:
            return None
        when = "never" if math.isinf(steps_to_lock) else f"after about {steps_to_lock:.3g} steps"
        until = "every step explores"
        if self.parts.waiting is not None:
            until = "all of the basis is explored, and exploitation follows the waiting schedule"
        return (
            f"With the current gap of {gap:.3g} the test passes {when}, not within the {steps} "
            f"steps asked about: until then {until}. Use a sharper bound (confidence='mixture' or "
            "'pairwise'), CompactAPSEEG, or a smaller confidence_scale, which voids the guarantee."
        )

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; a_c is worked out again."""
        super().restore(state, asked)
        self._is_best[:] = False


_UNFORESEEABLE = (
    "The gap test on the last set did not pass; with moving sets it is made anew at each "
    "exploitation step, so no number of cycles can be promised."
)


def action_without_data(current: ActionSet, oracle: SparseOracle) -> FloatArray:
    """Return the longest way along the first axis that has one, (dim,): an action for no data.

    Where that is not allowed, as where all must be spent or rules want several on, what is.
    """
    ends = longest_ends(current)
    action = np.zeros(current.dim)
    axis = int(np.argmax(ends != 0))
    action[axis] = ends[axis]
    if current.contains(action) and oracle.obeyed_by(action, current):
        return action
    return np.asarray(oracle.actions(np.zeros((1, current.dim)), current)[0])


def axis_ends(current: ActionSet) -> FloatArray:
    """Return the longest way along each axis, (dim,); a set without any is refused."""
    ends = longest_ends(current)
    if not ends.any():
        raise CompositionError(
            f"{current!r} has no action along an axis, so the current set cannot be explored."
        )
    return ends
