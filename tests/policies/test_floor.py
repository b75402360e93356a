"""The floor of `guarantee=True` where axes are no actions: on sets without 0, under rules."""

import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration.found_actions import spanning_actions
from sparsebandits.policies.floored_rule import FlooredThompsonRule
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import through_json
from tests.reference.stepwise import simulate_stepwise

DIM, STEPS = 4, 240
THETA = np.array([1.0, 0.9, -0.5, -0.6])
ROWS = np.vstack([np.eye(DIM), -np.eye(DIM)])
SETS: dict[str, tuple[sb.ActionSet, int | sb.Supports, int]] = {
    # with how many actions span: what must be spent leaves out the baseline's own direction
    "spent": (sb.Budget(1.0, np.full(DIM, 0.6), spend_all=True), 2, DIM),
    "spent, with axes": (sb.Budget(1.0, np.ones(DIM), spend_all=True), 2, DIM),
    "doses": (sb.Budget(5.0, np.full(DIM, 4.0), min_dose=2.0, spend_all=True), 2, DIM),
    "equalities": (
        sb.Polytope(ROWS, [1.0] * 4 + [0.0] * 4, equalities=([[1, 1, 0, 0]], [0.5])),
        3,
        DIM,
    ),
    "rules": (
        sb.Budget(1.0, np.full(DIM, 0.6), min_dose=0.1),
        sb.Supports(at_most=3, at_least=2, groups={(0, 1): 1}),
        DIM + 1,
    ),
    "points": (sb.FiniteSet([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0]]), 2, DIM),
}
every_set = pytest.mark.parametrize(
    # A mixed-integer program for each theta takes its time.
    "name",
    [pytest.param(n, marks=pytest.mark.thorough if n == "equalities" else ()) for n in SETS],
)


def policy_on(name: str, *, guarantee: bool = True, intercept: bool = True) -> sb.SparseThompson:
    X, sparsity, _ = SETS[name]
    return sb.SparseThompson(
        action_set=X, sparsity=sparsity, guarantee=guarantee, intercept=intercept
    )


def spanning(name: str, *, intercept: bool) -> FloatArray:
    """The columns of actions that all others are combinations of."""
    X, sparsity, _ = SETS[name]
    found = spanning_actions(X, X.choice_of(sparsity), affine=intercept)
    return np.column_stack([np.ones(len(found)), found]) if intercept else found


def floor_at(step: int) -> float:
    return FlooredThompsonRule.rate * math.pow(step, 2 / 3)


def widths_of(rule: Rule, columns: FloatArray) -> FloatArray:
    """The variance of the mean of each of these, for unit noise."""
    assert isinstance(rule, ThompsonRule)
    return rule.known.belief().widths(columns[None])


@pytest.mark.parametrize("name", SETS)
def test_what_is_found_is_allowed_and_spans(name: str) -> None:
    X, sparsity, count = SETS[name]
    columns = spanning(name, intercept=True)
    assert np.linalg.matrix_rank(columns) == len(columns) == count
    choice = X.choice_of(sparsity)
    rng = np.random.default_rng(0)
    for action in columns[:, 1:]:
        assert X.contains(action)
        assert X.obeys(action, choice)
    for theta in rng.standard_normal((8, DIM)):
        best = np.array([1.0, *sb.sparse_argmax(X, theta, sparsity, "exact").action])
        weights = np.linalg.lstsq(columns.T, best, rcond=None)[0]
        np.testing.assert_allclose(weights @ columns, best, atol=1e-9)


@every_set
@pytest.mark.parametrize("intercept", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_every_mean_is_known_as_well_as_the_floor_says(name: str, intercept: bool) -> None:
    X, sparsity, _ = SETS[name]
    rule = policy_on(name, intercept=intercept).rule([np.random.default_rng(i) for i in range(2)])
    columns, rng = spanning(name, intercept=intercept), np.random.default_rng(5)
    forced = np.zeros(2)
    for step in range(1, STEPS + 1):
        actions = rule.choose(X)
        assert X.contains(actions).all()
        assert all(X.obeys(action, X.choice_of(sparsity)) for action in actions)
        forced += rule.pulls != EXPLOIT
        rule.learn(actions, actions @ THETA + 0.3 * rng.standard_normal(2), rule.pulls)
        if step > 100 and step % 20 == 0:
            assert widths_of(rule, columns).max() * floor_at(step) <= 1.05
    # A mean known from n rewards has at most variance 1/n: each is forced floor(T) times at most.
    assert (forced <= len(columns) * (floor_at(STEPS) + 1)).all()


def test_without_it_the_floor_is_not_kept() -> None:
    X, columns = SETS["spent"][0], spanning("spent", intercept=True)
    learner = policy_on("spent", guarantee=False).start(seed=0)
    for step in range(3000):
        decision = learner.ask()
        learner.tell(decision, float(decision.action @ THETA) + 0.01 * (-1.0) ** step)
    widths = widths_of(learner._rule, columns)
    assert X.contains(learner.ask().action)
    assert widths.max() * floor_at(3000) > 1.05


@every_set
def test_batches_keep_it_too(name: str) -> None:
    X, sparsity, _ = SETS[name]
    learner, rng = policy_on(name).start(seed=0), np.random.default_rng(5)
    columns = spanning(name, intercept=True)
    phases = set()
    for number in range(1, 17):
        batch = learner.ask(count=8)
        phases |= {decision.phase for decision in batch}
        for decision in batch:
            assert X.contains(decision.action)
            assert X.obeys(decision.action, X.choice_of(sparsity))
        rewards = [float(d.action @ THETA) + 0.3 * rng.standard_normal() for d in batch]
        learner.tell_many(batch, rewards)
        if number > 10:
            assert widths_of(learner._rule, columns).max() * floor_at(8 * number) <= 1.05
    assert phases == {"explore", "exploit"}


@every_set
def test_saved_and_read_it_goes_on_alike(name: str) -> None:
    learner, rng = policy_on(name).start(seed=0), np.random.default_rng(5)
    twin = through_json(learner)
    for step in range(24):
        if step % 10 == 9:
            twin = through_json(twin)
        count = 3 if step % 7 == 3 else 1
        pair = [np.atleast_1d(np.array(one.ask(count=count))) for one in (learner, twin)]
        for mine, theirs in zip(*pair, strict=True):
            np.testing.assert_array_equal(mine.action, theirs.action)
            reward = float(mine.action @ THETA) + 0.3 * rng.standard_normal()
            learner.tell(mine, reward)
            twin.tell(theirs, reward)


@pytest.mark.parametrize("name", ["spent", "rules"])
def test_lanes_play_it_as_the_learner_does(name: str) -> None:
    env = sb.LinearEnvironment(action_set=SETS[name][0], theta_star=THETA, noise=sb.Gaussian(0.3))
    policy = policy_on(name)
    together = sb.simulate(policy, env, horizon=40, trials=2, seed=2)
    one_by_one = simulate_stepwise(policy, env, horizon=40, trials=2, seed=2)
    np.testing.assert_array_equal(together.regret, one_by_one.regret)


def test_the_floor_is_kept_while_an_action_is_held() -> None:
    """A learner hands a held action out by a shorter way than lanes do; the floor comes first."""
    policy = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2, guarantee=True)
    theta, noise = np.array([0.9, 0.7, -0.2, 0.1]), np.random.default_rng(1).standard_normal(500)
    learner, rule = policy.start(seed=0), policy.rule([np.random.default_rng(0)])
    forced = 0
    for off in 0.1 * noise:
        decision, action = learner.ask(), rule.choose(policy.action_set)
        np.testing.assert_array_equal(decision.action, action[0])
        forced += decision.phase == "explore"
        reward = float(theta @ action[0] + off)
        learner.tell(decision, reward)
        rule.learn(action, np.array([reward]), rule.pulls)
    assert forced > 5
