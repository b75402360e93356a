"""A phased policy at work, one decision at a time."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import (
    ArmStatistics,
    GramStatistics,
    cycles_to_lock,
    pooled_sigma,
)
from sparsebandits.oracles import sparse_argmax
from sparsebandits.policies.base import Decision, Learner
from sparsebandits.policies.certificate import Certificate
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    Support,
    as_array,
    as_availability,
    as_integer,
)

if TYPE_CHECKING:
    from sparsebandits.policies.phased import PhasedPolicy

_DISCARD = -1
"""The record of a decision whose reward the paper's estimator does not use."""

_KEPT_ACTIONS = 2000
"""Up to this many dimensions the exploration actions are kept as a matrix."""


class PhasedLearner(Learner):
    """Explore b_1..b_d, estimate, verify, exploit; again and again.

    When rewards are late or missing, the estimate uses those that came, the gap test counts only
    complete replications (the smallest number of rewards of any exploration action), and is made
    once for each number of replications, as its union bound over cycles requires.
    """

    policy: "PhasedPolicy"

    def __init__(self, policy: "PhasedPolicy", seed: int | None) -> None:
        super().__init__(policy, seed)
        self._dim = policy.action_set.dim
        self._basis = policy.exploration
        self._actions: FloatArray | None = None
        if self._dim <= _KEPT_ACTIONS:
            self._actions = self._basis.actions
            self._actions.setflags(write=False)
        self._arms = ArmStatistics(self._dim)
        self._gram = GramStatistics(self._dim) if policy.use_all_data else None
        self._cycle = 1
        self._next_arm = 0
        self._played_ahead: set[int] = set()
        self._exploit_left: int | None = None  # None: the exploration is not closed yet
        self._exploit_action: FloatArray | None = None
        self._support: tuple[int, ...] | None = None
        self._estimate: FloatArray | None = None  # theta_hat_c of the last closed exploration
        self._tested = 0
        self._gap = math.nan

    # ------------------------------------------------------------------ ask

    def ask(self, available: Support = None) -> Decision:
        """Return the next action of the cycle.

        With `available` (a mask or indices) the action uses those items only, for this request: an
        exploration action that is due and fits; in exploitation the best action on what is left.
        If no exploration action fits, the best action for the current estimate is played beside the
        schedule.
        """
        if available is not None:
            return self._ask_restricted(as_availability(available, self._dim))
        self._advance()
        if self._next_arm < self._dim:
            arm = self._next_arm
            self._next_arm += 1
            return self._decide(self._action(arm), "explore", self._cycle, arm)
        return self._exploit(self._planned_action)

    def _advance(self) -> None:
        """Move on to the next thing to do: an exploration action, or an exploitation step."""
        while True:
            while self._next_arm in self._played_ahead:
                self._played_ahead.remove(self._next_arm)
                self._next_arm += 1
            if self._next_arm < self._dim:
                return
            if self._exploit_left is None:
                self._close_exploration()
            if self._exploit_left:
                return
            self._cycle += 1
            self._next_arm = 0
            self._exploit_left = None

    def _close_exploration(self) -> None:
        """Lines 8-15: estimate and verify; then plan the exploitation of this cycle."""
        policy = self.policy
        self._exploit_left = 0
        theta = self.theta_hat
        self._estimate = theta
        if theta is None:
            return
        if policy.verifies and self._support is None:
            self._test(theta)
            if self._support is None:
                return
        if self._support is not None:
            action = policy.action_set.best_response(theta, self._support)  # a_c
        else:
            action = policy.choose(theta[None], verify=False).actions[0]
        action.setflags(write=False)
        self._exploit_action = action
        self._exploit_left = policy.exploitation_steps(self._cycle)

    def _test(self, theta: FloatArray) -> None:
        replications = self._replications()
        if replications <= self._tested:
            return
        supports, gaps = self.policy.verify(theta[None])
        self._tested, self._gap = replications, float(gaps[0])
        if self._gap > self._sigma() * float(self.policy.unit_threshold(replications)):
            self._support = tuple(int(i) for i in supports[0] if i >= 0)

    @property
    def _planned_action(self) -> FloatArray:
        assert self._exploit_action is not None
        return self._exploit_action

    def _exploit(self, action: FloatArray) -> Decision:
        assert self._exploit_left
        self._exploit_left -= 1
        return self._decide(action, "exploit", self._cycle, self._record(action))

    def _record(self, action: FloatArray) -> Any:
        return _DISCARD if self._gram is None else action.tolist()

    def _action(self, arm: int) -> FloatArray:
        return self._basis.action(arm) if self._actions is None else self._actions[arm]

    # ------------------------------------------------------------------ items that are not there

    def _ask_restricted(self, mask: BoolArray) -> Decision:
        if not (mask & self.policy.action_set.available).any():
            raise InvalidValueError(
                "available leaves no coordinate that the action set allows; pass at least one."
            )
        self._advance()
        if self._next_arm < self._dim:
            for arm in range(self._next_arm, self._dim):
                if arm not in self._played_ahead and mask[self._basis.support(arm)].all():
                    self._played_ahead.add(arm)
                    return self._decide(self._action(arm), "explore", self._cycle, arm)
            action = self._best_on(mask)
            return self._decide(action, "exploit", self._cycle, self._record(action))
        planned = self._planned_action
        return self._exploit(planned if mask[planned != 0].all() else self._best_on(mask))

    def _best_on(self, mask: BoolArray) -> FloatArray:
        restricted = self.policy.action_set.restrict(mask)
        theta = self.theta_hat
        if theta is None:
            # Nothing is known yet: the longest way along the first available axis.
            lower, upper = restricted.axis_reach()
            axis = int(np.argmax(restricted.available & ((upper > 0) | (lower < 0))))
            action = np.zeros(self._dim)
            action[axis] = upper[axis] if upper[axis] >= -lower[axis] else lower[axis]
        else:
            method: Any = self.policy.oracle
            action = sparse_argmax(restricted, theta, self.policy.sparsity, method).action
        action.setflags(write=False)
        return action

    # ------------------------------------------------------------------ tell

    def _learn(self, record: Any, reward: float) -> None:
        if isinstance(record, int):
            if record == _DISCARD:
                return
            self._arms.add(record, reward)
            if self._gram is not None:
                self._gram.add(self._action(record), reward)
        elif self._gram is not None:
            self._gram.add(record, reward)

    def warm_start(self, actions: Any, rewards: Any) -> None:
        """Learn from logged (action, reward) pairs.

        Pairs whose action is an exploration action count as replications of it. Others enter
        through the Gram matrix, from then on also the estimate's basis. The gap test counts the
        replications c for which the data are as good as c cycles, that is V >= c B. The guarantee
        needs logs whose actions were not chosen by looking at their own rewards.

        Parameters
        ----------
        actions : array of shape (n, dim)
        rewards : array of shape (n,)
        """
        played = as_array("actions", actions, ndim=2)
        earned = as_array("rewards", rewards, ndim=1)
        if played.shape != (earned.size, self._dim):
            raise InvalidValueError(
                f"actions must have shape (n, {self._dim}) and rewards (n,), got {played.shape} "
                f"and {earned.shape}."
            )
        known = (
            {} if self._actions is None else {a.tobytes(): k for k, a in enumerate(self._actions)}
        )
        arms = [known.get((action + 0.0).tobytes()) for action in played]
        if self._gram is None and any(arm is None for arm in arms):
            self._gram = self._gram_of_arms()
        for arm, reward in zip(arms, earned.tolist(), strict=True):
            if arm is not None:
                self._arms.add(arm, reward)
        if self._gram is not None:
            self._gram.add_many(played, earned)

    def _gram_of_arms(self) -> GramStatistics:
        """Start the Gram matrix with what the exploration actions have shown so far.

        Each action is entered once, scaled by the root of its count: the same V and the same b.
        """
        gram = GramStatistics(self._dim)
        counts = self._arms.counts
        seen = np.flatnonzero(counts)
        if seen.size:
            roots = np.sqrt(counts[seen])
            actions = np.array([self._action(int(k)) for k in seen])
            gram.add_many(actions * roots[:, None], self._arms.sums[seen] / roots)
        return gram

    # ------------------------------------------------------------------ what is known

    @property
    def theta_hat(self) -> FloatArray | None:
        """The least squares estimate from the rewards told so far."""
        if self._gram is not None:
            return self._gram.estimate() if self._gram.is_identified else None
        return self._arms.estimate(self._basis) if self._arms.replications else None

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """theta_hat_c of the last closed exploration."""
        return self._estimate

    @property
    def support(self) -> tuple[int, ...] | None:
        """The locked support; None until locked, and always None where nothing is verified."""
        return self._support

    def _replications(self) -> int:
        """Complete cycles that the data are worth: V >= c B."""
        if self._gram is None or self._support is not None:
            return self._arms.replications
        smallest = scipy.linalg.eigh(
            self._gram.gram, self._basis.gram, eigvals_only=True, subset_by_index=(0, 0)
        )[0]
        return max(self._arms.replications, math.floor(float(smallest) * (1 + 1e-9)))

    def _sigma(self) -> float:
        arms = self._arms
        return float(self.policy.sigma_bound(arms.residual_squares, arms.degrees_of_freedom))

    def certificate(self, horizon: int | None = None) -> Certificate:
        """Say where the gap test stands, and warn if it cannot pass within `horizon` more steps."""
        policy = self.policy
        locked = self._support is not None
        replications = self._arms.replications
        sigma, threshold, cycles = self._sigma(), math.nan, math.nan
        gap = self._gap
        if policy.verifies:
            if replications and not locked:
                theta = self.theta_hat
                assert theta is not None
                gap = float(policy.verify(theta[None])[1][0])
            if replications:
                threshold = sigma * float(policy.unit_threshold(replications))
            cycles = 0.0 if locked else self._cycles_to_lock(gap, replications)
        return Certificate(
            locked=locked,
            support=self._support,
            gap=gap,
            threshold=threshold,
            cycle=self._cycle,
            replications=replications,
            cycles_to_lock=cycles,
            steps_to_lock=cycles * self._dim,
            sigma=sigma,
            confidence=str(policy.confidence),
            confidence_scale=policy.confidence_scale,
            warning=self._warning(cycles, gap, horizon),
        )

    def _cycles_to_lock(self, gap: float, replications: int) -> float:
        policy, arms = self.policy, self._arms
        if isinstance(policy.sigma, str):
            # In the long run the upper bound on sigma comes down to the estimate.
            sigma = float(pooled_sigma(arms.residual_squares, arms.degrees_of_freedom))
        else:
            sigma = float(policy.sigma)
        if math.isnan(gap) or math.isinf(sigma):
            return math.nan
        return max(cycles_to_lock(gap, policy.unit_threshold, sigma=sigma) - replications, 1.0)

    def _warning(self, cycles: float, gap: float, horizon: int | None) -> str | None:
        if horizon is None or not self.policy.verifies or self._support is not None:
            return None
        steps = as_integer("horizon", horizon, minimum=1)
        if math.isnan(cycles) or cycles * self._dim <= steps:
            return None
        wanted = "never" if math.isinf(cycles) else f"after about {cycles * self._dim:.3g} steps"
        return (
            f"With the current gap of {gap:.3g} the test passes {wanted}, not within the "
            f"{steps} steps asked about: until then every step explores. Use a sharper bound "
            "(confidence='mixture' or 'pairwise'), CompactAPSEEG, or a smaller confidence_scale, "
            "which voids the guarantee."
        )

    # ------------------------------------------------------------------ state

    def _state(self) -> dict[str, Any]:
        action = self._exploit_action
        return {
            "arms": self._arms.to_dict(),
            "gram": None if self._gram is None else self._gram.to_dict(),
            "cycle": self._cycle,
            "next_arm": self._next_arm,
            "played_ahead": sorted(self._played_ahead),
            "exploit_left": self._exploit_left,
            "exploit_action": None if action is None else action.tolist(),
            "support": None if self._support is None else list(self._support),
            "estimate": None if self._estimate is None else self._estimate.tolist(),
            "tested": self._tested,
            "gap": None if math.isnan(self._gap) else repr(self._gap),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._arms = ArmStatistics.from_dict(state["arms"])
        self._gram = None if state["gram"] is None else GramStatistics.from_dict(state["gram"])
        self._cycle = state["cycle"]
        self._next_arm = state["next_arm"]
        self._played_ahead = set(state["played_ahead"])
        self._exploit_left = state["exploit_left"]
        if state["exploit_action"] is not None:
            self._exploit_action = as_array("exploit_action", state["exploit_action"], ndim=1)
        self._support = None if state["support"] is None else tuple(state["support"])
        if state["estimate"] is not None:
            self._estimate = as_array("estimate", state["estimate"], ndim=1)
        self._tested = state["tested"]
        self._gap = math.nan if state["gap"] is None else float(state["gap"])
