"""APSEE-G on sets that change at every step (`subsec:time_varying_action_set`)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet, action_set_from_dict
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.estimation import GramStatistics, make_confidence
from sparsebandits.exploration import DiagonalBasis
from sparsebandits.oracles import sparse_argmax
from sparsebandits.policies.base import Decision, Learner, Policy
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.schedules import SCHEDULES, make_schedule
from sparsebandits.validation import (
    FloatArray,
    Support,
    as_array,
    as_number,
    as_sparsity,
    describe,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeVaryingAPSEEG(Policy):
    """Both phases take their actions from the current set X_t.

    A cycle explores d times, each time along the axis of X_t that is known least, and then exploits
    m_c times. The estimator keeps the Gram matrix V actually played. With the linear schedule an
    exploitation step is taken only if the greedy gap on the current set exceeds 2 L epsilon, where
    epsilon bounds the error of an estimate with lambda_min(V); otherwise the step explores. With
    the "sqrt" schedule nothing is verified.

    Parameters
    ----------
    action_set : ActionSet
        The set meant when `ask` names no other, and whose norm bound holds for all of them.
    sparsity : int
        H.
    sigma : float
        Sub-Gaussian scale of the noise; needed by the linear schedule only.
    delta : float
    schedule : "linear" or "sqrt"
        "linear" if every X_t is strongly convex: d sqrt(T). "sqrt" otherwise: d T^(2/3).
    oracle : str
    confidence_scale : float
    insist : bool
        Run the linear schedule on sets that are not strongly convex.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.TimeVaryingAPSEEG(action_set=sb.LpBall(3), sparsity=1, schedule="sqrt")
    >>> learner = policy.start()
    >>> learner.ask(available=[1, 2]).action
    array([0., 1., 0.])
    >>> learner.ask(action_set=sb.Box([0, 0, 0], [2, 2, 2])).action
    array([2., 0., 0.])
    """

    kind: ClassVar[str] = "time-varying"

    action_set: ActionSet
    sparsity: int
    sigma: float = 1.0
    delta: float = 0.05
    schedule: str = "linear"
    oracle: str = "greedy"
    confidence_scale: float = 1.0
    insist: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set, got {describe(self.action_set)}."
            )
        as_sparsity(self.sparsity, self.action_set.dim)
        if as_number("sigma", self.sigma) < 0:
            raise InvalidValueError(f"sigma must be non-negative, got {self.sigma}.")
        if not 0 < as_number("delta", self.delta) < 1:
            raise InvalidValueError(f"delta must lie in (0, 1), got {self.delta}.")
        as_number("confidence_scale", self.confidence_scale, positive=True)
        make_schedule(self.schedule)
        if self.verifies and self.oracle not in ("greedy", "exact"):
            raise CompositionError(
                f"The gap test needs oracle='greedy' or 'exact', got {self.oracle!r}."
            )
        self.check_set(self.action_set)

    @property
    def verifies(self) -> bool:
        """Whether exploitation needs the gap test: always, but for the "sqrt" schedule."""
        return self.schedule != "sqrt"

    def check_set(self, action_set: ActionSet) -> None:
        """Refuse a set of another dimension, one too long, or one that voids the guarantee."""
        if action_set.dim != self.action_set.dim:
            raise InvalidValueError(
                f"The set of this step must have dim {self.action_set.dim}, got {action_set.dim}."
            )
        if self.verifies and not action_set.is_strongly_convex and not self.insist:
            raise CompositionError(
                f"The linear schedule is proven for strongly convex sets only, and {action_set!r} "
                "is not one. Use schedule='sqrt', or insist=True."
            )

    @cached_property
    def unit_radius(self) -> Any:
        """The paper's bound for the standard basis and unit noise, as a function of cycles."""
        basis = DiagonalBasis(np.ones(self.action_set.dim))
        return make_confidence("paper", basis, self.delta)

    def threshold(self, least_information: float, norm: float) -> float:
        """2 L epsilon_c with c = lambda_min(V): V >= c I is what c standard cycles give."""
        if least_information < 1:
            return math.inf
        radius = float(self.unit_radius.radius(math.floor(least_information), self.sparsity))
        return self.confidence_scale * 2 * norm * self.sigma * radius  # lemma:general_consistency

    def start(self, seed: int | None = None) -> "TimeVaryingLearner":
        """Make a learner at its first step."""
        return TimeVaryingLearner(self, seed)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **data, "action_set": self.action_set.to_dict()}

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> "TimeVaryingAPSEEG":
        return cls(**{**data, "action_set": action_set_from_dict(data["action_set"])})


class TimeVaryingLearner(Learner):
    """The time-varying policy at work; `ask` takes the set of this step."""

    policy: TimeVaryingAPSEEG

    def __init__(self, policy: TimeVaryingAPSEEG, seed: int | None) -> None:
        super().__init__(policy, seed)
        self._gram = GramStatistics(policy.action_set.dim)
        self._planned = np.zeros(policy.action_set.dim)
        self._cycle = 1
        self._explored = 0
        self._exploit_left: int | None = None
        self._theta: FloatArray | None = None
        self._gap = math.nan
        self._threshold = math.nan

    def ask(self, available: Support = None, action_set: ActionSet | None = None) -> Decision:
        """Return the next action, taken from the set of this step.

        Parameters
        ----------
        available : mask or indices, optional
            Items that may be used now.
        action_set : ActionSet, optional
            X_t; the policy's own set if left out.
        """
        current = self.policy.action_set if action_set is None else action_set
        if action_set is not None:
            self.policy.check_set(action_set)
        if available is not None:
            current = current.restrict(available)
        self._advance()
        if self._explored < self.policy.action_set.dim:
            action = self._exploration_action(current)
            self._explored += 1
            return self._open_decision(action, "explore")
        assert self._exploit_left
        action, passed = self._exploitation_action(current)
        self._exploit_left -= 1
        if passed:
            return self._open_decision(action, "exploit")
        return self._open_decision(self._exploration_action(current), "explore")

    def _open_decision(self, action: FloatArray, phase: str) -> Decision:
        action.setflags(write=False)
        return self._decide(action, phase, self._cycle, action.tolist())

    def _advance(self) -> None:
        dim = self.policy.action_set.dim
        while self._explored >= dim:
            if self._exploit_left is None:
                self._theta = self._gram.estimate() if self._gram.is_identified else None
                steps = SCHEDULES[self.policy.schedule](self._cycle)
                self._exploit_left = steps if self._theta is not None else 0
            if self._exploit_left:
                return
            self._cycle += 1
            self._explored = 0
            self._exploit_left = None

    def _exploration_action(self, current: ActionSet) -> FloatArray:
        """Go the longer way along the usable axis on which least has been played so far."""
        lower, upper = current.axis_reach()
        reach = np.where(upper >= -lower, upper, lower)
        usable = np.flatnonzero(reach)
        if not usable.size:
            raise CompositionError(
                f"{current!r} has no action along an axis, so the current set cannot be explored."
            )
        axis = usable[self._planned[usable].argmin()]
        self._planned[axis] += reach[axis] ** 2
        action = np.zeros(current.dim)
        action[axis] = reach[axis]
        return action

    def _exploitation_action(self, current: ActionSet) -> tuple[FloatArray, bool]:
        assert self._theta is not None
        policy = self.policy
        method: Any = policy.oracle
        solution = sparse_argmax(
            current, self._theta, policy.sparsity, method, runner_up=policy.verifies
        )
        if not policy.verifies:
            return solution.action, True
        norm = max(policy.action_set.norm_bound, current.norm_bound)
        self._gap = solution.gap
        self._threshold = policy.threshold(self._least_information(), norm)
        return solution.action, solution.gap > self._threshold

    def _least_information(self) -> float:
        return 1.0 / self._gram.largest_variance if self._gram.is_identified else 0.0

    def _learn(self, record: Any, reward: float) -> None:
        # The paper's estimator uses explorations only; with moving sets every action is kept,
        # because V is tracked anyway and a passed gap test does not depend on later data.
        self._gram.add(record, reward)

    def warm_start(self, actions: Any, rewards: Any) -> None:
        """Learn from logged (action, reward) pairs of shapes (n, dim) and (n,)."""
        self._gram.add_many(actions, rewards)

    @property
    def theta_hat(self) -> FloatArray | None:
        """The least squares estimate from every reward told so far."""
        return self._gram.estimate() if self._gram.is_identified else None

    @property
    def support(self) -> None:
        """None: a support can be locked for a fixed set only."""
        return

    def certificate(self, horizon: int | None = None) -> Certificate:
        """Say how the last gap test on a current set came out."""
        passed = self._gap > self._threshold
        warning = None
        if horizon is not None and self.policy.verifies and not passed:
            warning = (
                "The gap test on the last set did not pass; with moving sets it is made anew at "
                "each exploitation step, so no number of cycles can be promised."
            )
        return Certificate(
            locked=False,
            support=None,
            gap=self._gap,
            threshold=self._threshold,
            cycle=self._cycle,
            replications=math.floor(self._least_information()),
            cycles_to_lock=math.nan,
            steps_to_lock=math.nan,
            sigma=self.policy.sigma,
            confidence="paper",
            confidence_scale=self.policy.confidence_scale,
            warning=warning,
        )

    def _state(self) -> dict[str, Any]:
        return {
            "gram": self._gram.to_dict(),
            "planned": self._planned.tolist(),
            "cycle": self._cycle,
            "explored": self._explored,
            "exploit_left": self._exploit_left,
            "theta": None if self._theta is None else self._theta.tolist(),
            "gap": repr(self._gap),
            "threshold": repr(self._threshold),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._gram = GramStatistics.from_dict(state["gram"])
        self._planned = np.array(as_array("planned", state["planned"], ndim=1))
        self._cycle = state["cycle"]
        self._explored = state["explored"]
        self._exploit_left = state["exploit_left"]
        theta = state["theta"]
        self._theta = None if theta is None else as_array("theta", theta, ndim=1)
        self._gap = float(state["gap"])
        self._threshold = float(state["threshold"])
