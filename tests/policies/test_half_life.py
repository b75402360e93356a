"""Rewards that fade: by the clock of decisions, with the prior put back."""

import itertools
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Learner
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import DIM, assert_close, box, ellipsoid, through_json

MANY, HALF_LIFE = 150, 20.0

SETS: dict[str, sb.ActionSet] = {
    "ball": sb.LpBall(DIM),
    "box": box(),
    "ellipsoid": ellipsoid(),
    "gated": sb.LpBall(MANY),
}
every_set = pytest.mark.parametrize("name", SETS)


def policy_on(name: str, half_life: float = HALF_LIFE, **keywords: Any) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=SETS[name], sparsity=2, half_life=half_life, **keywords)


def clock_of(learner: Learner) -> int:
    """The decision at which all that is known last faded."""
    rule = learner._rule
    aged = rule.cores[0].slots.aged if isinstance(rule, CoreRule) else int(rule.arrays()["aged"][0])
    asked: int = learner.to_dict()["state"]["next_id"] - 1
    return asked - aged


def slow_estimate(
    learner: Learner, plays: list[tuple[int, FloatArray, float]]
) -> tuple[FloatArray, float]:
    """theta_hat and sigma of the plays (decision, action, reward), each weighted by its age."""
    policy, rule = learner.policy, learner._rule
    clock, H = clock_of(learner), policy.action_set.dim
    weights = np.array([0.5 ** ((clock - number) / HALF_LIFE) for number, _, _ in plays])
    columns = np.array([[1.0, *action] for _, action, _ in plays])
    rewards = np.array([reward for _, _, reward in plays])
    prior = rule.known.prior[0] if isinstance(rule, RidgeRule) else np.array([0.0] + [0.3] * H)
    weighted = columns * weights[:, None]
    covariance = np.linalg.inv(columns.T @ weighted + np.diag(prior))
    theta = covariance @ (weighted.T @ rewards)
    missed = rewards - columns @ theta
    least = float(weights @ missed**2 + theta @ (prior * theta))
    freedom = weights.sum() - float(np.trace(columns @ covariance @ weighted.T))
    return theta[1:], float(np.sqrt(least / freedom))


@every_set
def test_the_estimate_is_a_weighted_regression(name: str) -> None:
    """With rewards that come late, in any order, or never; past many half-lives."""
    learner, rng = policy_on(name).start(seed=0), np.random.default_rng(0)
    theta = rng.uniform(-1, 1, SETS[name].dim)
    waiting, plays = [], []
    for step in range(150):
        waiting.append(learner.ask())
        while waiting and rng.random() < 0.6:
            late = waiting.pop(int(rng.integers(len(waiting))))
            reward = float(5.0 + theta @ late.action + 0.3 * rng.standard_normal())
            learner.tell(late, reward)
            plays.append((late.id, late.action, reward))
        if step % 30 == 29:
            learner = through_json(learner)
            estimate, sigma = slow_estimate(learner, plays)
            assert_close(learner.theta_hat, estimate, atol=1e-7)
            if name != "box":  # where the level of few rewards is that of the learned prior
                assert learner.certificate().sigma == pytest.approx(sigma, rel=1e-5)
    assert len(plays) > 100


@pytest.mark.parametrize("name", ["ball", "gated"])
def test_forgetting_follows_the_decision_and_not_the_telling(name: str) -> None:
    """The same rewards of the same actions, told at once or up to 30 decisions later."""
    rng = np.random.default_rng(1)
    actions = np.zeros((60, SETS[name].dim))
    actions[:, :DIM] = rng.standard_normal((60, DIM))
    rewards = rng.standard_normal(60)
    delays = [np.zeros(60, dtype=int), rng.integers(0, 30, 60)]
    estimates = []
    for delay in delays:
        rule = policy_on(name).rule([np.random.default_rng(0)])
        for step in range(90):
            rule.choose(SETS[name])
            for made in np.flatnonzero(np.arange(60) + delay == step):
                age, pulls = np.array([float(step - made)]), rule.pulls
                rule.learn(actions[[made]], rewards[[made]], pulls, None, None, age)
        # A fade is made with a decision: the clocks of both stand where they did.
        rule.choose(SETS[name])
        assert rule.estimate is not None
        estimates.append(rule.estimate[0])
    np.testing.assert_allclose(estimates[0], estimates[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["ball", "gated"])
def test_a_decision_that_is_held_lets_time_pass_too(name: str) -> None:
    """What is known is worth the sum of 0.5^(age / half-life) over all decisions told."""
    steps, half_life = 900, 300.0
    learner, rng = policy_on(name, half_life).start(seed=0), np.random.default_rng(0)
    theta = rng.uniform(0.0, 0.1, SETS[name].dim)
    theta[::10] = 1.0 + np.arange(theta[::10].size)
    plays = []
    for _ in range(steps):
        decision = learner.ask()
        plays.append(decision.values)
        reward = theta[decision.indices] @ decision.values + 0.1 * rng.standard_normal()
        learner.tell(decision, float(reward))
    assert sum(one is other for one, other in itertools.pairwise(plays)) > steps / 4
    rule = learner._rule
    if isinstance(rule, CoreRule):
        known, aged = rule.cores[0].known, rule.cores[0].slots.aged
    else:
        assert isinstance(rule, ThompsonRule)
        known, aged = float(rule.posterior.counts[0] + rule.told[0]), int(rule.aged[0])
    expected = (0.5 ** (np.arange(steps) / half_life)).sum()
    assert known * 0.5 ** (aged / half_life) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("half_life", [0.5, 3.0, 200.0])
@pytest.mark.parametrize("name", ["ball", "box", "gated"])
def test_nothing_becomes_singular(name: str, half_life: float) -> None:
    """Long runs, long silences, and one action again and again."""
    learner = policy_on(name, half_life).start(seed=0)
    rng = np.random.default_rng(0)
    for phase in range(3):
        for _ in range(100):
            decision = learner.ask()
            learner.tell(decision, 1e3 + float(rng.standard_normal()))
        for _ in range(150):  # up to 300 half-lives of silence
            learner.forget(learner.ask())
        certificate = learner.certificate()
        assert isinstance(certificate, sb.PosteriorCertificate)
        assert certificate.theta_hat is not None
        assert certificate.deviation is not None
        assert np.isfinite(certificate.theta_hat).all()
        assert np.isfinite(certificate.deviation).all()
        assert certificate.deviation.min() > 0
        if half_life < 5:  # all is forgotten but the prior
            np.testing.assert_allclose(certificate.theta_hat, 0.0, atol=1e-6)
        if phase == 1:
            again = through_json(learner)
            assert again.to_dict() == learner.to_dict()


def test_the_learned_prior_goes_on_being_learned() -> None:
    """The count fades, and so does the count at which the prior is learned anew."""
    rule = policy_on("box", 50.0).rule([np.random.default_rng(0)])
    assert isinstance(rule, ThompsonRule)
    rng, scales = np.random.default_rng(0), []
    for _ in range(600):
        actions = rule.choose(SETS["box"])
        rule.learn(actions, rng.standard_normal(1), rule.pulls)
        scales.append(float(rule.prior_scale[0]))
    assert np.unique(scales[-200:]).size > 10


@every_set
def test_a_certificate_says_that_it_expires(name: str) -> None:
    learner = policy_on(name).start(seed=0)
    assert "half-life of 20 decisions" in str(learner.certificate().warning)
    lasting = sb.SparseThompson(action_set=SETS[name], sparsity=2).start(seed=0)
    assert lasting.certificate().warning is None


@pytest.mark.parametrize("half_life", [0.0, -1.0, np.nan, np.inf, "long"])
def test_a_wrong_half_life_is_refused(half_life: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="half_life"):
        policy_on("ball", half_life)


def after_jump(dim: int, at: int, steps: int, half_life: float | None, trials: int) -> FloatArray:
    """The regret of each trial over the steps after theta* jumped."""
    X = sb.LpBall(dim)
    env = sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube(), drift=sb.Jump(at))
    policy = sb.SparseThompson(action_set=X, sparsity=dim // 4, half_life=half_life)
    run = sb.simulate(policy, env, at + steps, trials, seed=0, checkpoints=[at])
    return run.at(at + steps) - run.at(at)


def test_who_forgets_recovers_from_a_jump() -> None:
    """Measured: a ratio of about 0.25; half is granted, which 8 trials never came near."""
    fading, lasting = (after_jump(8, 800, 700, half, 8).mean() for half in (100.0, None))
    assert fading < 0.5 * lasting


@pytest.mark.thorough
def test_after_a_jump_a_third_of_the_regret() -> None:
    fading, lasting = (after_jump(20, 5000, 5000, half, 20).mean() for half in (500.0, None))
    assert fading <= lasting / 3


@pytest.mark.thorough
def test_without_drift_a_long_half_life_costs_nothing() -> None:
    X = sb.LpBall(20)
    env = sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube())
    policies = [sb.SparseThompson(action_set=X, sparsity=5, half_life=half) for half in (1e5, None)]
    fading, lasting = (run.at(5000) for run in sb.simulate(policies, env, 5000, 100, seed=0))
    noise = 2 * (fading - lasting).std() / np.sqrt(fading.size)
    assert fading.mean() <= 1.05 * lasting.mean() + noise


@every_set
def test_logs_count_in_full_when_they_are_told(name: str) -> None:
    """As if each had been a decision of this moment; and they move no clock."""
    learner, rng = policy_on(name).start(seed=0), np.random.default_rng(1)
    dim = SETS[name].dim
    theta = rng.uniform(-1, 1, dim)
    logs = [(rng.standard_normal(dim) * (np.arange(dim) < 2), 0.0) for _ in range(12)]
    logs = [(action, float(5.0 + theta @ action + rng.standard_normal())) for action, _ in logs]
    plays = []
    for step in range(41):
        decision = learner.ask()
        reward = float(5.0 + theta @ decision.action + 0.3 * rng.standard_normal())
        learner.tell(decision, reward)
        plays.append((decision.id, decision.action, reward))
        if step == 32:
            learner.warm_start(np.array([x for x, _ in logs]), np.array([y for _, y in logs]))
            plays += [(decision.id, action, logged) for action, logged in logs]
    assert learner.to_dict()["state"]["next_id"] == 42
    assert_close(learner.theta_hat, slow_estimate(learner, plays)[0], atol=1e-7)
