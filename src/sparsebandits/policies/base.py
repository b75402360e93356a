"""What every policy and every learner offers: start, ask, tell, certificate, save and load."""

import copy
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.estimation.checks import LARGEST_REWARD
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.saved_state import read_decisions
from sparsebandits.validation import FloatArray, Support, as_integer, as_number, describe

STATE_VERSION = 1

_SHORTEST = 1.0 / LARGEST_REWARD


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One action to play, and the id under which its reward is told.

    Attributes
    ----------
    id : int
        Unique within the learner, ascending.
    action : (dim,) array
        Read-only.
    phase : str
        "explore" or "exploit".
    cycle : int
        c, from 1; where there are no cycles, the number of the decision.
    """

    id: int
    action: FloatArray
    phase: str
    cycle: int


class Policy(ABC):
    """A frozen description of how to act; `start` makes a learner that acts."""

    kind: ClassVar[str]
    """The name of the policy in the table, in files and on the command line."""

    action_set: ActionSet
    sparsity: int

    @abstractmethod
    def start(self, seed: int | None = None) -> "Learner":
        """Make a learner at its first step. The same seed gives the same bits."""

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support that the policy would lock if it knew theta, (dim,)."""
        raise InvalidTypeError(f"{type(self).__name__} never locks a support.")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `policy_from_dict` reads back."""


def check_current(policy: Policy, current: Any, oracle: str) -> None:
    """Refuse a set of another dimension than the policy's, or one that its oracle cannot sort."""
    if not isinstance(current, ActionSet):
        raise InvalidTypeError(f"action_set must be an action set, got {describe(current)}.")
    if current.dim != policy.action_set.dim:
        raise InvalidValueError(
            f"The set of this step must have dim {policy.action_set.dim}, got {current.dim}."
        )
    if oracle == "top-h" and current.sorting is None:
        raise CompositionError(
            f"Sorting is not exact on {current!r}. Use oracle='greedy' or 'exact'."
        )
    reach = np.abs(current.axis_reach())
    if ((reach > 0) & (reach < _SHORTEST)).any() or (reach >= LARGEST_REWARD).any():
        raise InvalidValueError(
            f"{current!r} has actions that are too long or too short to be learned from: along an "
            f"axis they must reach {_SHORTEST:g} to {LARGEST_REWARD:g}; change the unit."
        )


class Learner(ABC):
    """A policy at work: ask for an action, play it, tell its reward.

    Many decisions may be open at once; rewards may come late, in any order, or never. A call that
    is refused changes nothing.
    """

    def __init__(self, policy: Policy, seed: int | None) -> None:
        self.policy = policy
        self._rng = np.random.default_rng(
            None if seed is None else as_integer("seed", seed, minimum=0)
        )
        self._next_id = 1
        self._open: dict[int, Any] = {}

    # ------------------------------------------------------------------ the hooks

    @abstractmethod
    def ask(self, available: Support = None) -> Decision:
        """Return the next action; with `available`, for this request only, on those items."""

    @abstractmethod
    def _learn(self, record: Any, reward: float) -> None:
        """Take in the reward of the decision that was opened with `record`."""

    @abstractmethod
    def warm_start(self, actions: Any, rewards: Any) -> None:
        """Learn from logged pairs before, or while, running."""

    @property
    @abstractmethod
    def theta_hat(self) -> FloatArray | None:
        """The current estimate of theta*, (dim,); None while the policy has none."""

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """The estimate behind the last decision; None before the first estimate."""
        return self.theta_hat

    @property
    @abstractmethod
    def support(self) -> tuple[int, ...] | None:
        """The locked support; None until locked."""

    @abstractmethod
    def certificate(self, horizon: int | None = None) -> Certificate:
        """Say how sure the learner is, and whether that can change within `horizon` steps."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return what changes as the learner runs, JSON-safe."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Take back what `_state` returned."""

    # ------------------------------------------------------------------ decisions

    def _decide(self, action: FloatArray, phase: str, cycle: int, record: Any) -> Decision:
        number = self._next_id
        self._next_id = number + 1
        self._open[number] = record
        return Decision(number, action, phase, cycle)

    @property
    def open_decisions(self) -> tuple[int, ...]:
        """The ids whose reward has not been told."""
        return tuple(self._open)

    def tell(self, decision: Decision | int, reward: float) -> None:
        """Tell the reward of an open decision, by the decision or its id.

        Refused without any change: an id that was never given out, one told before, and a reward
        that is not a finite number.
        """
        number = self._open_id(decision)
        value = _as_float(reward)
        if not math.isfinite(value):
            raise InvalidValueError(
                f"reward must be finite, got {value}; drop the decision with forget({number}) if "
                "its reward is lost."
            )
        self._learn(self._open[number], value)
        del self._open[number]

    def forget(self, decision: Decision | int) -> None:
        """Close a decision whose reward will never come."""
        del self._open[self._open_id(decision)]

    def _open_id(self, decision: Decision | int) -> int:
        number = decision.id if isinstance(decision, Decision) else decision
        # True and 1.0 equal the id 1 and are none.
        is_id = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if is_id and number in self._open:
            return int(number)
        if is_id and 0 < number < self._next_id:
            raise InvalidValueError(
                f"Decision {number} is closed: its reward was told before, or it was forgotten. "
                "Tell each reward once."
            )
        raise InvalidValueError(
            f"Decision {describe(number)} is unknown to this learner; tell the id that ask() "
            "returned."
        )

    # ------------------------------------------------------------------ save and load

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state, JSON-safe: the learner read back continues bit for bit."""
        body = {
            "version": STATE_VERSION,
            "policy": self.policy.to_dict(),
            "state": self._whole_state(),
        }
        return {**body, "digest": _digest(body)}

    def _whole_state(self) -> dict[str, Any]:
        return {
            **self._state(),
            "next_id": self._next_id,
            "open": [[number, copy.copy(record)] for number, record in self._open.items()],
            "generator": self._rng.bit_generator.state,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Learner":
        """Rebuild a learner from `to_dict`; unknown or damaged state is refused."""
        from sparsebandits.policies.table import policy_from_dict

        if not isinstance(data, Mapping) or not {"version", "policy", "state"} <= set(data):
            raise InvalidValueError(
                f"A saved learner has the keys version, policy, state and digest, got "
                f"{describe(data)}."
            )
        if data["version"] != STATE_VERSION:
            raise InvalidValueError(
                f"The saved learner has version {describe(data['version'])}; this release reads "
                f"version {STATE_VERSION}."
            )
        body = {key: data[key] for key in ("version", "policy", "state")}
        if data.get("digest") != _digest(body):
            raise InvalidValueError(
                "The saved learner is damaged: its digest does not match its content. "
                "Load an earlier copy."
            )
        learner = policy_from_dict(data["policy"]).start(0)
        learner._restore_all(data["state"])
        return learner

    def _restore_all(self, state: Any) -> None:
        expected = set(self._whole_state())
        if not isinstance(state, Mapping) or set(state) != expected:
            raise InvalidValueError(
                f"state must have the keys {', '.join(sorted(expected))}, got "
                f"{describe(sorted(state) if isinstance(state, Mapping) else state)}."
            )
        self._next_id, self._open = read_decisions(state)
        try:
            self._rng.bit_generator.state = state["generator"]
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise InvalidValueError(
                f"state.generator is not the state of a generator: {error}."
            ) from None
        self._restore(dict(state))


def _as_float(reward: Any) -> float:
    """Return a reward as a float; a click may be told as True."""
    if isinstance(reward, (float, bool, np.bool_)):
        return float(reward)
    return as_number("reward", reward, allow_infinite=True)


def _digest(body: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"A learner is saved as plain JSON, and this is not: {error}."
        raise InvalidValueError(message) from None
    return hashlib.sha256(text.encode()).hexdigest()
