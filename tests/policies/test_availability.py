"""Items that come and go: `ask(available=...)` uses them for one request and spoils nothing."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Decision, Learner
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    LEAST_SQUARES,
    OWN_ESTIMATE,
    SIGMA,
    THETA,
    Make,
    apsee,
    apsee_g,
    box,
    compact,
    ellipsoid,
    expected_estimate,
    one_of_each_kind,
    play,
    reward_of,
    slates,
)
from tests.policies.examples import Play as Played


@one_of_each_kind
def test_only_available_items_are_used(make: Make) -> None:
    """Masks and plain requests mixed at random, from the first step until long after the lock."""
    policy = make()
    learner = policy.start(seed=0)
    rng = np.random.default_rng(8)
    plays = []
    for _ in range(150):
        mask = rng.random(DIM) < 0.6
        if not mask.any() or rng.random() < 0.3:
            decision = learner.ask()
        else:
            given: Any = mask if rng.random() < 0.5 else np.flatnonzero(mask).tolist()
            try:
                decision = learner.ask(available=given)
            except sb.CompositionError:
                # Of the policies, only the moving one needs a way along an axis at each step.
                assert policy.kind == "time-varying"
                continue
            assert not decision.action[~mask].any()
        assert policy.action_set.contains(decision.action)
        assert np.count_nonzero(decision.action) <= policy.sparsity
        assert not decision.action.flags.writeable
        reward = reward_of(decision) + SIGMA * float(rng.standard_normal())
        learner.tell(decision, reward)
        plays.append(Played(decision, reward))
    if policy.kind not in OWN_ESTIMATE:
        expected = expected_estimate(learner, plays)
        assert expected is not None
        assert learner.theta_hat is not None
        tight = policy.kind in LEAST_SQUARES  # a tiny ridge makes the slow way imprecise
        np.testing.assert_allclose(
            learner.theta_hat, expected, rtol=1e-8 if tight else 1e-6, atol=1e-10 if tight else 1e-8
        )


@pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
def test_adaptive_policies_act_on_the_set_of_the_step(make: Make) -> None:
    """Other sets and masks on top of them, and back to the policy's own."""
    policy = make()
    learner = policy.start(seed=0)
    assert isinstance(learner, Learner)
    others: list[sb.ActionSet] = [box(-0.3), box(0.0).restrict([1, 2, 3]), policy.action_set]
    if policy.kind != "csar":
        others += [ellipsoid(), sb.LpBall(DIM, radius=0.2), slates(), ellipsoid().restrict([0, 3])]
    rng = np.random.default_rng(9)
    for _ in range(80):
        current = others[int(rng.integers(len(others)))]
        mask = rng.random(DIM) < 0.7
        if (mask & current.available).any() and rng.random() < 0.5:
            decision = learner.ask(available=mask, action_set=current)
            assert not decision.action[~mask].any()
        else:
            decision = learner.ask(action_set=current)
        assert current.contains(decision.action)
        assert np.count_nonzero(decision.action) <= policy.sparsity
        learner.tell(decision, reward_of(decision) + SIGMA * float(rng.standard_normal()))
    assert policy.action_set.contains(learner.ask().action)


@pytest.mark.parametrize("basis", ["standard", "block-gaussian"])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_each_exploration_action_is_played_once_per_cycle(basis: str, seed: int) -> None:
    policy = compact(sb.LpBall(DIM), basis=basis)
    rows = policy.exploration.actions
    learner = policy.start(seed=0)
    rng = np.random.default_rng(seed)
    explored: dict[int, list[int]] = {}
    for _ in range(300):
        mask = rng.random(DIM) < 0.5
        decision = learner.ask(available=mask) if mask.any() and mask[0] else learner.ask()
        learner.tell(decision, reward_of(decision))
        if decision.phase == "explore":
            arm = int(np.flatnonzero((rows == decision.action).all(axis=1))[0])
            explored.setdefault(decision.cycle, []).append(arm)
    del explored[max(explored)]
    assert len(explored) > 20
    assert list(explored) == list(range(1, len(explored) + 1))
    assert all(sorted(arms) == list(range(DIM)) for arms in explored.values())
    assert any(arms != list(range(DIM)) for arms in explored.values())


def test_a_due_exploration_that_fits_is_taken_first_and_not_again() -> None:
    learner = apsee().start()
    assert _axis(learner.ask(available=[2, 3])) == 2
    assert _axis(learner.ask()) == 0
    assert _axis(learner.ask(available=[0, 2, 3])) == 3
    assert _axis(learner.ask()) == 1
    following = learner.ask()
    assert (_axis(following), following.cycle) == (0, 2)


def _axis(decision: Decision) -> int:
    assert decision.phase == "explore"
    (axis,) = np.flatnonzero(decision.action)
    return int(axis)


@pytest.mark.parametrize("use_all_data", [False, True])
def test_what_is_played_beside_the_schedule_leaves_it_alone(use_all_data: bool) -> None:
    policy = compact(sb.LpBall(DIM), use_all_data=use_all_data)
    disturbed, calm = policy.start(), policy.start()
    for learner in (disturbed, calm):
        play(learner, DIM + 1)
        learner.tell(learner.ask(available=[0]), 1.0)
    beside = [disturbed.ask(available=[0]) for _ in range(5)]
    for decision in beside:
        assert decision.phase == "exploit"
        np.testing.assert_array_equal(decision.action, [1.0, 0.0, 0.0, 0.0])
        disturbed.tell(decision, reward_of(decision))
    for one, two in zip(play(disturbed, 40), play(calm, 40), strict=True):
        assert (one.decision.phase, one.decision.cycle) == (two.decision.phase, two.decision.cycle)
        np.testing.assert_allclose(one.decision.action, two.decision.action, atol=0.02)


def test_before_any_estimate_the_longest_way_along_the_first_axis_is_played() -> None:
    box = sb.Box([-1.0, -1.0, -3.0, 0.0], [2.0, 1.0, 1.0, 1.0])
    learner = apsee(box, sparsity=1, basis="boundary").start()
    first = learner.ask(available=[2])
    again = learner.ask(available=[2])
    assert (first.phase, again.phase) == ("explore", "exploit")
    np.testing.assert_array_equal(again.action, [0.0, 0.0, -3.0, 0.0])
    np.testing.assert_array_equal(learner.ask(available=[2, 3]).action, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(learner.ask(available=[2, 3]).action, [0.0, 0.0, -3.0, 0.0])


@pytest.mark.parametrize("make", [lambda: apsee(), lambda: apsee_g(confidence_scale=0.1)])
def test_exploitation_takes_the_best_of_what_is_left_and_then_returns(make: Make) -> None:
    policy = make()
    learner = policy.start()
    while learner.support is None or play(learner, 1)[0].decision.phase == "explore":
        play(learner, 1)
    while True:
        planned = learner.ask()
        if planned.phase == "exploit" and planned.cycle > 6:
            break
        learner.tell(planned, reward_of(planned))
    support = learner.support
    assert support == policy.support_of(THETA)
    mask = np.arange(DIM) != support[0]
    replaced = learner.ask(available=mask)
    best = sb.sparse_argmax(policy.action_set.restrict(mask), THETA, 2, "exact")
    assert replaced.phase == "exploit"
    assert replaced.cycle == planned.cycle
    np.testing.assert_allclose(replaced.action, best.action, atol=1e-9)
    kept = learner.ask(available=np.isin(np.arange(DIM), support))
    back = learner.ask()
    for decision in (kept, back):
        assert decision.phase == "exploit"
        np.testing.assert_array_equal(decision.action, planned.action)
    assert learner.support == support


def test_a_planned_action_that_fits_is_played_as_planned() -> None:
    """A reward that comes late changes theta_hat, and not the plan of this cycle."""
    learner = apsee().start()
    while learner.support is None:
        play(learner, 1)
    late: Decision | None = None
    while True:
        decision = learner.ask()
        if decision.phase == "exploit":
            break
        if late is None:
            late = decision
        else:
            learner.tell(decision, reward_of(decision))
    assert late is not None
    before = learner.theta_hat
    learner.tell(late, 50.0)
    assert not np.allclose(np.asarray(learner.theta_hat), np.asarray(before))
    kept = learner.ask(available=[0, 2, 3])
    assert (kept.phase, kept.cycle) == ("exploit", decision.cycle)
    np.testing.assert_array_equal(kept.action, decision.action)


def test_masked_exploitations_count_as_steps_of_the_phase() -> None:
    learner = compact(schedule=lambda cycle: 3).start()
    play(learner, DIM)
    phases = [learner.ask(available=[k]).phase for k in (0, 1, 2)]
    assert phases == ["exploit"] * 3
    assert (learner.ask().phase, learner.ask().cycle) == ("explore", 2)


def test_a_single_item_for_ever() -> None:
    for policy in (apsee(), compact(), apsee_g(confidence_scale=0.1)):
        learner = policy.start(seed=0)
        play(learner, 2 * DIM)
        for _ in range(30):
            decision = learner.ask(available=[3])
            assert not decision.action[:3].any()
            learner.tell(decision, reward_of(decision))
        play(learner, 40)
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)
