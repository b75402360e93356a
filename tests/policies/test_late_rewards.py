"""Rewards that are late, out of order, or never come: no crash, no early exploitation, no bias."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import PaperBound
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    OWN_ESTIMATE,
    SIGMA,
    THETA,
    Make,
    Play,
    apsee,
    apsee_g,
    assert_close,
    compact,
    expected_estimate,
    moving,
    play,
    reward_of,
    through_json,
)

every_scheduled = pytest.mark.parametrize(
    "make",
    [
        lambda: apsee(),
        lambda: apsee(use_all_data=True),
        lambda: apsee_g(confidence_scale=0.2),
        lambda: compact(),
        lambda: moving(schedule="sqrt"),
        lambda: moving(confidence_scale=0.05),
    ],
    ids=["apsee", "all-data", "apsee-g", "compact", "moving-sqrt", "moving"],
)


@every_scheduled
def test_three_cycles_ahead_of_any_reward_is_all_exploration(make: Make) -> None:
    policy = make()
    learner = policy.start(seed=0)
    decisions = [learner.ask() for _ in range(3 * DIM)]
    assert {decision.phase for decision in decisions} == {"explore"}
    assert [decision.cycle for decision in decisions] == [1] * DIM + [2] * DIM + [3] * DIM
    assert learner.open_decisions == tuple(range(1, 3 * DIM + 1))
    assert learner.theta_hat is None
    assert learner.support is None
    assert learner.certificate(horizon=10).warning is None or isinstance(
        policy, sb.TimeVaryingAPSEEG
    )
    for decision in decisions:
        learner.tell(decision, reward_of(decision))
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)
    assert learner.open_decisions == ()


@every_scheduled
def test_a_direction_never_told_is_never_exploited(make: Make) -> None:
    """The reward of the first action of each exploration is lost, for ever."""
    policy = make()
    learner = policy.start(seed=0)
    lost = learner.ask()
    for _ in range(12 * DIM):
        decision = learner.ask()
        assert decision.phase == "explore"
        if not np.array_equal(decision.action, lost.action):
            learner.tell(decision, reward_of(decision))
    assert learner.theta_hat is None
    assert learner.certificate().replications == 0


@every_scheduled
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_rewards_does_not_matter(make: Make, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ordered, shuffled = make().start(seed=0), make().start(seed=0)
    rewards = rng.standard_normal(20 * DIM)
    for learner in (ordered, shuffled):
        play(learner, 3 * DIM)
        first = learner.ask().id
        for _ in range(5 * DIM - 1):
            learner.ask()
    told = list(ordered.open_decisions)
    assert told == list(shuffled.open_decisions)
    for number in told:
        ordered.tell(number, float(rewards[number - first]))
    for number in rng.permutation(told):
        shuffled.tell(int(number), float(rewards[number - first]))
    one, two = ordered.to_dict()["state"], shuffled.to_dict()["state"]
    assert set(one) == set(two)
    # Kept in the order in which they were told.
    assert sorted(one.pop("told_rewards")) == sorted(two.pop("told_rewards"))
    for name in one:
        _assert_close(one[name], two[name])
    assert ordered.theta_hat is not None
    assert shuffled.theta_hat is not None
    np.testing.assert_allclose(ordered.theta_hat, shuffled.theta_hat, rtol=1e-9)


def _assert_close(one: Any, two: Any) -> None:
    if isinstance(one, list) and one and isinstance(one[0], list):
        for first, second in zip(one, two, strict=True):
            _assert_close(first, second)
    elif isinstance(one, float) or (isinstance(one, list) and one and not _has_text(one)):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    else:
        assert one == two


def _has_text(values: list[Any]) -> bool:
    return any(isinstance(value, (str, dict)) for value in values)


# ---------------------------------------------------------------------- the gap test


@dataclass(frozen=True)
class RecordingBound(PaperBound):
    """The paper's bound, with a list of the cycles that it was asked about."""

    asked: ClassVar[list[int]] = []

    def epsilon_c(self, cycle: Any) -> FloatArray:
        self.asked.extend(np.atleast_1d(cycle).tolist())
        return super().epsilon_c(cycle)


@pytest.fixture
def asked() -> list[int]:
    RecordingBound.asked.clear()
    return RecordingBound.asked


def test_the_test_is_made_once_per_complete_cycle(asked: list[int]) -> None:
    learner = apsee(sigma=50.0, confidence=RecordingBound).start()
    play(learner, 6 * DIM + 1)
    assert asked == [1, 2, 3, 4, 5, 6]


def test_the_test_counts_complete_replications_only(asked: list[int]) -> None:
    """The last action's rewards come one cycle in two: so do replications, and tests."""
    learner = apsee(sigma=50.0, confidence=RecordingBound).start()
    for cycle in range(1, 9):
        for k in range(DIM):
            decision = learner.ask()
            if k < DIM - 1 or cycle % 2 == 0:
                learner.tell(decision, reward_of(decision))
    learner.ask()
    assert asked == [1, 2, 3, 4]
    assert learner.certificate().replications == 4


def test_replications_that_come_all_at_once_are_tested_once(asked: list[int]) -> None:
    learner = apsee_g(sigma=50.0, confidence=RecordingBound).start()
    decisions = [learner.ask() for _ in range(5 * DIM)]
    for decision in decisions:
        learner.tell(decision, reward_of(decision))
    assert asked == []
    play(learner, 3 * DIM)
    assert asked == [5, 6, 7]


def test_no_test_is_made_after_the_lock(asked: list[int]) -> None:
    learner = apsee(confidence=RecordingBound, sigma=0.08).start()
    play(learner, 300)
    assert learner.support == (0, 2)
    assert asked == list(range(1, asked[-1] + 1))
    assert asked[-1] < learner.certificate().cycle - 3


def test_lost_rewards_delay_the_lock_and_do_not_prevent_it() -> None:
    def lock_cycle(lost: float) -> int:
        learner = apsee(sigma=0.08).start()
        rng = np.random.default_rng(5)
        while learner.support is None:
            decision = learner.ask()
            if rng.random() < lost:
                learner.forget(decision)
            else:
                learner.tell(decision, reward_of(decision) + SIGMA * float(rng.standard_normal()))
        assert learner.support == (0, 2)
        assert learner.open_decisions == ()
        return decision.cycle

    assert lock_cycle(0.0) < lock_cycle(0.5)


# ---------------------------------------------------------------------- adaptive policies

every_adaptive = pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)


# The Lasso is fitted at a certain count, and CSAR drops what comes after its phase.
@pytest.mark.parametrize("kind", sorted(set(FIRST_OF_EACH) - set(OWN_ESTIMATE)))
@pytest.mark.parametrize("seed", [1, 2])
def test_adaptive_estimates_do_not_depend_on_the_order_of_rewards(kind: str, seed: int) -> None:
    policy = FIRST_OF_EACH[kind]()
    rng = np.random.default_rng(seed)
    ordered, shuffled = policy.start(seed=0), policy.start(seed=0)
    rewards = rng.standard_normal(200)
    for learner in (ordered, shuffled):
        play(learner, 2 * DIM)
        for _ in range(40):
            learner.ask()
    told = list(ordered.open_decisions)
    assert told == list(shuffled.open_decisions)
    for number in told:
        ordered.tell(number, float(rewards[number]))
    for number in rng.permutation(told):
        shuffled.tell(int(number), float(rewards[number]))
    assert_close(ordered.theta_hat, shuffled.theta_hat)
    one, two = ordered.certificate(), shuffled.certificate()
    assert one.replications == two.replications
    assert one.sigma == pytest.approx(two.sigma, rel=1e-6, nan_ok=True)


@every_adaptive
def test_many_open_decisions_before_the_first_reward(make: Make) -> None:
    policy = make()
    learner = policy.start(seed=0)
    decisions = [learner.ask() for _ in range(120)]
    assert [decision.id for decision in decisions] == list(range(1, 121))
    assert learner.open_decisions == tuple(range(1, 121))
    assert learner.support is None
    for decision in decisions:
        assert policy.action_set.contains(decision.action)
    learner = through_json(learner)
    for decision in reversed(decisions):
        learner.tell(decision.id, reward_of(decision))
    assert learner.open_decisions == ()
    if policy.kind not in OWN_ESTIMATE:
        plays = [Play(decision, reward_of(decision)) for decision in decisions]
        assert_close(learner.theta_hat, expected_estimate(learner, plays))
    play(learner, 20)


@every_adaptive
def test_rewards_that_never_come_leave_open_decisions_and_no_trace(make: Make) -> None:
    """Forgotten or left open: what is learned is what the told ones teach."""
    policy = make()
    forgetting, leaving = policy.start(seed=0), policy.start(seed=0)
    rng = np.random.default_rng(3)
    plays = []
    for _ in range(120):
        one, two = forgetting.ask(), leaving.ask()
        assert one.action.tobytes() == two.action.tobytes()
        if rng.random() < 0.4:
            forgetting.forget(one)
        else:
            forgetting.tell(one, reward_of(one))
            leaving.tell(two, reward_of(two))
            plays.append(Play(one, reward_of(one)))
    assert forgetting.open_decisions == ()
    assert len(leaving.open_decisions) == 120 - len(plays)
    left, right = forgetting.to_dict()["state"], leaving.to_dict()["state"]
    assert {**left, "open": None} == {**right, "open": None}
    if policy.kind not in OWN_ESTIMATE:
        assert_close(forgetting.theta_hat, expected_estimate(forgetting, plays))


def test_a_thousand_open_decisions() -> None:
    learner = compact().start(seed=0)
    play(learner, DIM)
    decisions = [learner.ask() for _ in range(1000)]
    assert len({decision.id for decision in decisions}) == 1000
    assert learner.open_decisions == tuple(decision.id for decision in decisions)
    for decision in reversed(decisions):
        learner.tell(decision, reward_of(decision))
    assert learner.open_decisions == ()
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)
