"""SparseThompson: its index, its proposals, its holding, its units, its regret."""

import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import Gaussian, LinearEnvironment, UniformCube
from sparsebandits.policies.candidates import Axes, Candidates, reach_of
from sparsebandits.policies.floored_rule import FlooredThompsonRule
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.recipe import YOUNG
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import ellipsoid

DIM, SPARSITY = 6, 2

SETS: list[sb.ActionSet] = [
    sb.LpBall(DIM),
    sb.LpBall(DIM, p=1.0),
    sb.Box(np.zeros(DIM), np.ones(DIM)),
    ellipsoid(DIM),
    sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM), -np.eye(DIM)])),
]
IDS = ["l2", "l1", "box", "ellipsoid", "finite"]


def rule_after(action_set: sb.ActionSet, steps: int, lanes: int = 3) -> ThompsonRule:
    """A rule that has played for a while, on a theta of its own in each lane."""
    policy = sb.SparseThompson(action_set=action_set, sparsity=SPARSITY, intercept=False)
    rule = policy.rule([np.random.default_rng(i) for i in range(lanes)])
    rng = np.random.default_rng(7)
    assert isinstance(rule, ThompsonRule)
    theta = rng.uniform(-1, 1, (lanes, action_set.dim))
    for _ in range(steps):
        actions = rule.choose(action_set)
        rewards = (actions * theta).sum(axis=1) + 0.3 * rng.standard_normal(lanes)
        rule.learn(actions, rewards, rule.pulls)
    rule.posterior = rule.known
    rule.told[:] = 0
    return rule


def precision(rule: ThompsonRule, lane: int) -> FloatArray:
    return np.asarray(rule.posterior.gram[lane] + np.diag(rule.posterior.prior[lane]))


def proposed(rule: ThompsonRule, action_set: sb.ActionSet) -> Candidates:
    """What a rule proposes in all of its lanes."""
    belief = rule.posterior.belief()
    return rule.candidates(rule.everyone, action_set, belief, rule.noise_scale())


def inverse(rule: ThompsonRule, lane: int) -> FloatArray:
    """C of a lane, from its sums."""
    return np.asarray(np.linalg.inv(precision(rule, lane)), dtype=np.float64)


def beta(rule: ThompsonRule, lane: int, width: float) -> float:
    """How far the index lies above the mean, over the deviation for unit noise."""
    counts = float(rule.posterior.counts[lane]) + 1
    share = rule.recipe.share
    assert counts <= YOUNG  # when it does not matter yet where an action is
    growth = rule.recipe.young_growth
    if not rule.recipe.is_round:
        counts *= (1000 / counts) ** rule.recipe.patience
    sigma = float(rule.noise_scale()[lane])
    return sigma * math.sqrt(growth * math.log(math.e + share * counts * width))


@pytest.mark.parametrize("action_set", SETS, ids=IDS)
def test_a_step_uphill_never_lowers_the_index_of_its_own_beta(action_set: sb.ActionSet) -> None:
    rule = rule_after(action_set, 15)
    candidates = proposed(rule, action_set)
    first = 1 + rule.recipe.samples
    thetas = candidates.uphill(first)
    order = candidates.index[:, :first].argpartition(-first, axis=1)
    for lane in range(rule.lanes):
        C, theta = inverse(rule, lane), rule.posterior.theta_hat[lane]
        climbs = rule.policy.best_actions(thetas[lane], action_set)
        for k, climbed in zip(order[lane], climbs, strict=True):
            start = candidates.actions[lane, k]
            bonus = beta(rule, lane, float(start @ C @ start))

            def index(
                x: FloatArray, C: FloatArray = C, theta: FloatArray = theta, bonus: float = bonus
            ) -> float:
                return float(theta @ x + bonus * np.sqrt(x @ C @ x))

            assert index(climbed) >= index(start) - 1e-9


def test_the_best_index_is_played() -> None:
    action_set = sb.LpBall(DIM, p=float("inf"))
    rule = rule_after(action_set, 20)
    candidates = proposed(rule, action_set)
    for lane in range(rule.lanes):
        C, theta = inverse(rule, lane), rule.posterior.theta_hat[lane]
        for k, x in enumerate(candidates.actions[lane]):
            width = float(x @ C @ x)
            index = theta @ x + beta(rule, lane, width) * np.sqrt(width)
            assert candidates.index[lane, k] == pytest.approx(index)
    again = rule_after(action_set, 20)
    actions, widths = again.decide(again.everyone, action_set)
    best = np.arange(rule.lanes), candidates.index.argmax(axis=1)
    np.testing.assert_array_equal(actions, candidates.actions[best])
    np.testing.assert_array_equal(widths, candidates.widths[best])


def test_a_directed_proposal_is_the_likeliest_theta_that_is_so_optimistic() -> None:
    """Among theta with theta_j = theta_hat_j + spread it minimises the distance in V."""
    action_set = sb.LpBall(DIM)
    rule = rule_after(action_set, 20)
    candidates = proposed(rule, action_set)
    axes = Axes.of(candidates.belief, candidates.design, reach_of(action_set), candidates.bonus)
    directed = candidates.directed(axes)
    chosen = rule.policy.best_actions(rule.posterior.theta_hat, action_set) != 0
    for lane, theta in enumerate(directed):
        step = theta - rule.posterior.theta_hat[lane]
        gradient = precision(rule, lane) @ step  # a multiple of e_j
        axis = int(np.abs(gradient).argmax())
        assert not chosen[lane, axis]
        np.testing.assert_allclose(np.delete(gradient, axis), 0, atol=1e-8 * abs(gradient[axis]))
        deviation = float(rule.posterior.deviations()[lane, axis])
        assert abs(step[axis]) == pytest.approx(beta(rule, lane, deviation**2) * deviation)
        assert np.sign(step[axis]) == np.sign(rule.posterior.theta_hat[lane, axis])


@pytest.mark.parametrize("action_set", SETS, ids=IDS)
def test_what_is_played_is_a_sparse_action_of_the_set(action_set: sb.ActionSet) -> None:
    rule = rule_after(action_set, 25)
    actions = rule.choose(action_set)
    np.testing.assert_array_equal(actions, rule.held)
    assert all(action_set.contains(action) for action in actions)
    assert ((actions != 0).sum(axis=1) <= SPARSITY).all()


def test_a_decision_is_held_until_enough_is_added_along_it() -> None:
    action_set = sb.LpBall(DIM)
    rule = rule_after(action_set, 3000, lanes=8)
    planned = []
    for _ in range(30):
        due = np.flatnonzero(rule.left == 0)
        actions = rule.choose(action_set)
        widths = rule.posterior.widths(actions)
        for lane in due:
            steps = int(rule.left[lane]) + 1
            assert steps == max(1, int(rule.recipe.hold / widths[lane]))
            planned.append(steps)
        rule.learn(actions, np.zeros(8), rule.pulls)
    assert max(planned) > 1


def test_decisions_become_rare() -> None:
    action_set = sb.LpBall(20)
    policy = sb.SparseThompson(action_set=action_set, sparsity=5)
    rule = policy.rule([np.random.default_rng(0)])
    assert isinstance(rule, ThompsonRule)
    theta = np.random.default_rng(1).uniform(-1, 1, 20)
    rng = np.random.default_rng(2)
    made = 0
    for _ in range(4000):
        made += int(rule.left[0] == 0)
        actions = rule.choose(action_set)
        reward = actions @ theta + 0.5 * rng.standard_normal(1)
        rule.learn(actions, reward, rule.pulls)
    assert made < 3200


def test_open_decisions_are_not_all_the_same() -> None:
    learner = sb.SparseThompson(action_set=sb.LpBall(DIM), sparsity=SPARSITY).start(seed=0)
    waiting = [learner.ask() for _ in range(30)]
    assert len({decision.action.tobytes() for decision in waiting}) > 5


def test_the_unit_of_the_rewards_changes_nothing() -> None:
    """A power of two scales every number exactly, so even the bits agree."""
    policy = sb.SparseThompson(action_set=sb.LpBall(DIM), sparsity=SPARSITY)
    small, large = policy.start(seed=3), policy.start(seed=3)
    rng = np.random.default_rng(0)
    theta = rng.uniform(-1, 1, DIM)
    for _ in range(200):
        one, other = small.ask(), large.ask()
        np.testing.assert_array_equal(one.action, other.action)
        reward = float(theta @ one.action) + 0.3 * float(rng.standard_normal())
        small.tell(one, reward)
        large.tell(other, 1024 * reward)


def test_the_units_of_the_coordinates_change_nothing() -> None:
    unit = 2.0 ** np.arange(-3, DIM - 3)
    plain = sb.SparseThompson(action_set=sb.Box(np.zeros(DIM), np.ones(DIM)), sparsity=SPARSITY)
    scaled = sb.SparseThompson(action_set=sb.Box(np.zeros(DIM), unit), sparsity=SPARSITY)
    one, other = plain.start(seed=3), scaled.start(seed=3)
    rng = np.random.default_rng(0)
    theta = rng.uniform(-1, 1, DIM)
    for _ in range(200):
        first, second = one.ask(), other.ask()
        np.testing.assert_array_equal(first.action * unit, second.action)
        reward = float(theta @ first.action) + 0.3 * float(rng.standard_normal())
        one.tell(first, reward)
        other.tell(second, reward)


@pytest.mark.parametrize("action_set", SETS, ids=IDS)
def test_rewards_of_nothing_but_zero_keep_it_looking(action_set: sb.ActionSet) -> None:
    learner = sb.SparseThompson(action_set=action_set, sparsity=SPARSITY).start(seed=0)
    seen = np.zeros(DIM)
    for _ in range(60):
        decision = learner.ask()
        seen += decision.action != 0
        learner.tell(decision, 0.0)
    assert (seen > 0).all()


def test_without_noise_it_finds_the_best_action_whether_told_so_or_not() -> None:
    theta = np.array([0.1, 0.9, -0.2, 0.3, -0.8, 0.05])
    best = sb.sparse_argmax(sb.LpBall(DIM), theta, SPARSITY)
    for sigma in (0.0, "estimate"):
        policy = sb.SparseThompson(action_set=sb.LpBall(DIM), sparsity=SPARSITY, sigma=sigma)
        learner = policy.start(seed=0)
        for _ in range(200):
            decision = learner.ask()
            learner.tell(decision, float(theta @ decision.action))
        assert float(theta @ decision.action) > 0.999 * best.value


@pytest.mark.parametrize("intercept", [False, True])
def test_without_noise_a_learned_prior_rules_nothing_out(intercept: bool) -> None:
    """A prior that is learned on a scale of the noise must not become as narrow as the noise."""
    box = sb.Box(np.zeros(3), np.ones(3))
    policy = sb.SparseThompson(action_set=box, sparsity=2, intercept=intercept)
    for seed in range(5):
        learner = policy.start(seed=seed)
        for _ in range(40):
            decision = learner.ask()
            learner.tell(decision, 2.0 * intercept + float(decision.action @ [0.1, 0.9, -0.2]))
        np.testing.assert_array_equal(learner.ask().action, [1.0, 1.0, 0.0])


def test_the_noise_level_is_found() -> None:
    """chi-square with 980 degrees of freedom: within 12% but with probability below 1e-6."""
    rule = rule_after(sb.LpBall(DIM), 1000, lanes=8)
    np.testing.assert_allclose(rule.noise_scale(), 0.3, rtol=0.12)


@pytest.mark.parametrize(
    ("action_set", "power"),
    [
        (sb.LpBall(DIM), 0.5),
        pytest.param(sb.Box(np.zeros(DIM), np.ones(DIM)), 2 / 3, marks=pytest.mark.thorough),
    ],
    ids=["l2", "box"],
)
def test_the_guarantee_keeps_every_variance_below_its_floor(
    action_set: sb.ActionSet, power: float
) -> None:
    def worst(guarantee: bool) -> float:
        policy = sb.SparseThompson(action_set=action_set, sparsity=SPARSITY, guarantee=guarantee)
        rule = policy.rule([np.random.default_rng(i) for i in range(4)])
        assert isinstance(rule, ThompsonRule)
        assert isinstance(rule, FlooredThompsonRule) == guarantee
        theta = np.array([1.0, 0.9, -0.1, -0.2, 0.0, -0.3])
        rng = np.random.default_rng(5)
        excess, forced = 0.0, np.zeros(4)
        for step in range(1, 3001):
            actions = rule.choose(action_set)
            forced += rule.pulls != EXPLOIT
            rewards = actions @ theta + 0.1 * rng.standard_normal(4)
            rule.learn(actions, rewards, rule.pulls)
            if step > 500 and step % 50 == 0:
                floor = FlooredThompsonRule.rate * step**power
                excess = max(excess, float(rule.known.variances().max()) * floor)
        assert (forced <= (action_set.dim + 1) * (4 * floor + 1)).all()  # the lemma of the floor
        assert forced.any() == guarantee
        return excess

    # One coordinate may be just below the floor while another is served: DIM steps of slack.
    assert worst(True) <= 1.05
    assert worst(False) > 1.05


@pytest.mark.parametrize(
    ("action_set", "limit"),
    [
        (sb.LpBall(20), 262),
        pytest.param(sb.LpBall(20, p=1.0), 110, marks=pytest.mark.thorough),
        pytest.param(sb.Box(np.zeros(20), np.ones(20)), 136, marks=pytest.mark.thorough),
    ],
    ids=["l2", "l1", "box"],
)
def test_the_regret_that_was_promised(action_set: sb.ActionSet, limit: float) -> None:
    """Of the issue on the ball; of LinTS where that is too near to tell from 80 trials.

    The means are 220, 90 and 115 with standard errors of 8, 3 and 6: the limits are 5, 6 and 3
    of them away.
    """
    environment = LinearEnvironment(
        action_set=action_set, theta_star=UniformCube(), noise=Gaussian(0.5)
    )
    policy = sb.SparseThompson(action_set=action_set, sparsity=5)
    run = sb.simulate(policy, environment, horizon=2000, trials=80, seed=0)
    assert run.regret[:, -1].mean() < limit
