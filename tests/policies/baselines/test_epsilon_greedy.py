"""Epsilon-greedy: how often it explores, by what, and what it plays otherwise."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import sparsebandits as sb
from sparsebandits.policies.baselines.epsilon_greedy import EpsilonGreedy
from tests.policies.examples import DIM, THETA, ellipsoid, play, reward_of


def greedy(action_set: sb.ActionSet | None = None, **keywords: Any) -> EpsilonGreedy:
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    return EpsilonGreedy(action_set=chosen, **{"sparsity": 2, **keywords})


@pytest.mark.parametrize(
    ("rate", "power"), [(0.03, 1 / 3), (0.5, 1 / 3), (0.5, 0.5), (0.25, 1.0), (5.0, 1.0)]
)
def test_the_number_of_explorations_is_the_sum_of_epsilon(rate: float, power: float) -> None:
    """A sum of independent coins, 400 lanes of 300 steps, against its normal limit.

    Five standard deviations: the false-alarm probability is 6e-7 each.
    """
    lanes, steps = 400, 300
    policy = greedy(rate=rate, power=power)
    rule = policy.rule([np.random.default_rng(i) for i in range(lanes)], block=16)
    explored = 0
    for _ in range(steps):
        rule.choose(policy.action_set)
        explored += int(rule.exploring.sum())
    epsilon = np.minimum(1.0, rate * DIM / np.arange(1, steps + 1) ** power)
    np.testing.assert_allclose([policy.epsilon(t) for t in range(1, steps + 1)], epsilon)
    deviation = np.sqrt(lanes * (epsilon * (1 - epsilon)).sum())
    assert abs(explored - lanes * epsilon.sum()) < 5 * deviation


@pytest.mark.parametrize("available", [None, [0, 2, 3], [1]])
def test_explorations_are_uniform_among_the_actions_that_fit(available: Any) -> None:
    """Chi-square of 4,000 explorations; the false-alarm probability is 1e-6."""
    policy = greedy(rate=1000.0)
    learner = policy.start(seed=0)
    counts = np.zeros(DIM)
    rows = policy.exploration.actions
    for _ in range(4000):
        decision = learner.ask(available=available)
        assert decision.phase == "explore"
        counts += (rows == decision.action).all(axis=1)
    allowed = np.zeros(DIM, dtype=bool)
    allowed[slice(None) if available is None else available] = True
    assert counts.sum() == 4000
    assert not counts[~allowed].any()
    if allowed.sum() > 1:
        assert scipy.stats.chisquare(counts[allowed]).pvalue > 1e-6


@pytest.mark.parametrize("action_set", [sb.LpBall(DIM), ellipsoid()], ids=["ball", "ellipsoid"])
def test_exploitations_are_the_oracle_on_the_ridge_estimate(action_set: sb.ActionSet) -> None:
    """The ridge estimate solved anew by NumPy, its prior one look along each axis."""
    policy = greedy(action_set, rate=0.3)
    learner = policy.start(seed=1)
    lower, upper = action_set.axis_reach()
    gram, response = np.diag(np.maximum(-lower, upper) ** 2), np.zeros(DIM)
    rng = np.random.default_rng(2)
    exploited = 0
    for _ in range(200):
        decision = learner.ask()
        if decision.phase == "exploit" and response.any():
            theta = np.linalg.solve(gram, response)
            best = sb.sparse_argmax(action_set, theta, 2, "exact").action
            np.testing.assert_allclose(decision.action, best, atol=1e-9)
            exploited += 1
        reward = reward_of(decision) + 0.3 * float(rng.standard_normal())
        learner.tell(decision, reward)
        gram += np.outer(decision.action, decision.action)
        response += decision.action * reward
    assert exploited > 50
    np.testing.assert_allclose(
        np.asarray(learner.theta_hat), np.linalg.solve(gram, response), atol=1e-10
    )


def test_explorations_and_exploitations_use_all_data() -> None:
    learner = greedy(rate=0.4).start(seed=0)
    plays = play(learner, 100)
    assert {p.decision.phase for p in plays} == {"explore", "exploit"}
    assert learner.certificate().replications == 100


def test_without_a_fitting_action_nothing_is_explored() -> None:
    """The small box holds no basis action: first the longest way, then the oracle's action."""
    learner = greedy(rate=1000.0).start(seed=0)
    box = sb.Box(np.full(DIM, -0.3), np.full(DIM, 0.2))
    first = learner.ask(action_set=box)
    assert first.phase == "exploit"
    np.testing.assert_array_equal(first.action, [-0.3, 0.0, 0.0, 0.0])
    play(learner, 40)
    decision = learner.ask(action_set=box)
    assert decision.phase == "exploit"
    best = sb.sparse_argmax(box, THETA, 2).action
    np.testing.assert_allclose(decision.action, best, atol=1e-12)


def test_regret_grows_as_the_number_of_explorations() -> None:
    """On a box, which is not strongly convex, with the default power: T^(2/3).

    Over T = 300..6,000 the exponent of the mean regret is 0.672 with a standard error of 0.003 (a
    jackknife over trials), and that of the sum of epsilon_t is 0.675. What exploitation loses adds
    little, and less and less. Within 0.02: more than four standard errors on either side.
    """
    box = sb.Box(np.full(DIM, -1.0), np.ones(DIM))
    env = sb.LinearEnvironment(action_set=box, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5))
    policy = greedy(box, rate=0.5)
    run = sb.simulate(policy, env, horizon=6_000, trials=100, seed=7, points=60)
    late = run.steps >= 300
    logs = np.log(run.steps[late])
    explored = np.cumsum([policy.epsilon(t) for t in range(1, 6_001)])[run.steps[late] - 1]
    expected = np.polyfit(logs, np.log(explored), 1)[0]
    slope = np.polyfit(logs, np.log(run.regret.mean(axis=0)[late]), 1)[0]
    assert abs(expected - 2 / 3) < 0.02
    assert abs(slope - expected) < 0.02


def test_refusals() -> None:
    for name in ("rate", "power", "ridge"):
        wrong: list[Any] = [0.0, -1.0, float("nan"), float("inf"), "x", None, True]
        for value in wrong:
            with pytest.raises(sb.SparseBanditsError, match=name):
                greedy(None, **{name: value})
    with pytest.raises(sb.InvalidValueError, match="beyond 1"):
        greedy(power=1.5)
