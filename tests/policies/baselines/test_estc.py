"""ESTC: its exploration, its length, its commitment, and where it should win."""

import json
import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import SparseTheta
from sparsebandits.policies import Learner
from sparsebandits.policies.baselines.estc import ESTC
from sparsebandits.validation import FloatArray
from tests.policies.test_saving import same, wander
from tests.reference.stepwise import simulate_stepwise
from tests.simulation.test_simulate import SETS


def estc(X: sb.ActionSet, sparsity: int = 2, **keywords: Any) -> ESTC:
    if "horizon" not in keywords:
        keywords = {"exploration_steps": 20, **keywords}
    return ESTC(action_set=X, sparsity=sparsity, **keywords)


def reloaded(learner: Learner) -> Learner:
    """Through JSON, into a new learner."""
    return Learner.from_dict(json.loads(json.dumps(learner.to_dict())))


def explorations(X: sb.ActionSet, sparsity: int, lanes: int, steps: int) -> FloatArray:
    policy = estc(X, sparsity)
    rule = policy.rule([np.random.default_rng(i) for i in range(lanes)], 16)
    return np.concatenate([rule.choose(X) for _ in range(steps)])


# ---------------------------------------------------------------------- exploration


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, math.inf])
def test_exploration_is_isotropic_on_every_lp_ball(p: float) -> None:
    """E x x' = (E ||x||^2 / d) I; each entry within 6 standard errors (false alarm below 1e-6)."""
    actions = explorations(sb.LpBall(8, p=p), 3, 50, 400)
    products = actions[:, :, None] * actions[:, None, :]
    error = products.std(axis=0) / math.sqrt(len(actions))
    wanted = (actions**2).sum(axis=1).mean() / 8 * np.eye(8)
    assert (np.abs(products.mean(axis=0) - wanted) <= 6 * error + 1e-12).all()
    assert ((actions != 0).sum(axis=1) <= 3).all()
    if p == 2:
        np.testing.assert_allclose(np.linalg.norm(actions, axis=1), 1.0)


def test_exploration_of_a_box_is_that_of_random_subsets() -> None:
    """The smallest eigenvalue is H (d - H) / (d (d - 1)); within 6% at 40,000 draws."""
    d, H = 16, 3
    actions = explorations(sb.Box(np.zeros(d), np.ones(d)), H, 100, 400)
    least = np.linalg.eigvalsh(actions.T @ actions / len(actions))[0]
    assert least == pytest.approx(H * (d - H) / (d * (d - 1)), rel=0.06)


def test_exploration_does_not_depend_on_units() -> None:
    matrix = np.diag([1.0, 4.0, 0.25, 16.0])
    actions = explorations(sb.Ellipsoid(matrix), 2, 20, 400)
    squares = (actions**2).mean(axis=0) * np.diag(matrix)
    np.testing.assert_allclose(squares, squares.mean(), rtol=0.1)


def test_the_published_length() -> None:
    X = sb.LpBall(50)
    policy = ESTC(action_set=X, sparsity=5, horizon=1000, theta_sparsity=3)
    assert policy.explorations == math.ceil((9 * math.log(100)) ** (1 / 3) * 100)
    assert ESTC(action_set=X, sparsity=5, horizon=1000).explorations == math.ceil(
        (25 * math.log(100)) ** (1 / 3) * 100
    )
    # 8 times the horizon: 4 times the explorations.
    lengths = [
        ESTC(action_set=X, sparsity=1, horizon=T, constant=2.0).explorations for T in (10**4, 80000)
    ]
    assert lengths[1] == pytest.approx(4 * lengths[0], rel=0.001)
    assert ESTC(action_set=X, sparsity=5, horizon=10).explorations == 10


# ---------------------------------------------------------------------- the regime where it wins


def commitments(n: int, sigma: float, lanes: int = 40) -> tuple[FloatArray, FloatArray]:
    """The loss per step of the Lasso's and of least squares' action after the same n rewards."""
    X = sb.LpBall(100)
    policy = estc(X, 5, exploration_steps=n, sigma=sigma)
    rng = np.random.default_rng(1)
    theta = np.array([SparseTheta(3, smallest=0.5).draw(rng, 100, 5) for _ in range(lanes)])
    rule = policy.rule([np.random.default_rng(i) for i in range(lanes)], 16)
    for _ in range(n):
        actions = rule.choose(X)
        assert rule.exploring.all()
        rewards = (actions * theta).sum(axis=1) + sigma * rng.standard_normal(lanes)
        rule.learn(actions, rewards, rule.pulls)
    mine = rule.choose(X)
    assert not rule.exploring.any()
    least = np.array(
        [
            np.linalg.lstsq(v, b, rcond=1e-9)[0]
            for v, b in zip(rule.sums.gram(), rule.sums.response(), strict=True)
        ]
    )
    other = policy.best_actions(least, X)
    best = np.linalg.norm(theta, axis=1)
    return best - (mine * theta).sum(axis=1), best - (other * theta).sum(axis=1)


@pytest.mark.parametrize(
    ("n", "sigma"),
    [
        (80, 0.05),
        pytest.param(100, 0.05, marks=pytest.mark.thorough),
        pytest.param(100, 0.1, marks=pytest.mark.thorough),
    ],
)
def test_with_few_explorations_the_lasso_loses_less_than_least_squares(
    n: int, sigma: float
) -> None:
    """d = 100, theta* 3-sparse; the paired difference is over 5 standard errors."""
    mine, other = commitments(n, sigma)
    difference = other - mine
    assert difference.mean() > 5 * difference.std() / math.sqrt(difference.size)
    assert mine.mean() < 0.4 * other.mean()


def test_the_regret_grows_like_the_two_thirds_power() -> None:
    """8 times the horizon: 4 times the regret, where linear would be 8; means of 20 trials."""
    X = sb.LpBall(30)
    regret = []
    for horizon in (500, 4000):
        env = sb.LinearEnvironment(
            action_set=X, theta_star=SparseTheta(2, smallest=0.5), noise=sb.Gaussian(0.1)
        )
        policy = ESTC(action_set=X, sparsity=3, horizon=horizon, theta_sparsity=2, sigma=0.1)
        run = sb.simulate(policy, env, horizon=horizon, trials=20, seed=2)
        regret.append(run.regret[:, -1].mean())
    assert 3.0 < regret[1] / regret[0] < 4.6


# ---------------------------------------------------------------------- contracts


@pytest.mark.parametrize("name", SETS)
def test_stepwise_equals_lanes_bit_for_bit(name: str) -> None:
    X = SETS[name]
    env = sb.LinearEnvironment(
        action_set=X, theta_star=sb.UniformCube(), noise=sb.Heteroscedastic(0.3)
    )
    # An oracle call on the polyhedral sets takes some ten milliseconds.
    slow = name in ("polytope", "budget")
    horizon = 25 if slow else 90
    policies = [estc(X), estc(X, sigma=0.3, exploration_steps=25), estc(X, horizon=40)]
    policies = policies[:1] if slow else policies
    for policy in policies:
        lanes = sb.simulate(policy, env, horizon=horizon, trials=4, seed=3)
        steps = simulate_stepwise(policy, env, horizon=horizon, trials=4, seed=3)
        fewer = sb.simulate(policy, env, horizon=horizon, trials=2, seed=3)
        assert lanes.regret.tobytes() == steps.regret.tobytes()
        assert lanes.regret[:2].tobytes() == fewer.regret.tobytes()
        # The engines sum up the squares of the error in another order.
        np.testing.assert_allclose(lanes.theta_error, steps.theta_error, rtol=1e-14)


@pytest.mark.parametrize("sigma", [0.1, "estimate"])
def test_a_learner_read_back_continues_bit_for_bit(sigma: float | str) -> None:
    policy = estc(sb.LpBall(4), exploration_steps=60, sigma=sigma)
    straight: Learner = policy.start(seed=3)
    saved: Learner = policy.start(seed=3)
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(30):
        left, right = list(wander(straight, one, 7)), list(wander(saved, two, 7))
        assert all(map(same, left, right))
        saved = reloaded(saved)
    assert straight.support is not None
    assert straight.to_dict() == saved.to_dict()


@pytest.mark.parametrize("name", SETS)
def test_masks_are_respected(name: str) -> None:
    X = SETS[name]
    learner = estc(X).start(seed=1)
    rng = np.random.default_rng(2)
    for step in range(60):
        mask = rng.random(5) < 0.5
        mask[rng.integers(5)] = True
        decision = learner.ask(available=mask)
        assert X.restrict(mask).contains(decision.action)
        assert (decision.action != 0).sum() <= 2
        assert decision.phase == ("explore" if step < 20 else "exploit")
        learner.tell(decision, float(rng.standard_normal()))


def test_late_and_lost_rewards() -> None:
    """It explores until n_1 rewards are known; the latecomers refine the commitment."""
    X, theta = sb.LpBall(6), np.array([0, 1.0, 0, 0, -0.7, 0])
    learner = estc(X, sigma=0.01, exploration_steps=30).start(seed=5)
    asked = [learner.ask() for _ in range(200)]
    assert {decision.phase for decision in asked} == {"explore"}
    for decision in asked[50:79]:
        learner.tell(decision, float(theta @ decision.action))
    assert learner.theta_hat is None
    assert learner.support is None
    learner.tell(asked[0], float(theta @ asked[0].action))
    first = learner.theta_hat
    assert first is not None
    assert learner.support == (1, 4)
    decision = learner.ask()
    assert decision.phase == "exploit"
    # An exploitation teaches nothing, however strange its reward.
    learner.tell(decision, 1e6)
    np.testing.assert_array_equal(learner.theta_hat, first)
    for late in asked[1:50]:
        learner.tell(late, float(theta @ late.action))
    refined = learner.theta_hat
    assert refined is not None
    assert np.abs(refined - theta).sum() < np.abs(first - theta).sum()
    certificate = learner.certificate()
    assert certificate.locked
    assert certificate.support == (1, 4)


def test_logged_rewards_count_as_explorations() -> None:
    X, theta = sb.LpBall(4), np.array([0.0, 1.0, 0.0, 0.5])
    learner = estc(X, sigma=0.01, exploration_steps=30).start(seed=0)
    logged = np.random.default_rng(0).choice([-0.5, 0.0, 0.5], (29, 4))
    learner.warm_start(logged, logged @ theta)
    assert learner.ask().phase == "explore"
    learner.warm_start(logged, logged @ theta)
    assert learner.ask().phase == "exploit"
    assert learner.support == (1, 3)


def test_refusals() -> None:
    X = sb.LpBall(4)
    with pytest.raises(sb.InvalidValueError, match="exploration_steps, got None"):
        ESTC(action_set=X, sparsity=2)
    with pytest.raises(sb.InvalidValueError, match="exploration_steps, got 10"):
        ESTC(action_set=X, sparsity=2, horizon=10, exploration_steps=5)
    wrong: list[dict[str, Any]] = [
        {"horizon": 0},
        {"horizon": 2.5},
        {"exploration_steps": 0},
        {"horizon": 9, "theta_sparsity": 5},
        {"horizon": 9, "theta_sparsity": 0},
        {"horizon": 9, "constant": 0.0},
        {"horizon": 9, "sigma": -1.0},
        {"horizon": 9, "sigma": "guess"},
    ]
    for bad in wrong:
        with pytest.raises(sb.SparseBanditsError):
            ESTC(action_set=X, sparsity=2, **bad)
