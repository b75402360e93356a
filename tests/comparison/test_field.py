"""The field: who runs where, what each is told, and why others are left out."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.field import RECOMMENDED, Field, make_field, sees_more, told
from sparsebandits.environments.paper_setting import random_ellipsoid
from sparsebandits.policies import ReferencePolicy

SETS = {
    "l2": sb.LpBall(20),
    "ellipsoid": random_ellipsoid(),
    "l1.5": sb.LpBall(20, p=1.5),
    "l1": sb.LpBall(20, p=1.0),
    "box": sb.Box(np.zeros(20), np.ones(20)),
}


def field(action_set: sb.ActionSet, sparsity: int = 5, tells_sigma: bool = True) -> Field:
    environment = sb.LinearEnvironment(
        action_set=action_set, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5)
    )
    return make_field(environment, sparsity, 2000, tells_sigma=tells_sigma)


@pytest.mark.parametrize("name", list(SETS))
def test_the_recommended_policy_comes_first_and_is_told_nothing(name: str) -> None:
    policies = field(SETS[name]).policies
    assert next(iter(policies)) == RECOMMENDED
    assert told(policies[RECOMMENDED]) == ()
    assert isinstance(policies[RECOMMENDED], sb.SparseThompson)
    kinds = {policy.kind for policy in policies.values()}
    assert kinds >= {"lin-ts", "oful", "pege", "explore-then-commit", "epsilon-greedy", "estc"}
    assert kinds >= {"support-elimination", "random-sparse", "cucb", "clairvoyant"}
    assert ("csar" in kinds) == (name == "box")
    paper = {"l2": "apsee", "ellipsoid": "apsee-g", "l1.5": "apsee-g"}.get(name, "apsee-compact")
    assert paper in kinds
    scales = [p.confidence_scale for p in policies.values() if isinstance(p, sb.APSEE | sb.APSEEG)]
    assert scales == {"apsee": [1.0, 0.02], "apsee-g": [1.0, 0.005]}.get(paper, [])
    # A second oracle is another policy only where sorting is not exact.
    assert ("LinTS, greedy" in policies) == (name == "ellipsoid")


def test_references_are_marked_by_what_they_see() -> None:
    policies = field(SETS["l2"]).policies
    marked = {label for label, policy in policies.items() if sees_more(policy)}
    assert marked == {"CUCB", "clairvoyant"}
    assert all(isinstance(policies[label], ReferencePolicy) for label in marked)
    assert told(policies["explore-then-commit"]) == ("T",)
    assert told(policies["LinTS"]) == ("sigma",)
    assert told(field(SETS["box"]).policies["paper: compact APSEE-G"]) == ()


def test_who_cannot_run_is_left_out_with_the_reason() -> None:
    heavy = sb.LinearEnvironment(
        action_set=sb.LpBall(100), theta_star=sb.UniformCube(), noise=sb.StudentT(0.5, degrees=3)
    )
    wide = make_field(heavy, 10, 100)
    assert "at most 20000" in wide.left_out["support elimination"]
    assert "CSAR needs a Box" in wide.left_out["CSAR"]
    assert "no sigma to be known" in wide.left_out["CUCB"]
    assert not set(wide.left_out) & set(wide.policies)
    assert all("sigma" not in told(policy) for policy in wide.policies.values())


def test_moving_sets_get_the_papers_algorithm_for_them() -> None:
    def papers(action_set: sb.ActionSet) -> list[tuple[float, str, float]]:
        environment = sb.LinearEnvironment(
            action_sets=sb.RandomAvailability(action_set, 0.7, seed=0),
            theta_star=sb.UniformCube(),
            noise=sb.UniformNoise(0.9),
        )
        policies = make_field(environment, 2, 50).policies.values()
        chosen = [policy for policy in policies if isinstance(policy, sb.TimeVaryingAPSEEG)]
        return [(policy.confidence_scale, policy.schedule, policy.sigma) for policy in chosen]

    # It cannot estimate sigma, and is told the sub-Gaussian one: 0.9, not 0.52.
    assert papers(sb.LpBall(4)) == [(1.0, "linear", 0.9), (0.005, "linear", 0.9)]
    assert papers(SETS["box"]) == [(1.0, "sqrt", 0.9)]
