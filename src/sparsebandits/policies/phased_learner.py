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
from sparsebandits.policies.saved_state import (
    as_vector,
    read_float,
    read_gram,
    read_indices,
    read_integer,
    read_vector,
)
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
        steps = policy.exploitation_steps(self._cycle)
        theta = self.theta_hat
        if theta is not None and policy.verifies and self._support is None:
            self._test(theta)
        if theta is None or (policy.verifies and self._support is None):
            steps = 0
        elif self._support is not None:
            self._exploit_action = policy.action_set.best_response(theta, self._support)  # a_c
        else:
            self._exploit_action = policy.choose(theta[None])[0]
        for array in (theta, self._exploit_action):
            if array is not None:
                array.setflags(write=False)
        self._estimate = theta
        self._exploit_left = steps

    def _test(self, theta: FloatArray) -> None:
        replications = self._replications()
        if replications <= self._tested:
            return
        supports, gaps = self.policy.verify(theta[None])
        self._tested, self._gap = replications, float(gaps[0])
        if self.policy.passes(gaps[0], self._sigma(replications), replications):
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
        return action.tolist() if self.policy.use_all_data else _DISCARD

    def _action(self, arm: int) -> FloatArray:
        action: FloatArray = (
            self._basis.action(arm) if self._actions is None else self._actions[arm]
        )
        action.setflags(write=False)
        return action

    # ------------------------------------------------------------------ items that are not there

    def _ask_restricted(self, mask: BoolArray) -> Decision:
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
        if record == _DISCARD:
            return
        is_arm = isinstance(record, int)
        # The Gram matrix goes first: it refuses whatever the arms would, and more.
        if self._gram is not None:
            self._gram.add(self._action(record) if is_arm else record, reward)
        if is_arm:
            self._arms.add(record, reward)

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
        # Adding 0 turns -0 into 0, which is another pattern of bytes.
        basis = () if self._actions is None else self._actions
        known = {(action + 0.0).tobytes(): k for k, action in enumerate(basis)}
        arms = [known.get((action + 0.0).tobytes()) for action in played]
        logged = ArmStatistics(self._dim)
        for arm, reward in zip(arms, earned.tolist(), strict=True):
            if arm is not None:
                logged.add(arm, reward)
        gram = self._gram_of_arms() if self._gram is None and None in arms else self._gram
        if gram is not None:
            gram.add_many(played, earned)
        self._arms, self._gram = self._arms.merged(logged), gram

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
        if self._gram is None:
            return self._arms.replications
        smallest = scipy.linalg.eigh(
            self._gram.gram, self._basis.gram, eigvals_only=True, subset_by_index=(0, 0)
        )[0]
        return max(self._arms.replications, math.floor(float(smallest) * (1 + 1e-9)))

    def _sigma(self, replications: int) -> float:
        arms = self._arms
        squares, freedom = arms.residual_squares, arms.degrees_of_freedom
        return float(self.policy.sigma_bound(squares, freedom, replications))

    def certificate(self, horizon: int | None = None) -> Certificate:
        """Say where the gap test stands, and warn if it cannot pass within `horizon` more steps."""
        policy = self.policy
        steps = None if horizon is None else as_integer("horizon", horizon, minimum=1)
        locked = self._support is not None
        replications = self._replications()
        sigma, threshold, cycles = self._sigma(replications), math.nan, math.nan
        gap, theta = self._gap, self.theta_hat
        if policy.verifies:
            if replications and theta is not None and not locked:
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
            warning=None if steps is None else self._warning(cycles, gap, steps),
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

    def _warning(self, cycles: float, gap: float, steps: int) -> str | None:
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
        dim, policy = self._dim, self.policy
        self._arms = ArmStatistics.from_dict(state["arms"])
        if self._arms.dim != dim:
            raise InvalidValueError(f"state.arms must have {dim} actions, got {self._arms.dim}.")
        self._gram = None if state["gram"] is None else read_gram(state, dim)
        if self._gram is None and policy.use_all_data:
            raise InvalidValueError("state.gram must not be missing, because use_all_data is set.")
        self._cycle = read_integer(state, "cycle", minimum=1)
        self._next_arm = read_integer(state, "next_arm", minimum=0, maximum=dim)
        self._played_ahead = set(read_indices(state, "played_ahead", dim, self._next_arm))
        self._exploit_action = read_vector(state, "exploit_action", dim)
        self._restore_plan(state)
        if state["support"] is not None:
            self._support = tuple(read_indices(state, "support", dim))
            if len(self._support) > policy.sparsity or not policy.verifies:
                raise InvalidValueError(
                    f"state.support must have at most {policy.sparsity} entries, and be missing "
                    f"where nothing is verified, got {state['support']}."
                )
        self._estimate = read_vector(state, "estimate", dim)
        self._tested = read_integer(state, "tested", minimum=0)
        self._gap = read_float(state, "gap")
        for record in self._open.values():
            self._check_record(record)

    def _restore_plan(self, state: dict[str, Any]) -> None:
        if state["exploit_left"] is None:
            return
        self._exploit_left = read_integer(state, "exploit_left", minimum=0)
        if self._next_arm < self._dim or (self._exploit_left and self._exploit_action is None):
            raise InvalidValueError(
                "state.exploit_left must be missing until the exploration is closed and its action "
                f"known, got {self._exploit_left}."
            )

    def _check_record(self, record: Any) -> None:
        if isinstance(record, list) and self.policy.use_all_data:
            as_vector("open", record, self._dim)
        elif as_integer("state.open", record, minimum=_DISCARD) >= self._dim:
            raise InvalidValueError(
                f"state.open must name actions in 0..{self._dim - 1}, got {record}."
            )
