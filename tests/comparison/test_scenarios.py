"""The scenarios: what each is, that it runs, and how the robustness of a policy is judged."""

from dataclasses import replace

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.compare import compare
from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.comparison.scenarios import GEOMETRIES, ROBUSTNESS, SCENARIOS, Scenario
from sparsebandits.paper.base import Results
from sparsebandits.paper.figures import among_field, robustness
from sparsebandits.paper.table import EXPERIMENTS


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


# ---------------------------------------------------------------------- the verdicts


def tiny(theta: list[float]) -> Scenario:
    ball = sb.LpBall(len(theta))
    return Scenario(
        name="tiny",
        about="three items",
        environment=lambda: sb.LinearEnvironment(action_set=ball, theta_star=theta),
        sparsity=1,
        trials=4,
    )


def played(scenario: Scenario, slower: float = 1.0) -> Results:
    policies = scenario.field(60).policies
    kept = {
        label: policies[label]
        for label in (RECOMMENDED, "LinTS", "random H-sparse", "CUCB", "ESTC")
    }
    runs = dict(compare(kept, scenario.environment(), 60, 4).runs)
    runs[RECOMMENDED] = replace(runs[RECOMMENDED], regret=slower * runs["LinTS"].regret)
    return {f"tiny-{label}": run for label, run in runs.items()}


@pytest.mark.parametrize(("slower", "verdict"), [(1.0, "holds"), (1.9, "holds"), (2.5, "fails")])
def test_the_verdict_follows_from_the_ratio(slower: float, verdict: str) -> None:
    scenario = tiny([0.9, 0.8, 0.1])
    found = robustness.comparison(scenario, played(scenario, slower))
    best, ratio = robustness.ratio_to_best(found)
    assert best.label == "LinTS"  # CUCB sees more, ESTC is told T
    assert ratio.mean == pytest.approx(slower)
    assert ratio.low <= ratio.mean <= ratio.high
    claim = robustness.claim_of(scenario, found)
    assert (claim.verdict, claim.label) == (verdict, "ours")
    assert "LinTS" in claim.measured


def test_nothing_to_earn_is_judged_by_what_breaks() -> None:
    scenario = tiny([0.0, 0.0, 0.0])
    found = robustness.comparison(scenario, played(scenario))
    assert robustness.is_trivial(found)
    claim = robustness.claim_of(scenario, found)
    assert claim.verdict == "holds"
    assert "Regret 0" in claim.measured


def test_cells_cover_all_settings_and_both_horizons() -> None:
    keys = {cell.key: cell for cell in EXPERIMENTS["field"].cells(False)}
    for scenario in GEOMETRIES:
        short, long = (keys[f"{scenario.name}-{place}-{RECOMMENDED}"] for place in (0, 1))
        assert (short.horizon, long.horizon) == scenario.horizons
        for label in ("LinTS", "explore-then-commit", "clairvoyant"):
            assert f"{scenario.name}-1-{label}" in keys
        # Who plans for T plans for the right one.
        assert keys[f"{scenario.name}-0-ESTC"].policy.to_dict()["horizon"] == 2_000
        assert keys[f"{scenario.name}-1-ESTC"].policy.to_dict()["horizon"] == 20_000
    assert {
        cell.key.split("-SparseThompson")[0] for cell in EXPERIMENTS["robustness"].cells(False)
    } >= {one.name for one in ROBUSTNESS}
    assert EXPERIMENTS["field"].ours
    assert EXPERIMENTS["robustness"].ours
    assert among_field.SHORT_ONLY
