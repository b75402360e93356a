"""The field: who runs where, what each is told, and why others are left out."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.field import RECOMMENDED, field_policies, make_field, sees_more, told
from sparsebandits.environments.paper_setting import random_ellipsoid
from sparsebandits.policies.adaptive import ReferencePolicy

SETS = {
    "l2": sb.LpBall(20),
    "ellipsoid": random_ellipsoid(),
    "l1.5": sb.LpBall(20, p=1.5),
    "l1": sb.LpBall(20, p=1.0),
    "box": sb.Box(np.zeros(20), np.ones(20)),
}


@pytest.mark.parametrize("name", list(SETS))
def test_the_recommended_policy_comes_first_and_is_told_nothing(name: str) -> None:
    policies = field_policies(SETS[name], 5, 0.5, 2000)
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
    policies = field_policies(SETS["l2"], 5, 0.5, 2000)
    marked = {label for label, policy in policies.items() if sees_more(policy)}
    assert marked == {"CUCB", "clairvoyant"}
    assert all(isinstance(policies[label], ReferencePolicy) for label in marked)
    assert told(policies["explore-then-commit"]) == ("T",)
    assert told(policies["LinTS"]) == ("sigma",)
    assert told(field_policies(SETS["box"], 5, 0.5, 9)["paper: compact APSEE-G"]) == ()


def test_who_cannot_run_is_left_out_with_the_reason() -> None:
    wide = make_field(sb.LpBall(100), 10, "estimate", 100)
    assert "at most 20000" in wide.left_out["support elimination"]
    assert "CSAR needs a Box" in wide.left_out["CSAR"]
    assert "must be told the noise level" in wide.left_out["CUCB"]
    assert not set(wide.left_out) & set(wide.policies)
    assert all("sigma" not in told(policy) for policy in wide.policies.values())


def test_moving_sets_get_the_papers_algorithm_for_them() -> None:
    ball = field_policies(sb.LpBall(4), 2, "estimate", 50, noise_level=0.5, moving=True)
    assert [p.confidence_scale for p in ball.values() if isinstance(p, sb.TimeVaryingAPSEEG)] == [
        1.0,
        0.005,
    ]
    box = field_policies(SETS["box"], 2, 0.5, 50, moving=True)
    assert [p.schedule for p in box.values() if isinstance(p, sb.TimeVaryingAPSEEG)] == ["sqrt"]
