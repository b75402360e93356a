"""The share of steps on the benchmark's support: all engines agree, and the slow count does too."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.simulation import blockwise_engine, log_spaced_steps
from tests.reference.stepwise import simulate_stepwise


def policies() -> dict[str, sb.Policy]:
    ball, box = sb.LpBall(5), sb.Box(np.zeros(4), np.ones(4))
    ellipsoid = sb.Ellipsoid(np.eye(4) + 0.3)
    block: dict[str, Any] = {"basis": "block-gaussian", "basis_seed": 3}
    found: dict[str, sb.Policy] = {
        "apsee": sb.APSEE(action_set=ball, sparsity=2, sigma=0.5, confidence_scale=0.05),
        "apsee, literal": sb.APSEE(action_set=ball, sparsity=1, sigma=0.5),
        "apsee, sigma unknown": sb.APSEE(action_set=ball, sparsity=2, confidence_scale=0.03),
        "apsee, block basis": sb.APSEE(
            action_set=ball, sparsity=2, sigma=0.5, confidence_scale=0.05, **block
        ),
        "apsee-g": sb.APSEEG(action_set=ellipsoid, sparsity=2, sigma=0.5, confidence_scale=0.02),
        "compact": sb.CompactAPSEEG(action_set=box, sparsity=1),
    }
    return found


@pytest.mark.parametrize("name", list(policies()))
def test_the_array_engine_counts_as_the_stepwise_one(name: str) -> None:
    policy = policies()[name]
    env = sb.LinearEnvironment(action_set=policy.action_set, theta_star=sb.UniformCube())
    fast = sb.simulate(policy, env, 700, 4, seed=1)
    slow = simulate_stepwise(policy, env, 700, 4, seed=1)
    np.testing.assert_array_equal(fast.optimal_share, slow.optimal_share)
    assert fast.optimal_share.min() >= 0
    assert 0 < fast.optimal_share[:, -1].max() <= 1


def test_explorations_along_the_best_axis_count() -> None:
    # H = 1 and a policy that never locks: one step of every cycle of 4 is the best axis itself.
    ball = sb.LpBall(4)
    env = sb.LinearEnvironment(action_set=ball, theta_star=[0.1, 0.2, 0.9, 0.3])
    run = sb.simulate(sb.APSEE(action_set=ball, sparsity=1, sigma=0.5), env, 40, 1, points=40)
    played = (np.arange(1, 41) % 4 == 3).cumsum()
    np.testing.assert_array_equal(run.optimal_share[0], (played / np.arange(1, 41))[run.steps - 1])


@pytest.mark.parametrize("name", ["apsee", "apsee, block basis", "compact"])
def test_high_dimensions_are_counted_column_by_column(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policies()[name]
    env = sb.LinearEnvironment(action_set=policy.action_set, theta_star=sb.UniformCube())
    whole = sb.simulate(policy, env, 300, 4, seed=2)
    monkeypatch.setattr(blockwise_engine, "_BLOCK", 1)
    assert np.array_equal(
        sb.simulate(policy, env, 300, 4, seed=2).optimal_share, whole.optimal_share
    )


def test_checkpoints_are_recorded_exactly() -> None:
    ball = sb.LpBall(4)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube())
    policy = sb.CompactAPSEEG(action_set=ball, sparsity=1)
    run = sb.simulate(policy, env, 1000, 2, points=10, checkpoints=[77, 500])
    assert {77, 500, 1000} <= set(run.steps.tolist())
    short = sb.simulate(policy, env, 77, 2)
    np.testing.assert_allclose(run.at(77), short.regret[:, -1], rtol=1e-12)
    assert run.seconds > 0
    with pytest.raises(sb.InvalidValueError, match=r"checkpoints must lie within .* 1000 .* 1001"):
        sb.simulate(policy, env, 1000, 2, checkpoints=[1001])
    with pytest.raises(sb.InvalidValueError, match="at least 1, got 0"):
        log_spaced_steps(10, checkpoints=[0])
