"""CSAR: the variance of its estimates, its decisions, a case by hand, and what it refuses."""

import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import sparsebandits as sb
from sparsebandits.policies import Learner
from sparsebandits.policies.baselines.csar import CSAR, CSARRule, decide, sylvester_patterns
from sparsebandits.validation import FloatArray
from tests.policies.examples import play
from tests.policies.test_saving import same, wander
from tests.reference.stepwise import simulate_stepwise


def unit_box(dim: int) -> sb.Box:
    return sb.Box(np.zeros(dim), np.ones(dim))


def csar(dim: int = 4, sparsity: int = 2, **keywords: Any) -> CSAR:
    return CSAR(action_set=unit_box(dim), sparsity=sparsity, **{"sigma": 0.1, **keywords})


def rule_of(policy: CSAR, lanes: int) -> CSARRule:
    return policy.rule([np.random.default_rng(0)] * lanes)


def reloaded(learner: Learner) -> Learner:
    """Through JSON, into a new learner."""
    return Learner.from_dict(json.loads(json.dumps(learner.to_dict())))


def run(rule: CSARRule, theta: FloatArray, sigma: float, steps: int, seed: int) -> int:
    """Play all lanes until every arm of every lane is decided; return the steps it took."""
    rng = np.random.default_rng(seed)
    for step in range(steps):
        actions = rule.choose(rule.policy.action_set)
        if not rule.exploring.any():
            return step
        rewards = (actions * theta).sum(axis=1) + sigma * rng.standard_normal(rule.lanes)
        rule.learn(actions, rewards, rule.pulls)
    return steps


# ---------------------------------------------------------------------- the design


def test_patterns_are_balanced() -> None:
    """Each arm is in M / 2 of the sets, each pair in M / 4 of them: a Hadamard matrix."""
    for order in (2, 4, 8, 16, 32):
        signs = np.ones((order, order))
        signs[1:, 1:] = np.where(sylvester_patterns(order, order - 1), -1, 1)
        np.testing.assert_array_equal(signs.T @ signs, order * np.eye(order))


def test_every_phase_has_distinct_sets_of_at_most_h_arms() -> None:
    for dim in range(1, 14):
        for sparsity in range(1, dim + 1):
            for accepted in range(sparsity):
                rule = rule_of(csar(dim, sparsity), 1)
                rule.accepted[0, :accepted] = True
                rule._plan(0)
                sets = rule._sets[0, rule._due[0]]
                assert (sets.sum(axis=1) <= sparsity).all()
                assert len(np.unique(sets, axis=0)) == len(sets)
                assert sets[:, :accepted].all()
                assert sets.sum(axis=1).min() >= 1
                # Some combination of the sets gives every active arm alone.
                assert np.linalg.matrix_rank(sets) == dim - accepted + bool(accepted)


def test_a_small_phase_by_hand() -> None:
    """d = 4, H = 2: order 4, groups {0, 2} and {1, 3}, six sets."""
    learner = csar(sigma=0.05).start()
    asked = [learner.ask() for _ in range(6)]
    sets = [tuple(np.flatnonzero(decision.action).tolist()) for decision in asked]
    assert sets == [(0,), (2,), (0, 2), (1,), (3,), (1, 3)]
    for decision, reward in zip(asked, [2.0, 1.0, 3.6, -1.0, 4.0, 2.0], strict=True):
        learner.tell(decision, reward)
    # Arm 0: half of (2 + 3.6 - 1); arm 2: half of (1 + 3.6 - 2); arm 1: half of (-1 + 2 - 4).
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, np.array([2.3, -1.5, 1.3, 3.5]))
    # The radius is 0.05 sqrt(8 log(8 / (0.05 * 6 / pi^2)) / 4) = 0.167: all is decided.
    assert learner.support == (0, 3)
    assert learner.ask().action.tolist() == [1.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("dim", "sparsity", "accepted"), [(10, 4, 0), (10, 6, 2), (7, 3, 2)])
def test_the_variance_is_as_documented(dim: int, sparsity: int, accepted: int) -> None:
    """4 sigma^2 / (M R), times 1 - 1 / M while nothing is accepted.

    The sample variance of 4,000 lanes has a relative error of 0.022; each arm within 5 of them
    (false alarm below 1e-5), and the mean is unbiased within 5 standard errors.
    """
    lanes, sigma, phase = 4000, 0.7, 2
    rule = rule_of(csar(dim, sparsity, sigma=sigma, delta=1e-12), lanes)
    rng = np.random.default_rng(3)
    theta = rng.uniform(0.0, 0.01, dim)
    rule.accepted[:, :accepted] = True
    rule.theta[:, :accepted] = 1.0
    rule.phase[:] = phase
    for lane in range(lanes):
        rule._plan(lane)
    order, _ = rule._groups(0)
    free = sparsity - accepted
    assert order // 2 <= free < order
    rounds = int(rule._rounds[0])
    while (rule.phase == phase).all():
        actions = rule.choose(rule.policy.action_set)
        rewards = actions @ theta + sigma * rng.standard_normal(lanes)
        rule.learn(actions, rewards, rule.pulls)
    assert (rule.phase == phase + 1).all()
    found = rule.theta[:, accepted:]
    wanted = 4 * sigma**2 / (order * rounds) * (1 if accepted else 1 - 1 / order)
    np.testing.assert_allclose(found.var(axis=0), wanted, rtol=0.11)
    error = math.sqrt(wanted / lanes)
    np.testing.assert_allclose(found.mean(axis=0), theta[accepted:], atol=5 * error)


def test_the_radius_halves_and_covers() -> None:
    """r = sqrt(2 log(2 n / delta_p)) standard deviations, for unit precision M R."""
    rule = rule_of(csar(12, 4, sigma=2.0, delta=0.1), 1)
    for phase in (1, 2, 3):
        rule.phase[0] = phase
        rule._plan(0)
        deviation = math.sqrt(4 * 4.0 / (8 * 4 ** (phase - 1)))
        share = 0.1 * 6 / (math.pi * phase) ** 2
        two_sided = math.sqrt(2 * math.log(2 * 12 / share)) * deviation
        assert rule._radius(0, 12) == pytest.approx(two_sided)
        assert 12 * 2 * scipy.stats.norm.sf(two_sided / deviation) <= share


# ---------------------------------------------------------------------- decisions


def test_decisions_by_hand() -> None:
    worth = np.array([1.0, 0.8, 0.55, 0.5, 0.1, -0.3])
    accept, reject = decide(worth, free=3, radius=0.1, tolerance=0.0)
    assert np.flatnonzero(accept).tolist() == [0, 1]
    assert np.flatnonzero(reject).tolist() == [4, 5]
    # Places enough for all: only the sign counts.
    accept, reject = decide(worth, free=6, radius=0.2, tolerance=0.0)
    assert np.flatnonzero(accept).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(reject).tolist() == [5]
    # An arm that may earn nothing is not accepted, however far ahead of the others.
    accept, reject = decide(np.array([0.1, -2.0]), free=1, radius=0.2, tolerance=0.0)
    assert not accept.any()
    assert reject.tolist() == [False, True]
    accept, reject = decide(worth, free=3, radius=0.1, tolerance=0.2)
    assert np.flatnonzero(accept).tolist() == [0, 1, 2]
    assert (accept ^ reject).all()


@pytest.mark.parametrize("sigma", [pytest.param(0.3, marks=pytest.mark.thorough), "estimate"])
def test_decisions_are_right_with_probability_one_minus_delta(sigma: float | str) -> None:
    """At most a share delta of 300 lanes ever decides wrongly (false alarm below 1e-6)."""
    lanes, dim, H, delta = 300, 8, 3, 0.1
    rule = rule_of(csar(dim, H, sigma=sigma, delta=delta), lanes)
    theta = np.random.default_rng(4).uniform(-0.5, 1.0, (lanes, dim))
    run(rule, theta, 0.3, 6000, seed=5)
    rank = np.argsort(np.argsort(-theta, axis=1), axis=1)
    best = (rank < H) & (theta > 0)
    wrong = ((rule.accepted & ~best) | (rule.rejected & best)).any(axis=1)
    assert wrong.sum() <= scipy.stats.binom.isf(1e-6, lanes, delta)
    decided = rule.accepted | rule.rejected
    assert decided.mean() > 0.7
    assert decided.all(axis=1).mean() > 0.2
    # The union bound is generous: in practice next to nothing goes wrong.
    assert wrong.sum() <= 3


def test_the_exploration_is_as_short_as_documented() -> None:
    """All is decided once r_p < gap / 4, and the phases add up to 16 / 3 of what that takes."""
    dim, H, sigma, gap, delta = 16, 4, 0.5, 0.4, 0.05
    rule = rule_of(csar(dim, H, sigma=sigma, delta=delta), 10)
    theta = np.full((10, dim), 0.2)
    theta[:, :H] = 0.2 + gap
    steps = run(rule, theta, sigma, 10**5, seed=6)
    assert (rule.accepted == (np.arange(dim) < H)).mean() > 1 - delta
    # Accepted arms make the later orders smaller, down to 2: at most two sets per arm and round.
    share = delta * 6 / (math.pi * 8) ** 2
    precision = 16 * 8 * sigma**2 * math.log(2 * dim / share) / gap**2
    assert steps <= 16 / 3 * precision * dim
    # Far fewer than one arm at a time would take.
    assert steps < 4 * precision * dim / H


def test_arms_that_cost_are_left_alone() -> None:
    rule = rule_of(csar(5, 3, sigma=0.1), 4)
    theta = np.tile([-0.5, -1.0, 0.4, -0.3, -0.2], (4, 1))
    run(rule, theta, 0.1, 5000, seed=7)
    assert (rule.accepted == (theta > 0)).all()
    rule = rule_of(csar(5, 3, sigma=0.1), 2)
    run(rule, -np.ones((2, 5)), 0.1, 5000, seed=8)
    assert rule.rejected.all()
    assert (rule.choose(rule.policy.action_set) == 0).all()
    assert rule.support_in(0) == ()


def test_boxes_with_two_sides_use_the_better_end() -> None:
    box = sb.Box([-1.0, -2.0, 0.0, -0.5, 0.0], [1.0, 1.0, 3.0, 0.5, 0.0])
    policy = CSAR(action_set=box, sparsity=2, sigma=0.1)
    rule = policy.rule([np.random.default_rng(0)] * 3)
    theta = np.tile([-0.6, -0.9, 0.1, 0.3, 5.0], (3, 1))
    run(rule, theta, 0.1, 10**4, seed=9)
    assert rule.choose(box).tolist() == [[-1.0, -2.0, 0.0, 0.0, 0.0]] * 3
    assert rule.support_in(0) == (0, 1)
    # While others are explored, an accepted arm is played at its better end too.
    rule = policy.rule([np.random.default_rng(0)])
    rule.accepted[0, 0], rule.theta[0, 0] = True, -0.6
    rule._plan(0)
    assert rule.choose(box)[0, 0] == -1.0
    assert rule.exploring.all()


def test_ties_end_with_a_tolerance_only() -> None:
    theta = np.full((3, 4), 0.5)
    for tolerance, ends in ((0.2, True), (0.0, False)):
        rule = rule_of(csar(4, 2, tolerance=tolerance), 3)
        run(rule, theta, 0.1, 2000, seed=10)
        assert (rule.accepted | rule.rejected).all() == ends
    assert (rule_of(csar(3, 3, sigma=0.0), 1)._radius(0, 3)) == 0.0


# ---------------------------------------------------------------------- contracts


@pytest.mark.parametrize("sigma", [0.3, "estimate"])
def test_stepwise_equals_lanes_bit_for_bit(sigma: float | str) -> None:
    box = sb.Box(np.zeros(6), [1, 2, 1, 0.3, 1, 1])
    env = sb.LinearEnvironment(
        action_set=box, theta_star=sb.UniformCube(), noise=sb.Heteroscedastic(0.1)
    )
    for sparsity in (1, 3, 6):
        policy = CSAR(action_set=box, sparsity=sparsity, sigma=sigma)
        options: dict[str, Any] = {"horizon": 400, "seed": 3}
        lanes = sb.simulate(policy, env, **options, trials=4)
        steps = simulate_stepwise(policy, env, **options, trials=4)
        fewer = sb.simulate(policy, env, **options, trials=2)
        assert lanes.regret.tobytes() == steps.regret.tobytes()
        assert lanes.regret[:2].tobytes() == fewer.regret.tobytes()
        # The engines sum up the squares of the error in another order.
        np.testing.assert_allclose(lanes.theta_error, steps.theta_error, rtol=1e-14)
        assert np.isfinite(lanes.theta_error[:, -1]).all()


@pytest.mark.parametrize("sigma", [0.3, "estimate"])
def test_a_learner_read_back_continues_bit_for_bit(sigma: float | str) -> None:
    policy = csar(sigma=sigma)
    straight: Learner = policy.start(seed=3)
    saved: Learner = policy.start(seed=3)
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(40):
        left, right = list(wander(straight, one, 7)), list(wander(saved, two, 7))
        assert all(map(same, left, right))
        saved = reloaded(saved)
    assert straight.to_dict() == saved.to_dict()
    assert straight.theta_hat is not None


def test_a_state_that_makes_no_sense_is_refused() -> None:
    learner = csar().start()
    state = learner.to_dict()["state"]
    for name, value in (
        ("phase", 0),
        ("phase", 10**9),
        ("accepted", [1, 1, 1, 0]),
        ("means", "x"),
    ):
        with pytest.raises(sb.InvalidValueError):
            csar().start()._restore({**state, name: value})
    with pytest.raises(sb.InvalidValueError, match="none of them rejected"):
        csar().start()._restore({**state, "accepted": [1, 0, 0, 0], "rejected": [1, 0, 0, 0]})


def test_masks_are_respected_and_do_not_mislead() -> None:
    theta = np.array([0.9, 0.2, -0.4, 0.6, 0.1, 0.3])
    learner = csar(6, 2, sigma=0.05).start()
    rng = np.random.default_rng(11)
    box = unit_box(6)
    for _ in range(2500):
        mask = rng.random(6) < 0.7
        mask[rng.integers(6)] = True
        decision = learner.ask(available=mask)
        assert box.restrict(mask).contains(decision.action)
        assert (decision.action != 0).sum() <= 2
        learner.tell(decision, float(theta @ decision.action + 0.05 * rng.standard_normal()))
    assert learner.support == (0, 3)
    # With an accepted arm away, the next best by its last estimate takes its place.
    assert np.flatnonzero(learner.ask(available=[1, 2, 3, 4, 5]).action).tolist() == [3, 5]
    # On another box the accepted arms are played at that box's ends.
    other = sb.Box(np.zeros(6), np.full(6, 0.5))
    assert learner.ask(action_set=other).action.tolist() == [0.5, 0, 0, 0.5, 0, 0]


def test_late_lost_and_many_open_rewards() -> None:
    """Sets are asked for in turn until each has its rewards; those of past phases are dropped."""
    theta = np.array([0.9, 0.2, -0.4, 0.6])
    learner = csar(sigma=0.3, delta=0.01).start()
    rng = np.random.default_rng(12)
    batch = [learner.ask() for _ in range(600)]
    counts = np.unique([decision.action.tolist() for decision in batch], axis=0, return_counts=True)
    assert (counts[1] == 100).all()
    waiting = batch
    for _ in range(4000):
        waiting.append(learner.ask())
        late = waiting.pop(int(rng.integers(len(waiting))))
        if rng.random() < 0.3:
            learner.forget(late)
        else:
            learner.tell(late, float(theta @ late.action + 0.3 * rng.standard_normal()))
    assert learner.support == (0, 3)
    assert learner.certificate().locked


def test_logged_rewards_of_the_sets_count_and_others_do_not() -> None:
    theta = np.array([0.9, 0.2, -0.4, 0.6])
    learner = csar(sigma=0.01).start()
    useless = np.array([[0.5, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    learner.warm_start(useless, [100.0, 100.0])
    wanted = np.array([learner.ask().action for _ in range(6)])
    learner.warm_start(wanted, wanted @ theta)
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, theta)
    assert learner.support == (0, 3)


def test_a_cube_is_a_box() -> None:
    cube, box = sb.LpBall(4, p=math.inf, radius=2.0), sb.Box(np.full(4, -2.0), np.full(4, 2.0))
    learners = [CSAR(action_set=X, sparsity=2, sigma=0.1).start(seed=0) for X in (cube, box)]
    plays = [play(learner, 200) for learner in learners]
    for one, other in zip(*plays, strict=True):
        assert (one.decision.action == other.decision.action).all()


def test_refusals() -> None:
    for X in (sb.LpBall(4), sb.Budget(1.0, np.ones(4))):
        with pytest.raises(sb.SparseBanditsError, match=r"needs a Box.*LinTS"):
            CSAR(action_set=X, sparsity=2)
    with pytest.raises(sb.SparseBanditsError, match="needs a Box"):
        csar().start().ask(action_set=sb.LpBall(4))
    wrong: list[dict[str, Any]] = [
        {"delta": 0.0},
        {"delta": 1.0},
        {"sigma": -0.1},
        {"sigma": "guess"},
        {"tolerance": -1.0},
        {"sparsity": 5},
    ]
    for bad in wrong:
        with pytest.raises(sb.SparseBanditsError):
            csar(**bad)
