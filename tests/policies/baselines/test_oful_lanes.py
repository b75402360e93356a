"""OFUL over lanes, by both engines, from files, with late rewards."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.baselines.oful import OFUL
from tests.policies.baselines.test_oful import DIM, SMALL_SETS, oful, trained
from tests.policies.examples import play_late
from tests.reference.stepwise import simulate_stepwise

VARIANTS: dict[str, Callable[[], OFUL]] = {
    "alternating": lambda: oful(SMALL_SETS["l2"]),
    "two starts": lambda: oful(SMALL_SETS["two-sided box"], starts=2, sigma="estimate"),
    "tuned": lambda: oful(SMALL_SETS["ellipsoid"], radius=0.5, sigma="estimate"),
    "dani": lambda: oful(SMALL_SETS["l1.5"], maximiser="dani"),
    "dani on points": lambda: oful(SMALL_SETS["finite"], maximiser="dani", radius=1.0),
    "enumerate": lambda: oful(SMALL_SETS["box"], maximiser="enumerate"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_engines_agree_bit_for_bit(name: str) -> None:
    policy = VARIANTS[name]()
    env = sb.LinearEnvironment(
        action_set=policy.action_set, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5)
    )
    lanes = sb.simulate(policy, env, horizon=60, trials=4, seed=2)
    single = simulate_stepwise(policy, env, horizon=60, trials=4, seed=2)
    fewer = sb.simulate(policy, env, horizon=60, trials=2, seed=2, first_trial=2)
    np.testing.assert_array_equal(lanes.regret, single.regret)
    np.testing.assert_allclose(lanes.theta_error, single.theta_error, rtol=1e-12)
    np.testing.assert_array_equal(lanes.regret[2:], fewer.regret)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_saved_learner_continues_bit_for_bit(name: str) -> None:
    learner = VARIANTS[name]().start(seed=3)
    play_late(learner, 30, seed=1)
    twin = sb.Learner.from_dict(json.loads(json.dumps(learner.to_dict())))
    for step in range(40):
        first, second = learner.ask(), twin.ask()
        np.testing.assert_array_equal(first.action, second.action)
        for one in (learner, twin):
            one.tell(first.id, math.cos(step))
    assert learner.to_dict() == twin.to_dict()


@pytest.mark.parametrize("name", VARIANTS)
def test_late_lost_and_batched_rewards_are_taken_as_they_come(name: str) -> None:
    policy = VARIANTS[name]()
    learner = policy.start(seed=0)
    batch = [learner.ask() for _ in range(50)]  # many open decisions before any reward
    plays = [(decision, 0.1 * decision.id) for decision in batch[::-2]]
    for decision, reward in plays:
        learner.tell(decision, reward)
    for decision in batch[::2]:
        learner.forget(decision)
    assert not learner.open_decisions
    actions = np.array([decision.action for decision, _ in plays])
    rewards = np.array([reward for _, reward in plays])
    ridge = np.linalg.solve(actions.T @ actions + np.eye(DIM), actions.T @ rewards)
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, ridge, atol=1e-10)
    assert policy.action_set.contains(learner.ask().action)


def test_rewards_of_some_lanes_leave_the_others_alone() -> None:
    policy = oful(SMALL_SETS["l2"])
    rule, alone = trained(policy, lanes=3), trained(policy, lanes=3)
    actions = rule.choose(policy.action_set)
    rule.learn(actions[[2, 0]], np.array([1.0, 2.0]), rule.pulls[[2, 0]], np.array([2, 0]))
    for array, other in zip(rule.arrays().values(), alone.arrays().values(), strict=True):
        np.testing.assert_array_equal(array[1], other[1])
        assert (array[0] != other[0]).any()
        assert (array[2] != other[2]).any()
    expected = [np.linalg.slogdet(np.eye(DIM) + gram)[1] for gram in rule.posterior.gram]
    np.testing.assert_allclose(rule.log_det, expected)


def test_unrewarded_zeros_do_not_stop_the_learning() -> None:
    """All rewards 0 leave sigma's estimate at 0; the bonus must still move the choice."""
    learner = oful(SMALL_SETS["box"], sigma="estimate", radius=1.0).start(seed=0)
    seen = np.zeros(DIM, dtype=np.bool_)
    for _ in range(10):
        decision = learner.ask()
        seen |= decision.action != 0
        learner.tell(decision, 0.0)
    assert seen.all()


def test_an_open_decision_to_do_nothing_can_be_saved() -> None:
    learner = oful(maximiser="enumerate", radius=1e-6).start(seed=0)
    learner.warm_start(np.eye(DIM), -np.ones(DIM))
    decision = learner.ask()
    assert not decision.action.any()
    twin = sb.Learner.from_dict(json.loads(json.dumps(learner.to_dict())))
    twin.tell(decision.id, 0.1)


def test_the_certificate_describes_the_ridge_posterior() -> None:
    learner = oful(SMALL_SETS["l2"]).start(seed=0)
    play_late(learner, 20, seed=0)
    certificate = learner.certificate()
    assert not certificate.locked
    assert certificate.support is None
    assert math.isfinite(certificate.gap)
