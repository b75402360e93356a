"""Support elimination over lanes, by both engines, from files, with masks and late rewards."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.baselines.elimination import (
    SupportElimination,
    SupportEliminationRule,
)
from tests.policies.baselines.test_elimination import BOX, DIM, elimination, rule_in, run
from tests.policies.examples import ellipsoid, play, play_late, polytope
from tests.reference.stepwise import simulate_stepwise

VARIANTS: dict[str, Callable[[], SupportElimination]] = {
    "box": lambda: elimination(),
    "ball": lambda: elimination(sb.LpBall(DIM, p=1.5), sigma="estimate"),
    "ellipsoid": lambda: elimination(ellipsoid(), basis="block-gaussian", refine=True),
    "polytope": lambda: elimination(polytope(), growth=1.3),
    "finite": lambda: elimination(
        sb.FiniteSet(np.vstack([np.zeros(DIM), np.random.default_rng(0).integers(-2, 3, (60, 4))]))
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_engines_agree_bit_for_bit(name: str) -> None:
    policy = VARIANTS[name]()
    env = sb.LinearEnvironment(
        action_set=policy.action_set, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.1)
    )
    lanes = sb.simulate(policy, env, horizon=250, trials=3, seed=2)
    single = simulate_stepwise(policy, env, horizon=250, trials=3, seed=2)
    fewer = sb.simulate(policy, env, horizon=250, trials=2, seed=2, first_trial=1)
    np.testing.assert_array_equal(lanes.regret, single.regret)
    np.testing.assert_allclose(lanes.theta_error, single.theta_error, rtol=1e-12)
    np.testing.assert_array_equal(lanes.regret[1:], fewer.regret)
    locked = np.isfinite(single.locked_at)
    assert single.support_correct[locked].all()


@pytest.mark.each_value
@pytest.mark.parametrize("steps", [3, 9, 30, 150])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_saved_learner_continues_bit_for_bit(name: str, steps: int) -> None:
    learner = VARIANTS[name]().start(seed=3)
    play_late(learner, steps, seed=1)
    twin = sb.Learner.from_dict(json.loads(json.dumps(learner.to_dict())))
    for step in range(60):
        first, second = learner.ask(), twin.ask()
        np.testing.assert_array_equal(first.action, second.action)
        assert first.phase == second.phase
        for one in (learner, twin):
            one.tell(first.id, float(first.action[0]) + 0.1 * math.cos(step))
    assert learner.to_dict() == twin.to_dict()


@pytest.mark.parametrize("name", VARIANTS)
def test_masks_are_respected_and_missing_items_are_caught_up_on(name: str) -> None:
    policy = VARIANTS[name]()
    learner = policy.start()
    for step in range(60):
        decision = learner.ask(available=[0, 2])
        assert not decision.action[[1, 3]].any()
        assert policy.action_set.contains(decision.action)
        learner.tell(decision, float(decision.action[0]) + 0.01 * step)
    rule = rule_in(learner)
    assert rule.phase[0] == 1  # the phase waits for 1 and 3
    if name in ("box", "polytope"):
        np.testing.assert_array_equal(rule.asked[0], [2, 0, 2, 0])
        play(learner, 5)
        np.testing.assert_array_equal(rule.asked[0, [1, 3]], [2, 2])
        assert rule.phase[0] == 2


def test_another_set_gets_actions_of_its_own() -> None:
    small = sb.LpBall(DIM, radius=0.5)
    learner = elimination(sb.LpBall(DIM), sigma=0.01).start()
    play(learner, 2)
    decision = learner.ask(action_set=small)  # no basis action fits
    assert small.contains(decision.action)
    assert decision.phase == "exploit"
    assert learner.ask().phase == "explore"
    play(learner, 30)
    assert learner.support is not None
    assert learner.support == (0, 2)
    decision = learner.ask(available=[1, 3])  # nothing of the support is left
    assert not decision.action[[0, 2]].any()
    assert decision.action[[1, 3]].all()
    decision = learner.ask(action_set=sb.Box(np.zeros(DIM), np.ones(DIM)))
    assert BOX.contains(decision.action)
    assert np.count_nonzero(decision.action) == 2


def test_an_equal_set_counts_as_the_own_one() -> None:
    policy = elimination()
    one, other = policy.start(), policy.start()
    for _ in range(40):
        first, second = one.ask(), other.ask(action_set=sb.Box(np.zeros(DIM), np.ones(DIM)))
        np.testing.assert_array_equal(first.action, second.action)
        for learner in (one, other):
            learner.tell(first.id, float(first.action.sum()))


def test_no_rewards_no_verdicts_and_no_exploitation() -> None:
    """Many open decisions: exploration goes on; once rewards come, the next test is made."""
    learner = elimination(sigma=0.01).start()
    batch = [learner.ask() for _ in range(100)]
    assert {decision.phase for decision in batch} == {"explore"}
    rule = rule_in(learner)
    assert rule.survivors[0] == 6
    asked = rule.asked[0]
    assert asked.max() - asked.min() <= 1
    theta = np.array([0.9, 0.1, 0.7, -0.5])
    for decision in batch[::-1]:
        if decision.id % 3:
            learner.tell(decision, float(theta @ decision.action))
        else:
            learner.forget(decision)
    play(learner, 40, theta=theta)
    assert learner.support == (0, 2)


def test_lost_rewards_widen_the_bound() -> None:
    learner = elimination(sigma=0.1).start()
    for step in range(2 * DIM):
        decision = learner.ask()
        if step != 5:  # one of the two rewards of action 1
            learner.tell(decision, 0.5)
    errors = rule_in(learner).errors(0)
    np.testing.assert_allclose(errors[1], errors[0] * math.sqrt(2))


def test_logged_rewards_enter_the_estimate_and_not_the_test() -> None:
    learner = elimination().start()
    learner.warm_start(np.tile(np.eye(DIM), (100, 1)), np.tile([0.9, 0.1, 0.7, 0.0], 100))
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, [0.9, 0.1, 0.7, 0.0], atol=1e-6)
    rule = rule_in(learner)
    assert not rule.told.any()
    assert learner.ask().phase == "explore"


def test_rewards_of_some_lanes_leave_the_others_alone() -> None:
    policy = elimination(sigma="estimate")
    theta = np.random.default_rng(0).uniform(-1, 1, (3, DIM))
    rule, alone = run(policy, theta, 6, 0.1), run(policy, theta, 6, 0.1)
    actions = rule.choose(policy.action_set)
    alone.choose(policy.action_set)
    some = np.array([2, 0])
    rule.learn(actions[some], np.array([1.0, 2.0]), rule.pulls[some], some)
    for array, other in zip(rule.arrays().values(), alone.arrays().values(), strict=True):
        np.testing.assert_array_equal(array[1], other[1])
    assert (rule.told.sum(axis=1) == [7, 6, 7]).all()


def test_a_choice_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = elimination(sigma=0.01).start()
    play(learner, 2 * DIM)
    before = learner.to_dict()

    def fail(*_: Any) -> Any:
        raise sb.SparseBanditsError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(SupportEliminationRule, "_exploit", fail)
        with pytest.raises(sb.SparseBanditsError, match="no answer"):
            learner.ask()
    assert learner.to_dict() == before
    assert learner.ask().phase == "exploit"


def test_settings_survive_a_round_trip() -> None:
    for make in VARIANTS.values():
        policy = make()
        data = json.loads(json.dumps(policy.to_dict()))
        assert sb.Policy.from_dict(data).to_dict() == policy.to_dict()
