"""Sets that change at every step: both phases act on the current one, the test is made on it."""

import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Learner
from tests.policies.examples import (
    DIM,
    SIGMA,
    THETA,
    Play,
    ellipsoid,
    least_squares,
    moving,
    polytope,
    reward_of,
)

STRONG: list[sb.ActionSet] = [
    sb.LpBall(DIM),
    ellipsoid(seed=1),
    ellipsoid(seed=2),
    sb.LpBall(DIM, p=1.5, radius=2.0),
    sb.Ellipsoid(np.diag([0.5, 2.0, 1.0, 3.0])).restrict([0, 2, 3]),
]
ANY: list[sb.ActionSet] = [
    *STRONG,
    polytope(),
    sb.Box([0.0, -2.0, -1.0, -1.0], [1.0, 0.0, 3.0, 1.0]),
    sb.Budget(1.0, np.full(DIM, 0.7)),
    sb.LpBall(DIM, p=1.0),
    sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM), -np.eye(DIM), 0.6 * np.ones(DIM)])),
]


def start(schedule: str, scale: float = 0.05, oracle: str = "greedy") -> Learner:
    policy = moving(sb.LpBall(DIM), schedule=schedule, confidence_scale=scale, oracle=oracle)
    return policy.start(seed=0)


@pytest.mark.parametrize(("schedule", "sets"), [("linear", STRONG), ("sqrt", ANY)])
@pytest.mark.parametrize("seed", [1, 2])
def test_actions_come_from_the_current_set(
    schedule: str, sets: list[sb.ActionSet], seed: int
) -> None:
    learner = start(schedule)
    rng = np.random.default_rng(seed)
    plays: list[Play] = []
    cycle = 1
    for _ in range(250):
        current = sets[rng.integers(len(sets))]
        decision = learner.ask(action_set=current)
        assert current.contains(decision.action)
        assert np.count_nonzero(decision.action) <= 2
        assert decision.cycle >= cycle
        cycle = decision.cycle
        reward = reward_of(decision) + SIGMA * float(rng.standard_normal())
        learner.tell(decision, reward)
        plays.append(Play(decision, reward))
        expected = least_squares(plays)
        assert (expected is None) == (learner.theta_hat is None)
    assert {p.decision.phase for p in plays} == {"explore", "exploit"}
    assert learner.theta_hat is not None
    assert expected is not None
    np.testing.assert_allclose(learner.theta_hat, expected, rtol=1e-8)
    assert learner.support is None


@pytest.mark.parametrize("oracle", ["greedy", "exact"])
def test_the_gap_test_is_made_on_the_set_of_the_step(oracle: str) -> None:
    """The estimate of this cycle, the gap on X_t, the information behind it: recomputed here."""
    learner = start("linear", scale=2.0, oracle=oracle)
    rng = np.random.default_rng(3)
    explored, cycle, outcomes = 0, 1, set()
    gram, information = np.zeros((DIM, DIM)), 0.0
    for _ in range(400):
        current = STRONG[rng.integers(len(STRONG))]
        decision = learner.ask(action_set=current)
        if decision.cycle > cycle:
            cycle, explored = decision.cycle, 0
        explored += 1
        theta = learner.estimate_in_use
        if explored > DIM:
            assert theta is not None
            best = sb.sparse_argmax(
                current, theta, 2, "exact" if oracle == "exact" else "greedy", runner_up=True
            )
            norm = max(1.0, current.norm_bound)
            if explored == DIM + 1:  # what came later did not enter the estimate
                information = float(np.linalg.eigvalsh(gram)[0]) * (1 + 1e-9)
            threshold = math.inf
            if information >= 1:
                c = math.floor(information)
                epsilon = SIGMA * math.sqrt(2 * DIM * math.log(2 * DIM * c**2 / 0.05) / c)
                threshold = 2.0 * 2 * norm * epsilon
            certificate = learner.certificate()
            assert certificate.gap == pytest.approx(best.gap, rel=1e-9)
            assert certificate.threshold == pytest.approx(threshold)
            passed = best.gap > threshold
            assert (decision.phase == "exploit") == passed
            outcomes.add(passed)
            if passed:
                np.testing.assert_allclose(decision.action, best.action, atol=1e-12)
        else:
            assert decision.phase == "explore"
        gram += np.outer(decision.action, decision.action)
        learner.tell(decision, reward_of(decision) + SIGMA * float(rng.standard_normal()))
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("schedule", "steps"), [("linear", [1, 2, 3, 4, 5]), ("sqrt", [1, 1, 1, 2, 2])]
)
def test_cycles_explore_d_times_and_then_take_m_c_steps(schedule: str, steps: list[int]) -> None:
    learner = start(schedule, scale=1e-6)
    for cycle, count in enumerate(steps, start=1):
        decisions = []
        for _ in range(DIM + count):
            decision = learner.ask()
            learner.tell(decision, reward_of(decision))
            decisions.append(decision)
        assert {d.cycle for d in decisions} == {cycle}
        assert [d.phase for d in decisions] == ["explore"] * DIM + ["exploit"] * count
        axes = [int(np.flatnonzero(d.action)[0]) for d in decisions[:DIM]]
        assert sorted(axes) == list(range(DIM))


def test_the_axis_known_least_is_explored_the_longer_way() -> None:
    learner = start("sqrt")
    box = sb.Box([-3.0, -1.0, 0.0, 0.0], [1.0, 1.0, 2.0, 0.5])
    first = [learner.ask(action_set=box).action for _ in range(DIM)]
    np.testing.assert_array_equal(first, np.diag([-3.0, 1.0, 2.0, 0.5]))
    # The squares played so far are 9, 1, 4 and 0.25.
    following = learner.ask(action_set=sb.LpBall(DIM))
    np.testing.assert_array_equal(following.action, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(learner.ask(available=[0, 2]).action, [0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(learner.ask(available=[0]).action, [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("cycles", range(1, 12))
def test_c_cycles_of_the_standard_basis_are_worth_c(cycles: int) -> None:
    """V = c I, whatever the last bit of its inverse."""
    learner = start("linear", scale=1e9)
    for _ in range(cycles * DIM):
        decision = learner.ask()
        learner.tell(decision, reward_of(decision))
    assert learner.certificate().replications == cycles


def test_a_mask_restricts_the_set_of_the_step() -> None:
    learner = start("sqrt")
    for _ in range(60):
        decision = learner.ask(available=[1, 3], action_set=polytope())
        assert polytope().contains(decision.action)
        assert not decision.action[[0, 2]].any()
        learner.tell(decision, reward_of(decision))
    assert learner.theta_hat is None
    for _ in range(60):
        decision = learner.ask(action_set=sb.LpBall(DIM))
        learner.tell(decision, reward_of(decision))
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)


def test_the_estimate_in_use_is_that_of_the_cycle() -> None:
    learner = start("sqrt")
    assert learner.estimate_in_use is None
    for _ in range(DIM):
        learner.tell(learner.ask(), 1.0)
    exploited = learner.ask()
    in_use = learner.estimate_in_use
    assert in_use is not None
    np.testing.assert_allclose(in_use, np.ones(DIM))
    learner.tell(exploited, 50.0)
    np.testing.assert_array_equal(learner.estimate_in_use, in_use)
    assert learner.theta_hat is not None
    assert not np.allclose(learner.theta_hat, in_use)


def test_a_longer_set_than_the_policys_own_raises_the_threshold() -> None:
    thresholds = []
    for radius in (0.5, 1.0, 4.0):
        learner = start("linear", scale=1e-6)
        for _ in range(DIM):
            learner.tell(learner.ask(), 0.5)
        learner.ask(action_set=sb.LpBall(DIM, radius=radius))
        thresholds.append(learner.certificate().threshold)
    assert thresholds[0] == thresholds[1]
    assert thresholds[2] == pytest.approx(4 * thresholds[1])
