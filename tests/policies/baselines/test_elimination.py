"""Support elimination: the best support survives, the others go, and the phases are as told."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.policies.baselines.elimination import (
    SupportElimination,
    SupportEliminationRule,
)
from sparsebandits.policies.learner import Learner
from sparsebandits.validation import FloatArray
from tests.contracts.examples import CASE_IDS, FACTORIES
from tests.policies.examples import ellipsoid, play, play_late

DIM = 4
BOX = sb.Box(np.zeros(DIM), np.ones(DIM))


def elimination(action_set: sb.ActionSet | None = None, **keywords: Any) -> SupportElimination:
    chosen = BOX if action_set is None else action_set
    return SupportElimination(action_set=chosen, **{"sparsity": 2, "sigma": 0.1, **keywords})


def run(
    policy: SupportElimination,
    theta: FloatArray,
    horizon: int,
    sigma: float,
    watch: Callable[[SupportEliminationRule, FloatArray], None] | None = None,
) -> SupportEliminationRule:
    """Play all lanes."""
    rule = policy.rule([np.random.default_rng(0)] * len(theta))
    rng = np.random.default_rng(7)
    for _ in range(horizon):
        actions = rule.choose(policy.action_set)
        if watch is not None:
            watch(rule, actions)
        rewards = (actions * theta).sum(axis=1) + sigma * rng.standard_normal(len(theta))
        rule.learn(actions, rewards, rule.pulls)
    return rule


def rule_in(learner: Learner) -> SupportEliminationRule:
    rule = learner._rule
    assert isinstance(rule, SupportEliminationRule)
    return rule


def slow_values(policy: SupportElimination, theta: FloatArray) -> FloatArray:
    return np.array([policy.action_set.value(theta, support) for support in policy.supports])


# ---------------------------------------------------------------------- by hand


def test_a_small_case_solved_by_hand() -> None:
    """d = 2, H = 1, no noise: two rounds, then the better axis for good."""
    policy = elimination(sb.Box([0, 0], [1, 2]), sparsity=1, sigma=0.0)
    plays = play(policy.start(), 9, theta=np.array([0.5, 0.3]))
    wanted = [[1, 0], [0, 1], [1, 0], [0, 1]] + [[0, 2]] * 5  # 2 x 0.3 beats 1 x 0.5
    np.testing.assert_array_equal([one.decision.action for one in plays], wanted)
    phases = [one.decision.phase for one in plays]
    assert phases == ["explore"] * 4 + ["exploit"] * 5


@pytest.mark.parametrize(("gap", "left"), [(0.4505, 2), (0.4507, 1)])
def test_the_threshold_is_the_one_of_the_formula(gap: float, left: int) -> None:
    """L = 1 and e = 0.1 sqrt(2 ln(2·2·1·2 / 0.05) / 2) = 0.22528: a gap of 0.45056 decides."""
    policy = elimination(sb.Box([0, 0], [1, 1]), sparsity=1, sigma=0.1, delta=0.05)
    learner = policy.start()
    play(learner, 5, theta=np.array([0.1, 0.1 + gap]))
    assert rule_in(learner).survivors[0] == left
    assert learner.support == ((1,) if left == 1 else None)


@pytest.mark.parametrize(("middle", "left"), [(0.93, 2), (0.94, 1)])
def test_the_threshold_with_two_coordinates(middle: float, left: int) -> None:
    """d = 3, H = 2: e = 0.23411 and r = sqrt(2) sqrt(2) e, so a gap of 4 e = 0.93643 decides."""
    policy = elimination(sb.Box(np.zeros(3), np.ones(3)), sigma=0.1, delta=0.05)
    learner = policy.start()
    play(learner, 7, theta=np.array([1.0, middle, 0.0]))
    assert rule_in(learner).survivors[0] == left


def test_the_second_phase_pools_both_and_pays_for_the_second_look() -> None:
    """n = 2 + 4 rewards, m (m + 1) = 6."""
    policy = elimination(sigma=0.1, delta=0.05)
    learner = policy.start()
    steps = 2 * DIM + policy.exploitation_steps(1) + 4 * DIM
    play(learner, steps, theta=np.array([0.5, 0.5, 0.5, 0.5]))
    rule = rule_in(learner)
    assert rule.phase[0] == 2
    expected = 0.1 * math.sqrt(2 * math.log(2 * DIM * 6 / 0.05) / 6)
    np.testing.assert_allclose(rule.errors(0), expected)
    # For sigma each phase has its own means: 1 degree of freedom per action, then 3.
    assert rule.freedom[0] == 4 * DIM


def test_phases_have_the_lengths_they_should() -> None:
    policy = elimination(growth=1.5, exploit_exponent=1.0, sigma=1.0)
    phases = [one.decision.phase for one in play(policy.start(), 200)]
    lengths = [(name, len(list(group))) for name, group in itertools.groupby(phases)]
    wanted = [math.ceil(1.5**m) * DIM for m in range(1, 6)]
    assert lengths[:8] == [(name, steps) for steps in wanted[:4] for name in ("explore", "exploit")]
    assert elimination().exploitation_steps(2) == 4 * 4**1.5
    assert elimination(growth=3.0).rounds(5) == 3**5


# ---------------------------------------------------------------------- the bounds


def test_the_errors_are_those_of_the_estimate_for_any_basis() -> None:
    """Var(M^-1 means) with unequal counts, written out."""
    policy = elimination(sb.LpBall(DIM), basis="block-gaussian", basis_seed=4, sigma=0.3)
    learner = policy.start()
    play_late(learner, 30, seed=2)
    rule = rule_in(learner)
    assert np.ptp(rule.told[0]) > 0
    inverse = np.linalg.inv(policy.exploration.actions)
    variance = np.diag(inverse @ np.diag(1 / rule.told[0]) @ inverse.T)
    phase = rule.phase[0]
    level = 2 * math.log(2 * DIM * phase * (phase + 1) / policy.delta)
    np.testing.assert_allclose(rule.errors(0), 0.3 * np.sqrt(variance * level))


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
def test_values_differ_by_at_most_the_radius(factory: Any) -> None:
    """|h(S; theta_hat) - h(S; theta)| <= L ||e_S||_2 whenever |theta_hat - theta| <= e."""
    rng = np.random.default_rng(0)
    policy = elimination(factory(rng, DIM))
    norm = policy.action_set.sparse_norm_bound(2)
    for _ in range(20):
        theta, errors = rng.standard_normal(DIM), rng.uniform(0, 1, DIM)
        shifted = theta + errors * rng.choice([-1.0, 1.0], DIM)
        radii = norm * np.linalg.norm(errors[policy.supports], axis=1)
        moved = np.abs(slow_values(policy, shifted) - slow_values(policy, theta))
        assert (moved <= radii * (1 + 1e-9)).all()


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
def test_values_agree_with_the_set(factory: Any) -> None:
    rng = np.random.default_rng(3)
    policy = elimination(factory(rng, DIM))
    theta = rng.standard_normal(DIM)
    np.testing.assert_allclose(policy.values(theta, policy.supports), slow_values(policy, theta))
    values = slow_values(policy, theta)
    best = policy.supports.tolist().index(list(policy.support_of(theta)))
    assert values[best] == pytest.approx(values.max())


def losses(policy: SupportElimination, trials: int, horizon: int, sigma: float) -> tuple[int, int]:
    """In how many runs the best support was dropped, and any was."""
    theta = np.random.default_rng(1).uniform(-1, 1, (trials, DIM))
    rule = run(policy, theta, horizon, sigma)
    best = np.array([slow_values(policy, row).argmax() for row in theta])
    lost = ~rule.alive[np.arange(trials), best]
    return int(lost.sum()), int((rule.survivors < rule.alive.shape[1]).sum())


@pytest.mark.each_value
@pytest.mark.parametrize("sigma", [0.3, "estimate"])
@pytest.mark.parametrize("action_set", [BOX, sb.LpBall(DIM), ellipsoid()], ids=repr)
def test_the_best_support_survives_with_probability_one_minus_delta(
    action_set: sb.ActionSet, sigma: Any
) -> None:
    """False alarm: below 1e-6 if losses are Binomial(300, delta) at worst."""
    policy = elimination(action_set, sigma=sigma, delta=0.1, exploit_exponent=0.1)
    lost, tested = losses(policy, 300, 1200, 0.3)
    assert lost <= binom.ppf(1 - 1e-6, 300, 0.1)
    assert tested > 150  # the test had something to lose


def test_the_survival_test_would_see_a_bound_that_is_too_narrow() -> None:
    lost, _ = losses(elimination(sb.LpBall(DIM), sigma=0.02, delta=0.1), 300, 500, 0.5)
    assert lost > binom.ppf(1 - 1e-6, 300, 0.1)


def test_the_estimate_of_sigma_is_an_upper_bound_on_fresh_deviations() -> None:
    """Chi-square of `freedom` degrees: its mean; 6 standard deviations, false alarm 2e-9."""
    policy = elimination(sigma="estimate")
    theta = np.random.default_rng(1).uniform(-1, 1, (200, DIM))
    rule = run(policy, theta, 300, 0.5)
    squares, freedom = rule.spread.sum() / 0.25, rule.freedom.sum()
    assert abs(squares - freedom) < 6 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
def test_without_noise_exactly_the_best_supports_stay(factory: Any) -> None:
    policy = elimination(factory(np.random.default_rng(4), DIM), sigma=0.0)
    theta = np.random.default_rng(0).uniform(-1, 1, (12, DIM))
    theta[0] = 0.5  # ties
    theta[1] = [0.5, 0.5, -0.5, 0.0]
    rule = run(policy, theta, 2 * DIM + 1, 0.0)
    for lane in range(12):
        values = slow_values(policy, theta[lane])
        np.testing.assert_array_equal(rule.alive[lane], values >= values.max() - 1e-8)


def test_rounding_does_not_break_a_tie() -> None:
    for seed in range(10):
        ball = sb.LpBall(DIM)
        policy = elimination(ball, sigma=0.0, basis="block-gaussian", basis_seed=seed)
        assert run(policy, np.full((1, DIM), 0.7), 2 * DIM + 1, 0.0).survivors[0] == 6


def test_survivors_only_get_fewer_and_never_run_out() -> None:
    policy = elimination(sb.LpBall(DIM), sigma=0.1, exploit_exponent=0.5)
    theta = np.random.default_rng(2).uniform(-1, 1, (30, DIM))
    before = np.ones((30, len(policy.supports)), dtype=np.bool_)

    def watch(rule: SupportEliminationRule, actions: FloatArray) -> None:
        assert not (rule.alive & ~before).any()
        assert rule.alive.any(axis=1).all()
        np.testing.assert_array_equal(rule.survivors, rule.alive.sum(axis=1))
        before[:] = rule.alive

    rule = run(policy, theta, 1500, 0.1, watch)
    assert (rule.survivors == 1).any()
    assert (rule.survivors > 1).any()


# ---------------------------------------------------------------------- what is played


def test_coordinates_of_no_survivor_are_explored_no_more() -> None:
    """Supports {0, 1}, {0, 2} stay; 3 goes in the first phase, and its arm with it."""
    theta = np.array([[1.0, 0.5, 0.5, 0.0]])
    rule = run(elimination(sigma=0.02), theta, 400, 0.0)
    assert rule.survivors[0] == 2
    np.testing.assert_array_equal(rule.needed[0], [True, True, True, False])
    assert rule.asked[0, 3] == 2
    assert (rule.asked[0, :3] > 10).all()


def test_an_action_outside_the_survivors_is_kept_if_the_estimate_needs_it() -> None:
    """With rows e_0 + e_1 and e_1, theta_0 cannot be told without the second."""
    rows = np.eye(DIM)
    rows[0, 1] = 1.0
    policy = elimination(sb.LpBall(DIM, p=float("inf")), sparsity=2, basis=rows, sigma=0.0)
    theta = np.array([[1.0, 0.0, 0.5, 0.0]])
    rule = run(policy, theta, 2 * DIM + 1, 0.0)
    np.testing.assert_array_equal(rule.needed[0], [True, True, True, False])


def test_exploration_ends_with_a_single_support_unless_refining() -> None:
    theta = np.array([0.9, 0.1, 0.7, -0.5])
    for refine in (False, True):
        policy = elimination(sb.LpBall(DIM), refine=refine, exploit_exponent=1.0, sigma=0.05)
        learner = policy.start()
        plays = play(learner, 600, theta=theta, sigma=0.05)
        assert learner.support == (0, 2)
        late = [one.decision for one in plays[300:]]
        explored = [one.action for one in late if one.phase == "explore"]
        assert bool(explored) is refine
        assert all(not action[[1, 3]].any() for action in explored)
        estimate = learner.theta_hat
        assert estimate is not None
        best = policy.action_set.best_response(estimate, [0, 2])
        np.testing.assert_allclose(plays[-1].decision.action, best, atol=0.05)


def test_exploitation_uses_every_reward_and_the_chosen_survivor() -> None:
    policy = elimination(sb.LpBall(DIM), sigma=0.5)
    learner = policy.start()
    plays = play(learner, 60, sigma=0.3)
    actions = np.array([one.decision.action for one in plays])
    rewards = np.array([one.reward for one in plays])
    fitted = np.linalg.lstsq(actions, rewards, rcond=None)[0]
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, fitted, atol=1e-4)
    decision = learner.ask()
    rule = rule_in(learner)
    assert rule.alive[0, rule.chosen[0]]
    support = policy.supports[rule.chosen[0]]
    best = policy.action_set.best_response(learner.theta_hat, support)
    np.testing.assert_allclose(decision.action, best)


def test_regret_is_sublinear_even_where_supports_tie() -> None:
    """On the l1 ball nothing can be told apart; T^(2/3) at worst: 8-fold T, about 4-fold regret."""
    ball = sb.LpBall(DIM, p=1.0)
    env = sb.LinearEnvironment(
        action_set=ball, theta_star=[0.9, 0.3, -0.2, 0.0], noise=sb.Gaussian(0.3)
    )
    policy = elimination(ball, sigma=0.3)
    result = sb.simulate(policy, env, horizon=8_000, trials=10, seed=0, points=2000)
    assert np.isnan(result.locked_at).all()
    assert result.regret[:, -1].mean() < 5 * result.at(1000).mean()


def test_with_all_coordinates_there_is_one_support_and_one_phase() -> None:
    policy = elimination(sb.LpBall(DIM), sparsity=DIM)
    learner = policy.start()
    assert learner.support == (0, 1, 2, 3)
    phases = [one.decision.phase for one in play(learner, 50)]
    assert phases == ["explore"] * 8 + ["exploit"] * 42
    theta = np.array([1.0, -0.2, 0.7, 0.1])
    np.testing.assert_allclose(learner.ask().action, theta / np.linalg.norm(theta), atol=1e-5)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"growth": 1.0}, r"growth must be above 1.*got 1.0"),
        ({"exploit_exponent": 0.0}, r"exploit_exponent must be positive"),
        ({"delta": 0.0}, r"delta must lie strictly between 0 and 1"),
        ({"sigma": -1.0}, r"sigma must be non-negative"),
        ({"basis": "best"}, r"basis must be one of"),
        ({"basis_seed": -1}, r"basis_seed must be at least 0"),
        ({"action_set": sb.LpBall(40), "sparsity": 4}, r"91390.*at most 20000.*LinTS"),
        ({"action_set": BOX.restrict([0, 1])}, r"cannot be explored"),
    ],
)
def test_bad_settings_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        elimination(**keywords)


def test_a_state_that_contradicts_itself_is_refused() -> None:
    learner = elimination().start()
    state = rule_in(learner).state()
    for name, value in (("chosen", 99), ("survivors", 2), ("phase", 0)):
        with pytest.raises(sb.InvalidValueError, match="contradict"):
            rule_in(elimination().start()).restore({**state, name: value}, 0)


def test_extreme_settings_do_not_overflow() -> None:
    policy = elimination(growth=1e300, exploit_exponent=50.0)
    plays = play(policy.start(), 20)
    assert {one.decision.phase for one in plays} == {"explore"}
    assert elimination(exploit_exponent=500.0).exploitation_steps(3) > 10**12
