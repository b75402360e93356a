"""Policies and learners: how to act, frozen; and a policy at work, by ask and tell."""

import copy
import json
import math
import struct
import threading
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, overload

import numpy as np

from sparsebandits.action_sets import ActionSet, AllBut
from sparsebandits.descriptions import Described
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.oracles import SparseOracle, Supports, as_limit
from sparsebandits.policies import binary
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.parameters import checked, flag
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.saved_state import (
    check_version,
    read_body,
    read_decisions,
    read_played,
    read_told,
    sealed,
)
from sparsebandits.policies.summary import Summary
from sparsebandits.validation import (
    LARGEST_REWARD,
    FloatArray,
    IntArray,
    Support,
    as_array,
    as_integer,
    as_number,
    as_reward,
    as_theta,
    brief_repr,
    describe,
    read_only,
)

_SHORTEST = 1.0 / LARGEST_REWARD

_FIRST = "_first_rule"
"""Where a policy keeps the rule from which those of its learners are copied."""

REMEMBERED = 50
"""How many told rewards are kept, to be corrected."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One action to play, and the id under which its reward is told.

    Attributes
    ----------
    id : int
        Unique within the learner, ascending.
    indices, values : arrays
        The non-zeros of the action, ascending by index. Read-only.
    dim : int
    phase : str
        "explore" or "exploit".
    cycle : int
        c, from 1; where there are no cycles, the number of the decision.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> mix = sb.Box([0, 0], [1, 2], names=["tv", "radio"])
    >>> decision = sb.SparseThompson(action_set=mix, sparsity=2).start(seed=0).ask()
    >>> decision.id, decision.action, decision.named
    (1, array([0., 2.]), {'radio': 2.0})
    """

    __repr__ = brief_repr

    id: int
    indices: IntArray
    values: FloatArray
    dim: int
    phase: str
    cycle: int
    names: tuple[str, ...] | None = None

    @property
    def named(self) -> dict[str, float]:
        """The non-zeros of the action by the names of their coordinates, or their numbers as text.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> mix = sb.Box([0, 0], [1, 2], names=["tv", "radio"])
        >>> learner = sb.SparseThompson(action_set=mix, sparsity=1).start(seed=0)
        >>> learner.ask(available=["radio"]).named
        {'radio': 2.0}
        """
        labels = [str(i) if self.names is None else self.names[i] for i in self.indices.tolist()]
        return dict(zip(labels, self.values.tolist(), strict=True))

    @property
    def action(self) -> FloatArray:
        """x, (dim,), read-only; made when it is asked for."""
        action = np.zeros(self.dim)
        action[self.indices] = self.values
        return read_only(action)


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(Described):
    """A frozen description of how to act; `start` makes a learner that acts.

    Parameters
    ----------
    action_set : ActionSet
        X; the set meant when `ask` names no other.
    sparsity : int or Supports
        H, or rules for what may be on.
    oracle : str
        How the best H-sparse action for a theta is found; "auto" is exact where that is cheap.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5)
    >>> policy.start(seed=0)
    Learner('sparse-thompson', 0 decisions, 0 open)
    >>> sb.Policy.from_dict(policy.to_dict()).sparsity
    5
    """

    noun: ClassVar[str] = "A policy"

    takes_rules: ClassVar[bool] = True
    """Whether `sparsity` may be `Supports`: all that is chosen is chosen by the oracle."""

    action_set: ActionSet
    sparsity: Any
    oracle: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set such as sb.LpBall(dim=20), "
                f"got {describe(self.action_set)}."
            )
        # What was given is replaced by what it was checked to be: NumPy's would not survive JSON.
        object.__setattr__(self, "sparsity", as_limit(self.sparsity, self.action_set))
        if not self.takes_rules and isinstance(self.sparsity, Supports):
            raise CompositionError(
                f"{type(self).__name__} chooses supports by their number of coordinates; give "
                "sparsity as a number, or use SparseThompson, which takes rules."
            )
        for entry in fields(self):
            check, given = entry.metadata.get("check"), getattr(self, entry.name)
            if check is not None and not (given is None and entry.default is None):
                object.__setattr__(self, entry.name, check(entry.name, given))
        self.check_set(self.action_set)

    @property
    def sparse_oracle(self) -> SparseOracle:
        """The oracle with the policy's sparsity."""
        return SparseOracle(self.sparsity, self.oracle)

    def check_set(self, current: ActionSet) -> None:
        """Refuse a set of another dimension, or one that the oracle does not cover."""
        if not isinstance(current, ActionSet):
            raise InvalidTypeError(f"action_set must be an action set, got {describe(current)}.")
        if current.dim != self.action_set.dim:
            raise InvalidValueError(
                f"The set of this step must have dim {self.action_set.dim}, got {current.dim}."
            )
        self.sparse_oracle.check(current)
        reach = np.abs(current.axis_reach())
        if ((reach > 0) & (reach < _SHORTEST)).any() or (reach >= LARGEST_REWARD).any():
            raise InvalidValueError(
                f"{current!r} has actions that are too long or too short to be learned from: along "
                f"an axis they must reach {_SHORTEST:g} to {LARGEST_REWARD:g}; change the unit."
            )

    @abstractmethod
    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        """Return the decision rule with one lane per generator.

        Parameters
        ----------
        generators : sequence of numpy.random.Generator
        block : int
            How many draws of each lane to make at once; it changes no bit of the choices.
        """

    def start(self, seed: int | None = None) -> "Learner":
        """Make a learner at its first step. The same seed gives the same bits."""
        return Learner(self, seed)

    def first_rule(self, generator: np.random.Generator) -> Rule:
        """Return the rule of a new learner: a copy of the first one made, where that is cheaper."""
        known: Rule | None = self.__dict__.get(_FIRST)
        if known is not None:
            return known.again(generator)
        rule = self.rule([generator])
        if rule.joins:
            self.__dict__[_FIRST] = rule.again(generator)
        return rule

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _FIRST}

    def best_actions(self, theta: FloatArray, current: ActionSet) -> FloatArray:
        """Return the oracle's action on the current set for every row of theta, (n, dim)."""
        return self.sparse_oracle.actions(theta, current)

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support that the policy would choose if it knew theta, (dim,)."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        return self.sparse_oracle.solve(known, self.action_set).support

    # ------------------------------------------------------------------ files

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `Policy.from_dict` reads back."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        if isinstance(self.sparsity, Supports):
            data["sparsity"] = self.sparsity.to_dict()
        return {"kind": self.kind, **data, "action_set": self.action_set.to_dict()}

    @classmethod
    def _from_fields(cls, **fields: Any) -> Self:
        if "action_set" in fields:  # without it, the constructor names what is missing
            fields["action_set"] = ActionSet.from_dict(fields["action_set"])
        return cls(**fields)


@dataclass(frozen=True, kw_only=True, eq=False)
class InterceptPolicy(Policy):
    """A policy that reckons with a baseline in every reward where it is told to.

    Parameters
    ----------
    intercept : bool
        Whether rewards are b + theta·x with b unknown; a constant in every reward then changes no
        decision. Off by default, as in the papers.
    """

    intercept: bool = checked(flag, False)


class ReferencePolicy(Policy):
    """A policy that is told more than rewards: a mark to measure learners by, for simulations.

    Its rule is an `InformedRule`.
    """

    sees: ClassVar[str]
    """What it is told that a learner is not, in words for tables and legends."""

    def start(self, seed: int | None = None) -> "Learner":
        """Refuse: a reference cannot be run on rewards alone."""
        raise CompositionError(
            f"{type(self).__name__} sees {self.sees}, so it runs in simulate and compare only. "
            "Use SparseThompson to learn from rewards."
        )


class Learner:
    """A policy at work: ask for an action, play it, tell its reward.

    Many decisions may be open at once; rewards may come late, in any order, or never. A call that
    is refused changes nothing. Calls from several threads are taken one at a time.

    A learner is one lane of its policy's rule.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5).start(seed=0)
    >>> first, second = learner.ask(), learner.ask()
    >>> learner.tell(second, 0.4)  # in any order, whenever it is known
    >>> learner.open_decisions
    (1,)
    >>> learner = sb.Learner.from_dict(learner.to_dict())
    >>> learner.tell(1, -0.1)
    >>> learner
    Learner('sparse-thompson', 2 decisions, 0 open)
    """

    def __init__(self, policy: Policy, seed: int | None) -> None:
        self.policy = policy
        number = None if seed is None else as_integer("seed", seed, minimum=0)
        self._rng = np.random.default_rng(number)
        dim = policy.action_set.dim
        try:
            self._rule = policy.first_rule(self._rng)
        except MemoryError:
            raise CompositionError(
                f"{type(policy).__name__} keeps matrices of {dim} x {dim} numbers, which do not "
                "fit in memory. Use APSEE or CompactAPSEEG, which keep vectors."
            ) from None
        self._next_id = 1
        self._open: dict[int, Played] = {}
        self._told: dict[int, tuple[Played, float]] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.policy.kind!r}, {self._next_id - 1} decisions, "
            f"{len(self._open)} open)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    # ------------------------------------------------------------------ ask and tell

    @overload
    def ask(
        self,
        available: Support | AllBut = ...,
        action_set: ActionSet | None = ...,
        *,
        context: Any = ...,
        count: None = ...,
    ) -> Decision: ...

    @overload
    def ask(
        self,
        available: Support | AllBut = ...,
        action_set: ActionSet | None = ...,
        *,
        context: Any = ...,
        count: int,
    ) -> list[Decision]: ...

    def ask(
        self,
        available: Support | AllBut = None,
        action_set: ActionSet | None = None,
        *,
        context: Any = None,
        count: int | None = None,
    ) -> Decision | list[Decision]:
        """Return the next action, or several that are to be tried at the same time.

        Parameters
        ----------
        available : mask, indices or names, or `AllBut`, optional
            Items that may be used now.
        action_set : ActionSet, optional
            X_t; the policy's own set if left out.
        context : (z,) array, optional
            What is seen before deciding, where the policy has a context.
        count : int, optional
            How many; then a list is returned. Each counts the others as played, their rewards not
            being known.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5).start(seed=0)
        >>> [decision.id for decision in learner.ask(count=3)]
        [1, 2, 3]
        """
        current = self.policy.action_set if action_set is None else action_set
        if action_set is not None:
            self.policy.check_set(action_set)
        if available is not None:
            current = current.restrict(available)
        seen = self._as_context(context)
        number = None if count is None else as_integer("count", count, minimum=1)
        with self._lock:
            generator = self._rng.bit_generator.state
            try:
                if number is not None:
                    plays = self._rule.play_many(current, number, seen)
                    return [self._decision(played) for played in plays]
                return self._decision(self._rule.play(current, seen))
            except BaseException:
                self._rng.bit_generator.state = generator
                raise

    def _decision(self, played: Played) -> Decision:
        """Open a decision for what is played."""
        number = self._next_id
        self._open[number] = played
        self._next_id += 1
        return Decision(
            number,
            played.indices,
            played.values,
            self._rule.dim,
            "exploit" if played.pull == EXPLOIT else "explore",
            self._rule.cycle_of(0) or number,
            self.policy.action_set.names,
        )

    def _as_context(self, context: Any) -> FloatArray | None:
        size = getattr(self.policy, "context", 0)
        if context is None and not size:
            return None
        seen = None if context is None else as_array("context", context, ndim=1)
        if seen is None or seen.size != size:
            raise InvalidValueError(
                f"{type(self.policy).__name__} decides by a context of {size} numbers (its keyword "
                f"context), got {describe(context)}."
            )
        _refuse_too_large("context", seen)
        return read_only(seen)

    @property
    def open_decisions(self) -> tuple[int, ...]:
        """The ids whose reward has not been told."""
        with self._lock:
            return tuple(self._open)

    def tell(self, decision: Decision | int, reward: float) -> None:
        """Tell the reward of an open decision, by the decision or its id.

        Refused without any change: an id that was never given out, one told before, and a reward
        that is not a finite number.
        """
        with self._lock:
            number = self._open_id(decision)
            self._take(number, self._earned(number, reward))

    def tell_many(self, decisions: Sequence[Decision | int], rewards: Sequence[float]) -> None:
        """Tell the rewards of several open decisions, in this order: all of them, or none.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2).start(seed=0)
        >>> learner.tell_many(learner.ask(count=2), [0.5, -0.1])
        >>> learner.open_decisions
        ()
        """
        with self._lock:
            numbers = [self._open_id(decision) for decision in decisions]
            if len(numbers) != len(rewards) or len(set(numbers)) < len(numbers):
                raise InvalidValueError(
                    f"tell_many needs distinct decisions and one reward for each, got "
                    f"{describe(numbers)} and {len(rewards)} rewards."
                )
            told = [self._earned(*pair) for pair in zip(numbers, rewards, strict=True)]
            for number, reward in zip(numbers, told, strict=True):
                self._take(number, reward)

    def _earned(self, number: int, reward: Any) -> float:
        """Return the reward as a float that can be learned from."""
        value = _as_float(reward)
        if not math.isfinite(value):
            raise InvalidValueError(
                f"reward must be finite, got {value}; drop the decision with forget({number}) "
                "if its reward is lost."
            )
        _refuse_too_large("actions", self._open[number].values)
        return as_reward(value)

    def _take(self, number: int, reward: float) -> None:
        self._rule.take(self._open[number], reward, self._age(number))
        self._close(number, reward)

    def _age(self, number: int) -> int:
        """Return how many decisions were made after this one."""
        return self._next_id - 1 - number

    def _close(self, number: int, reward: float) -> None:
        """Remember a reward that was taken in."""
        self._told[number] = (self._open.pop(number), reward)
        if len(self._told) > REMEMBERED:
            del self._told[min(self._told)]

    def correct(self, decision: Decision | int, reward: float) -> None:
        """Replace the reward that was told of a decision by another.

        What is known is then as if the right one had been told; decisions made meanwhile stay what
        they are. The rewards of the last 50 decisions told can be replaced, by policies that learn
        by a regression of all rewards.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2).start(seed=0)
        >>> decision = learner.ask()
        >>> learner.tell(decision, 700.0)
        >>> learner.correct(decision, 0.7)
        """
        with self._lock:
            number = decision.id if isinstance(decision, Decision) else decision
            if isinstance(number, bool) or number not in self._told:
                raise InvalidValueError(
                    f"Only the last {REMEMBERED} rewards told can be corrected, and decision "
                    f"{describe(number)} is none of them."
                )
            value = _as_float(reward)
            if not math.isfinite(value):
                raise InvalidValueError(f"reward must be finite, got {value}.")
            played, old = self._told[number]
            new = as_reward(value)
            self._rule.correct(played, old, new, self._age(number))
            self._told[number] = (played, new)

    def replace_action(
        self, decision: Decision | int, indices: Sequence[int], values: Sequence[float]
    ) -> None:
        """Say that an open decision was played by another action: its reward will be that one's.

        The learner counts the action that was played, given by its non-zeros, and has not chosen
        it: where an action was altered on its way, or made on another machine that rounds
        otherwise, what is learned is still what was played.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2).start(seed=0)
        >>> decision = learner.ask()
        >>> learner.replace_action(decision, [1], [0.5])
        >>> learner.tell(decision, 0.7)
        """
        dim = self.policy.action_set.dim
        with self._lock:
            number = self._open_id(decision)
            before = self._open[number]
            context = None if before.context is None else before.context.tolist()
            record = [list(indices), list(values), before.pull, context]
            self._open[number] = read_played("open", record, dim)

    def forget(self, decision: Decision | int) -> None:
        """Close a decision whose reward will never come."""
        with self._lock:
            del self._open[self._open_id(decision)]

    def warm_start(self, actions: Any, rewards: Any) -> None:
        """Learn from logged (action, reward) pairs of shapes (n, dim) and (n,).

        They should not have been chosen by looking at their own rewards: no guarantee survives
        that. Logs of actions fixed in advance keep the guarantee of a gap test with the bounds
        "paper" and "coordinate", which pay for each number of replications by itself. For the
        others ("stitched", "mixture", "pairwise", "support") it is not proved: their martingale
        takes one replication of the whole basis at a time, and logs do not come like that.

        Where rewards fade (``half_life``), logged pairs count in full now, all alike, whatever
        their order, and fade from now on with the decisions that follow: the clock is that of
        decisions, and logs do not move it.
        """
        if getattr(self.policy, "context", 0):
            raise CompositionError(
                f"{type(self.policy).__name__} with a context cannot learn from pairs that do not "
                "say what was seen: ask with each context, and tell its reward."
            )
        played = as_array("actions", actions, ndim=2)
        earned = as_array("rewards", rewards, ndim=1)
        dim = self.policy.action_set.dim
        if played.shape != (earned.size, dim):
            raise InvalidValueError(
                f"actions must have shape (n, {dim}) and rewards (n,), got {played.shape} "
                f"and {earned.shape}."
            )
        _refuse_too_large("actions and rewards", played, earned)
        with self._lock:
            self._rule.learn_many(played, earned)

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

    # ------------------------------------------------------------------ what is known

    @property
    def theta_hat(self) -> FloatArray | None:
        """The estimate from the rewards told so far, (dim,); None while there is none."""
        with self._lock:
            return _only_lane(self._rule.estimate)

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """The estimate behind the last decision; None before the first estimate."""
        with self._lock:
            return _only_lane(self._rule.estimate_in_use)

    @property
    def support(self) -> tuple[int, ...] | None:
        """The support that is locked; None until then, and where the policy never commits."""
        with self._lock:
            return self._rule.support_in(0)

    def certificate(self, horizon: int | None = None, draws: int = 200) -> Certificate:
        """Say how sure the learner is, and whether that can change within `horizon` more steps.

        With a gap test: where it stands. With a posterior: the share of draws from it whose best
        support is that of the estimate, one oracle call each; the draws depend on the data alone
        and do not move the learner's generator.
        """
        steps = None if horizon is None else as_integer("horizon", horizon, minimum=1)
        with self._lock:
            known = self._rule.certificate(steps, as_integer("draws", draws, minimum=1))
        return replace(known, names=self.policy.action_set.names)

    def summary(self, draws: int = 200) -> Summary:
        """Return a table of the coordinates: name, estimate, interval, and how likely each is used.

        The last is the share of draws from the posterior whose best action uses the coordinate; the
        draws are those of `certificate`.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> mix = sb.Box([0, 0, 0], [1, 1, 1], names=["tv", "radio", "print"])
        >>> learner = sb.SparseThompson(action_set=mix, sparsity=2).start(seed=0)
        >>> for step in range(40):
        ...     decision = learner.ask()
        ...     learner.tell(decision, 2 + decision.action @ [0.1, 0.9, -0.2] + 0.1 * (-1) ** step)
        >>> learner.summary()
        40 rewards, noise 0.103; baseline 1.95
        coordinate  estimate     95% interval  in the best support
        radio          0.952    0.786 to 1.12                 100%
        tv            0.0955  -0.011 to 0.202                  92%
        print        -0.0735  -0.265 to 0.118                   2%
        """
        with self._lock:
            return self._rule.summary(as_integer("draws", draws, minimum=1))

    def thetas_drawn(self, draws: int = 200, *, context: Any = None) -> FloatArray | None:
        """Return theta by the estimate, then by draws from the posterior, (1 + draws, dim).

        The draws are those of `certificate`: they depend on the data alone. None where the policy
        has no posterior, or fewer rewards than unknown numbers are told.

        Parameters
        ----------
        draws : int
        context : (z,) array, optional
            Where theta depends on what is seen; z = 0 if left out.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(3), sparsity=1).start(seed=0)
        >>> learner.thetas_drawn() is None
        True
        >>> learner.warm_start([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], [0.5, 2.0, 0.1, 0.6])
        >>> learner.thetas_drawn(100).shape
        (101, 3)
        """
        seen = None if context is None else self._as_context(context)
        with self._lock:
            return self._rule.thetas_drawn(as_integer("draws", draws, minimum=1), seen)

    # ------------------------------------------------------------------ save and load

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state, JSON-safe: the learner read back continues bit for bit."""
        with self._lock:
            state = {
                **self._rule.state(),
                "next_id": self._next_id,
                "open": [[number, *played.to_list()] for number, played in self._open.items()],
                "told_rewards": [
                    [number, *played.to_list(), reward]
                    for number, (played, reward) in sorted(self._told.items())
                ],
                "generator": copy.deepcopy(self._rng.bit_generator.state),
            }
        return sealed(self.policy.to_dict(), state)

    def to_bytes(self, *, with_policy: bool = True) -> bytes:
        """Return what `to_dict` does as compact bytes; without the policy if that is kept apart."""
        data = self.to_dict()
        del data["digest"]  # the bytes have their own
        if not with_policy:
            del data["policy"]
        return binary.encode(data)

    @staticmethod
    def from_bytes(data: bytes, policy: Policy | None = None) -> "Learner":
        """Rebuild a learner from `to_bytes`; with `policy` where it was kept apart.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> learner = sb.SparseThompson(action_set=sb.LpBall(5), sparsity=2).start(seed=0)
        >>> sb.Learner.from_bytes(learner.to_bytes())
        Learner('sparse-thompson', 0 decisions, 0 open)
        >>> alone = learner.to_bytes(with_policy=False)
        >>> sb.Learner.from_bytes(alone, learner.policy)
        Learner('sparse-thompson', 0 decisions, 0 open)
        """
        try:
            if data[: len(binary.MAGIC)] != binary.MAGIC:  # as it was written before
                return Learner.from_dict(json.loads(zlib.decompress(data)), policy)
            saved = binary.decode(data)
        except (TypeError, ValueError, zlib.error, struct.error) as error:
            raise InvalidValueError(f"These are not the bytes of a learner: {error}.") from None
        check_version(saved)
        if policy is None and "policy" not in saved:
            raise InvalidValueError(
                "These bytes hold a learner without its policy; give the policy as well."
            )
        chosen = Policy.from_dict(saved["policy"]) if policy is None else policy
        return _restored(chosen, saved["state"])

    @staticmethod
    def from_dict(data: Mapping[str, Any], policy: Policy | None = None) -> "Learner":
        """Rebuild a learner from `to_dict`; unknown, damaged or contradictory state is refused.

        Learners that are given their `policy` share that object; it must be the one they had.
        """
        if policy is not None:
            data = {**data, "policy": policy.to_dict()}  # of which the digest is, too
        described, state = read_body(data)
        return _restored(Policy.from_dict(described) if policy is None else policy, state)

    def _restore(self, state: Any) -> None:
        expected = {*self._rule.state(), "next_id", "open", "told_rewards", "generator"}
        if not isinstance(state, Mapping) or set(state) != expected:
            raise InvalidValueError(
                f"state must have the keys {', '.join(sorted(expected))}, got "
                f"{describe(sorted(state) if isinstance(state, Mapping) else state)}."
            )
        dim = self.policy.action_set.dim
        self._next_id, self._open = read_decisions(state, dim)
        self._told = read_told(state, self._next_id, dim)
        try:
            self._rng.bit_generator.state = state["generator"]
            if not self._rng.bit_generator.state["state"]["inc"] % 2:
                raise ValueError("an even increment repeats itself")
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise InvalidValueError(
                f"state.generator is not the state of a generator: {error}."
            ) from None
        self._rule.restore(dict(state), self._next_id - 1)
        for played in self._open.values():
            self._rule.check_pull(played)
        size = getattr(self.policy, "context", 0)
        for played in (*self._open.values(), *(played for played, _ in self._told.values())):
            if (0 if played.context is None else played.context.size) != size:
                raise InvalidValueError(
                    f"state.open and state.told_rewards must hold contexts of {size} numbers, got "
                    f"{describe(played.to_list()[-1])}."
                )


def _restored(policy: Policy, state: Any) -> Learner:
    learner = policy.start(0)
    learner._restore(state)
    return learner


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _only_lane(estimate: FloatArray | None) -> FloatArray | None:
    if estimate is None or np.isnan(estimate[0]).any():
        return None
    return np.array(estimate[0])


def _refuse_too_large(name: str, *arrays: FloatArray) -> None:
    largest = max(float(np.abs(array).max(initial=0.0)) for array in arrays)
    if largest >= LARGEST_REWARD:
        raise InvalidValueError(
            f"{name} must be smaller than {LARGEST_REWARD:g} in size to be learned from, got "
            f"{largest:g}; change the unit."
        )


def _as_float(reward: Any) -> float:
    """Return a reward as a float; a click may be told as True."""
    if isinstance(reward, (float, bool, np.bool_)):
        return float(reward)
    return as_number("reward", reward, allow_infinite=True)
