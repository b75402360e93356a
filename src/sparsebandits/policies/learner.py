"""A learner: a policy at work, by ask and tell."""

import copy
import json
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from sparsebandits.action_sets import ActionSet, AllBut
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.policies import binary
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.decision import Decision
from sparsebandits.policies.given import (
    as_context,
    as_finite,
    as_offer,
    as_pairs,
    context_size,
    refuse_too_large,
)
from sparsebandits.policies.ledger import Ledger
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.saved_state import (
    check_version,
    read_body,
    read_played,
    restore_generator,
    sealed,
)
from sparsebandits.policies.summary import Summary
from sparsebandits.validation import FloatArray, Support, as_integer, as_reward, describe

__all__ = ["Decision", "Learner", "Policy"]  # pickled decisions are looked for here


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
        self._ledger = Ledger()
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.policy.kind!r}, {self._ledger.made} decisions, "
            f"{len(self._ledger.open)} open)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = dict(state)
        if "_ledger" not in kept:  # pickled by an earlier release
            kept["_ledger"] = Ledger(*(kept.pop(name) for name in ("_next_id", "_open", "_told")))
        self.__dict__.update(kept)
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
            current = as_offer(self.policy, current, available)
        seen = as_context(self.policy, context)
        number = None if count is None else as_integer("count", count, minimum=1)
        with self._lock:
            if number is None and (held := self._rule.play_again(current)) is not None:
                return self._decision(held)
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
        number = self._ledger.enter(played)
        return Decision(
            number,
            played.indices,
            played.values,
            self._rule.dim,
            "exploit" if played.pull == EXPLOIT else "explore",
            self._rule.cycle_of(0) or number,
            self.policy.action_set.names,
        )

    @property
    def open_decisions(self) -> tuple[int, ...]:
        """The ids whose reward has not been told."""
        with self._lock:
            return tuple(self._ledger.open)

    def tell(self, decision: Decision | int, reward: float) -> None:
        """Tell the reward of an open decision, by the decision or its id.

        Refused without any change: an id that was never given out, one told before, and a reward
        that is not a finite number.
        """
        with self._lock:
            number = self._ledger.open_id(decision)
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
            numbers = [self._ledger.open_id(decision) for decision in decisions]
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
        lost = f"; drop the decision with forget({number}) if its reward is lost"
        value = as_finite(reward, lost)
        refuse_too_large("actions", self._ledger.open[number].values)
        return as_reward(value)

    def _take(self, number: int, reward: float) -> None:
        self._rule.take(self._ledger.open[number], reward, self._ledger.age(number))
        self._ledger.close(number, reward)

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
            number = self._ledger.told_id(decision)
            new = as_reward(as_finite(reward))
            played, old = self._ledger.told[number]
            self._rule.correct(played, old, new, self._ledger.age(number))
            self._ledger.told[number] = (played, new)

    def replace_action(
        self, decision: Decision | int, indices: Sequence[int], values: Sequence[float]
    ) -> None:
        """Say that an open decision was played by another action: its reward will be that one's.

        The learner counts the action that was played, given by its non-zeros, and has not chosen
        it: where an action was altered on its way, or made on another machine that rounds
        otherwise, what is learned is still what was played. Of an exploration that was to be of
        one action and was of another nothing is learned where only explorations count.

        An action that the policy's sparsity does not allow is refused; `forget` the decision, and
        give the pair to `warm_start`.

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
            number = self._ledger.open_id(decision)
            before = self._ledger.open[number]
            context = None if before.context is None else before.context.tolist()
            record = [list(indices), list(values), before.pull, context]
            played = read_played("open", record, dim)
            if not self.policy.sparse_oracle.obeyed_by(played.action(dim), self.policy.action_set):
                raise InvalidValueError(
                    f"The action must be allowed by a sparsity of {self.policy.sparsity}, got "
                    f"non-zeros at {describe(played.indices.tolist())}; forget({number}), and give "
                    "the action and its reward to warm_start."
                )
            self._ledger.open[number] = replace(played, pull=self._rule.pull_of(played))

    def forget(self, decision: Decision | int) -> None:
        """Close a decision whose reward will never come."""
        with self._lock:
            del self._ledger.open[self._ledger.open_id(decision)]

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
        played, earned = as_pairs(self.policy, actions, rewards)
        with self._lock:
            self._rule.learn_many(played, earned)

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
        40 rewards, noise 0.102; baseline 1.89
        coordinate  estimate     95% interval  in the best support
        radio          0.981    0.779 to 1.18                 100%
        tv             0.132  0.0122 to 0.252                  98%
        print        -0.0665  -0.248 to 0.115                   0%
        """
        with self._lock:
            return self._rule.summary(as_integer("draws", draws, minimum=1))

    def thetas_drawn(self, draws: int = 200, *, context: Any = None) -> FloatArray | None:
        """Return theta by the estimate, then by draws from the posterior, (1 + draws, dim).

        The draws are those of `certificate` and of `summary`: they depend on the data alone. None
        where the policy has no posterior, or fewer rewards than unknown numbers are told.

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
        seen = None if context is None else as_context(self.policy, context)
        with self._lock:
            return self._rule.thetas_drawn(as_integer("draws", draws, minimum=1), seen)

    # ------------------------------------------------------------------ save and load

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state, JSON-safe: the learner read back continues bit for bit."""
        with self._lock:
            state = {
                **self._rule.state(),
                **self._ledger.state(),
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
        expected = {*self._rule.state(), *self._ledger.state(), "generator"}
        if not isinstance(state, Mapping) or set(state) != expected:
            raise InvalidValueError(
                f"state must have the keys {', '.join(sorted(expected))}, got "
                f"{describe(sorted(state) if isinstance(state, Mapping) else state)}."
            )
        self._ledger = Ledger.read(state, self.policy.action_set.dim)
        restore_generator(self._rng, state["generator"])
        self._rule.restore(dict(state), self._ledger.made)
        for played in self._ledger.open.values():
            self._rule.check_pull(played)
        self._ledger.check_contexts(context_size(self.policy))


def _restored(policy: Policy, state: Any) -> Learner:
    learner = policy.start(0)
    learner._restore(state)
    return learner


def _only_lane(estimate: FloatArray | None) -> FloatArray | None:
    if estimate is None or np.isnan(estimate[0]).any():
        return None
    return np.array(estimate[0])
