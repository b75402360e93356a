"""The contract of policies can be broken, and says which promise was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.baselines.lin_ts import LinTSRule
from sparsebandits.testing import ContractError, check_policy
from sparsebandits.validation import FloatArray, IntArray


class Fine(LinTSRule):
    """A rule that keeps every promise."""


class Outside(LinTSRule):
    def choose(self, current: ActionSet) -> FloatArray:
        return 1.5 * super().choose(current)


class Dense(LinTSRule):
    def choose(self, current: ActionSet) -> FloatArray:
        return current.best_response(super().choose(current) + 0.1)


class Unmasked(LinTSRule):
    def choose(self, current: ActionSet) -> FloatArray:
        return super().choose(self.action_set)


class Unseeded(LinTSRule):
    def choose(self, current: ActionSet) -> FloatArray:
        self._tape._generators = [np.random.default_rng() for _ in self.everyone]
        return super().choose(current)


class ForgetsItsGenerator(LinTSRule):
    """Draws from a generator that no state knows."""

    def __init__(self, policy: Any, generators: Sequence[np.random.Generator], block: int) -> None:
        super().__init__(policy, [np.random.default_rng(g.integers(99)) for g in generators], block)


class ForgetsItsCount(LinTSRule):
    """Plays 0 at every fifth step, and saves no step."""

    count = 0

    def choose(self, current: ActionSet) -> FloatArray:
        self.count += 1
        return super().choose(current) * (self.count % 5 > 0)


class LanesTalk(LinTSRule):
    """What is best on the average of all lanes."""

    def choose(self, current: ActionSet) -> FloatArray:
        action = super().choose(current).mean(axis=0)
        return self.policy.best_actions(np.repeat(action[None], self.lanes, axis=0), current)


class WrongLanes(LinTSRule):
    """Takes late rewards for those of the first lanes."""

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        super()._learn(actions, rewards, pulls, self.everyone[: len(actions)])


class OneBuffer(LinTSRule):
    """Returns the same array again and again."""

    buffer: FloatArray | None = None

    def choose(self, current: ActionSet) -> FloatArray:
        chosen = super().choose(current)
        self.buffer = chosen if self.buffer is None else self.buffer
        self.buffer[:] = chosen
        return self.buffer


class Infinite(LinTSRule):
    @property
    def estimate(self) -> FloatArray:
        return np.full((self.lanes, self.dim), np.inf)


class Unlocks(LinTSRule):
    commits = True
    asked = 0

    def choose(self, current: ActionSet) -> FloatArray:
        self.asked += 1
        return super().choose(current)

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        return (0,) if self.asked % 2 else None


class InOrder(LinTSRule):
    """Cannot learn but from the last action."""

    def choose(self, current: ActionSet) -> FloatArray:
        self.last = super().choose(current)
        return self.last

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        if (actions != self.last).any():
            raise RuntimeError("out of order")
        super()._learn(actions, rewards, pulls, lanes)


class Lenient(sb.Learner):
    """Takes a reward that is no number for 0."""

    def tell(self, decision: sb.Decision | int, reward: float) -> None:
        super().tell(decision, 0.0 if isinstance(reward, float) and np.isnan(reward) else reward)


class BlindToBaselines(LinTSRule):
    """Learns from rewards as they are, whatever the policy says of a baseline."""

    def __init__(self, policy: Any, generators: Sequence[np.random.Generator], block: int) -> None:
        super().__init__(replace(policy, intercept=False), generators, block)


@dataclass(frozen=True, kw_only=True, eq=False)
class Own(sb.LinTS):
    """A policy outside the package, with the rule of the test."""

    kind: ClassVar[str] = "own"
    rule_class: ClassVar[type[LinTSRule]] = Fine
    learner_class: ClassVar[type[sb.Learner]] = sb.Learner

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> LinTSRule:
        return self.rule_class(self, generators, block)

    def start(self, seed: int | None = None) -> sb.Learner:
        return self.learner_class(self, seed)


BROKEN: list[tuple[type[LinTSRule], str]] = [
    (Outside, "Decisions are feasible"),
    (Dense, "Decisions are feasible"),
    (Infinite, "Estimates are finite"),
    (Unlocks, "a locked support stays"),
    (Unseeded, "The same seed gives the same bits"),
    (InOrder, "Rewards may come late"),
    (Unmasked, "What is not available now is not used"),
    (ForgetsItsGenerator, "saved and loaded at any moment"),
    (ForgetsItsCount, "saved and loaded at any moment"),
    (LanesTalk, "A lane has the bits of a learner alone"),
    (WrongLanes, "A lane has the bits of a learner alone"),
    (OneBuffer, "A lane has the bits of a learner alone"),
]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Own:
    """The policy, in the table."""
    monkeypatch.setitem(sb.Policy.kinds, Own.kind, Own)
    return Own(action_set=sb.LpBall(4), sparsity=2)


@pytest.mark.parametrize(("rule", "promise"), BROKEN, ids=[broken.__name__ for broken, _ in BROKEN])
def test_a_broken_promise_is_named(
    own: Own, rule: type[LinTSRule], promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Own, "rule_class", rule)
    with pytest.raises(ContractError, match=r"Not so: .*seed=3") as raised:
        check_policy(own, seed=3)
    assert promise in raised.value.promise


def test_a_policy_of_ones_own_passes(own: Own) -> None:
    check_policy(own)


def test_a_constant_that_changes_decisions_is_named(
    own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_policy(replace(own, intercept=True), seed=3)
    monkeypatch.setattr(Own, "rule_class", BlindToBaselines)
    with pytest.raises(ContractError, match="a constant in every reward changes no decision"):
        check_policy(replace(own, intercept=True), seed=3)


def test_a_learner_that_takes_anything(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Own, "learner_class", Lenient)
    with pytest.raises(ContractError, match=r"A call that is refused .*nan.* was taken"):
        check_policy(own)


def test_a_policy_outside_the_table_is_told_how_to_get_in() -> None:
    with pytest.raises(ContractError, match=r"`sb.Policy.kinds\[Own.kind\] = Own`"):
        check_policy(Own(action_set=sb.LpBall(4), sparsity=2))


def test_arguments_are_checked() -> None:
    wrong: Any = sb.LpBall(4)
    with pytest.raises(TypeError, match="policy must be a policy"):
        check_policy(wrong)
    with pytest.raises(sb.CompositionError, match="simulate and compare only"):
        check_policy(sb.Clairvoyant(action_set=sb.LpBall(4), sparsity=2))
