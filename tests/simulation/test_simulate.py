"""Blockwise equals stepwise, trials keep their bits, records are exact."""

import itertools
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES
from sparsebandits.simulation import blockwise_engine, log_spaced_steps
from tests.contracts.examples import correlated_matrix
from tests.reference.stepwise import simulate_stepwise
from tests.simulation.test_lanes_engine import MAKERS, own_set

RNG = np.random.default_rng(0)
SETS: dict[str, sb.ActionSet] = {
    "l2": sb.LpBall(5),
    "l1.5": sb.LpBall(5, p=1.5, radius=2.0),
    "l1": sb.LpBall(5, p=1.0),
    "cube": sb.LpBall(5, p=np.inf),
    "ellipsoid": sb.Ellipsoid(correlated_matrix(RNG, 5, 4.0)),
    "box": sb.Box(np.zeros(5), [1, 2, 1, 1, 0.5]),
    "budget": sb.Budget(1.5, [1, 0.5, 0.7, 1, 1]),
    "polytope": sb.Polytope(np.vstack([np.ones((1, 5)), np.eye(5), -np.eye(5)]), [2] + [1] * 10),
    "finite": sb.FiniteSet(
        np.vstack([np.zeros(5), np.eye(5), -np.eye(5), RNG.choice([0, 0.5], (20, 5))])
    ),
}
FEW = ("l2", "ellipsoid", "budget")
"""One that sorts, one that does not, and one with flat sides."""


def variants(X: sb.ActionSet) -> list[sb.Policy]:
    """Every policy that fits the set, with every part that changes the path through the code."""
    common: dict[str, Any] = {
        "action_set": X,
        "sparsity": 2,
        "sigma": 0.3,
        "confidence_scale": 0.05,
    }
    made: list[sb.Policy] = [
        sb.CompactAPSEEG(**common),
        sb.CompactAPSEEG(**common, use_all_data=True),
        sb.APSEEG(**common, insist=True),
        sb.APSEEG(**{**common, "sigma": "estimate"}, confidence="mixture", insist=True),
        sb.APSEEG(**common, oracle="exact", insist=True, schedule="sqrt"),
    ]
    if X.sorting is not None:
        made += [
            sb.APSEE(**common),
            sb.APSEE(**common, confidence="pairwise", basis="boundary"),
            sb.APSEE(**{**common, "sigma": "estimate"}, confidence="mixture"),
        ]
    return made


def environment(X: sb.ActionSet, noise: Any = None) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        action_set=X, theta_star=sb.UniformCube(), noise=noise or sb.Gaussian(0.3)
    )


def assert_same(first: sb.Run, second: sb.Run) -> None:
    """Bit for bit, but for the regret, which the engines sum up in another order."""
    np.testing.assert_allclose(first.regret, second.regret, rtol=1e-12, atol=1e-12)
    for name in ("locked_at", "support_correct", "theta_error", "optimum", "optimal_share"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    if first.overlap is not None and second.overlap is not None:
        np.testing.assert_array_equal(first.overlap, second.overlap)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in FEW else pytest.mark.thorough) for name in SETS],
)
def test_blockwise_equals_stepwise(name: str) -> None:
    env = environment(SETS[name])
    # Long enough for locks; an oracle call on the polyhedral sets takes some ten milliseconds.
    horizon = 120 if name in ("polytope", "budget") else 300
    for policy in variants(SETS[name]):
        options: dict[str, Any] = {"horizon": horizon, "trials": 3, "seed": 5, "points": 60}
        options["track_support"] = True
        block = sb.simulate(policy, env, **options)
        assert_same(block, simulate_stepwise(policy, env, **options))


@pytest.mark.parametrize(
    "noise",
    [
        sb.UniformNoise(0.5),
        sb.Rademacher(0.3),
        sb.Heteroscedastic(0.4),
        sb.StudentT(0.3, 3.0),
    ],
    ids=str,
)
def test_blockwise_equals_stepwise_for_every_noise(noise: Any) -> None:
    X = SETS["l2"]
    policy = sb.APSEE(
        action_set=X, sparsity=2, sigma=0.3, confidence_scale=0.05, basis="block-gaussian"
    )
    env = environment(X, noise)
    block = sb.simulate(policy, env, horizon=400, trials=3, seed=5)
    assert_same(block, simulate_stepwise(policy, env, horizon=400, trials=3, seed=5))


def test_every_policy_of_the_table_is_simulated_somewhere() -> None:
    """Phased policies and the moving one here, adaptive ones in `test_lanes_engine.py`."""
    used = {type(policy).kind for X in SETS.values() for policy in variants(X)}
    beside = {make(own_set(name)).kind for name, make in MAKERS.items()}
    assert used | beside | {"time-varying"} == set(POLICIES)


@pytest.mark.parametrize("name", ["l2", "ellipsoid", "box"])
def test_a_trial_has_the_same_bits_in_any_company(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = SETS[name]
    for policy in variants(X):
        if getattr(policy, "use_all_data", False):
            continue
        options: dict[str, Any] = {"horizon": 2000, "seed": 3, "points": 40}
        many = sb.simulate(policy, environment(X), trials=7, **options)
        alone = sb.simulate(policy, environment(X), trials=1, first_trial=4, **options)
        assert (alone.regret[0] == many.regret[4]).all()
        monkeypatch.setattr(blockwise_engine, "_BLOCK", 500)
        small = sb.simulate(policy, environment(X), trials=7, **options)
        monkeypatch.undo()
        assert np.allclose(small.regret, many.regret, rtol=1e-12)
        assert np.array_equal(small.locked_at, many.locked_at, equal_nan=True)


def test_policies_in_one_call_share_theta_and_noise() -> None:
    X = SETS["l2"]
    policies = [
        sb.APSEE(action_set=X, sparsity=2, sigma=0.3),
        sb.CompactAPSEEG(action_set=X, sparsity=2),
    ]
    runs = sb.simulate(policies, environment(X), horizon=2000, trials=4, seed=0)
    alone = sb.simulate(policies[1], environment(X), horizon=2000, trials=4, seed=0)
    assert (runs[1].regret == alone.regret).all()
    assert (runs[0].optimum == runs[1].optimum).all()
    # Both have explored cycle 1 with the same noise when they reach step 6.
    assert runs[0].theta_error[:, 3:6] == pytest.approx(runs[1].theta_error[:, 3:6], nan_ok=True)


def test_regret_is_never_negative_and_never_falls() -> None:
    for X in SETS.values():
        for policy in variants(X):
            if getattr(policy, "use_all_data", False):
                continue
            run = sb.simulate(policy, environment(X), horizon=150, trials=3, seed=2)
            assert run.regret.min() >= -1e-9
            assert np.diff(run.regret, axis=1).min() >= -1e-9


def test_benchmarks() -> None:
    X = SETS["ellipsoid"]
    policy = sb.CompactAPSEEG(action_set=X, sparsity=2)
    options: dict[str, Any] = {"horizon": 100, "trials": 20, "seed": 0}
    exact = sb.simulate(policy, environment(X), **options)
    greedy = sb.simulate(policy, environment(X), **options, benchmark="greedy")
    half = sb.simulate(policy, environment(X), **options, alpha=0.5)
    assert (greedy.optimum <= exact.optimum * (1 + 1e-12)).all()
    assert half.optimum == pytest.approx(exact.optimum / 2)
    lost = exact.regret[:, -1] - half.regret[:, -1]
    assert lost == pytest.approx(100 * exact.optimum / 2)
    assert "0.5 x exact" in half.label["benchmark"]
    with pytest.raises(ValueError, match="benchmark must be one of"):
        sb.simulate(policy, environment(X), **options, benchmark="best")
    with pytest.raises(ValueError, match="alpha"):
        sb.simulate(policy, environment(X), **options, alpha=0)


def test_theta_zero_and_other_ends() -> None:
    for dim, sparsity in ((1, 1), (3, 3), (3, 1)):
        ball = sb.LpBall(dim)
        env = sb.LinearEnvironment(
            action_set=ball, theta_star=np.zeros(dim), noise=sb.Gaussian(0.3)
        )
        policy = sb.APSEE(action_set=ball, sparsity=sparsity, sigma=0.3)
        run = sb.simulate(policy, env, horizon=200, trials=3, seed=0)
        assert np.abs(run.regret).max() == 0
        assert run.locked_share == (1.0 if sparsity == dim else 0.0)


def test_moving_sets() -> None:
    X = sb.LpBall(5)
    sequence = sb.RandomAvailability(X, 0.6, seed=1)
    env = sb.LinearEnvironment(
        action_sets=sequence, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.3)
    )
    policies: list[sb.Policy] = [
        sb.TimeVaryingAPSEEG(action_set=X, sparsity=2, sigma=0.3, confidence_scale=0.02),
        sb.TimeVaryingAPSEEG(action_set=X, sparsity=2, schedule="sqrt"),
        sb.CompactAPSEEG(action_set=X, sparsity=2),
    ]
    runs = sb.simulate(policies, env, horizon=1500, trials=3, seed=0)
    for run in runs:
        assert run.regret.min() >= -1e-9
        early, late = run.at(150), run.at(1500)
        assert (late < 10 * early).all()


def test_a_turning_ellipsoid_needs_a_policy_that_follows() -> None:
    matrix = np.diag([1.0, 4.0, 9.0])
    sequence = sb.RotatingEllipsoid(matrix, period=50)
    env = sb.LinearEnvironment(action_sets=sequence, theta_star=[1.0, 0.5, -0.5])
    following = sb.TimeVaryingAPSEEG(
        action_set=sequence.base, sparsity=1, sigma=0.5, confidence_scale=0.05
    )
    run = sb.simulate(following, env, horizon=500, trials=2, seed=0)
    assert run.regret.min() >= -1e-9
    fixed = sb.APSEEG(action_set=sequence.base, sparsity=1, sigma=0.5)
    assert sb.simulate(fixed, env, horizon=500, trials=1, seed=0).regret.min() >= -1e-9


def test_progress_reaches_the_total_and_an_interrupt_leaves_nothing() -> None:
    X = SETS["l2"]
    policy = sb.CompactAPSEEG(action_set=X, sparsity=2)
    seen: list[tuple[int, int]] = []
    sb.simulate(
        policy,
        environment(X),
        horizon=1000,
        trials=3,
        seed=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (3000, 3000)
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(seen))

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sb.simulate(policy, environment(X), horizon=1000, trials=3, seed=0, progress=interrupt)


def test_wrong_compositions_are_refused() -> None:
    ball, box = SETS["l2"], SETS["box"]
    policy = sb.APSEE(action_set=ball, sparsity=2, sigma=0.3)
    with pytest.raises(sb.CompositionError, match="same set"):
        sb.simulate(policy, environment(box), horizon=10, trials=1)
    nothing: Any = "apsee"
    with pytest.raises(TypeError, match="policy must be"):
        sb.simulate([nothing], environment(ball), horizon=10, trials=1)
    for name, value in {"horizon": 0, "trials": 0, "seed": -1}.items():
        options: dict[str, Any] = {"horizon": 10, "trials": 1, name: value}
        with pytest.raises(ValueError, match=name):
            sb.simulate(policy, environment(ball), **options)


def test_log_spaced_steps() -> None:
    steps = log_spaced_steps(2000, 100)
    assert steps[0] == 1
    assert steps[-1] == 2000
    assert (np.diff(steps) > 0).all()
    assert log_spaced_steps(1).tolist() == [1]


def test_one_cycle_in_a_million_dimensions() -> None:
    ball = sb.LpBall(10**6)
    theta = np.zeros(10**6)
    theta[7] = 1.0
    env = sb.LinearEnvironment(action_set=ball, theta_star=theta, noise=sb.Gaussian(0.1))
    policy = sb.CompactAPSEEG(action_set=ball, sparsity=1, oracle="top-h")
    run = sb.simulate(policy, env, horizon=10**6 + 1, trials=1, seed=0)
    assert run.regret[0, -1] == pytest.approx(10**6 - 1, abs=1.5)


def test_the_size_of_a_block_changes_no_bit() -> None:
    """Many blocks of cycles: fewer trials beside a trial make its blocks longer."""
    ball = sb.LpBall(20, p=1.0)
    policy, env = sb.CompactAPSEEG(action_set=ball, sparsity=5), environment(ball)
    options: dict[str, Any] = {"horizon": 200_000, "seed": 3, "points": 50}
    whole = sb.simulate(policy, env, trials=4, **options)
    parts = [
        sb.simulate(policy, env, trials=n, first_trial=k, **options) for k, n in ((0, 3), (3, 1))
    ]
    joined = sb.Run.join(parts)
    np.testing.assert_array_equal(whole.regret, joined.regret)
    np.testing.assert_array_equal(whole.theta_error, joined.theta_error)
