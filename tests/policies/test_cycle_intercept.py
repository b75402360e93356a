"""The paper's cycle with a baseline: one action more, the same bounds, locks that are right."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.exploration import AffineBasis, DiagonalBasis
from sparsebandits.policies.phased import ExploringPolicy
from sparsebandits.policies.rule import Rule
from sparsebandits.simulation import blockwise_engine, phase_engine
from tests.policies.examples import DIM, THETA, adaptive, apsee, moving, through_json
from tests.reference.stepwise import simulate_stepwise

BASELINES = (5.0, -100.0)


def world(action_set: sb.ActionSet, baseline: float, sigma: float = 0.1) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        action_set=action_set,
        theta_star=sb.UniformCube(),
        noise=sb.Gaussian(sigma),
        baseline=baseline,
    )


# ---------------------------------------------------------------------- what is explored


def test_a_cycle_explores_the_basis_and_0() -> None:
    policy = apsee(intercept=True)
    learner = policy.start()
    for cycle in (1, 2):
        decisions = [learner.ask() for _ in range(DIM + 1)]
        for decision in decisions:
            learner.tell(decision, 5.0 + float(THETA @ decision.action))
        np.testing.assert_array_equal([d.action for d in decisions[:DIM]], np.eye(DIM))
        assert not decisions[-1].action.any()
        assert [d.cycle for d in decisions] == [cycle] * (DIM + 1)
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-12)
    assert "baseline 5" in str(learner.summary())


@pytest.mark.parametrize("use_all_data", [False, True])
def test_a_summary_has_intervals_and_chances(use_all_data: bool) -> None:
    """Those of least squares on (1, x): sigma sqrt(diag (X'X)^-1)."""
    X = sb.Box(np.zeros(DIM), np.ones(DIM), names=["tv", "radio", "web", "mail"])
    learner = apsee(X, sigma=0.3, intercept=True, use_all_data=use_all_data).start()
    rng, rows = np.random.default_rng(0), []
    for _ in range(9 * (DIM + 1) + 2):
        decision = learner.ask()
        rows.append(np.append(decision.action, 1.0))
        reward = 5.0 + float(THETA @ decision.action + 0.3 * rng.standard_normal())
        learner.tell(decision, reward)
    summary, design = learner.summary(), np.array(rows)
    expected = 0.3 * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))[:DIM]
    np.testing.assert_allclose(summary.deviation, expected, rtol=1e-9)
    assert summary.rewards == len(rows)
    assert summary.inclusion[0] > 0.95
    assert summary.inclusion[1] < 0.5
    assert "radio" in str(summary)
    assert learner.summary().inclusion.tolist() == summary.inclusion.tolist()


def test_after_the_lock_the_support_and_0_are_explored() -> None:
    policy = apsee(confidence="pairwise", explore_locked_only=True, intercept=True)
    learner = policy.start()
    explored = []
    for _ in range(600):
        decision = learner.ask()
        if learner.support is not None and decision.phase == "explore":
            explored.append(tuple(decision.indices.tolist()))
        learner.tell(decision, -100.0 + float(THETA @ decision.action))
    assert learner.support == (0, 2)
    assert explored[-3:] == [(0,), (2,), ()]


def test_where_0_is_not_allowed_another_action_tells_the_baseline() -> None:
    """Off the plane through the others; and where there is none, the reason is given."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, DIM)) * (rng.random((20, DIM)) < 0.5)
    for X in (
        sb.FiniteSet(points[points.any(axis=1)]),
        sb.Polytope(np.vstack([np.eye(DIM), -np.eye(DIM)]), [1.0] * DIM + [-0.3] + [1.0] * 3),
    ):
        policy = sb.PEGE(action_set=X, sparsity=DIM, intercept=True)
        basis = policy.explored
        assert isinstance(basis, AffineBasis)
        assert basis.origin.any()
        assert X.contains(basis.origin)
        np.testing.assert_allclose(basis.estimate(basis.predict(THETA) + 9.0), THETA)
    spent = sb.Budget(1.0, np.full(DIM, 0.8), spend_all=True)
    with pytest.raises(sb.CompositionError, match="intercept=False"):
        sb.CompactAPSEEG(action_set=spent, sparsity=2, oracle="exact", intercept=True)
    sb.CompactAPSEEG(action_set=spent, sparsity=2, oracle="exact")


def test_moving_sets_without_0_are_explored_beside_their_axes() -> None:
    """On the first set the origin is found, on the second it is 0; theta is known by both."""
    rows = np.vstack([np.eye(DIM), -np.eye(DIM)])
    shifted = sb.Polytope(rows, [1.0] * DIM + [-0.3] + [1.0] * (DIM - 1))
    policy = moving(sb.LpBall(DIM), gap_test=False, intercept=True)
    learner = policy.start()
    for X in (shifted, sb.LpBall(DIM)) * 12:
        decision = learner.ask(action_set=X)
        assert X.contains(decision.action)
        learner.tell(decision, 5.0 + float(THETA @ decision.action))
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)


def test_on_one_set_0_is_explored_as_often_as_each_axis() -> None:
    """Where nothing is ever exploited, because nothing has a gap."""
    learner = moving(sb.LpBall(DIM), intercept=True).start()
    played = []
    for _ in range(7 * (DIM + 1)):
        decision = learner.ask()
        learner.tell(decision, 5.0)
        played.append(tuple(decision.indices.tolist()))
    assert {axis: played.count(axis) for axis in set(played)} == dict.fromkeys(
        [(), *((i,) for i in range(DIM))], 7
    )


def test_a_million_coordinates_take_vectors_only() -> None:
    dim = 1_000_000
    policy = sb.APSEE(action_set=sb.LpBall(dim), sparsity=2, sigma=0.1, intercept=True)
    assert policy.explored.count == dim + 1
    assert policy.explored.lambda_0 == pytest.approx(1 / (dim + 1))
    assert policy.test.unit_threshold(5) > 0


# ---------------------------------------------------------------------- what is proven


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("confidence", ["paper", "coordinate", "pairwise", "support"])
def test_intervals_cover_theta_at_every_cycle(confidence: str, baseline: float) -> None:
    """At most a share delta = 0.2 of 400 learners ever miss: a false alarm below 1e-6."""
    lanes, delta, sigma = 400, 0.2, 0.5
    policy = apsee(sigma=sigma, delta=delta, confidence=confidence, intercept=True)
    rule: Rule = policy.rule([np.random.default_rng(0)] * lanes)
    rng = np.random.default_rng(4)
    theta = rng.uniform(-1, 1, (lanes, DIM))
    missed, shrunk = np.zeros(lanes, dtype=np.bool_), np.zeros(lanes, dtype=np.bool_)
    for cycle in range(1, 31):
        for _ in range(DIM + 1):
            actions = rule.choose(policy.action_set)
            noise = sigma * rng.standard_normal(lanes)
            rule.learn(actions, baseline + (actions * theta).sum(axis=1) + noise, rule.pulls)
        estimate = rule.estimate
        assert estimate is not None
        off, width = np.abs(estimate - theta), sigma * policy.bound.coordinate_radius(cycle)
        missed |= (off > width).any(axis=1)
        shrunk |= (off > width / 3).any(axis=1)
    limit = binom.isf(1e-6, lanes, delta)
    assert missed.sum() <= limit
    assert shrunk.sum() > limit or confidence == "paper"


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "apsee", "confidence": "pairwise"},
        {"kind": "apsee", "confidence": "mixture", "sigma": "estimate", "use_all_data": False},
        {"kind": "apsee-g", "confidence": "support"},
    ],
    ids=["pairwise", "estimated", "greedy"],
)
def test_few_locks_are_wrong(settings: dict[str, Any], baseline: float) -> None:
    """At most a share delta = 0.1 of 300 trials: a false alarm below 1e-6. Many lock."""
    keywords: dict[str, Any] = {"sigma": 0.1, "delta": 0.1, "intercept": True, **settings}
    policy = adaptive(keywords.pop("kind"), sb.LpBall(DIM), **keywords)
    env, limit = world(policy.action_set, baseline), binom.isf(1e-6, 300, 0.1)
    run = sb.simulate(policy, env, 4000, 300, seed=3)
    locked = np.isfinite(run.locked_at)
    assert locked.mean() > 0.35
    assert (locked & ~run.support_correct).sum() <= limit
    hasty = adaptive(policy.kind, sb.LpBall(DIM), **keywords, confidence_scale=0.001)
    wrong = sb.simulate(hasty, env, 400, 300, seed=3)
    assert (np.isfinite(wrong.locked_at) & ~wrong.support_correct).sum() > limit


def test_the_variance_of_each_coordinate_doubles_on_axes() -> None:
    plain, with_baseline = apsee(), apsee(intercept=True)
    assert isinstance(with_baseline, ExploringPolicy)
    np.testing.assert_allclose(with_baseline.explored.coordinate_variance, 2.0)
    np.testing.assert_allclose(plain.explored.coordinate_variance, 1.0)
    assert isinstance(plain.explored, DiagonalBasis)


# ---------------------------------------------------------------------- engines and files


@pytest.mark.parametrize(
    ("kind", "keywords"),
    [
        ("apsee", {"sigma": "estimate", "confidence_scale": 0.1}),
        ("apsee", {"sigma": 0.2, "confidence_scale": 0.1, "explore_locked_only": True}),
        ("apsee-hedged", {"sigma": 0.2, "confidence_scale": 0.3, "basis": "block-gaussian"}),
        ("pege", {}),
        ("apsee", {"sigma": 0.2, "confidence_scale": 0.1, "use_all_data": True}),
        ("time-varying", {"sigma": 0.2, "confidence_scale": 0.02}),
        ("support-elimination", {"sigma": 0.02}),
    ],
)
def test_every_engine_has_the_bits_of_a_learner(kind: str, keywords: dict[str, Any]) -> None:
    policy = adaptive(kind, sb.LpBall(DIM), intercept=True, **keywords)
    env = world(policy.action_set, -100.0)
    options: dict[str, Any] = {"horizon": 300, "trials": 3, "seed": 2, "points": 30}
    slow = simulate_stepwise(policy, env, **options)
    for engine in ("auto", "lanes"):
        run = sb.simulate(policy, env, **options, engine=engine)
        for measure in ("theta_error", "optimal_share", "locked_at", "support_correct", "optimum"):
            np.testing.assert_array_equal(getattr(run, measure), getattr(slow, measure))
        np.testing.assert_allclose(run.regret, slow.regret, rtol=1e-12)
    whole_cycles = kind in ("apsee", "apsee-hedged", "pege") and "use_all_data" not in keywords
    assert blockwise_engine.can_run(policy, env) == whole_cycles


def test_moving_sets_see_the_baseline_in_a_simulation() -> None:
    """Whole phases at once know of no baseline, no context and no drift: they are not taken."""
    policy = moving(sb.LpBall(DIM), schedule="sqrt")
    for changes in ({"baseline": 5.0}, {"contexts": sb.GaussianContexts(2)}, {"drift": sb.Jump(9)}):
        env = sb.LinearEnvironment(
            action_set=sb.LpBall(DIM), theta_star=sb.UniformCube(), **changes
        )
        assert not phase_engine.can_run(policy, env)
    assert phase_engine.can_run(policy, world(sb.LpBall(DIM), 0.0))


def test_logs_tell_the_baseline_too() -> None:
    """As explorations where they are some, and through the sums where they are others."""
    rng = np.random.default_rng(0)
    axes = np.vstack([np.eye(DIM), np.zeros(DIM)])
    others = rng.standard_normal((9, DIM)) * (rng.random((9, DIM)) < 0.5) / 3
    for actions in (axes, others, np.vstack([axes, others])):
        learner = apsee(intercept=True).start()
        learner.warm_start(actions, 7.0 + actions @ THETA)
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)
        again = through_json(learner)
        assert again.to_dict() == learner.to_dict()
    learner = apsee(intercept=True).start()
    learner.warm_start(np.vstack([3 * [axes], others[None, :5]]).reshape(-1, DIM), np.zeros(20))
    assert learner.certificate().replications == 3


def test_a_learner_saved_before_the_keyword_reads() -> None:
    for policy in (apsee(), moving(), adaptive("pege")):
        learner = policy.start()
        learner.tell(learner.ask(), 0.5)
        saved = learner.to_dict()
        assert saved["policy"].pop("intercept") is False
        assert {"anchor", "anchored"}.isdisjoint(saved["state"])
        described = sb.Policy.from_dict(saved["policy"])
        assert described.to_dict() == policy.to_dict()


def test_a_forged_anchor_is_refused() -> None:
    learner = apsee(intercept=True).start()
    fresh = learner._rule.state()
    learner.tell(learner.ask(), 5.0)
    told = learner._rule.state()
    changes = (fresh, {"anchored": True}), (fresh, {"anchor": 1.0}), (told, {"anchored": False})
    for state, change in changes:
        with pytest.raises(sb.InvalidValueError, match=r"state\.anchor"):
            apsee(intercept=True).start()._rule.restore({**state, **change}, 1)
