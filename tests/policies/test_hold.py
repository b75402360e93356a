"""SparseThompson holds a decision only where that is harmless."""

import copy
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
from sparsebandits.policies import Learner
from sparsebandits.policies.recipe import Recipe
from sparsebandits.validation import Support
from tests.policies.examples import box, ellipsoid, slates, through_json
from tests.policies.test_damage import sealed
from tests.reference.stepwise import simulate_stepwise

DIM = 4
THETA = np.array([1.0, -0.2, 0.7, 0.1])
MASK = [0, 1, 3]


def informed(action_set: sb.ActionSet | None = None, **keywords: Any) -> Learner:
    """A learner that knows so much from logs that it holds its decisions for many steps."""
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    learner = sb.SparseThompson(action_set=chosen, sparsity=2, **keywords).start(seed=1)
    rng = np.random.default_rng(0)
    actions = np.array([chosen.sample(rng, 2) for _ in range(400)])
    for _ in range(100):
        learner.warm_start(actions, actions @ THETA + 0.3 * rng.standard_normal(400))
    return learner


def decides(learner: Learner, **request: Any) -> bool:
    """Ask, and say whether it was decided anew: only that draws from the generator."""
    before = copy.deepcopy(learner.to_dict()["state"]["generator"])
    learner.ask(**request)
    return bool(learner.to_dict()["state"]["generator"] != before)


def in_step(learner: Learner, steps: int, available: Support = None) -> list[bool]:
    """Ask and tell in turn; which of the asks were decided anew."""
    anew = []
    for _ in range(steps):
        anew.append(decides(learner, available=available))
        learner.tell(learner.open_decisions[-1], 0.5)
    return anew


def test_the_zero_action_does_not_freeze_it() -> None:
    """The case of the issue: five asks about one item that loses, and then it played 0 for ever."""
    for guarantee in (False, True):
        policy = sb.SparseThompson(
            action_set=sb.Box([0.0] * 20, [1.0] * 20), sparsity=5, guarantee=guarantee
        )
        learner: Any = policy.start(seed=0)
        for _ in range(5):
            learner.tell(learner.ask(available=[0]), -1.0)
        for saved in (False, True):
            learner = through_json(learner) if saved else learner
            seen = np.zeros(20)
            for _ in range(20):
                decision = learner.ask()
                seen += decision.action != 0
                learner.tell(decision, float(decision.action[1:].sum()))
            assert np.count_nonzero(seen) >= 5
            assert seen[0] <= 1
        learner.warm_start(10 * [[1.0] + 19 * [0.0]], 10 * [50.0])
        assert learner.ask().action[0] == 1


def test_a_decision_is_held_for_a_share_of_what_is_known_and_not_where_it_teaches_nothing() -> None:
    recipe = Recipe()
    known = np.array([0, 0, 10_000, 10_000, 10_000, 1_000_000], dtype=np.float64)
    widths = np.array([10.0, 0.0, 0.001, 2e-6, 1e-7, 1e-8])
    longest = 1 + recipe.hold * 10_000
    expected = [1, 1, int(recipe.hold / 0.001), int(longest), 1, 20_001]
    np.testing.assert_array_equal(recipe.steps(known, widths), expected)
    np.testing.assert_array_equal(recipe.steps(known, np.zeros(6)), np.ones(6))


@pytest.mark.parametrize(
    "action_set", [sb.LpBall(DIM), box(), ellipsoid(), slates()], ids=["l2", "box", "ell", "finite"]
)
@pytest.mark.parametrize("available", [None, MASK])
def test_rewards_in_step_on_the_same_set_keep_it(
    action_set: sb.ActionSet, available: Support
) -> None:
    """A mask makes a new set at every ask; what counts is what it offers."""
    learner = informed(action_set)
    anew = in_step(learner, 40, available)
    assert anew[0]
    assert sum(anew) < 20
    # A reward that comes a few steps late, of the action that is still held, is no news either.
    for _ in range(3):
        in_step(learner, 1, available)
    assert sum(decides(learner, available=available) for _ in range(20)) < 15


def test_another_set_ends_it() -> None:
    start = informed()
    requests: list[dict[str, Any]] = [
        {},
        {"available": MASK},
        {"available": [0, 1, 2]},
        {"action_set": sb.LpBall(DIM, radius=0.5)},
        {"action_set": ellipsoid()},
        {"action_set": sb.LpBall(DIM, radius=0.5), "available": MASK},
    ]
    for first in requests:
        for second in requests:
            learner = copy.deepcopy(start)
            learner.ask(**first)
            # A set that is not the policy's own is never held on: a save would not know it.
            held = first == second and "action_set" not in first
            assert decides(learner, **second) != held
            assert decides(learner, **first) != held


def test_equal_sets_are_the_same_set() -> None:
    learner = informed(ellipsoid())
    assert decides(learner)
    assert not decides(learner, action_set=ellipsoid())
    assert not decides(learner, available=range(DIM))
    part = informed(ellipsoid().restrict(MASK))
    assert decides(part)
    assert not decides(part, action_set=ellipsoid().restrict(MASK))
    assert not decides(part, available=MASK)
    assert decides(part, action_set=ellipsoid())  # more than the policy's own set offers
    assert decides(part, action_set=ellipsoid())


def test_news_ends_it() -> None:
    def held() -> Learner:
        learner = informed()
        late = learner.ask(available=[3])
        first = learner.ask()
        learner.tell(first, 0.5)
        assert not decides(learner)
        assert (late.id, first.id) == (1, 2)
        return learner

    def told(learner: Learner, number: int) -> Learner:
        learner.tell(number, 0.5)
        return learner

    assert not decides(told(held(), 3))
    assert decides(told(held(), 1))  # of another action
    logged = held()
    logged.warm_start([[0.0, 0.0, 0.0, 1.0]], [9.0])
    assert decides(logged)
    forgotten = held()
    forgotten.forget(3)
    assert not decides(forgotten)


def test_more_rewards_than_it_was_played_end_it() -> None:
    """A batch of old rewards of the same action is news, however they are counted."""
    unit = sb.Box([0.0], [1.0])
    learner = sb.SparseThompson(action_set=unit, sparsity=1, intercept=False).start(seed=0)
    learner.warm_start([[1.0]] * 9000, np.random.default_rng(0).normal(1.0, 0.1, 9000))
    waiting = [learner.ask() for _ in range(40)]
    while not decides(learner):  # the next hold begins
        pass
    assert all(decision.action[0] == 1 for decision in waiting)
    learner.tell(waiting[0], 1.0)  # one was played, one is told
    assert not decides(learner)
    learner.tell(waiting[1], 1.0)
    learner.tell(waiting[2], 1.0)
    assert decides(learner)


def test_saved_in_the_middle_of_a_hold_it_goes_on_with_it() -> None:
    """Under masks that stay and masks that change, with rewards in and out of step."""
    straight: Any = informed(ellipsoid())
    saved: Any = informed(ellipsoid())
    rng = np.random.default_rng(2)
    mask: Support = None
    held = 0
    for _ in range(150):
        if rng.random() < 0.15:
            mask = [None, MASK, [2, 3]][int(rng.integers(3))]
        saved = through_json(saved)
        one, two = straight.ask(available=mask), saved.ask(available=mask)
        assert one.action.tobytes() == two.action.tobytes()
        held += straight.to_dict()["state"]["left"] > 0
        if rng.random() < 0.8:
            number = straight.open_decisions[-1 if rng.random() < 0.9 else 0]
            for learner in (straight, saved):
                learner.tell(number, 0.4)
    assert straight.to_dict() == saved.to_dict()
    assert held > 30


def test_a_forged_hold_is_refused() -> None:
    learner = informed()
    learner.ask(available=MASK)
    data = learner.to_dict()
    assert data["state"]["left"] > 0
    forgeries: list[tuple[str, Any]] = [
        ("left", 2**53),
        ("left", 801),
        ("held", [5.0, 0.0, 0.0, 5.0]),
        ("held", [0.5, 0.5, 0.0, 0.5]),
        ("held", [0.5, 0.0, 0.5, 0.0]),
        ("offered", [False, False, True, True]),
    ]
    for name, value in forgeries:
        forged = {**data, "state": {**data["state"], name: value}}
        with pytest.raises(sb.InvalidValueError, match=r"state\.(left|held) must be"):
            sb.Learner.from_dict(sealed(forged))
    sb.Learner.from_dict(sealed({**data, "state": {**data["state"], "left": 800}}))


def test_lanes_hold_as_the_learner_does() -> None:
    """Blocks of the same mask, long enough for holds, and two that alternate."""
    whole = sb.Box(np.zeros(2), np.ones(2))
    masks = [[0]] * 9 + [[0, 1]] * 30 + [[1], [0, 1]] * 3
    environment = LinearEnvironment(
        action_sets=PeriodicAvailability(whole, masks), theta_star=[0.5, -0.2], noise=Gaussian(0.3)
    )
    policy = sb.SparseThompson(action_set=whole, sparsity=1)
    lanes = sb.simulate(policy, environment, horizon=450, trials=2, seed=0)
    steps = simulate_stepwise(policy, environment, horizon=450, trials=2, seed=0)
    np.testing.assert_array_equal(lanes.regret, steps.regret)


# ---------------------------------------------------------------------- regret


@pytest.mark.parametrize(
    ("action_set", "items"),
    [
        (sb.Box(np.zeros(20), np.ones(20)), 1),
        pytest.param(sb.Box(np.zeros(20), np.ones(20)), 3, marks=pytest.mark.thorough),
        pytest.param(sb.Box(np.zeros(20), np.ones(20)), 15, marks=pytest.mark.thorough),
        pytest.param(sb.Budget(1.0, np.full(20, 0.6)), 2, marks=pytest.mark.thorough),
        pytest.param(ellipsoid(20), 5, marks=pytest.mark.thorough),
        (sb.LpBall(20), 2),
        pytest.param(sb.LpBall(20, p=1.0), 1, marks=pytest.mark.thorough),
    ],
    ids=["box-1", "box-3", "box-15", "budget-2", "ellipsoid-5", "l2-2", "l1-1"],
)
def test_regret_under_random_masks_is_at_most_twice_that_of_lin_ts(
    action_set: sb.ActionSet, items: int
) -> None:
    """The ratio of the means is 0.5 to 0.9, on all sets and over 5,000 steps too."""
    rng = np.random.default_rng(5)
    masks = [rng.choice(20, items, replace=False) for _ in range(600)]
    environment = LinearEnvironment(
        action_sets=PeriodicAvailability(action_set, masks),
        theta_star=UniformCube(),
        noise=Gaussian(0.5),
    )
    ours, theirs = sb.simulate(
        [
            kind(action_set=action_set, sparsity=5, oracle="greedy")
            for kind in (sb.SparseThompson, sb.LinTS)
        ],
        environment,
        horizon=600,
        trials=8,
        seed=3,
        benchmark="greedy",
        points=2,
    )
    assert ours.regret[:, -1].mean() <= 2 * theirs.regret[:, -1].mean()


def test_regret_of_a_single_item_is_at_most_twice_that_of_lin_ts() -> None:
    """One coordinate, worth 0.3 under noise of 1: no masks, and yet 54 of 300 lanes froze."""
    whole = sb.Box([0.0], [1.0])
    environment = LinearEnvironment(action_set=whole, theta_star=[0.3], noise=Gaussian(1.0))
    policies = [kind(action_set=whole, sparsity=1) for kind in (sb.SparseThompson, sb.LinTS)]
    ours, theirs = sb.simulate(policies, environment, horizon=600, trials=300, seed=0)
    assert ours.regret[:, -1].mean() <= 2 * theirs.regret[:, -1].mean()
