"""Any order of calls, with a plain model beside: what was asked, told, forgotten and logged."""

import json
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import sparsebandits as sb
from sparsebandits.policies import Decision, Learner
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    FIRST_OF_EACH,
    Make,
    Play,
    adaptive,
    apsee,
    apsee_g,
    assert_close,
    box,
    compact,
    decision_of,
    expected_estimate,
    moving,
    prior_of,
)

DIM = 3
SETTINGS = settings(stateful_step_count=40, deadline=None, derandomize=True)

rewards = st.floats(-10, 10).map(lambda value: round(value, 3))
masks = st.lists(st.booleans(), min_size=DIM, max_size=DIM)
logged = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0]), min_size=DIM, max_size=DIM), rewards
    ),
    min_size=1,
    max_size=4,
)


class LearnerMachine(RuleBasedStateMachine):
    """The model keeps every decision and every pair of action and reward."""

    make: ClassVar[Make]
    everything_counts: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.policy = type(self).make()
        self.learner: Learner = self.policy.start(seed=1)
        self.open: dict[int, Decision] = {}
        self.closed: set[int] = set()
        self.pairs: list[tuple[FloatArray, float]] = []
        self.explored: dict[int, list[FloatArray]] = {}
        self.cycle = 1
        self.support: tuple[int, ...] | None = None

    # ------------------------------------------------------------------ ask

    def opened(self, decision: Decision, current: sb.ActionSet) -> None:
        assert decision.id == len(self.open) + len(self.closed) + 1
        assert current.contains(decision.action)
        assert np.count_nonzero(decision.action) <= self.policy.sparsity
        assert decision.cycle >= self.cycle
        assert not decision.action.flags.writeable
        self.cycle = decision.cycle
        self.open[decision.id] = decision
        if decision.phase == "explore":
            self.explored.setdefault(decision.cycle, []).append(decision.action)

    @rule()
    def ask(self) -> None:
        self.opened(self.learner.ask(), self.policy.action_set)

    @rule(mask=masks)
    def ask_masked(self, mask: list[bool]) -> None:
        if any(mask):
            current = self.policy.action_set.restrict(mask)
            self.opened(self.learner.ask(available=mask), current)
        else:
            self.refused(lambda: self.learner.ask(available=mask))

    # ------------------------------------------------------------------ tell

    def pick(self, number: int) -> Decision:
        return self.open[sorted(self.open)[number % len(self.open)]]

    def counts(self, decision: Decision) -> bool:
        return self.everything_counts or decision.phase == "explore"

    @precondition(lambda self: bool(self.open))
    @rule(number=st.integers(0, 10**6), reward=rewards, by_id=st.booleans())
    def tell(self, number: int, reward: float, by_id: bool) -> None:
        decision = self.pick(number)
        self.learner.tell(decision.id if by_id else decision, reward)
        del self.open[decision.id]
        self.closed.add(decision.id)
        if self.counts(decision):
            self.pairs.append((decision.action, reward))

    @precondition(lambda self: len(self.open) > 2 * DIM)
    @rule(reward=rewards)
    def tell_all(self, reward: float) -> None:
        for number in sorted(self.open, reverse=True):
            self.tell(sorted(self.open).index(number), reward, True)

    @precondition(lambda self: bool(self.open))
    @rule(number=st.integers(0, 10**6))
    def forget(self, number: int) -> None:
        decision = self.pick(number)
        self.learner.forget(decision)
        del self.open[decision.id]
        self.closed.add(decision.id)

    @rule(pairs=logged)
    def warm_start(self, pairs: list[tuple[list[float], float]]) -> None:
        self.learner.warm_start([a for a, _ in pairs], [r for _, r in pairs])
        self.pairs += [(np.array(action), reward) for action, reward in pairs]

    # ------------------------------------------------------------------ refusals, saving

    def refused(self, call: Any) -> None:
        before = self.learner.to_dict()
        with pytest.raises(sb.SparseBanditsError):
            call()
        assert self.learner.to_dict() == before

    @precondition(lambda self: bool(self.closed))
    @rule(number=st.integers(0, 10**6))
    def tell_twice(self, number: int) -> None:
        closed = sorted(self.closed)[number % len(self.closed)]
        self.refused(lambda: self.learner.tell(closed, 1.0))

    @rule(number=st.sampled_from([0, -1, 10**9, "x", None, 1.5, True, [1]]))
    def tell_unknown(self, number: Any) -> None:
        self.refused(lambda: self.learner.tell(number, 1.0))

    @precondition(lambda self: bool(self.open))
    @rule(reward=st.sampled_from([float("nan"), float("inf"), "1", None, [1.0], 10**400]))
    def tell_nonsense(self, reward: Any) -> None:
        self.refused(lambda: self.learner.tell(min(self.open), reward))

    @rule(actions=st.sampled_from([[[1.0]], [[np.nan] * DIM], "x"]))
    def warm_start_with_nonsense(self, actions: Any) -> None:
        self.refused(lambda: self.learner.warm_start(actions, [1.0]))

    @rule()
    def save_and_load(self) -> None:
        text = json.dumps(self.learner.to_dict())
        self.learner = sb.Learner.from_dict(json.loads(text))
        assert json.dumps(self.learner.to_dict()) == text

    @rule(horizon=st.one_of(st.none(), st.integers(1, 1000)))
    def certify(self, horizon: int | None) -> None:
        before = self.learner.to_dict()
        certificate = self.learner.certificate(horizon)
        assert certificate.locked == (self.learner.support is not None)
        self.check_cycle(certificate)
        assert self.learner.to_dict() == before

    def check_cycle(self, certificate: sb.Certificate) -> None:
        assert certificate.cycle == self.cycle or not self.open

    # ------------------------------------------------------------------ always

    @invariant()
    def open_decisions_are_those_of_the_model(self) -> None:
        assert self.learner.open_decisions == tuple(sorted(self.open))

    @invariant()
    def the_estimate_is_least_squares(self) -> None:
        theta = self.learner.theta_hat
        if not self.pairs:
            assert theta is None
            return
        actions = np.array([action for action, _ in self.pairs])
        found, _, rank, _ = np.linalg.lstsq(
            actions, np.array([reward for _, reward in self.pairs]), rcond=None
        )
        assert (theta is not None) == (rank == DIM)
        if theta is not None:
            np.testing.assert_allclose(theta, found, rtol=1e-7, atol=1e-9)

    @invariant()
    def a_lock_is_for_ever(self) -> None:
        if self.support is not None:
            assert self.learner.support == self.support
        self.support = self.learner.support


class PhasedMachine(LearnerMachine):
    """Beside the estimate, the counts and sums of each exploration action, and the cycles."""

    @invariant()
    def arms_are_those_of_the_model(self) -> None:
        assert isinstance(self.policy, (sb.APSEE, sb.APSEEG, sb.CompactAPSEEG))
        arms = self.learner.to_dict()["state"]
        for k, row in enumerate(self.policy.exploration.actions):
            told = [reward for action, reward in self.pairs if np.array_equal(action, row)]
            assert arms["counts"][k] == len(told)
            assert arms["sums"][k] == pytest.approx(sum(told), abs=1e-9)

    @invariant()
    def each_action_is_explored_once_per_cycle(self) -> None:
        for cycle, actions in self.explored.items():
            distinct = {action.tobytes() for action in actions}
            assert len(distinct) == len(actions)
            if cycle < self.cycle:
                assert len(actions) == DIM


class APSEEMachine(PhasedMachine):
    make = staticmethod(lambda: apsee(sb.LpBall(DIM), sigma=0.5, confidence="pairwise"))


class APSEEGMachine(PhasedMachine):
    make = staticmethod(
        lambda: apsee_g(
            sb.Ellipsoid(np.eye(DIM) + 0.3),
            sigma="estimate",
            confidence_scale=0.05,
            basis=np.array([[0.5, 0.0, 0.0], [0.3, 0.3, 0.0], [0.0, 0.3, -0.4]]),
        )
    )


class CompactMachine(PhasedMachine):
    make = staticmethod(lambda: compact(sb.Budget(1.0, np.full(DIM, 0.7))))


class AllDataMachine(LearnerMachine):
    make = staticmethod(
        lambda: apsee(sb.LpBall(DIM, p=1.5), sigma=0.1, confidence_scale=0.1, use_all_data=True)
    )
    everything_counts = True


class MovingMachine(LearnerMachine):
    make = staticmethod(lambda: moving(sb.LpBall(DIM), sigma=0.1, confidence_scale=0.05))
    everything_counts = True
    sets: ClassVar[list[sb.ActionSet]] = [
        sb.LpBall(DIM, p=1.5),
        sb.Ellipsoid(np.eye(DIM) + 0.5),
        sb.Ellipsoid(np.diag([1.0, 4.0, 9.0])).restrict([0, 2]),
    ]

    @rule(number=st.integers(0, 2), mask=masks)
    def ask_on_another_set(self, number: int, mask: list[bool]) -> None:
        assert isinstance(self.learner, Learner)
        learner, current = self.learner, self.sets[number]
        if not (np.array(mask) & current.available).any():
            self.refused(lambda: learner.ask(available=mask, action_set=current))
            self.opened(learner.ask(action_set=current), current)
        else:
            decision = learner.ask(available=mask, action_set=current)
            self.opened(decision, current.restrict(mask))

    @rule(current=st.sampled_from([sb.LpBall(DIM, p=1.0), sb.LpBall(DIM + 1), None, "x"]))
    def ask_on_nonsense(self, current: Any) -> None:
        learner = self.learner
        assert isinstance(learner, Learner)
        if current is not None:
            self.refused(lambda: learner.ask(action_set=current))


class MovingSqrtMachine(MovingMachine):
    make = staticmethod(lambda: moving(sb.LpBall(DIM), schedule="sqrt"))

    @rule(current=st.sampled_from([sb.LpBall(DIM + 1), "x", 3]))
    def ask_on_nonsense(self, current: Any) -> None:
        learner = self.learner
        assert isinstance(learner, Learner)
        self.refused(lambda: learner.ask(action_set=current))


class AdaptiveMachine(LearnerMachine):
    """Sets of the step beside masks; all rewards in a ridge regression."""

    everything_counts = True
    ridged: ClassVar[bool] = True
    is_final: ClassVar[bool] = True
    sets: ClassVar[list[sb.ActionSet]] = MovingMachine.sets

    @rule(number=st.integers(0, 2), mask=masks)
    def ask_on_another_set(self, number: int, mask: list[bool]) -> None:
        learner, current = self.learner, self.sets[number]
        assert isinstance(learner, Learner)
        if not (np.array(mask) & current.available).any():
            self.refused(lambda: learner.ask(available=mask, action_set=current))
            self.opened(learner.ask(action_set=current), current)
        else:
            decision = learner.ask(available=mask, action_set=current)
            self.opened(decision, current.restrict(mask))

    @rule(current=st.sampled_from([sb.LpBall(DIM + 1), "x", 3]))
    def ask_on_nonsense(self, current: Any) -> None:
        learner = self.learner
        assert isinstance(learner, Learner)
        self.refused(lambda: learner.ask(action_set=current))

    def check_cycle(self, certificate: sb.Certificate) -> None:
        assert certificate.cycle == certificate.replications + 1
        assert certificate.replications == (len(self.pairs) if self.ridged else 0)

    @invariant()
    def the_estimate_is_least_squares(self) -> None:
        """Of the rewards and the prior: no row is needed for each coordinate."""
        assert (prior_of(self.policy) is not None) == self.ridged
        if not self.ridged:
            return
        plays = [Play(decision_of(action), reward) for action, reward in self.pairs]
        found = expected_estimate(self.learner, plays)
        assert_close(self.learner.theta_hat, found, rtol=1e-5, atol=1e-7)

    @invariant()
    def a_lock_is_for_ever(self) -> None:
        if self.support is not None:
            assert self.learner.support is not None
            assert self.learner.support == self.support or not self.is_final
        self.support = self.learner.support


class ThompsonMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("sparse-thompson", sb.LpBall(DIM), guarantee=True))


class LinTSMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("lin-ts", sb.LpBall(DIM)))


class OFULMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("oful", sb.LpBall(DIM), starts=3, sweeps=2))


class EpsilonGreedyMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("epsilon-greedy", box(dim=DIM), rate=0.3))


class EliminationMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("support-elimination", sb.LpBall(DIM), sigma=0.1))


class ESTCMachine(AdaptiveMachine):
    """Explorations that come after the commitment refine it."""

    make = staticmethod(lambda: adaptive("estc", sb.LpBall(DIM), exploration_steps=8))
    ridged = False
    is_final = False


class CSARMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("csar", box(-0.5, DIM), sigma=0.5, tolerance=1.0))
    ridged = False
    sets: ClassVar[list[sb.ActionSet]] = [
        box(0.0, DIM),
        box(-0.5, DIM).restrict([0, 2]),
        sb.Box(np.zeros(DIM), np.full(DIM, 0.1)),
    ]


class RandomMachine(AdaptiveMachine):
    make = staticmethod(lambda: adaptive("random-sparse", sb.LpBall(DIM)))
    ridged = False


class PEGEMachine(AdaptiveMachine):
    """Least squares on explorations and logs; no posterior."""

    make = staticmethod(lambda: adaptive("pege", sb.LpBall(DIM)))
    everything_counts = False
    ridged = False

    def check_cycle(self, certificate: sb.Certificate) -> None:
        LearnerMachine.check_cycle(self, certificate)

    @invariant()
    def the_estimate_is_least_squares(self) -> None:
        LearnerMachine.the_estimate_is_least_squares(self)


class CommitMachine(PEGEMachine):
    make = staticmethod(lambda: adaptive("explore-then-commit", sb.LpBall(DIM), horizon=20))


ADAPTIVE_MACHINES = (
    ThompsonMachine,
    LinTSMachine,
    OFULMachine,
    EpsilonGreedyMachine,
    EliminationMachine,
    ESTCMachine,
    CSARMachine,
    RandomMachine,
    PEGEMachine,
    CommitMachine,
)


def test_every_adaptive_policy_has_a_machine() -> None:
    assert {machine.make().kind for machine in ADAPTIVE_MACHINES} == set(FIRST_OF_EACH)


for _adaptive in ADAPTIVE_MACHINES:
    _adaptive.TestCase.settings = settings(SETTINGS, max_examples=12, stateful_step_count=30)

TestThompson = ThompsonMachine.TestCase
TestLinTS = LinTSMachine.TestCase
TestOFUL = OFULMachine.TestCase
TestEpsilonGreedy = EpsilonGreedyMachine.TestCase
TestElimination = EliminationMachine.TestCase
TestESTC = ESTCMachine.TestCase
TestCSAR = CSARMachine.TestCase
TestRandom = RandomMachine.TestCase
TestPEGE = PEGEMachine.TestCase
TestCommit = CommitMachine.TestCase

for _machine in (
    APSEEMachine,
    APSEEGMachine,
    CompactMachine,
    AllDataMachine,
    MovingMachine,
    MovingSqrtMachine,
):
    _machine.TestCase.settings = SETTINGS

TestAPSEE = APSEEMachine.TestCase
TestAPSEEG = APSEEGMachine.TestCase
TestCompact = CompactMachine.TestCase
TestAllData = AllDataMachine.TestCase
TestMoving = MovingMachine.TestCase
TestMovingSqrt = MovingSqrtMachine.TestCase
