"""Explore-then-commit: how long it explores, what it commits to, and what that costs per step."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.baselines.explore_then_commit import (
    ExploreThenCommit,
    two_thirds_power,
)
from tests.policies.examples import DIM, THETA, ellipsoid, least_squares, play, reward_of
from tests.reference.stepwise import simulate_stepwise


def commit(action_set: sb.ActionSet | None = None, **keywords: Any) -> ExploreThenCommit:
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    return ExploreThenCommit(action_set=chosen, **{"sparsity": 2, "horizon": 100, **keywords})


def test_the_power_is_exact() -> None:
    for horizon in [*range(1, 400), 10**12 - 1, 10**12, 10**12 + 1, 10**18]:
        root = two_thirds_power(horizon)
        assert (root - 1) ** 3 < horizon**2 <= root**3


@pytest.mark.parametrize(
    ("keywords", "rounds"),
    [
        ({"horizon": 1}, 1),
        ({"horizon": 8}, 1),
        ({"horizon": 9}, 2),
        ({"horizon": 1000}, 25),
        ({"horizon": 1001}, 26),
        ({"exploration_steps": 1}, 1),
        ({"exploration_steps": 12}, 3),
        ({"exploration_steps": 13}, 4),
    ],
)
def test_the_number_of_explorations(keywords: dict[str, Any], rounds: int) -> None:
    """ceil(T^(2/3)) steps, or the given ones, up to whole rounds of d = 4."""
    policy = commit(**keywords)
    assert policy.rounds == rounds
    learner = policy.start()
    plays = play(learner, DIM * rounds + 20)
    assert [p.decision.phase for p in plays] == ["explore"] * (DIM * rounds) + ["exploit"] * 20
    explored = np.array([p.decision.action for p in plays[: DIM * rounds]])
    np.testing.assert_array_equal(explored, np.tile(policy.exploration.actions, (rounds, 1)))


@pytest.mark.parametrize("basis", ["standard", "block-gaussian"])
@pytest.mark.parametrize("action_set", [sb.LpBall(DIM), ellipsoid()], ids=["ball", "ellipsoid"])
def test_the_commitment_is_the_oracle_on_least_squares(
    action_set: sb.ActionSet, basis: str
) -> None:
    policy = commit(action_set, basis=basis)
    learner = policy.start()
    plays = []
    for played in play(learner, 24, sigma=0.7, seed=5):
        assert played.decision.phase == "explore"
        assert learner.support is None
        plays.append(played)
    theta = least_squares(plays)
    assert theta is not None
    best = sb.sparse_argmax(action_set, theta, 2, "exact")
    for played in play(learner, 50, sigma=5.0, seed=6):
        np.testing.assert_allclose(played.decision.action, best.action, atol=1e-9)
        assert learner.support == best.support
    np.testing.assert_allclose(np.asarray(learner.theta_hat), theta, atol=1e-9)
    assert learner.certificate().locked


def test_regret_after_the_commitment_is_a_straight_line() -> None:
    """Its slope is the gap of the committed action, known from the trial's own exploration."""
    ball = sb.LpBall(DIM)
    env = sb.LinearEnvironment(action_set=ball, theta_star=THETA, noise=sb.Gaussian(1.5))
    policy = commit(horizon=400)
    run = sb.simulate(policy, env, horizon=400, trials=8, seed=2, points=400)
    explored = DIM * policy.rounds
    assert explored == 56
    after = run.steps >= explored
    slopes = np.diff(run.regret[:, after], axis=1) / np.diff(run.steps[after])
    np.testing.assert_allclose(slopes, slopes[:, :1].repeat(slopes.shape[1], axis=1), atol=1e-11)
    # theta_hat after the exploration stays; its error and the slope tell of the same estimate.
    settled = run.theta_error[:, run.steps > explored]
    np.testing.assert_array_equal(settled, settled[:, :1].repeat(settled.shape[1], axis=1))
    assert (slopes[:, 0] > 1e-4).all()
    for trial in range(3):
        learner = policy.start()
        sums = np.zeros(DIM)
        noise = _exploration_noise(seed=2, trial=trial, count=explored)
        for step in range(explored):
            decision = learner.ask()
            reward = reward_of(decision) + 1.5 * noise[step]
            sums += decision.action * reward
            learner.tell(decision, reward)
        action = sb.sparse_argmax(ball, sums / policy.rounds, 2).action
        gap = sb.sparse_argmax(ball, THETA, 2).value - float(THETA @ action)
        assert slopes[trial, 0] == pytest.approx(gap, abs=1e-12)


def _exploration_noise(seed: int, trial: int, count: int) -> Any:
    """The documented stream: the child of the seed by (trial, 1)."""
    sequence = np.random.SeedSequence(seed, spawn_key=(trial, 1))
    return np.random.default_rng(sequence).standard_normal(count)


def test_late_rewards_update_the_estimate_and_not_the_commitment() -> None:
    learner = commit(exploration_steps=2 * DIM).start()
    early = [learner.ask() for _ in range(2 * DIM)]
    for decision in early[:DIM]:
        learner.tell(decision, reward_of(decision))
    committed = learner.ask()
    assert learner.support == (0, 2)
    learner.tell(early[DIM + 1], 1000.0)
    assert learner.theta_hat is not None
    assert learner.theta_hat[1] > 400
    assert learner.support == (0, 2)
    np.testing.assert_array_equal(learner.ask().action, committed.action)
    learner.tell(committed, -1e6)
    assert abs(learner.theta_hat[0] - 1) < 1e-9


def test_nothing_is_committed_to_without_an_estimate() -> None:
    """All rewards of the first round are late: another is explored, and then one commits."""
    learner = commit(horizon=8).start()
    first = [learner.ask() for _ in range(DIM)]
    second = learner.ask()
    assert second.phase == "explore"
    for decision in first:
        learner.tell(decision, reward_of(decision))
    assert [learner.ask().phase for _ in range(5)] == ["explore"] * 3 + ["exploit"] * 2
    assert learner.support == (0, 2)


def test_masks_after_the_commitment() -> None:
    learner = commit(horizon=8).start()
    play(learner, DIM + 1)
    masked = learner.ask(available=[1, 2])
    best = sb.sparse_argmax(sb.LpBall(DIM).restrict([1, 2]), THETA, 2).action
    np.testing.assert_allclose(masked.action, best, atol=1e-12)
    assert learner.support == (0, 2)
    np.testing.assert_array_equal(np.flatnonzero(learner.ask().action), [0, 2])


def test_the_step_of_the_commitment_is_recorded() -> None:
    ball = sb.LpBall(DIM)
    env = sb.LinearEnvironment(action_set=ball, theta_star=THETA, noise=sb.Gaussian(0.01))
    run = simulate_stepwise(commit(), env, horizon=60, trials=2, seed=0)
    assert run.locked_at.tolist() == [24.0, 24.0]
    assert run.support_correct.all()


def test_refusals() -> None:
    for horizon in (0, -1, 1.5, "x", None, True):
        with pytest.raises(sb.SparseBanditsError, match="horizon"):
            commit(horizon=horizon)
    for steps in (0, -1, 1.5, "x", True):
        with pytest.raises(sb.SparseBanditsError, match="exploration_steps"):
            commit(exploration_steps=steps)
