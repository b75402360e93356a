"""Policies that are told more than rewards: simulated, never started, and read from files."""

import json
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES, REFERENCES, Policy
from sparsebandits.policies.policy import ReferencePolicy
from sparsebandits.policies.rule import InformedRule
from tests.policies.examples import DIM, THETA, box, ellipsoid
from tests.reference.stepwise import simulate_stepwise

EXAMPLES: list[Policy] = [
    sb.CUCB(action_set=box(), sparsity=2, sigma=0.1),
    sb.CUCB(action_set=ellipsoid(), sparsity=1, sigma=0.0, oracle="greedy"),
    sb.Clairvoyant(action_set=sb.LpBall(DIM), sparsity=2),
    sb.Clairvoyant(action_set=ellipsoid(), sparsity=3, oracle="exact"),
]
every_reference = pytest.mark.parametrize("policy", EXAMPLES, ids=repr)


def test_every_reference_has_an_example_and_none_is_a_learner() -> None:
    assert {policy.kind for policy in EXAMPLES} == set(REFERENCES)
    assert not set(REFERENCES) & set(POLICIES)
    for kind, made in REFERENCES.items():
        assert made.kind == kind
        assert issubclass(made, ReferencePolicy)
    assert not any(issubclass(made, ReferencePolicy) for made in POLICIES.values())


@every_reference
def test_a_reference_cannot_be_started(policy: ReferencePolicy) -> None:
    seeds: list[Any] = [None, 0, -1]
    for seed in seeds:
        with pytest.raises(sb.CompositionError) as refusal:
            policy.start(seed)
        text = str(refusal.value)
        assert text.startswith(f"{type(policy).__name__} sees {policy.sees}")
        assert "simulate and compare" in text
        assert "SparseThompson" in text


@every_reference
def test_a_reference_is_read_from_its_description(policy: Policy) -> None:
    again = sb.Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
    assert type(again) is type(policy)
    assert again.to_dict() == policy.to_dict()
    with pytest.raises(sb.InvalidValueError, match="does not take the keys"):
        sb.Policy.from_dict({**policy.to_dict(), "colour": "red"})
    with pytest.raises(sb.InvalidValueError, match="sparsity"):
        sb.Policy.from_dict({**policy.to_dict(), "sparsity": DIM + 1})


@every_reference
def test_a_saved_learner_cannot_hold_a_reference(policy: Policy) -> None:
    data = sb.LinTS(action_set=policy.action_set, sparsity=1).start(seed=0).to_dict()
    with pytest.raises(sb.InvalidValueError, match="digest"):
        sb.Learner.from_dict({**data, "policy": policy.to_dict()})


@every_reference
def test_the_stepwise_engine_refuses_a_reference(policy: ReferencePolicy) -> None:
    env = sb.LinearEnvironment(action_set=policy.action_set, theta_star=THETA)
    assert isinstance(policy.rule([np.random.default_rng(0)]), InformedRule)
    with pytest.raises(sb.CompositionError, match="sees"):
        simulate_stepwise(policy, env, horizon=5, trials=1)
    assert sb.simulate(policy, env, horizon=5, trials=2).regret.shape[0] == 2


@every_reference
def test_support_of_is_that_of_the_oracle(policy: ReferencePolicy) -> None:
    best = sb.sparse_argmax(policy.action_set, THETA, policy.sparsity, "exact")
    assert policy.support_of(THETA) == best.support


def test_an_unknown_kind_is_answered_with_learners_and_references() -> None:
    with pytest.raises(sb.InvalidValueError) as refusal:
        sb.Policy.from_dict({"kind": "oracle"})
    for kind in (*POLICIES, *REFERENCES):
        assert repr(kind) in str(refusal.value)
