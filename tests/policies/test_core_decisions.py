"""SparseThompson among many coordinates: lanes, what is played, and what a decision costs."""

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    Gaussian,
    LinearEnvironment,
    PeriodicAvailability,
    UniformCube,
)
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies import Learner
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.gate import Gate
from sparsebandits.validation import FloatArray, IntArray
from tests.policies.cores import core_of, cube, play, thompson, told
from tests.policies.test_core import DIM, IDS, SETS
from tests.policies.test_hold import decides
from tests.reference.stepwise import simulate_stepwise

# ---------------------------------------------------------------------- one lane, many lanes


@pytest.mark.parametrize(
    ("action_set", "sparsity", "horizon"),
    [(sb.LpBall(DIM), 3, 120), (cube(DIM), 3, 120), (sb.LpBall(300), 34, 12)],
    ids=["l2", "cube", "wide"],
)
def test_a_lane_of_a_simulation_has_the_bits_of_a_learner(
    action_set: sb.ActionSet, sparsity: int, horizon: int
) -> None:
    environment = LinearEnvironment(
        action_set=action_set, theta_star=UniformCube(), noise=Gaussian(0.3)
    )
    policy = thompson(action_set, sparsity)
    lanes = sb.simulate(policy, environment, horizon=horizon, trials=3, seed=5)
    steps = simulate_stepwise(policy, environment, horizon=horizon, trials=3, seed=5)
    np.testing.assert_array_equal(lanes.regret, steps.regret)
    np.testing.assert_array_equal(lanes.theta_error, steps.theta_error)


def test_under_masks_too(small_cores: None) -> None:
    """And with slots that are given away, and deviates that are kept."""
    rng = np.random.default_rng(6)
    masks: list[IntArray] = [np.arange(DIM)] * 5 + [rng.choice(DIM, 30, replace=False)] * 3
    environment = LinearEnvironment(
        action_sets=PeriodicAvailability(sb.LpBall(DIM), masks),
        theta_star=UniformCube(),
        noise=Gaussian(0.3),
    )
    policy = thompson(sb.LpBall(DIM))
    lanes = sb.simulate(policy, environment, horizon=150, trials=3, seed=7)
    steps = simulate_stepwise(policy, environment, horizon=150, trials=3, seed=7)
    np.testing.assert_array_equal(lanes.regret, steps.regret)


def test_lanes_fed_by_hand_are_three_learners(small_cores: None) -> None:
    """Rewards in step and late, by lanes: each lane's own actions, past the first retirement."""
    X = cube(200)
    policy = thompson(X)
    rule = policy.rule([np.random.default_rng(seed) for seed in (1, 2, 3)])
    learners = [policy.start(seed=seed) for seed in (1, 2, 3)]
    rng = np.random.default_rng(8)
    theta = rng.uniform(-1, 1, 200)
    late: list[tuple[int, FloatArray, int]] = []
    for step in range(100):
        actions, decisions = rule.choose(X), [learner.ask() for learner in learners]
        for lane, decision in enumerate(decisions):
            assert actions[lane].tobytes() == decision.action.tobytes()
            late.append((lane, actions[lane], decision.id))
        rng.shuffle(late)
        while len(late) > (0 if step == 99 else 4):
            lane, action, number = late.pop()
            reward = float(action @ theta) + 0.3 * float(rng.standard_normal())
            rule.learn(action[None], np.array([reward]), rule.pulls[[lane]], np.array([lane]))
            learners[lane].tell(number, reward)
        if step % 10 == 9:  # of an action that is nobody's
            action = np.zeros(200)
            action[rng.choice(200, 6, replace=False)] = 0.5
            rule.learn(action[None], np.ones(1), rule.pulls[[step % 3]], np.array([step % 3]))
            told(learners[step % 3], np.flatnonzero(action).tolist(), 1.0, 0.5)
    assert isinstance(rule, CoreRule)
    for lane, learner in enumerate(learners):
        np.testing.assert_array_equal(rule.cores[lane].slots.ids, core_of(learner).slots.ids)
        for name, value in rule.cores[lane].slots.model.state().items():
            np.testing.assert_array_equal(value, core_of(learner).slots.model.state()[name])
    assert min(own.slots.model.spent for own in rule.cores) > 0


# ---------------------------------------------------------------------- decisions


@pytest.mark.parametrize("action_set", SETS, ids=IDS)
def test_a_decision_has_its_non_zeros_and_makes_its_action(action_set: sb.ActionSet) -> None:
    learner = thompson(action_set).start(seed=0)
    for decision in play(learner, np.linspace(-1, 1, DIM), 25):
        assert (np.diff(decision.indices) > 0).all()
        assert decision.values.all()
        action = decision.action
        np.testing.assert_array_equal(np.flatnonzero(action), decision.indices)
        np.testing.assert_array_equal(action[decision.indices], decision.values)
        assert action.shape == (decision.dim,) == (DIM,)
        for array in (action, decision.indices, decision.values):
            assert not array.flags.writeable  # the learner may hold on to them


def informed(dim: int = DIM) -> Learner:
    """A learner that knows two good coordinates of a dozen so well that it holds its decisions."""
    learner = thompson(cube(dim), 2).start(seed=0)
    own = core_of(learner)
    own.gate = Gate(2, least=0.0, most=0.0)
    for step in range(3000):  # where nothing is played nothing is earned
        told(learner, [], 0.1 * (-1) ** step)
    for number in range(12):
        for step in range(3000 if number < 2 else 100):
            told(learner, [number], (1.0 if number < 2 else -1.0) + 0.1 * (-1) ** step)
    return learner


def test_decisions_are_held_while_nothing_else_comes_in() -> None:
    learner = informed()
    anew = []
    for _ in range(30):
        anew.append(decides(learner))
        learner.tell(learner.open_decisions[-1], 2.0)
    assert anew[0]
    assert sum(anew) < 15
    assert core_of(learner).known == 10_030

    def held() -> Learner:
        one = informed()
        late = one.ask(available=[5, 6])
        one.ask()
        assert not decides(one)
        assert late.id == 1
        return one

    other = held()
    other.tell(1, -1.0)
    assert decides(other)
    masked = held()
    assert decides(masked, available=range(50))
    assert decides(masked)
    logged = held()
    logged.warm_start(np.eye(DIM)[:1], [1.0])
    assert decides(logged)
    forgotten = held()
    forgotten.forget(2)
    assert not decides(forgotten)


def test_more_rewards_than_it_was_played_end_a_hold() -> None:
    for more in (0, 1):
        learner = informed()
        first, second = learner.ask(), learner.ask()
        for _ in range(2 + more):
            told(learner, first.indices.tolist(), 2.0)
        assert second.indices.tolist() == first.indices.tolist() == [0, 1]
        assert decides(learner) == bool(more)


def test_rewards_of_a_held_action_count_at_once_in_what_is_known() -> None:
    learner = informed()
    learner.ask()
    before = learner.theta_hat
    for number in learner.open_decisions:
        learner.tell(number, 9.0)
    after = learner.theta_hat
    assert before is not None
    assert after is not None
    assert core_of(learner).hold.told == 1
    assert (after[:2] > before[:2]).all()


def test_refused_calls_change_nothing() -> None:
    learner = thompson(cube(2000)).start(seed=0)
    play(learner, np.ones(2000), 10)
    number, saved = learner.ask().id, learner.to_dict()
    with pytest.raises(sb.InvalidValueError, match=r"at most 256 non-zeros .* keeps 512 of 2000"):
        learner.warm_start(np.ones((1, 2000)), [1.0])
    with pytest.raises(sb.InvalidValueError, match="reward must be finite"):
        learner.tell(number, float("nan"))
    with pytest.raises(sb.InvalidValueError, match="must have dim 2000"):
        learner.ask(action_set=cube(1999))
    assert learner.to_dict() == saved


@pytest.mark.parametrize("length", [1e-5, 1e3, 1e9, 1e50])
def test_logs_of_actions_far_outside_the_set(length: float) -> None:
    learner = thompson(sb.LpBall(DIM)).start(seed=0)
    logs = np.zeros((600, DIM))
    logs[:, :3] = length
    learner.warm_start(logs, np.full(600, 2.0))
    theta = np.linspace(-1, 1, DIM)
    assert sb.LpBall(DIM).contains(play(learner, theta, 30)[-1].action)
    assert core_of(learner).slots.model.agrees()


# ---------------------------------------------------------------------- cost


@pytest.mark.parametrize(
    ("make", "available"),
    [(sb.LpBall, None), (cube, None), (cube, sb.AllBut([3, 70])), (sb.LpBall, range(7, 407))],
    ids=["l2", "cube", "cube but two", "l2 of a list"],
)
def test_a_step_among_a_million_touches_few_of_them(make: Any, available: Any) -> None:
    """A vector over all coordinates would be 24 MB, a mask 3 MB; the core itself grows by 1 MB."""
    dim = 3 * 10**6
    learner, theta = thompson(make(dim), 5).start(seed=0), np.ones(100)
    for _ in range(3):
        learner.tell(learner.ask(), 1.0)
    tracemalloc.start()
    try:
        largest = 0
        for step in range(200):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            decision = learner.ask(available)
            learner.tell(
                decision, float(theta[decision.indices % 100] @ decision.values) + step % 3
            )
            largest = max(largest, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert largest < 2_000_000


def test_an_ask_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards had been set aside, and the gate was about to open."""
    policy = thompson(sb.Budget(2.0, np.ones(DIM)), half_life=50.0)
    assert policy.action_set.sorting is None
    learner, theta = policy.start(seed=0), np.linspace(-1, 1, DIM)
    play(learner, theta, 12)
    before = learner.to_dict()
    twin = Learner.from_dict(before)
    solves = iter(range(1))

    def fails(*arguments: Any) -> Any:
        if next(solves, None) is None:
            raise RuntimeError("the solver was killed")
        return actions(*arguments)

    actions = SparseOracle.actions
    for count in (None, 3):
        with monkeypatch.context() as patch:
            patch.setattr(SparseOracle, "actions", fails)
            with pytest.raises(RuntimeError, match="killed"):
                learner.ask(count=count)
        assert learner.to_dict() == before
    assert [d.action.tobytes() for d in play(learner, theta, 20)] == [
        d.action.tobytes() for d in play(twin, theta, 20)
    ]


class Guarded(sb.LpBall):
    """A ball that gives nothing away over all of its coordinates once a learner is at work."""

    guarded = False

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        assert not (self.guarded and self.dim == 5000), "a pass over all coordinates"
        return super().axis_reach()

    @property
    def sorting(self) -> Any:
        assert not (self.guarded and self.dim == 5000), "a pass over all coordinates"
        return super().sorting

    def _contains(self, x: FloatArray, tolerance: float) -> Any:
        assert not (self.guarded and self.dim == 5000), "a pass over all coordinates"
        return super()._contains(x, tolerance)


def test_no_step_asks_the_whole_set() -> None:
    X = Guarded(5000)
    learner = thompson(X).start(seed=0)
    X.guarded = True
    play(learner, np.ones(5000), 50)
    assert X.guarded


def test_copies_and_pickles_go_on_alike() -> None:
    learner, theta = thompson(sb.LpBall(DIM)).start(seed=0), np.ones(DIM)
    play(learner, theta, 20)
    twins = [copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    expected = [decision.action.tobytes() for decision in play(learner, theta, 20)]
    for twin in twins:
        assert [decision.action.tobytes() for decision in play(twin, theta, 20)] == expected
