"""Random-sparse: uniform supports, points of the boundary, nothing learned."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

import sparsebandits as sb
from sparsebandits.policies.baselines.random_sparse import RandomSparse
from tests.policies.examples import DIM, ellipsoid, polytope


@pytest.mark.parametrize("sparsity", [1, 2, 3])
@pytest.mark.parametrize("available", [list(range(5)), [0, 2, 3, 4]])
def test_supports_are_uniform(sparsity: int, available: list[int]) -> None:
    """Chi-square over all supports, 6,000 draws; the false-alarm probability is 1e-6."""
    ball = sb.LpBall(5)
    policy = RandomSparse(action_set=ball, sparsity=sparsity)
    rule = policy.rule([np.random.default_rng(i) for i in range(200)], block=8)
    counts = dict.fromkeys(combinations(available, sparsity), 0)
    current = ball.restrict(available)
    for _ in range(30):
        for action in rule.choose(current):
            counts[tuple(int(i) for i in np.flatnonzero(action))] += 1
    assert sum(counts.values()) == 6000
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_directions_are_uniform_on_the_sphere_of_the_support() -> None:
    """Angles on each support of two coordinates, by Kolmogorov-Smirnov; false alarms 1e-6."""
    ball = sb.LpBall(DIM)
    policy = RandomSparse(action_set=ball, sparsity=2)
    rule = policy.rule([np.random.default_rng(i) for i in range(300)], block=4)
    actions = np.concatenate([rule.choose(ball) for _ in range(10)])
    np.testing.assert_allclose(np.linalg.norm(actions, axis=1), 1.0)
    places = np.nonzero(actions)[1].reshape(-1, 2)
    pairs = np.take_along_axis(actions, places, axis=1)
    angles = (np.arctan2(pairs[:, 1], pairs[:, 0]) + np.pi) / (2 * np.pi)
    assert scipy.stats.kstest(angles, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(
    "action_set",
    [
        ellipsoid(),
        polytope(),
        sb.Box(np.zeros(DIM), np.ones(DIM)),
        sb.Budget(1.0, np.full(DIM, 0.6)),
        sb.FiniteSet(np.vstack([np.eye(DIM), np.ones((1, DIM)), np.zeros((1, DIM))])),
        sb.LpBall(DIM, p=1.0),
    ],
    ids=lambda one: one.kind,
)
def test_actions_are_sparse_inside_and_best_on_their_support(action_set: sb.ActionSet) -> None:
    """No other action of the same support is better in the drawn direction."""
    learner = RandomSparse(action_set=action_set, sparsity=3).start(seed=0)
    draws = np.random.default_rng(0)
    for _ in range(60):
        action = learner.ask().action
        assert action_set.contains(action)
        assert np.count_nonzero(action) <= 3
        drawn = draws.standard_normal(DIM + 3)
        support = np.argsort(drawn[:DIM])[:3]
        direction = np.zeros(DIM)
        direction[support] = drawn[DIM:]
        best = action_set.value(direction, support)
        assert float(direction @ action) == pytest.approx(best, abs=1e-9)


def test_fewer_available_items_than_h_are_all_used() -> None:
    learner = RandomSparse(action_set=sb.LpBall(DIM), sparsity=3).start(seed=0)
    for _ in range(20):
        np.testing.assert_array_equal(np.flatnonzero(learner.ask(available=[1, 3]).action), [1, 3])


def test_its_regret_is_the_optimum_per_step_on_a_symmetric_set() -> None:
    """E x = 0: mean regret is T times the optimum. Five standard errors, false alarms 6e-7."""
    ball = sb.LpBall(DIM)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube())
    policy = RandomSparse(action_set=ball, sparsity=2)
    run = sb.simulate(policy, env, horizon=200, trials=200, seed=3)
    difference = run.regret[:, -1] - 200 * run.optimum
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(200)
    assert np.isnan(run.theta_error).all()


def test_nothing_is_learned() -> None:
    one, two = (RandomSparse(action_set=sb.LpBall(DIM), sparsity=2).start(seed=0) for _ in range(2))
    one.warm_start(np.eye(DIM), np.full(DIM, 100.0))
    for _ in range(20):
        left, right = one.ask(), two.ask()
        one.tell(left, 1000.0)
        assert left.action.tobytes() == right.action.tobytes()
    assert one.theta_hat is None
    assert one.support is None
