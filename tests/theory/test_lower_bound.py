"""The lower bound of docs/theory.md: every inequality of its proof, and policies held to it."""

import math

import numpy as np
import pytest
from scipy import stats

import sparsebandits as sb
from sparsebandits.theory import HardInstances
from sparsebandits.validation import FloatArray

SIZES = [(20, 5, 20), (20, 5, 2_000), (9, 2, 9), (100, 7, 400), (4, 1, 4), (19, 4, 10**6)]


def random_plays(rng: np.random.Generator, hard: HardInstances, steps: int) -> FloatArray:
    """Points of the unit ball that go into the blocks in many ways: spread, single, long, short."""
    raw = rng.standard_normal((steps, hard.dim)) * rng.uniform(size=(1, hard.dim)) ** 4
    raw[rng.random((steps, hard.dim)) < rng.random()] = 0.0
    lengths = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-12)
    return np.asarray(
        raw / lengths * rng.uniform(0.0, 1.0, (steps, 1)) ** rng.choice([0.0, 0.3, 2])
    )


@pytest.mark.parametrize(("dim", "sparsity", "horizon"), SIZES)
def test_the_loss_of_a_step_is_at_least_its_squared_distance(
    dim: int, sparsity: int, horizon: int
) -> None:
    """Step 1: sqrt(H) - sum a_h >= sqrt(H)/2 (sum (1/sqrt(H) - a_h)^2 + wasted squares)."""
    hard = HardInstances(dim, sparsity, horizon, 0.5)
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = random_plays(rng, hard, 50)
        theta = hard.theta(rng.integers(hard.block, size=sparsity))
        chosen = theta != 0
        lost = math.sqrt(sparsity) - x[:, chosen].sum(axis=1)
        off = ((1 / math.sqrt(sparsity) - x[:, chosen]) ** 2).sum(axis=1)
        wasted = (x[:, ~chosen] ** 2).sum(axis=1)
        assert (lost >= math.sqrt(sparsity) / 2 * (off + wasted) - 1e-12).all()
        best = sb.sparse_argmax(sb.LpBall(dim), theta, sparsity).value
        np.testing.assert_allclose(best - x @ theta, hard.entry * lost, atol=1e-12)


@pytest.mark.parametrize(("dim", "sparsity", "horizon"), SIZES[:4])
def test_the_distance_of_a_block_averages_to_half_of_t_over_h(
    dim: int, sparsity: int, horizon: int
) -> None:
    """Steps 2 and 3: stopped at mass T/H, 0 <= W_j <= 4.5 T/H, and mean_j W_j >= T/(2H)."""
    hard = HardInstances(dim, sparsity, horizon, 0.5)
    rng, m, share = np.random.default_rng(1), hard.block, horizon / sparsity
    for _ in range(20):
        block = random_plays(rng, hard, horizon)[:, :m]
        mass = np.cumsum((block**2).sum(axis=1))
        stop = int(np.searchsorted(mass, share)) + 1 if mass[-1] >= share else horizon
        played = block[:stop]
        total = float((played**2).sum())
        assert total <= share + 1
        per_coordinate = ((1 / math.sqrt(sparsity) - played) ** 2).sum(axis=0)
        W = per_coordinate + total - (played**2).sum(axis=0)
        assert W.min() >= 0
        assert W.max() <= 4.5 * share
        assert W.mean() >= share / 2 - 1e-9
        assert W.mean() >= (1 - 1 / math.sqrt(m)) * (stop / sparsity + total) - 1e-9


def test_the_divergence_of_the_rewards_and_pinsker() -> None:
    """Step 4: KL of N(0, s^2) from N(D x, s^2) is D^2 x^2 / (2 s^2); TV <= sqrt(KL / 2)."""
    grid = np.linspace(-12, 12, 200_001)
    for shift, sigma in ((0.3, 0.5), (1.0, 1.0), (0.01, 2.0)):
        p, q = stats.norm.pdf(grid, 0, sigma), stats.norm.pdf(grid, shift, sigma)
        logs = stats.norm.logpdf(grid, 0, sigma) - stats.norm.logpdf(grid, shift, sigma)
        divergence = np.trapezoid(p * logs, grid)
        assert divergence == pytest.approx(shift**2 / (2 * sigma**2), rel=1e-6)
        assert np.trapezoid(np.abs(p - q), grid) / 2 <= math.sqrt(divergence / 2)


@pytest.mark.parametrize(("dim", "sparsity", "horizon"), SIZES)
def test_the_constants_fit_together(dim: int, sparsity: int, horizon: int) -> None:
    """Step 5: 1/2 - 4.5 (Delta / 2 sigma) sqrt(5 T / (4 H m)) = 1/4; 1/90 is on the safe side."""
    sigma = 0.7
    hard = HardInstances(dim, sparsity, horizon, sigma)
    used = sparsity * hard.block
    share = horizon / sparsity
    assert 4 * share + 2 <= 4.5 * share
    assert share + 1 <= 1.25 * share
    distance = hard.entry / (2 * sigma) * math.sqrt(1.25 * share / hard.block)
    assert 0.5 - 4.5 * distance == pytest.approx(0.25)
    assert used >= 0.8 * dim
    assert hard.regret >= hard.rate * (1 - 1e-12)
    assert hard.regret == pytest.approx(hard.entry * math.sqrt(sparsity) / 2 * horizon / 4)


@pytest.mark.parametrize("kind", ["sparse-thompson", "lin-ts", "random-sparse"])
def test_no_policy_has_less_regret(kind: str) -> None:
    """The mean over random instances; by 5 standard errors, so false alarms are below 1e-6."""
    hard = HardInstances(12, 3, 400, 0.5)
    ball, rng = sb.LpBall(12), np.random.default_rng(2)
    policy = sb.Policy.from_dict({"kind": kind, "action_set": ball.to_dict(), "sparsity": 3})
    regrets = []
    for seed in range(24):
        theta = hard.theta(rng.integers(hard.block, size=3))
        env = sb.LinearEnvironment(action_set=ball, theta_star=theta, noise=sb.Gaussian(0.5))
        regrets.append(sb.simulate(policy, env, 400, 2, seed=seed).regret[:, -1].mean())
    error = np.std(regrets, ddof=1) / math.sqrt(len(regrets))
    assert np.mean(regrets) - 5 * error > hard.regret


def test_where_the_bound_says_nothing() -> None:
    for numbers in ((7, 2, 100, 1.0), (20, 5, 19, 1.0), (20, 0, 100, 1.0), (20, 5, 100, 0.0)):
        with pytest.raises(sb.SparseBanditsError):
            HardInstances(*numbers)
