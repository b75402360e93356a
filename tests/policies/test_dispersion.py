"""On round sets SparseThompson is as bold as coordinates differ from one another."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.recipe import YOUNG, Recipe
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import ellipsoid

DIM = 6
APART = np.array([1.0, 0.1, -0.6, 0.02, 0.3, -0.2])
TIED = np.array([0.5, 0.501, -0.5, 0.499, 0.5, -0.501])
SETS: list[sb.ActionSet] = [
    sb.LpBall(DIM),
    ellipsoid(DIM),
    sb.LpBall(DIM, p=1.5).restrict([0, 1, 3, 4, 5]),
]


def begun(action_set: sb.ActionSet, lanes: list[int], intercept: bool = False) -> ThompsonRule:
    policy = sb.SparseThompson(action_set=action_set, sparsity=2, intercept=intercept)
    rule = policy.rule([np.random.default_rng(lane) for lane in lanes])
    assert isinstance(rule, ThompsonRule)
    return rule


def play(rule: ThompsonRule, theta: FloatArray, steps: int, unit: float = 1.0) -> list[FloatArray]:
    """Return the actions of every step; the noise is the same in each lane."""
    noise, played = np.random.default_rng(5).normal(0.0, 0.3, steps), []
    for off in noise:
        actions = rule.choose(rule.action_set)
        played.append(actions.copy())
        rule.learn(actions, unit * ((actions * theta).sum(axis=1) + off), rule.pulls)
    return played


def dispersion(rule: ThompsonRule) -> FloatArray:
    return rule._dispersion(rule.posterior.belief(), rule._level(rule.posterior, rule.everyone))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("action_set", SETS, ids=["l2", "ellipsoid", "restricted"])
def test_the_dispersion_is_the_variance_beyond_the_uncertainty_over_the_mean_square(
    action_set: sb.ActionSet, intercept: bool
) -> None:
    rule = begun(action_set, [0, 1, 2], intercept)
    play(rule, APART, 150)
    rule.posterior = rule.known
    rule.told[:] = 0
    known, lower_upper = rule.posterior, action_set.axis_reach()
    shares = dispersion(rule)
    for lane in range(rule.lanes):
        C = np.linalg.inv(known.gram[lane] + np.diag(known.prior[lane]))
        sigma = float(rule.noise_scale()[lane])
        earnings, doubts = [], []
        for i in np.flatnonzero(action_set.available):
            reach = max(-lower_upper[0][i], lower_upper[1][i])
            place = i + rule.design.base
            earnings.append(abs(known.theta_hat[lane, place]) * reach)
            doubts.append(sigma**2 * C[place, place] * reach**2)
        more = np.var(earnings) - np.mean(doubts)
        expected = max(0.0, float(more) / float(np.mean(np.square(earnings))))
        assert shares[lane] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_rewards_changes_no_bit_of_it(unit: float) -> None:
    plain, scaled = (begun(sb.LpBall(DIM), [0, 1]) for _ in range(2))
    play(plain, APART, 150)
    play(scaled, APART, 150, unit)
    np.testing.assert_array_equal(dispersion(plain), dispersion(scaled))


@pytest.mark.parametrize(
    ("share", "growth", "seeks"),
    [(0.0, 1.1, False), (0.02, 1.2, False), (0.05, 1.35, True), (0.1, 1.6, True), (0.4, 1.6, True)],
)
def test_growth_rises_with_it_and_between_equals_nothing_is_settled(
    share: float, growth: float, seeks: bool
) -> None:
    recipe, sigma, rewards, width = Recipe.on(sb.LpBall(DIM), 2), 0.5, 500.0, 0.3
    known = np.array([rewards, YOUNG - 1])
    assert recipe.asks_dispersion(known)
    bonus = recipe.boldness(np.full(2, sigma), known, np.full(2, share))
    steps = (rewards + 1) * (1000 / (rewards + 1)) ** recipe.patience
    expected = sigma * np.sqrt(growth * np.log(np.e + 0.5 * steps * width))
    away = bonus(np.full((2, 1), width), np.ones((2, 1), dtype=np.bool_))
    assert away[0, 0] == pytest.approx(expected, rel=1e-12)
    assert bonus.seeks is not None
    assert bonus.seeks.tolist() == [seeks, False]
    # The young are as bold as they were, and at home everyone is.
    young = sigma * np.sqrt(1.1 * np.log(np.e + 0.5 * YOUNG * width))
    assert away[1, 0] == pytest.approx(young, rel=1e-12)
    home = bonus(np.full((2, 1), width), np.zeros((2, 1), dtype=np.bool_))
    assert home[0, 0] == pytest.approx(expected * np.sqrt(1.1 / growth), rel=1e-12)


def test_only_the_mature_on_round_sets_ask_for_it() -> None:
    young, mature = np.full(2, YOUNG - 1), np.array([0.0, YOUNG])
    assert not Recipe.on(sb.LpBall(DIM), 2).asks_dispersion(young)
    for flat in (sb.Box(np.zeros(DIM), np.ones(DIM)), sb.LpBall(DIM, p=1.0)):
        assert not Recipe.on(flat, 2).asks_dispersion(mature)


def test_what_differs_is_told_from_what_is_tied() -> None:
    """Where coordinates differ a learner is as bold as it would be told so; between equals not."""
    rules = [begun(sb.LpBall(DIM), list(range(5))) for _ in range(2)]
    for rule, theta in zip(rules, (APART, TIED), strict=True):
        play(rule, theta, 500)
    assert dispersion(rules[0]).min() > rules[0].recipe.apart
    assert dispersion(rules[1]).max() < rules[1].recipe.apart
    assert np.median(dispersion(rules[1])) < rules[1].recipe.telling


@pytest.mark.parametrize("theta", [APART, TIED], ids=["apart", "tied"])
def test_the_mature_have_the_same_bits_alone_side_by_side_and_loaded(theta: FloatArray) -> None:
    lanes, steps, half = [0, 1, 2], 240, 130
    together = play(begun(sb.LpBall(DIM), lanes), theta, steps)
    for lane in lanes:
        alone = play(begun(sb.LpBall(DIM), [lane]), theta, steps)
        np.testing.assert_array_equal([x[lane] for x in together], [x[0] for x in alone])
    policy = sb.SparseThompson(action_set=sb.LpBall(DIM), sparsity=2, intercept=False)
    learner, noise = policy.start(seed=3), np.random.default_rng(6).normal(0.0, 0.3, steps)
    kept = learner
    for step, off in enumerate(noise):
        if step == half:
            kept = sb.Learner.from_bytes(learner.to_bytes())
        decision = learner.ask()
        learner.tell(decision, float(decision.action @ theta + off))
        if step >= half:
            again = kept.ask()
            np.testing.assert_array_equal(again.action, decision.action)
            kept.tell(again, float(again.action @ theta + off))
