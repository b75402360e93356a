"""What is ours: the field on five geometries, and how the robustness of a policy is judged."""

from dataclasses import replace

import pytest

import sparsebandits as sb
from sparsebandits.comparison.compare import compare
from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.comparison.scenarios import GEOMETRIES, ROBUSTNESS, Scenario
from sparsebandits.paper.experiment import Results, Size
from sparsebandits.paper.figures import robustness
from sparsebandits.paper.figures.field import MANY
from sparsebandits.paper.table import EXPERIMENTS


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
    comparison = scenario.comparison(played(scenario, slower), "tiny-")
    best, ratio = robustness.ratio_to_best(comparison)
    assert best.label == "LinTS"  # CUCB sees more, ESTC is told T
    assert ratio.mean == pytest.approx(slower)
    assert ratio.low <= ratio.mean <= ratio.high
    claim = robustness.scenario_claim(scenario, comparison)
    assert (claim.verdict, claim.label) == (verdict, "ours")
    assert "LinTS" in claim.measured


def test_nothing_to_earn_is_judged_by_what_breaks() -> None:
    scenario = tiny([0.0, 0.0, 0.0])
    comparison = scenario.comparison(played(scenario), "tiny-")
    assert robustness.is_trivial(comparison)
    claim = robustness.scenario_claim(scenario, comparison)
    assert claim.verdict == "holds"
    assert "Regret 0" in claim.measured


@pytest.mark.parametrize(("size", "horizons"), [("paper", (2_000,)), ("full", (2_000, 20_000))])
def test_the_field_covers_all_geometries(size: Size, horizons: tuple[int, ...]) -> None:
    cells = {cell.key: cell for cell in EXPERIMENTS["field"].cells(size)}
    assert {cell.horizon for cell in cells.values()} == set(horizons)
    for scenario in GEOMETRIES:
        for horizon in horizons:
            for label in (RECOMMENDED, "LinTS", "explore-then-commit", "clairvoyant"):
                assert cells[f"{scenario.name}-{horizon}-{label}"].horizon == horizon
            # Who plans for T plans for the right one.
            planner = cells[f"{scenario.name}-{horizon}-ESTC"].policy
            assert planner.to_dict()["horizon"] == horizon
            # The recommended policy is no longer judged by a handful of trials.
            trials = cells[f"{scenario.name}-{horizon}-{RECOMMENDED}"].trials
            assert trials == (20 if scenario.name == "ellipsoid" else MANY)
    for slow in ("l2-20000-OFUL, c = 1", "ellipsoid-2000-OFUL, c = 1, greedy"):
        assert (slow in cells) == (size == "full")
    assert "l2-20000-OFUL, proven" not in cells  # too slow for the long horizon
    assert EXPERIMENTS["field"].ours


def test_the_long_run_is_part_of_the_long_rerun_alone() -> None:
    def names(size: Size) -> set[str]:
        cells = EXPERIMENTS["robustness"].cells(size)
        return {key.split("-SparseThompson")[0] for key in (cell.key for cell in cells)} & scenarios

    scenarios = {scenario.name for scenario in ROBUSTNESS}
    assert names("full") == names("quick") == scenarios
    assert names("paper") == scenarios - {"long-run"}
    assert EXPERIMENTS["robustness"].ours
