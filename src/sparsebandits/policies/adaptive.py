"""Policies that decide anew at every step, and the learner that runs their rule."""

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.estimation.checks import LARGEST_REWARD, as_reward
from sparsebandits.oracles import ORACLES, sparse_argmax, sparse_argmax_batch
from sparsebandits.policies.base import Decision, Learner, Policy, check_current
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.posterior import describe_posterior
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.saved_state import as_vector, read_indices
from sparsebandits.validation import (
    FloatArray,
    Support,
    as_array,
    as_choice,
    as_integer,
    as_sparsity,
    as_theta,
    describe,
)

_PHASES = ("explore", "exploit")

SIMULATION_BLOCK = 64
"""Rows of random numbers that the simulator draws ahead for each lane."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptivePolicy(Policy):
    """What a policy that decides at every step has in common with the others.

    Parameters
    ----------
    action_set : ActionSet
        X; the set meant when `ask` names no other.
    sparsity : int
        H.
    oracle : str
        How the best H-sparse action for a theta is found; "auto" is exact where that is cheap.
    """

    action_set: ActionSet
    sparsity: int
    oracle: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set such as sb.LpBall(dim=20), "
                f"got {describe(self.action_set)}."
            )
        # NumPy's numbers would not survive JSON.
        object.__setattr__(self, "sparsity", as_sparsity(self.sparsity, self.action_set.dim))
        as_choice("oracle", self.oracle, ORACLES)
        self.check_set(self.action_set)

    def check_set(self, current: ActionSet) -> None:
        """Refuse a set of another dimension, or one that the oracle does not cover."""
        check_current(self, current, self.oracle)

    @abstractmethod
    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        """Return the decision rule with one lane per generator.

        Parameters
        ----------
        generators : sequence of numpy.random.Generator
        block : int
            How many draws of each lane to make at once; it changes no bit of the choices.
        """

    def best_actions(self, theta: FloatArray, current: ActionSet) -> FloatArray:
        """Return the oracle's action on the current set for every row of theta, (n, dim)."""
        return sparse_argmax_batch(current, theta, self.sparsity, self.oracle).actions

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support of the oracle's action for theta, (dim,)."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        return sparse_argmax(self.action_set, known, self.sparsity, self.oracle).support

    def start(self, seed: int | None = None) -> "AdaptiveLearner":
        """Make a learner at its first step."""
        try:
            return AdaptiveLearner(self, seed)
        except MemoryError:
            dim = self.action_set.dim
            raise CompositionError(
                f"{type(self).__name__} keeps matrices of {dim} x {dim} numbers, which do not fit "
                "in memory. Use APSEE or CompactAPSEEG, which keep vectors."
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `policy_from_dict` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **data, "action_set": self.action_set.to_dict()}

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> "AdaptivePolicy":
        return cls(**{**data, "action_set": ActionSet.from_dict(data["action_set"])})


class ReferencePolicy(AdaptivePolicy):
    """A policy that is told more than rewards: a mark to measure learners by, for simulations.

    Its rule is an `InformedRule`.
    """

    sees: ClassVar[str]
    """What it is told that a learner is not, in words for tables and legends."""

    def start(self, seed: int | None = None) -> "AdaptiveLearner":
        """Refuse: a reference cannot be run on rewards alone."""
        raise CompositionError(
            f"{type(self).__name__} sees {self.sees}, so it runs in simulate and compare only. "
            "Use SparseThompson to learn from rewards."
        )


class AdaptiveLearner(Learner):
    """One lane of a rule, with decisions that may stay open, and sets that may change."""

    policy: AdaptivePolicy

    def __init__(self, policy: AdaptivePolicy, seed: int | None) -> None:
        super().__init__(policy, seed)
        self._rule = policy.rule([self._rng])
        self._whole = policy.action_set
        self._dim = policy.action_set.dim

    def ask(self, available: Support = None, action_set: ActionSet | None = None) -> Decision:
        """Return the next action.

        Parameters
        ----------
        available : mask or indices, optional
            Items that may be used now.
        action_set : ActionSet, optional
            X_t; the policy's own set if left out.
        """
        current = self._whole if action_set is None else action_set
        if action_set is not None:
            self.policy.check_set(action_set)
        if available is not None:
            current = current.restrict(available)
        generator = self._rng.bit_generator.state
        try:
            action = self._rule.choose(current)[0].copy()
        except BaseException:
            self._rng.bit_generator.state = generator
            raise
        action.setflags(write=False)
        phase = "explore" if self._rule.exploring[0] else "exploit"
        places = np.flatnonzero(action)
        record = [places.tolist(), action[places].tolist(), phase]
        return self._decide(action, phase, self._next_id, record)

    def _learn(self, record: Any, reward: float) -> None:
        places, values, phase = record
        action = np.zeros((1, self._dim))
        action[0, places] = values
        earned = np.array([as_reward(reward)])
        if np.abs(action).max() >= LARGEST_REWARD:
            raise InvalidValueError(
                f"actions must be smaller than {LARGEST_REWARD:g} in size to be learned from, got "
                f"{np.abs(action).max():g}; change the unit."
            )
        self._rule.learn(action, earned, np.array([phase == "explore"]))

    def warm_start(self, actions: Any, rewards: Any) -> None:
        """Learn from logged (action, reward) pairs of shapes (n, dim) and (n,)."""
        played = as_array("actions", actions, ndim=2)
        earned = as_array("rewards", rewards, ndim=1)
        if played.shape != (earned.size, self._dim):
            raise InvalidValueError(
                f"actions must have shape (n, {self._dim}) and rewards (n,), got {played.shape} "
                f"and {earned.shape}."
            )
        largest = max(np.abs(played).max(initial=0), np.abs(earned).max(initial=0))
        if largest >= LARGEST_REWARD:
            raise InvalidValueError(
                f"actions and rewards must be smaller than {LARGEST_REWARD:g} in size, got "
                f"{largest:g}; change the unit."
            )
        if earned.size:
            self._rule.learn_many(played, earned)

    @property
    def theta_hat(self) -> FloatArray | None:
        """The estimate from the rewards told so far."""
        estimate = self._rule.estimate
        return None if estimate is None else estimate[0].copy()

    @property
    def support(self) -> tuple[int, ...] | None:
        """The support that the policy has committed to; None where it never does, or not yet."""
        return self._rule.support_in(0)

    def certificate(self, horizon: int | None = None, draws: int = 200) -> Certificate:
        """Say what is known: the estimate, its uncertainty, how likely its support is the best.

        The probability is the share of draws from the posterior whose best support is that of the
        estimate: one oracle call each. The draws depend on the data alone and do not move the
        learner's generator.
        """
        if horizon is not None:
            as_integer("horizon", horizon, minimum=1)
        return describe_posterior(self.policy, self._rule, as_integer("draws", draws, minimum=1))

    def _state(self) -> dict[str, Any]:
        return self._rule.state()

    def _whole_state(self) -> dict[str, Any]:
        state = super()._whole_state()
        return {**state, "open": copy.deepcopy(state["open"])}  # a record is a list of lists

    def _restore(self, state: dict[str, Any]) -> None:
        self._rule.restore(state)
        self._open = copy.deepcopy(self._open)
        for record in self._open.values():
            if not isinstance(record, list) or len(record) != 3 or record[2] not in _PHASES:
                raise InvalidTypeError(
                    "state.open must hold actions as [indices, values, phase], got "
                    f"{describe(record)}."
                )
            places = read_indices({"open": record[0]}, "open", self._dim)
            if places or record[1] != []:  # the action 0 has neither
                as_vector("open", record[1], len(places))
