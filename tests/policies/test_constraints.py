"""Policies on sets without 0, with least doses, and under rules: the same contract."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES as POLICY_KINDS

NAMES = ["tv", "radio", "print", "search"]
SPENT = sb.Budget(1.0, np.full(4, 0.6), spend_all=True)
DOSED = sb.Budget(5.0, np.full(4, 4.0), min_dose=2.0, names=NAMES)
RULES = sb.Supports(at_most=2, groups={("tv", "radio"): 1})

ODD_KEYWORDS: dict[str, dict[str, Any]] = {
    "sparse-thompson": {},
    "apsee-g": {"oracle": "exact", "insist": True},
    "apsee-compact": {"oracle": "exact"},
    "apsee-hedged": {"oracle": "exact"},
    "lin-ts": {},
    "oful": {},
    "pege": {},
    "explore-then-commit": {"horizon": 100},
    "epsilon-greedy": {},
    "estc": {"exploration_steps": 9},
    "support-elimination": {},
    "random-sparse": {},
}
"""What each kind needs to be told on sets without 0, or with least doses."""

POLICIES: dict[str, sb.Policy] = {
    "a sorted choice under rules": sb.APSEE(
        action_set=sb.LpBall(4, names=NAMES), sparsity=RULES, sigma=0.02, confidence="mixture"
    ),
    "an ellipsoid under rules": sb.APSEEG(
        action_set=sb.Ellipsoid(np.eye(4) + 0.3),
        sparsity=sb.Supports(at_most=2, never_together=[(0, 1)]),
        sigma=0.02,
        oracle="exact",
    ),
    "least doses": sb.CompactAPSEEG(action_set=DOSED, sparsity=2, sigma=0.02, oracle="exact"),
    "all is spent": sb.CompactAPSEEG(action_set=SPENT, sparsity=2, sigma=0.02, oracle="exact"),
}


@pytest.mark.parametrize("name", POLICIES)
def test_the_contract(name: str) -> None:
    sb.testing.check_policy(POLICIES[name])


@pytest.mark.thorough
@pytest.mark.parametrize(("X", "sparsity"), [(DOSED, RULES), (SPENT, 2), (DOSED, 2)])
@pytest.mark.parametrize("guarantee", [False, True])
def test_the_contract_of_thompson(
    X: sb.ActionSet, sparsity: int | sb.Supports, guarantee: bool
) -> None:
    sb.testing.check_policy(sb.SparseThompson(action_set=X, sparsity=sparsity, guarantee=guarantee))


@pytest.mark.parametrize(("X", "sparsity"), [(DOSED, RULES), (SPENT, 2)])
def test_thompson_learns_there(X: sb.ActionSet, sparsity: int | sb.Supports) -> None:
    theta = np.array([1.0, 0.9, -0.5, 0.6])
    env = sb.LinearEnvironment(action_set=X, theta_star=theta, noise=sb.Gaussian(0.05))
    policy = sb.SparseThompson(action_set=X, sparsity=sparsity)
    run = sb.simulate(policy, env, horizon=80, trials=2, seed=0)
    per_step = run.regret[:, -1] / 80
    worst = 2 * X.norm_bound * np.linalg.norm(theta)
    assert (run.regret >= -1e-9).all()  # nothing allowed is better than the benchmark
    assert (per_step < 0.15 * worst).all()
    late = run.regret[:, -1] - run.regret[:, run.steps.searchsorted(60)]
    assert (late < 0.02 * worst * 20).all()


def test_every_kind_that_takes_such_sets_is_here() -> None:
    others = {"apsee", "csar", "time-varying"}  # which sort, or go along axes: they refuse
    assert set(ODD_KEYWORDS) == set(POLICY_KINDS) - others


@pytest.mark.parametrize(
    ("X", "sparsity"), [(SPENT, 2), (DOSED, sb.Supports(at_most=2, always=["tv"], at_least=2))]
)
def test_who_goes_along_axes_says_so_when_it_is_built(
    X: sb.ActionSet, sparsity: int | sb.Supports
) -> None:
    with pytest.raises(sb.CompositionError, match=r"explores along axes.*Use SparseThompson"):
        sb.TimeVaryingAPSEEG(action_set=X, sparsity=sparsity, oracle="exact", schedule="sqrt")


@pytest.mark.parametrize("kind", ODD_KEYWORDS)
@pytest.mark.parametrize(
    ("X", "sparsity"), [(SPENT, 2), (DOSED, sb.Supports(at_most=2, always=["tv"], at_least=2))]
)
def test_whoever_takes_the_set_plays_what_is_in_it(
    kind: str, X: sb.ActionSet, sparsity: int | sb.Supports
) -> None:
    """From the first decision on, with nothing known, in a batch, and of what is available."""
    if not POLICY_KINDS[kind].takes_rules and isinstance(sparsity, sb.Supports):
        sparsity = 2
    policy = POLICY_KINDS[kind](action_set=X, sparsity=sparsity, **ODD_KEYWORDS[kind])
    for seed in range(5):
        learner = policy.start(seed)
        for decision in [learner.ask(), *learner.ask(count=2), learner.ask(available=[0, 1, 2])]:
            assert X.contains(decision.action)
            assert policy.sparse_oracle.obeyed_by(decision.action, X)
            learner.tell(decision, 1.0)


def test_what_counts_coordinates_refuses_rules() -> None:
    box = sb.Box(np.zeros(4), np.ones(4), names=NAMES)
    for kind in (sb.CSAR, sb.OFUL, sb.RandomSparse, sb.SupportElimination):
        with pytest.raises(sb.CompositionError, match="give sparsity as a number"):
            kind(action_set=box, sparsity=RULES)


def test_a_sorted_choice_of_blocks_is_sent_to_exact() -> None:
    blocks = sb.Supports(at_most=2, blocks=[(0, 1)])
    with pytest.raises(sb.CompositionError, match="oracle='exact'"):
        sb.APSEE(action_set=sb.LpBall(4), sparsity=blocks, sigma=0.1)


def test_bases_of_what_has_no_axes() -> None:
    for X, sparsity in ((SPENT, 2), (DOSED, RULES), (DOSED, 2)):
        basis = sb.make_basis("standard", X, sparsity)
        assert np.linalg.matrix_rank(basis.actions) == 4
        for action in basis.actions:
            assert X.contains(action)
            assert X.obeys(action, X.choice_of(sparsity))
    always = sb.Supports(at_most=2, always=["tv"])
    assert (sb.make_basis("boundary", DOSED, always).actions[:, 0] >= 2.0).all()
    pairs = sb.Polytope(
        np.vstack([np.eye(4), -np.eye(4)]), np.ones(8), equalities=([[1, -1, 0, 0]], [0.0])
    )
    with pytest.raises(sb.CompositionError, match="span only 3 of 4"):
        sb.make_basis("standard", pairs, sb.Supports(at_most=3, at_least=1))


def test_available_must_leave_an_action() -> None:
    learner = sb.SparseThompson(action_set=DOSED, sparsity=RULES).start(seed=0)
    decision = learner.ask(available=["tv", "print"])
    assert not decision.action[[1, 3]].any()
    spent = sb.SparseThompson(action_set=SPENT, sparsity=2).start(seed=0)
    with pytest.raises(sb.InvalidValueError, match="must be spent"):
        spent.ask(available=[0])
