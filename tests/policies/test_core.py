"""SparseThompson among many coordinates: what is known, who has a slot, units and regret."""

import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    Gaussian,
    LinearEnvironment,
    UniformCube,
)
from sparsebandits.policies import Learner
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.design import Design
from sparsebandits.policies.gate import Gate
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.slots import CAPACITY
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.cores import Dense, core_of, cube, fill, play, reward_of, thompson, told
from tests.policies.examples import ellipsoid

DIM = 150

SETS: list[sb.ActionSet] = [
    sb.LpBall(DIM),
    sb.LpBall(DIM, p=1.0),
    cube(DIM),
    sb.Box(-np.linspace(0.1, 2, DIM), np.ones(DIM)),
    ellipsoid(DIM),
    sb.Budget(2.0, np.ones(DIM)),
]
IDS = ["l2", "l1", "cube", "box", "ellipsoid", "budget"]


# ---------------------------------------------------------------------- who is looked at


def test_below_4_h_plus_16_nothing_is_gated() -> None:
    rngs = [np.random.default_rng(0)]
    for sparsity in (30, 40):
        most = 4 * sparsity + 16
        for make in (sb.LpBall, cube):
            small, large = (thompson(make(dim), sparsity) for dim in (most, most + 1))
            assert (small.is_gated, large.is_gated) == (False, True)
            assert isinstance(small.rule(rngs), ThompsonRule)
            assert isinstance(large.rule(rngs), CoreRule)
    assert not thompson(sb.LpBall(DIM), guarantee=True).is_gated
    assert not thompson(sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM)]))).is_gated


# ---------------------------------------------------------------------- what is known


def expected_theta(learner: Learner, actions: list[FloatArray], rewards: list[float]) -> FloatArray:
    """The ridge estimate from all rewards, over all coordinates at once."""
    own = core_of(learner)
    design, dim = own.slots.whole, learner.policy.action_set.dim
    lower, upper = learner.policy.action_set.whole.axis_reach()
    reach = np.maximum(-lower, upper)
    columns = design.columns(np.array(actions).reshape(-1, dim))
    prior = design.prior(own.recipe.ridge * reach**2)
    right = columns.T @ np.array(rewards)
    parameters = np.linalg.solve(columns.T @ columns + np.diag(prior), right)
    return np.asarray(design.thetas(parameters[None])[0])


@pytest.mark.parametrize("action_set", SETS, ids=IDS)
def test_late_lost_and_masked_rewards_give_the_ridge_estimate(action_set: sb.ActionSet) -> None:
    """Nobody is retired among 150: what is known is what the dense regression knows."""
    learner, rng = thompson(action_set).start(seed=1), np.random.default_rng(2)
    theta = rng.uniform(-1, 1, DIM)
    waiting: list[sb.Decision] = []
    actions: list[FloatArray] = []
    rewards: list[float] = []
    for step in range(60):
        mask = None if step % 3 else np.sort(rng.choice(DIM, 9, replace=False))
        waiting.append(learner.ask(available=mask))
        if mask is not None:
            assert set(waiting[-1].indices) <= set(mask.tolist())
        assert action_set.contains(waiting[-1].action)
        assert waiting[-1].indices.size <= 3
        while waiting and (len(waiting) > 6 or rng.random() < 0.5):
            late = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                learner.forget(late)
                continue
            actions.append(late.action)
            rewards.append(reward_of(late, theta, 0.3 * float(rng.standard_normal())))
            learner.tell(late.id, rewards[-1])
        if step == 30:
            logs = rng.standard_normal((5, DIM)) * (rng.random((5, DIM)) < 0.2)
            learner.warm_start(logs, logs @ theta)
            actions.extend(logs)
            rewards.extend(logs @ theta)
        if step % 10 == 9:
            expected = expected_theta(learner, actions, rewards)
            assert learner.theta_hat is not None
            np.testing.assert_allclose(learner.theta_hat, expected, rtol=1e-7, atol=1e-9)
    assert core_of(learner).slots.model.spent == 0


def test_what_a_certificate_says_of_coordinates_nobody_looked_at_is_their_prior() -> None:
    box = sb.Box(np.zeros(400), np.linspace(0.5, 2.0, 400))
    learner = thompson(box).start(seed=0)
    certificate: Any = learner.certificate()
    assert math.isnan(certificate.probability)
    theta = np.where(np.arange(400) % 3, -1.0, 1.0)
    play(learner, theta, 150)
    certificate = learner.certificate(draws=20)
    own = core_of(learner)
    ids = own.slots.ids
    fresh = np.setdiff1d(np.arange(400), ids)
    assert fresh.size > 100
    ends = np.asarray(box.upper)
    scales = certificate.deviation * ends * math.sqrt(own.recipe.ridge) / certificate.sigma
    np.testing.assert_allclose(scales[fresh], 1.0)
    assert (scales[ids] < 1 + 1e-9).all()
    assert not certificate.theta_hat[fresh].any()
    assert 0 <= certificate.probability <= 1
    generator = learner.to_dict()["state"]["generator"]
    learner.certificate()
    assert learner.to_dict()["state"]["generator"] == generator


# ---------------------------------------------------------------------- slots


def test_a_full_core_retires_the_least_promising_and_keeps_what_it_needs() -> None:
    """The reward of an action of which one coordinate is the least promising, and one is new."""
    learner = thompson(sb.LpBall(5000)).start(seed=0)
    fill(learner)
    own = core_of(learner)
    assert own.slots.ids.size == CAPACITY
    for _ in range(5):
        worst = int(own._promise(learner.policy.action_set, own.slots.sigma).argmin())
        known = int(own.slots.ids[worst])
        stranger = int(np.setdiff1d(np.arange(5000), own.slots.ids)[7])
        told(learner, sorted([known, stranger]), -5.0)
        assert {known, stranger} <= set(own.slots.ids.tolist())
        assert own.slots.ids.size == CAPACITY
        assert own.slots.slot_of == {int(number): slot for slot, number in enumerate(own.slots.ids)}
        assert own.slots.model.agrees()


def test_rewards_of_retired_coordinates_come_in_late(small_cores: None) -> None:
    """They get a slot again; the estimate is finite, the slots are in order, and play goes on."""
    learner, rng = thompson(sb.LpBall(300), 2).start(seed=3), np.random.default_rng(4)
    theta = rng.uniform(-1, 1, 300)
    old = [learner.ask() for _ in range(12)]
    own = core_of(learner)
    for first in range(0, 300, 5):
        told(learner, list(range(first, first + 5)), float(theta[first : first + 5].sum()))
    play(learner, theta, 30)
    assert own.slots.ids.size == 24
    assert own.slots.model.spent > 1
    gone = [late for late in old if not set(late.indices) <= set(own.slots.ids.tolist())]
    assert gone
    for late in gone:
        learner.tell(late, reward_of(late, theta))
        assert set(late.indices) <= set(own.slots.ids.tolist())
        assert own.slots.model.agrees()
    assert np.isfinite(play(learner, theta, 30)[-1].values).all()
    assert own.slots.slot_of == {int(number): slot for slot, number in enumerate(own.slots.ids)}


def test_nobody_is_admitted_for_whom_one_would_go_who_still_matters() -> None:
    """Full, and all of them as good as the best: the gate stays shut; and not where one is lost."""
    for worst, opens in ((0.9, False), (-5.0, True)):
        learner = thompson(cube(5000)).start(seed=0)
        own = core_of(learner)
        for number in range(CAPACITY):  # actions so long that two are worth 80 rewards
            mean, noise = (1.0 if number > 7 else worst), (-1.0) ** number
            told(learner, [number], 4 * mean + noise, 4.0)
            told(learner, [number], 8 * mean - noise, 8.0)
        before = set(own.slots.ids.tolist())
        assert before == set(range(CAPACITY))
        own.gate = Gate(3, price=0.0, least=1e6)  # always for it
        own.open_gate(learner.policy.action_set, own.slots.sigma)
        assert (set(own.slots.ids.tolist()) != before) == opens
        gone = before - set(own.slots.ids.tolist())
        assert gone <= set(range(8))
        assert own.slots.retired == len(gone)


@pytest.mark.parametrize(("retired", "opens"), [(0, True), (10**6, False)])
def test_those_sent_away_were_looked_at_too(retired: int, opens: bool) -> None:
    """At most 1000 H sqrt(t) are admitted: far more than have a slot, and fewer than were seen."""
    learner = thompson(cube(5000)).start(seed=0)
    play(learner, np.linspace(-1, 1, 5000), 40)
    own = core_of(learner)
    own.gate, before = Gate(3, price=0.0, least=0.0, most=1e3), own.slots.ids.size
    own.slots.retired = retired
    own.open_gate(learner.policy.action_set, own.slots.sigma)
    assert (own.slots.ids.size > before) == opens


@pytest.mark.parametrize("sparsity", [40, 140])
def test_wide_supports_have_room(sparsity: int) -> None:
    """4 H coordinates are looked at first: more than are drawn afresh, and more than CAPACITY."""
    dim = 4 * sparsity + 40
    learner, theta = thompson(cube(dim), sparsity).start(seed=0), np.ones(dim)
    decisions = play(learner, theta, 4)
    assert core_of(learner).slots.ids.size >= 4 * sparsity
    assert max(decision.indices.size for decision in decisions) > sparsity // 3
    assert core_of(learner).slots.model.agrees()


def test_masks_without_any_coordinate_known_so_far(small_cores: None) -> None:
    learner, theta = thompson(sb.LpBall(5000)).start(seed=0), np.ones(5000)
    play(learner, theta, 60)
    for first in range(0, 200, 20):
        mask = np.arange(first, first + 5)
        decision = learner.ask(available=mask)
        assert 1 <= decision.indices.size <= 3
        assert set(decision.indices.tolist()) <= set(mask.tolist())
        learner.tell(decision, reward_of(decision, theta))
    for last in ([7], np.arange(5000) == 4999):
        decision = learner.ask(available=last)
        assert decision.indices.size == 1
        learner.tell(decision, 0.0)
    assert core_of(learner).slots.ids.size <= 24


def test_an_intercept_before_the_first_reward() -> None:
    """A core of more columns than are drawn afresh, of which one is free."""
    policy = thompson(sb.LpBall(1000), 40)
    generators = [np.random.default_rng(i) for i in range(2)]
    rule = CoreRule(policy, generators, Recipe(), Design(1000, intercept=True), "estimate")
    for _ in range(3):
        actions = rule.choose(policy.action_set)
        rule.learn(actions, 5.0 + actions.sum(axis=1), rule.pulls)
    assert np.isfinite(rule.estimate).all()


# ---------------------------------------------------------------------- units


def test_rewards_in_another_unit_change_no_decision() -> None:
    """By a power of two, not a bit: theta, sigma, the gate and the index are all relative."""
    for action_set in (sb.LpBall(DIM), cube(DIM)):
        for unit in (2.0**-30, 2.0**40):
            one, two = (thompson(action_set).start(seed=0) for _ in range(2))
            rng = np.random.default_rng(10)
            for _ in range(150):
                left, right = one.ask(), two.ask()
                assert left.action.tobytes() == right.action.tobytes()
                reward = float(left.action[:20].sum()) + float(rng.standard_normal())
                one.tell(left, reward)
                two.tell(right, unit * reward)


def test_coordinates_in_other_units_change_no_decision() -> None:
    units = 2.0 ** np.random.default_rng(11).integers(-20, 20, DIM)
    plain = thompson(cube(DIM)).start(seed=0)
    scaled = thompson(sb.Box(np.zeros(DIM), units)).start(seed=0)
    rng = np.random.default_rng(12)
    for _ in range(150):
        left, right = plain.ask(), scaled.ask()
        np.testing.assert_array_equal(left.action * units, right.action)
        reward = float(left.action[:20].sum()) + float(rng.standard_normal())
        plain.tell(left, reward)
        scaled.tell(right, reward)


def test_coordinates_that_cannot_be_used_have_a_prior_of_their_own() -> None:
    """It must not depend on who is admitted beside them: saved, it is compared."""
    upper = np.where(np.arange(DIM) % 2, np.linspace(0.5, 3.0, DIM), 0.0)
    for action_set in (sb.Box(np.zeros(DIM), upper), sb.LpBall(DIM).restrict(range(140))):
        learner = thompson(action_set).start(seed=0)
        learner.warm_start(np.eye(DIM)[-10:], np.ones(10))
        play(learner, np.ones(DIM), 30)
        assert sb.Learner.from_dict(learner.to_dict()).to_dict() == learner.to_dict()


# ---------------------------------------------------------------------- regret


def ratio_to_dense(
    action_set: sb.ActionSet, theta: Any, horizon: int, trials: int, sparsity: int = 5
) -> float:
    """The regret of the gated policy over that of the dense one, on the same trials."""
    environment = LinearEnvironment(action_set=action_set, theta_star=theta, noise=Gaussian(0.5))
    policies = [thompson(action_set, sparsity), Dense(action_set=action_set, sparsity=sparsity)]
    runs = sb.simulate(policies, environment, horizon=horizon, trials=trials, seed=13, points=2)
    ours, dense = (run.regret[:, -1].mean() for run in runs)
    return float(ours / dense)


def test_regret_is_below_that_of_looking_at_everybody() -> None:
    """Where T is as small as d; the ratio measured is 0.6."""
    assert ratio_to_dense(cube(150), UniformCube(), 150, 3, sparsity=3) < 0.85


@pytest.mark.thorough
@pytest.mark.parametrize("make", [sb.LpBall, cube], ids=["l2", "cube"])
def test_regret_among_a_thousand(make: Any) -> None:
    """Issue 14 asks for 0.75 at T = 2,000 over many trials; `benchmarks/scale.py` has those."""
    assert ratio_to_dense(make(1000), UniformCube(), 500, 2) < 0.75
