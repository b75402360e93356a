"""Moving sets a phase at a time: the choices of the engine that goes step by step."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import TimeVaryingAPSEEG
from sparsebandits.simulation import phase_engine
from tests.contracts.examples import correlated_matrix

DIM = 5
MATRIX = correlated_matrix(np.random.default_rng(1), DIM, 4.0)
SEQUENCES: dict[str, Any] = {
    "comes and goes": sb.RandomAvailability(sb.LpBall(DIM), 0.6, seed=2),
    "turning": sb.RotatingEllipsoid(MATRIX, period=7, planes=[(0, 1), (2, 4)]),
    "fluctuating": sb.Alternating(
        [sb.Ellipsoid(MATRIX), sb.LpBall(DIM, p=float("inf")), sb.Box(-np.ones(DIM), np.ones(DIM))]
    ),
    "fixed": sb.FixedSet(sb.LpBall(DIM)),
    "one missing at first": sb.PeriodicAvailability(
        sb.LpBall(DIM), [[0, 1, 2, 3]] * 13 + [[1, 2, 3, 4]]
    ),
}
POLICIES: dict[str, dict[str, Any]] = {
    "tested": {"confidence_scale": 0.1, "insist": True},
    "untested": {"gap_test": False},
    "sqrt": {"schedule": "sqrt", "oracle": "exact"},
}


def world(name: str, **changes: Any) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        **{
            "action_sets": SEQUENCES[name],
            "theta_star": sb.UniformCube(),
            "noise": sb.Gaussian(0.2),
            **changes,
        }
    )


def policy(name: str, env: sb.LinearEnvironment) -> TimeVaryingAPSEEG:
    return TimeVaryingAPSEEG(
        action_set=env.action_set, sparsity=2, **{"sigma": 0.2, **POLICIES[name]}
    )


def assert_close(one: sb.Run, two: sb.Run) -> None:
    for name in ("regret", "optimal_share", "theta_error", "overlap", "optimum"):
        found, expected = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("name", POLICIES)
def test_the_choices_are_those_made_step_by_step(sequence: str, name: str) -> None:
    env = world(sequence)
    options: dict[str, Any] = {"horizon": 400, "trials": 4, "seed": 1, "points": 60}
    options |= {"benchmark": "greedy", "alpha": 0.9, "track_support": True}
    fast = sb.simulate(policy(name, env), env, **options)
    slow = sb.simulate(policy(name, env), env, **options, engine="lanes")
    assert_close(fast, slow)
    assert phase_engine.can_run(policy(name, env), env)
    assert 0 < fast.optimal_share[:, -1].mean() < 1  # it explores, and it exploits


def test_lanes_whose_tests_end_otherwise_stay_together() -> None:
    """Some trials exploit where others must explore: the axes explored are then different ones."""
    env = world("turning", noise=sb.Heteroscedastic(0.3, norm_bound=2.0))
    options: dict[str, Any] = {"horizon": 700, "trials": 6, "seed": 3, "track_support": True}
    fast = sb.simulate(policy("tested", env), env, **options)
    assert_close(fast, sb.simulate(policy("tested", env), env, **options, engine="lanes"))
    shares = fast.optimal_share[:, -1]
    assert shares.min() < shares.max() - 0.1


def test_a_trial_has_the_same_bits_in_any_company_and_at_any_horizon() -> None:
    env = world("comes and goes")
    options: dict[str, Any] = {"seed": 5, "checkpoints": [100, 250]}
    many = sb.simulate(policy("tested", env), env, 600, 5, **options)
    alone = sb.simulate(policy("tested", env), env, 250, 1, first_trial=3, **options)
    for step in (100, 250):
        assert many.at(step)[3] == alone.at(step)[0]


def test_past_the_numbers_drawn_ahead_and_the_longest_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = world("turning")
    options: dict[str, Any] = {"horizon": 500, "trials": 3, "seed": 2, "track_support": True}
    whole = sb.simulate(policy("tested", env), env, **options)
    monkeypatch.setattr(phase_engine, "_DRAWN", 7)
    monkeypatch.setattr(phase_engine, "_STEPS", 3)
    monkeypatch.setattr(phase_engine, "_KEPT", 2)
    assert_close(sb.simulate(policy("tested", env), env, **options), whole)


def test_late_rewards_are_left_to_the_other_engine() -> None:
    env = world("turning", delay=sb.UniformDelay(5))
    assert not phase_engine.can_run(policy("sqrt", env), env)
    assert not phase_engine.can_run(sb.LinTS(action_set=env.action_set, sparsity=2), env)


def test_progress_reaches_the_total() -> None:
    seen: list[tuple[int, int]] = []
    env = world("turning")
    sb.simulate(policy("sqrt", env), env, 90, 3, progress=lambda *pair: seen.append(pair))
    assert seen[-1] == (270, 270)
