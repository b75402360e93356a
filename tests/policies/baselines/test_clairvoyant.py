"""The clairvoyant: no regret with an exact oracle, the price of the oracle with another."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.baselines.clairvoyant import Clairvoyant
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory
from tests.policies.examples import DIM, ellipsoid
from tests.reference.stepwise import simulate_stepwise


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
@pytest.mark.parametrize("oracle", ["exact", "auto"])
def test_no_regret_with_an_exact_oracle(factory: Factory, oracle: str) -> None:
    """0 but for the rounding of a sum of 50 products, and always the optimal support."""
    action_set = factory(np.random.default_rng(3), DIM)
    env = sb.LinearEnvironment(action_set=action_set, theta_star=sb.UniformCube())
    policy = Clairvoyant(action_set=action_set, sparsity=2, oracle=oracle)
    run = sb.simulate(policy, env, horizon=50, trials=4, seed=3)
    np.testing.assert_allclose(run.regret, 0.0, atol=1e-13 * 50)
    if oracle == "exact":
        np.testing.assert_array_equal(run.optimal_share, 1.0)
    np.testing.assert_array_equal(run.theta_error, 0.0)


def test_the_price_of_a_greedy_oracle_is_all_that_is_lost() -> None:
    """On an ellipsoid on which greedy is wrong, the regret per step is what greedy misses."""
    action_set = ellipsoid(8, seed=2)
    env = sb.LinearEnvironment(action_set=action_set, theta_star=sb.UniformCube())
    policy = Clairvoyant(action_set=action_set, sparsity=3, oracle="greedy")
    run = sb.simulate(policy, env, horizon=20, trials=30, seed=3, points=20)
    against = sb.simulate(policy, env, horizon=20, trials=30, seed=3, points=20, benchmark="greedy")
    np.testing.assert_allclose(against.regret, 0.0, atol=1e-12)
    missed = run.optimum - against.optimum
    assert missed.max() > 1e-3
    np.testing.assert_allclose(run.regret, missed[:, None] * run.steps, atol=1e-12)


def test_no_regret_on_moving_sets() -> None:
    sets: list[sb.ActionSet] = [sb.LpBall(DIM), ellipsoid(), sb.LpBall(DIM).restrict([1, 2])]
    env = sb.LinearEnvironment(action_sets=sb.Alternating(sets), theta_star=sb.UniformCube())
    policy = Clairvoyant(action_set=sb.LpBall(DIM), sparsity=2, oracle="exact")
    run = sb.simulate(policy, env, horizon=30, trials=3, seed=1)
    np.testing.assert_allclose(run.regret, 0.0, atol=1e-12)
    np.testing.assert_array_equal(run.optimal_share, 1.0)


def test_a_trial_does_not_depend_on_the_others() -> None:
    env = sb.LinearEnvironment(action_set=ellipsoid(), theta_star=sb.UniformCube())
    policy = Clairvoyant(action_set=ellipsoid(), sparsity=2, oracle="greedy")
    whole = sb.simulate(policy, env, horizon=20, trials=5, seed=3)
    part = sb.simulate(policy, env, horizon=20, trials=2, seed=3, first_trial=2)
    np.testing.assert_array_equal(whole.regret[2:4], part.regret)


def test_it_runs_in_simulations_only() -> None:
    policy = Clairvoyant(action_set=sb.LpBall(DIM), sparsity=2)
    with pytest.raises(sb.CompositionError, match=r"sees theta\*"):
        policy.start(seed=0)
    rule = policy.rule([np.random.default_rng(0)])
    with pytest.raises(sb.CompositionError, match=r"told theta\* first"):
        rule.choose(policy.action_set)
    assert rule.estimate is None
    env = sb.LinearEnvironment(action_set=sb.LpBall(DIM), theta_star=sb.UniformCube())
    with pytest.raises(sb.CompositionError):
        simulate_stepwise(policy, env, horizon=5, trials=1)
    again = sb.Policy.from_dict(policy.to_dict())
    assert again.to_dict() == policy.to_dict()


def test_what_is_revealed_is_kept() -> None:
    """The caller may change its array afterwards; rewards change nothing."""
    policy = Clairvoyant(action_set=sb.LpBall(2), sparsity=1)
    rule = policy.rule([np.random.default_rng(0)])
    theta = np.array([[1.0, 2.0]])
    rule.reveal(theta)
    theta[:] = [9.0, 0.0]
    for _ in range(2):
        np.testing.assert_array_equal(rule.choose(policy.action_set), [[0.0, 1.0]])
        rule.learn(np.array([[0.0, 1.0]]), np.array([-9.0]), np.array([False]))
    rule.reveal(theta)
    np.testing.assert_array_equal(rule.choose(policy.action_set), [[1.0, 0.0]])
