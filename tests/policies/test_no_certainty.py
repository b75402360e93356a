"""Nobody is certain while fewer rewards than coordinates are known, whatever the rewards are."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import UniformCube
from sparsebandits.policies import Decision, Learner, PosteriorCertificate
from sparsebandits.policies.ridge_rule import RidgeRule
from tests.policies.examples import DIM, THETA, Make, adaptive, box, every_case, play

Reward = Callable[[Decision], float]

REWARDS: dict[str, Reward] = {
    "zero": lambda decision: 0.0,
    "equal": lambda decision: 1.0,
    "linear": lambda decision: float(THETA @ decision.action),
    "tiny": lambda decision: 1e-200,
    "one click": lambda decision: float(decision.id == 2),
}

COMMITTING = ("estc", "explore-then-commit")
"""They commit after a number of explorations, whatever these show."""


def check(learner: Learner) -> None:
    """No deviation of 0, no noise of 0, no probability yet, and no lock."""
    certificate = learner.certificate(horizon=100)
    assert math.isnan(certificate.sigma) or certificate.sigma > 0
    if learner.policy.kind not in COMMITTING:
        assert not certificate.locked
    if isinstance(certificate, PosteriorCertificate):
        assert math.isnan(certificate.probability)
        if certificate.deviation is not None:
            assert not (certificate.deviation <= 0).any()


@every_case
@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS)
def test_fewer_rewards_than_coordinates_are_no_certainty(make: Make, reward: Reward) -> None:
    learner = make().start(seed=0)
    check(learner)
    for _ in range(DIM - 1):
        decision = learner.ask()
        learner.tell(decision, reward(decision))
        check(learner)


@every_case
def test_zeros_teach_no_noise_level_however_many(make: Make) -> None:
    """Click data begin like that. Every one of them is consistent with any theta and much noise."""
    learner = make().start(seed=0)
    for _ in range(6 * DIM):
        learner.tell(learner.ask(), 0.0)
    certificate = learner.certificate()
    if isinstance(certificate, PosteriorCertificate):
        assert not certificate.sigma <= 0
        assert not certificate.probability >= 0.9
        assert certificate.deviation is None or not (certificate.deviation <= 0).any()


@pytest.mark.parametrize("kind", ["sparse-thompson", "lin-ts", "oful", "epsilon-greedy"])
def test_certificate_and_decisions_reckon_with_one_noise_level(kind: str) -> None:
    for reward in REWARDS.values():
        learner = adaptive(kind, box()).start(seed=0)
        for _ in range(2 * DIM):
            rule = learner._rule
            assert isinstance(rule, RidgeRule)
            level = float(rule.noise_scale()[0])
            assert level > 0
            certificate = learner.certificate()
            assert isinstance(certificate, PosteriorCertificate)
            assert certificate.sigma == level
            expected = level * rule.known.deviations()[0, rule.design.base :]
            np.testing.assert_array_equal(certificate.deviation, expected)
            decision = learner.ask()
            learner.tell(decision, reward(decision))


def test_logs_of_nothing_but_zeros_are_no_certainty_either() -> None:
    for kind in ("sparse-thompson", "lin-ts", "oful", "epsilon-greedy", "support-elimination"):
        learner = adaptive(kind).start(seed=0)
        learner.warm_start(np.eye(DIM)[:3], np.zeros(3))
        check(learner)
        assert learner.certificate().sigma == 1


@pytest.mark.parametrize("size", [1e4, 1e6, 1e9, 1e30])
def test_one_long_action_says_nothing_of_the_other_coordinates(size: float) -> None:
    """Its reward is explained to the last digit; how noisy it was cannot be known from it."""
    for kind in ("sparse-thompson", "lin-ts", "oful", "epsilon-greedy", "support-elimination"):
        # With a baseline one reward says nothing of theta, however long its action.
        keywords = {"intercept": False} if kind == "sparse-thompson" else {}
        learner = adaptive(kind, **keywords).start(seed=0)
        learner.warm_start([[size, 0.0, 0.0, 0.0]], [3.0])
        check(learner)
        assert learner.certificate().sigma == pytest.approx(3.0, rel=1e-3)


def test_told_of_little_noise_it_does_not_take_theta_for_little() -> None:
    """The prior is N(0, sigma^2 / ridge): what was told made it as narrow. Regret was 17 times."""
    ball = sb.LpBall(20)
    environment = sb.LinearEnvironment(
        action_set=ball, theta_star=UniformCube(), noise=sb.Gaussian(0.02)
    )
    told, estimating = sb.simulate(
        [sb.SparseThompson(action_set=ball, sparsity=5, sigma=s) for s in (0.02, "estimate")],
        environment,
        horizon=200,
        trials=10,
        seed=0,
    )
    assert told.regret[:, -1].mean() < 1.2 * estimating.regret[:, -1].mean()


def test_a_noise_level_of_zero_that_was_told_is_no_certainty() -> None:
    policies: list[sb.Policy] = [
        adaptive("sparse-thompson", sigma=0.0),
        adaptive("lin-ts", sigma=0.0),
        adaptive("oful", sigma=0.0),
        adaptive("support-elimination", sigma=0.0),
        adaptive("estc", sigma=0.0, exploration_steps=2),
    ]
    for policy in policies:
        learner = policy.start(seed=0)
        for _ in range(DIM - 1):
            play(learner, 1)
            check(learner)
