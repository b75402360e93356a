"""The scenarios: what each is, and that it runs."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.comparison.scenarios import GEOMETRIES, ROBUSTNESS, SCENARIOS


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_every_scenario_runs_with_the_recommended_policy(name: str) -> None:
    scenario = SCENARIOS[name]
    environment = scenario.environment()
    policy = scenario.field(40).policies[RECOMMENDED]
    assert policy.sparsity == scenario.sparsity
    run = sb.simulate(policy, environment, 40, 2, seed=0)
    assert np.isfinite(run.regret).all()
    assert run.regret.min() >= -1e-9
    assert np.isfinite(run.theta_error[:, -1]).all()


def test_the_scenarios_are_those_of_the_issue() -> None:
    assert [one.name for one in GEOMETRIES] == ["l2", "ellipsoid", "l1.5", "l1", "box"]
    for one in GEOMETRIES:
        assert one.environment().dim == 20
        assert one.environment().noise == sb.Gaussian(0.5)
        assert (one.sparsity, one.horizons, one.trials) == (5, (2_000, 20_000), 20)
    made = {one.name: one.environment() for one in ROBUSTNESS}
    assert (made["wide"].dim, SCENARIOS["wide"].sparsity) == (100, 10)
    assert made["loud"].sigma == 2
    assert isinstance(made["null"].theta_star, np.ndarray)
    assert not made["null"].theta_star.any()
    assert isinstance(made["sigma-unknown"].noise, sb.UniformNoise)
    assert not made["missing-items"].action_sets.is_fixed
    assert made["late-rewards"].delay == sb.UniformDelay(200)
    assert made["baseline"].baseline == 5
    assert made["context"].contexts == sb.GaussianContexts(3, effect=0.5, shift=1.0)
    assert made["drift"].drift == sb.Jump(1000)
    assert (made["sparse-theta"].dim, made["sparse-theta"].theta_star) == (
        100,
        sb.SparseTheta(5, smallest=0.25),
    )
    assert not made["heavy-tails"].noise.is_sub_gaussian
    assert SCENARIOS["long-run"].horizons == (10**6,)
    assert made["films"] == sb.film_recommendation()
    gap = np.diff(np.sort(np.abs(made["near-ties"].draw_theta(np.random.default_rng(0), 5))))
    assert gap.max() < 0.0011
    for one in ROBUSTNESS:
        assert not one.tells_sigma
        assert one.name == "long-run" or one.horizons == (2_000,)


@pytest.mark.parametrize("name", ["baseline", "context", "drift"])
def test_who_knows_theta_at_every_step_has_no_regret(name: str) -> None:
    """And who reckons with what the scenario is about takes part."""
    scenario = SCENARIOS[name]
    policies = scenario.field(2_000).policies
    more = {
        "baseline": {"SparseThompson, no intercept", "LinTS, intercept"},
        "context": {"SparseThompson, no context"},
        "drift": {"SparseThompson, half-life 250"},
    }
    assert more[name] <= set(policies)
    recommended = policies[RECOMMENDED]
    assert isinstance(recommended, sb.SparseThompson)
    assert recommended.intercept
    assert recommended.context == (3 if name == "context" else 0)
    run = sb.simulate(policies["clairvoyant"], scenario.environment(), 1_010, 2, seed=0)
    np.testing.assert_allclose(run.regret, 0.0, atol=1e-9)
    assert run.optimal_share.min() == 1
