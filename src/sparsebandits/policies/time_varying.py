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
from sparsebandits.oracles import METHODS, sparse_argmax
from sparsebandits.policies.base import Decision, Learner, Policy, check_current
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.saved_state import (
    as_vector,
    read_float,
    read_gram,
    read_integer,
    read_vector,
)
from sparsebandits.policies.schedules import Schedule, make_schedule
from sparsebandits.validation import (
    FloatArray,
    Support,
    as_choice,
    as_integer,
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
        The set meant when `ask` names no other. L is its norm bound, or that of the current set
        if larger.
    sparsity : int
        H.
    sigma : float
        Sub-Gaussian scale of the noise; needed by the linear schedule only.
    delta : float
    schedule : str or function
        "linear" if every X_t is strongly convex: d sqrt(T). "sqrt" otherwise: d T^(2/3). Your own
        function of the cycle is verified as the linear one is.
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
    schedule: Any = "linear"
    oracle: str = "greedy"
    confidence_scale: float = 1.0
    insist: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set, got {describe(self.action_set)}."
            )
        # NumPy's numbers would not survive JSON.
        plain = {
            "sparsity": as_sparsity(self.sparsity, self.action_set.dim),
            "sigma": as_number("sigma", self.sigma),
            "delta": as_number("delta", self.delta),
            "confidence_scale": as_number("confidence_scale", self.confidence_scale, positive=True),
            "insist": bool(self.insist),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.sigma < 0:
            raise InvalidValueError(f"sigma must be non-negative, got {self.sigma}.")
        if not 0 < self.delta < 1:
            raise InvalidValueError(f"delta must lie in (0, 1), got {self.delta}.")
        _ = self.exploitation_steps
        as_choice("oracle", self.oracle, METHODS)
        if self.verifies and self.oracle not in ("greedy", "exact"):
            raise CompositionError(
                f"The gap test needs oracle='greedy' or 'exact', got {self.oracle!r}."
            )
        self.check_set(self.action_set)

    @property
    def verifies(self) -> bool:
        """Whether exploitation needs the gap test: always, but for the "sqrt" schedule."""
        return bool(self.schedule != "sqrt")

    def check_set(self, action_set: ActionSet) -> None:
        """Refuse a set of another dimension, or one that oracle or guarantee do not cover."""
        check_current(self, action_set, self.oracle)
        if self.verifies and not action_set.is_strongly_convex and not self.insist:
            raise CompositionError(
                f"The linear schedule is proven for strongly convex sets only, and {action_set!r} "
                "is not one. Use schedule='sqrt', or insist=True."
            )

    @cached_property
    def exploitation_steps(self) -> Schedule:
        """m_c as a function of the cycle."""
        return make_schedule(self.schedule)

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
        """Return a JSON-safe description; an own schedule function cannot be saved."""
        if not isinstance(self.schedule, str):
            raise InvalidTypeError(
                "A policy with its own schedule function cannot be saved; use a named one."
            )
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
        self._information = 0.0  # lambda_min(V) behind that estimate
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
        # Both phases may end in an exploration, so a set without one is refused at every step.
        reach = _longest_ends(current)
        self._advance()
        if self._explored < self.policy.action_set.dim:
            self._explored += 1
            return self._explore(reach)
        assert self._exploit_left
        action, passed = self._exploitation_action(current)
        self._exploit_left -= 1
        return self._open_decision(action, "exploit") if passed else self._explore(reach)

    def _open_decision(self, action: FloatArray, phase: str) -> Decision:
        action.setflags(write=False)
        return self._decide(action, phase, self._cycle, action.tolist())

    def _advance(self) -> None:
        dim = self.policy.action_set.dim
        while self._explored >= dim:
            if self._exploit_left is None:
                steps = self.policy.exploitation_steps(self._cycle)
                self._theta = self.theta_hat
                if self._theta is not None:
                    self._theta.setflags(write=False)
                    self._information = self._least_information()
                self._exploit_left = steps if self._theta is not None else 0
            if self._exploit_left:
                return
            self._cycle += 1
            self._explored = 0
            self._exploit_left = None

    def _explore(self, reach: FloatArray) -> Decision:
        """Go the longer way along the usable axis on which least has been played so far."""
        usable = np.flatnonzero(reach)
        axis = usable[self._planned[usable].argmin()]
        self._planned[axis] += reach[axis] ** 2
        action = np.zeros(reach.size)
        action[axis] = reach[axis]
        return self._open_decision(action, "explore")

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
        self._threshold = policy.threshold(self._information, norm)
        return solution.action, solution.gap > self._threshold

    def _least_information(self) -> float:
        if not self._gram.is_identified:
            return 0.0
        # V = c I is common, and must not be rounded down to c - 1 cycles.
        return (1 + 1e-9) / self._gram.largest_variance

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
    def estimate_in_use(self) -> FloatArray | None:
        """The estimate at the last end of an exploration, on which this cycle exploits."""
        return self._theta

    @property
    def support(self) -> None:
        """None: a support can be locked for a fixed set only."""
        return

    def certificate(self, horizon: int | None = None) -> Certificate:
        """Say how the last gap test on a current set came out."""
        passed = self._gap > self._threshold
        warning = None
        if horizon is not None:
            as_integer("horizon", horizon, minimum=1)
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
            "information": repr(self._information),
            "gap": repr(self._gap),
            "threshold": repr(self._threshold),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        dim = self.policy.action_set.dim
        self._gram = read_gram(state, dim)
        self._planned = as_vector("planned", state["planned"], dim).copy()
        if self._planned.min() < 0:
            raise InvalidValueError("state.planned must be non-negative.")
        self._cycle = read_integer(state, "cycle", minimum=1)
        self._explored = read_integer(state, "explored", minimum=0, maximum=dim)
        self._theta = read_vector(state, "theta", dim)
        if state["exploit_left"] is not None:
            self._exploit_left = read_integer(state, "exploit_left", minimum=0)
            if self._explored < dim or (self._exploit_left and self._theta is None):
                raise InvalidValueError(
                    "state.exploit_left must be missing until the exploration is closed and "
                    f"theta known, got {self._exploit_left}."
                )
        self._information = read_float(state, "information")
        self._gap = read_float(state, "gap")
        self._threshold = read_float(state, "threshold")
        for record in self._open.values():
            as_vector("open", record, dim)


def _longest_ends(current: ActionSet) -> FloatArray:
    """Return the longer way along each axis, (dim,); 0 where there is none."""
    lower, upper = current.axis_reach()
    reach = np.where(upper >= -lower, upper, lower)
    if not reach.any():
        raise CompositionError(
            f"{current!r} has no action along an axis, so the current set cannot be explored."
        )
    return reach
