"""CUCB: its bound, its growth, its index, and that it is a reference."""

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.baselines.cucb import CUCB, CUCBRule
from sparsebandits.policies.policy import ReferencePolicy
from sparsebandits.policies.rule import InformedRule
from sparsebandits.validation import FloatArray
from tests.simulation.test_simulate import SETS


def cucb(X: sb.ActionSet, sparsity: int = 2, sigma: float = 0.3, **keywords: Any) -> CUCB:
    return CUCB(action_set=X, sparsity=sparsity, sigma=sigma, **keywords)


def rule_of(policy: CUCB, lanes: int) -> CUCBRule:
    return policy.rule([np.random.default_rng(0)] * lanes)


def step(rule: CUCBRule, X: sb.ActionSet, theta: FloatArray, noise: FloatArray) -> FloatArray:
    """One step of the lanes engine."""
    actions = rule.choose(X)
    rule.learn(actions, (actions * theta).sum(axis=1), rule.pulls)
    rule.learn_items(actions, theta + noise)
    return actions


# ---------------------------------------------------------------------- the published bound


THETA = np.array([0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2])


def gaps(theta: FloatArray, H: int) -> tuple[float, float]:
    """The smallest and the largest loss of a set of H arms that is not the best."""
    earned = sorted(theta[list(S)].sum() for S in combinations(range(theta.size), H))
    return float(earned[-1] - earned[-2]), float(earned[-1] - earned[0])


def test_the_regret_is_below_its_published_bound_and_logarithmic() -> None:
    """(24 sigma^2 H^2 log T / gap_min^2 + pi^2 / 3 + 1) d gap_max, a bound on the expectation.

    12 trials are far below it. Growth: from T to 4 T the mean adds as much as from T / 4 to T,
    within a factor of 2; the square root would make it 2 and a line 4 times as much.
    """
    X, H, sigma, horizon = sb.Box(np.zeros(7), np.ones(7)), 3, 0.2, 16000
    env = sb.LinearEnvironment(action_set=X, theta_star=THETA, noise=sb.Gaussian(sigma))
    run = sb.simulate(cucb(X, H, sigma), env, horizon=horizon, trials=12, seed=0, points=400)
    least, largest = gaps(THETA, H)
    bound = (24 * sigma**2 * H**2 * np.log(run.steps) / least**2 + math.pi**2 / 3 + 1) * 7 * largest
    assert (run.regret.mean(axis=0) <= bound).all()
    means = [float(np.interp(t, run.steps, run.regret.mean(axis=0))) for t in (1000, 4000, 16000)]
    early, late = means[1] - means[0], means[2] - means[1]
    assert 0.3 * early < late < 1.5 * early
    assert run.optimal_share[:, -1].mean() > 0.9


def test_more_optimism_explores_more_and_none_gets_stuck() -> None:
    """The radius matters: sigma = 0 in the policy is greedy, and some trials never recover."""
    X = sb.Box(np.zeros(7), np.ones(7))
    env = sb.LinearEnvironment(action_set=X, theta_star=THETA, noise=sb.Gaussian(0.5))
    greedy = sb.simulate(cucb(X, 1, 0.0), env, horizon=4000, trials=30, seed=1)
    hopeful = sb.simulate(cucb(X, 1, 0.5), env, horizon=4000, trials=30, seed=1)
    assert greedy.regret[:, -1].max() > 2 * hopeful.regret[:, -1].max()


# ---------------------------------------------------------------------- the index


def test_the_radius_is_the_published_one_for_outcomes_in_the_unit_interval() -> None:
    X = sb.Box(np.zeros(3), np.ones(3))
    rule = rule_of(cucb(X, 1, 0.5), 1)
    rule.counts[:], rule.means[:], rule.steps[:] = [[4, 9, 1]], [[0.5, 0.4, 0.1]], 99
    published = rule.means + np.sqrt(3 * math.log(100) / (2 * rule.counts))
    np.testing.assert_allclose(rule.hopeful(*X.axis_reach()), published)


def test_the_end_worth_more_is_taken() -> None:
    rule = rule_of(cucb(sb.LpBall(5), 1, 1.0), 1)
    rule.counts[:], rule.steps[:] = 6, 1
    rule.means[:] = [[0.5, -0.5, -0.5, -0.5, 0.0]]
    radius = math.sqrt(math.log(2))
    hopeful = rule.hopeful(
        np.array([-1.0, -1.0, 0.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    )
    wanted = [0.5 + radius, -0.5 - radius, -0.5 + radius, -0.5 - radius, radius]
    np.testing.assert_allclose(hopeful, [wanted])


def test_optimism_on_symmetric_sets() -> None:
    """While theta* is in all intervals, the hopeful value is at least the true optimum."""
    rng = np.random.default_rng(2)
    for p in (1.0, 1.5, 2.0, math.inf):
        X = sb.LpBall(6, p=p)
        rule = rule_of(cucb(X, 2, 1.0), 50)
        rule.counts[:], rule.steps[:] = rng.integers(1, 50, (50, 6)), 20
        rule.means[:] = rng.standard_normal((50, 6))
        radius = np.sqrt(6 * math.log(21) / rule.counts)
        theta = rule.means + radius * rng.uniform(-1, 1, (50, 6))
        hoped = sb.sparse_argmax_batch(X, rule.hopeful(*X.axis_reach()), 2).values
        assert (hoped >= sb.sparse_argmax_batch(X, theta, 2).values - 1e-12).all()


def test_coordinates_never_seen_come_first() -> None:
    for p, needed in ((2.0, 3), (1.0, 8)):
        X = sb.LpBall(8, p=p)
        rule = rule_of(cucb(X, 3), 2)
        for _ in range(needed):
            assert rule.choose(X) is not None
            assert rule.exploring.all()
            step(rule, X, np.ones((2, 8)), np.zeros((2, 8)))
        assert (rule.counts >= 1).all()
        rule.choose(X)
        assert not rule.exploring.any()


def test_nobody_waits_for_a_coordinate_that_cannot_be_played() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]])
    X = sb.FiniteSet(points)
    rule = rule_of(cucb(X, 2), 1)
    theta = np.array([[0.2, 0.9, 5.0]])
    played = [step(rule, X, theta, np.zeros((1, 3)))[0].tolist() for _ in range(200)]
    assert rule.counts[0, 2] == 0
    assert played[-1] == [0.0, 1.0, 0.0]


def test_only_what_was_played_is_learned() -> None:
    rule = rule_of(cucb(sb.LpBall(3), 2), 1)
    items = np.array([[1.0, 2.0, 3.0]])
    rule.learn_items(np.array([[0.5, 0.0, -0.1]]), items)
    rule.learn_items(np.array([[0.5, 0.0, 0.0]]), 3 * items)
    assert rule.counts.tolist() == [[2, 0, 1]]
    np.testing.assert_allclose(rule.estimate, [[2.0, 0.0, 3.0]])


# ---------------------------------------------------------------------- contracts


@pytest.mark.parametrize("name", SETS)
def test_a_trial_has_the_same_bits_beside_others_and_is_sublinear(name: str) -> None:
    X = SETS[name]
    env = sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.1))
    slow = name in ("polytope", "budget")
    options: dict[str, Any] = {"horizon": 15 if slow else 1000, "seed": 4}
    policy = cucb(X, 2, 0.1)
    four = sb.simulate(policy, env, **options, trials=4)
    two = sb.simulate(policy, env, **options, trials=2)
    assert four.regret[:2].tobytes() == two.regret.tobytes()
    if not slow:
        half = four.at(int(four.steps[np.searchsorted(four.steps, 500)]))
        assert (four.regret[:, -1] < 1.8 * half + 1e-9).mean() >= 0.75


@pytest.mark.parametrize("name", SETS)
def test_masks_are_respected(name: str) -> None:
    X = SETS[name]
    rule = rule_of(cucb(X), 3)
    rng = np.random.default_rng(5)
    theta = rng.standard_normal((3, 5))
    for _ in range(10 if name in ("polytope", "budget") else 40):
        mask = rng.random(5) < 0.5
        mask[rng.integers(5)] = True
        current = X.restrict(mask)
        actions = step(rule, current, theta, 0.1 * rng.standard_normal((3, 5)))
        assert current.contains(actions).all()
        assert ((actions != 0).sum(axis=1) <= 2).all()


def test_a_saved_lane_continues_bit_for_bit() -> None:
    X = sb.LpBall(6)
    policy = cucb(X)
    straight, saved = rule_of(policy, 1), rule_of(policy, 1)
    rng = np.random.default_rng(6)
    theta = rng.standard_normal((1, 6))
    for _ in range(80):
        noise = rng.standard_normal((1, 6))
        one, two = step(straight, X, theta, noise), step(saved, X, theta, noise)
        assert one.tobytes() == two.tobytes()
        state = json.loads(json.dumps(saved.state()))
        saved = rule_of(policy, 1)
        saved.restore(state, 80)


def test_rewards_that_come_late_or_never_only_move_the_clock() -> None:
    rule = rule_of(cucb(sb.LpBall(3)), 3)
    rule.learn(np.ones((1, 3)), np.ones(1), np.ones(1, dtype=np.bool_), np.array([1]))
    assert rule.steps.tolist() == [0, 1, 0]
    assert (rule.counts == 0).all()


def test_it_is_a_reference_and_says_so() -> None:
    policy = cucb(sb.LpBall(4))
    assert isinstance(policy, ReferencePolicy)
    assert isinstance(rule_of(policy, 1), InformedRule)
    with pytest.raises(sb.SparseBanditsError, match="sees the outcome of every coordinate"):
        policy.start()
    described = json.loads(json.dumps(policy.to_dict()))
    assert sb.Policy.from_dict(described).to_dict() == policy.to_dict()
    wrong: list[Any] = [-1.0, "estimate", math.inf, None]
    for sigma in wrong:
        with pytest.raises(sb.SparseBanditsError):
            cucb(sb.LpBall(4), sigma=sigma)
