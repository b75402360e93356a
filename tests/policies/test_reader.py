"""Policies from text: the command line's route and the sweep's give the same policy."""

import json
import math
from typing import Any

import pytest

import sparsebandits as sb
from sparsebandits.cli.compare import named_policies
from sparsebandits.comparison.scenarios import Scenario
from sparsebandits.policies import POLICIES, REFERENCES
from sparsebandits.policies.reader import policy_for, read_policy
from sparsebandits.sweeps.spec import read_sweep

KINDS = {**POLICIES, **REFERENCES}
NOISE = {"kind": "uniform", "half_width": 0.9}
"""Its sub-Gaussian sigma is 0.9, its standard deviation 0.52."""

BOX = sb.Box([0.0] * 4, [1.0] * 4)


def sets_of(kind: str) -> sb.ActionSet:
    return BOX if kind == "csar" else sb.LpBall(4)


def setting(action_set: sb.ActionSet, sigma: float = 0.9) -> dict[str, Any]:
    return {"action_set": action_set, "sparsity": 2, "horizon": 150, "sigma": sigma}


def world(action_set: sb.ActionSet) -> dict[str, Any]:
    theta = {"kind": "uniform-cube"}
    return {"action_set": action_set.to_dict(), "theta_star": theta, "noise": NOISE}


def from_command_line(text: str, action_set: sb.ActionSet) -> sb.Policy:
    environment = sb.environment_from_dict(world(action_set))
    scenario = Scenario(name="a", about="b", environment=lambda: environment, sparsity=2)
    return named_policies((text,), scenario, 150).policies[text]


def from_sweep(keywords: dict[str, Any], action_set: sb.ActionSet) -> sb.Policy:
    sweep = read_sweep(
        {
            "trials": 1,
            "horizon": 150,
            "sparsity": 2,
            "policies": [keywords],
            "environments": [world(action_set)],
        }
    )
    return sweep.cells[0].policy


@pytest.mark.parametrize("kind", list(KINDS))
def test_both_routes_give_the_same_policy(kind: str) -> None:
    action_set = sets_of(kind)
    has_sigma = "sigma" in KINDS[kind].__dataclass_fields__
    for keywords in ({}, {"sigma": "known"}, {"sigma": 0.3}):
        if keywords and not has_sigma:
            continue
        text = ",".join(f"{key}={value}" for key, value in keywords.items())
        told = from_command_line(f"{kind}:{text}", action_set)
        assert told.kind == kind
        swept = from_sweep({"kind": kind, **keywords}, action_set)
        assert told.to_dict() == swept.to_dict()
        if keywords == {"sigma": "known"}:
            assert told.to_dict()["sigma"] == 0.9


def test_only_who_cannot_do_without_is_told() -> None:
    told = {kind: read_policy(kind, **setting(sets_of(kind))).to_dict() for kind in KINDS}
    sigmas = {kind for kind, data in told.items() if data.get("sigma") == 0.9}
    assert sigmas == {"cucb", "time-varying"}
    horizons = {kind for kind, data in told.items() if data.get("horizon") == 150}
    assert horizons == {"explore-then-commit", "estc"}
    explores = read_policy("estc:exploration_steps=7", **setting(BOX)).to_dict()
    assert (explores["horizon"], explores["exploration_steps"]) == (None, 7)
    commits = read_policy("explore-then-commit:exploration_steps=7", **setting(BOX)).to_dict()
    assert (commits["horizon"], commits["exploration_steps"]) == (150, 7)


def test_a_noise_without_sigma_tells_none() -> None:
    heavy = setting(sb.LpBall(4), sigma=math.inf)
    for text in ("cucb", "apsee:sigma=known"):
        with pytest.raises(sb.CompositionError, match="no sigma to be known"):
            read_policy(text, **heavy)
    assert read_policy("cucb:sigma=0.5", **heavy).to_dict()["sigma"] == 0.5
    read_policy("apsee", **heavy)


def test_values_and_descriptions() -> None:
    ball = setting(sb.LpBall(4))
    policy = read_policy("pege:use_all_data=True, schedule=quadratic", **ball)
    keywords = {"use_all_data": True, "schedule": "quadratic"}
    assert keywords.items() <= policy.to_dict().items()
    basis = sb.make_basis("block-uniform", sb.LpBall(4), 2, 3)
    described = json.loads(json.dumps(basis.to_dict()))
    assert policy_for("apsee", {"basis": described}, **ball).to_dict()["basis"] == described


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lints", "Unknown policy 'lints'; did you mean 'lin-ts'?"),
        ("lin-ts:scal=1", "has no key 'scal'; did you mean 'scale'?"),
        ("lin-ts:sparsity=1", "has no key 'sparsity'"),
        ("lin-ts:scale", "'scale' in 'lin-ts:scale' is no key=value"),
        ("lin-ts:scale=1,scale=2", "gives the key 'scale' twice"),
        ("lin-ts:scale=-1", "scale must be positive"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(sb.InvalidValueError) as caught:
        read_policy(text, **setting(sb.LpBall(4)))
    assert message in str(caught.value)
