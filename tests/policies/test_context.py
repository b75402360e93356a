"""theta_t = Theta (1, z): what is seen before a decision, kept with it, and learned from."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Decision, Learner
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import DIM, assert_close, box, certify, ellipsoid, through_json
from tests.reference.stepwise import simulate_stepwise

SIZE, MANY = 2, 150

SETS: dict[str, sb.ActionSet] = {
    "ball": sb.LpBall(DIM),
    "box": box(),
    "ellipsoid": ellipsoid(),
    "gated": sb.LpBall(MANY),
}
every_set = pytest.mark.parametrize("name", SETS)


def policy_on(name: str, **keywords: Any) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=SETS[name], sparsity=2, context=SIZE, **keywords)


class World:
    """A learner in a world with contexts, whose rewards come late, in any order, or never."""

    def __init__(self, policy: sb.SparseThompson, seed: int = 0, sigma: float = 0.1) -> None:
        self.learner: Learner = policy.start(seed=seed)
        self.rng, self.sigma = np.random.default_rng(seed), sigma
        dim = policy.action_set.dim
        self.matrix = self.rng.uniform(-1, 1, (dim, 1 + SIZE))
        self.baseline = np.array([3.0, -1.0, 0.5])
        self.waiting: list[tuple[Decision, FloatArray]] = []
        self.told: list[tuple[FloatArray, FloatArray, float]] = []

    def ask(self) -> None:
        seen = self.rng.standard_normal(SIZE)
        self.waiting.append((self.learner.ask(context=seen), seen))

    def tell(self) -> None:
        """The reward of some open decision."""
        decision, seen = self.waiting.pop(int(self.rng.integers(len(self.waiting))))
        given = np.concatenate([[1.0], seen])
        mean = given @ self.baseline + decision.action @ self.matrix @ given
        reward = float(mean + self.sigma * self.rng.standard_normal())
        self.learner.tell(decision.id, reward)
        self.told.append((decision.action, seen, reward))

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.ask()
            while self.waiting and self.rng.random() < 0.6:
                self.tell()


def slow_columns(action: FloatArray, seen: FloatArray, intercept: bool) -> FloatArray:
    """x ⊗ (1, z) behind (1, z), entry by entry."""
    given = [1.0, *seen.tolist()]
    columns = [value * factor for value in action.tolist() for factor in given]
    return np.array((given if intercept else []) + columns)


def slow_posterior(world: World) -> tuple[FloatArray, FloatArray, float]:
    """theta_hat and its deviations at z = 0, and sigma, by the normal equations."""
    policy, rule = world.learner.policy, world.learner._rule
    assert isinstance(policy, sb.SparseThompson)
    intercept = policy.intercept
    told = [slow_columns(action, seen, intercept) for action, seen, _ in world.told]
    columns, rewards = np.array(told), np.array([reward for _, _, reward in world.told])
    if isinstance(rule, RidgeRule):
        prior = rule.known.prior[0]
    else:
        own = np.repeat(np.full(MANY, 0.3), 1 + SIZE)
        prior = np.concatenate([[0.0, 0.01, 0.01] if intercept else [], own])
    covariance = np.linalg.inv(columns.T @ columns + np.diag(prior))
    theta = covariance @ (columns.T @ rewards)
    missed = rewards - columns @ theta
    least = float(missed @ missed + theta @ (prior * theta))
    freedom = rewards.size - float(np.trace(columns @ covariance @ columns.T))
    base = 1 + SIZE if intercept else 0
    at_zero = slice(base, None, 1 + SIZE)
    return theta[at_zero], np.sqrt(np.diag(covariance)[at_zero]), float(np.sqrt(least / freedom))


@every_set
@pytest.mark.parametrize("intercept", [True, False])
def test_the_posterior_is_that_of_a_regression_on_x_times_context(
    name: str, intercept: bool
) -> None:
    """With late and lost rewards: each belongs to the context of its own decision."""
    world = World(policy_on(name, intercept=intercept))
    world.play(120)
    world.learner.ask(context=np.zeros(SIZE))  # the prior of the box is that of a decision
    assert isinstance(world.learner._rule, CoreRule if name == "gated" else RidgeRule)
    theta, deviations, sigma = slow_posterior(world)
    certificate = certify(world.learner)
    assert_close(world.learner.theta_hat, theta)
    if name != "box":  # where the level of few rewards is that of the learned prior
        assert certificate.sigma == pytest.approx(sigma, rel=1e-6)
    expected = certificate.sigma * deviations
    assert_close(certificate.deviation, expected)


@every_set
def test_decisions_follow_the_context(name: str) -> None:
    """Once all is known the oracle is asked about theta_t, so z decides what is played."""
    world = World(policy_on(name), sigma=1e-3)
    dim = SETS[name].dim
    world.matrix[min(dim, 12) :] = 0.0
    for _ in range(150 if name != "gated" else 400):
        world.ask()
        world.tell()
    loss, played = [], []
    for seen in np.random.default_rng(1).standard_normal((20, SIZE)):
        theta = world.matrix @ np.concatenate([[1.0], seen])
        best = sb.sparse_argmax(SETS[name], theta, 2, "exact")
        decision = world.learner.ask(context=seen)
        loss.append(1 - float(theta @ decision.action) / best.value if best.value > 0 else 0.0)
        played.append(tuple(decision.indices))
    assert len(set(played)) > 2
    assert np.median(loss) < (0.05 if name != "gated" else 0.5)


@every_set
def test_a_saved_learner_keeps_the_contexts_of_open_and_told_decisions(name: str) -> None:
    world = World(policy_on(name))
    world.play(30)
    world.ask()
    assert world.learner.open_decisions
    again = through_json(world.learner)
    assert again.to_dict() == world.learner.to_dict()
    last = max(again.to_dict()["state"]["told_rewards"])
    for learner in (again, world.learner):
        learner.correct(last[0], 0.25)
        for number in learner.open_decisions:
            learner.tell(number, 0.5)
    seen = np.array([0.3, -2.0])
    one, two = again.ask(context=seen), world.learner.ask(context=seen)
    assert one.action.tobytes() == two.action.tobytes()
    assert again.to_dict() == world.learner.to_dict()


@pytest.mark.parametrize("context", [None, [1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]], [1, np.nan]])
@pytest.mark.parametrize("count", [None, 3])
@pytest.mark.parametrize("name", ["ball", "gated"])
def test_a_wrong_context_is_refused_and_changes_nothing(
    name: str, context: Any, count: int | None
) -> None:
    learner = policy_on(name).start(seed=0)
    learner.tell(learner.ask(context=[0.0, 1.0]), 1.0)
    before = learner.to_dict()
    with pytest.raises(sb.SparseBanditsError, match="context"):
        learner.ask(context=context, count=count)
    assert learner.to_dict() == before


def test_who_decides_without_a_context_refuses_one() -> None:
    for policy in (sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2), sb.LinTS):
        made = policy if isinstance(policy, sb.Policy) else policy(action_set=box(), sparsity=2)
        with pytest.raises(sb.InvalidValueError, match="a context of 0 numbers"):
            made.start(seed=0).ask(context=[1.0])


def test_a_guarantee_is_for_one_theta() -> None:
    with pytest.raises(sb.CompositionError, match="one theta"):
        policy_on("ball", guarantee=True)


def environment(name: str, **changes: Any) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(
        **{
            "action_set": SETS[name],
            "theta_star": sb.UniformCube(),
            "noise": sb.Gaussian(0.2),
            "contexts": sb.GaussianContexts(SIZE, effect=1.0, shift=1.0),
            **changes,
        }
    )


@pytest.mark.parametrize("late", [False, True])
@every_set
def test_lanes_have_the_bits_of_learners(name: str, late: bool) -> None:
    """Late rewards keep their context in a simulation too."""
    env = environment(name, delay=sb.UniformDelay(6) if late else None, baseline=2.0)
    options: dict[str, Any] = {"horizon": 40, "trials": 2, "seed": 3, "points": 10}
    lanes = sb.simulate(policy_on(name), env, **options)
    stepwise = simulate_stepwise(policy_on(name), env, **options)
    np.testing.assert_array_equal(lanes.regret, stepwise.regret)
    np.testing.assert_array_equal(lanes.theta_error, stepwise.theta_error)


def test_who_sees_the_context_earns_by_it() -> None:
    env = environment("ball")
    blind = sb.SparseThompson(action_set=env.action_set, sparsity=2)
    runs = sb.simulate([policy_on("ball"), blind], env, 250, 10, seed=0)
    seeing, other = (run.regret[:, -1].mean() for run in runs)
    assert seeing < 0.5 * other


def test_policy_and_environment_must_agree_on_the_context() -> None:
    for env in (environment("ball", contexts=None), environment("ball", contexts=_contexts(3))):
        with pytest.raises(sb.CompositionError, match="decides by a context of 2 numbers"):
            sb.simulate(policy_on("ball"), env, 10, 1)


def _contexts(size: int) -> sb.GaussianContexts:
    return sb.GaussianContexts(size)
