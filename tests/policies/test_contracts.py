"""Every policy keeps the contract that ships with the package; and what its estimate is."""

import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES
from tests.policies.examples import (
    CASES,
    DIM,
    EXAMPLES,
    LEAST_SQUARES,
    OWN_ESTIMATE,
    SCHEDULED,
    THETA,
    Make,
    adaptive,
    apsee,
    apsee_g,
    assert_close,
    box,
    compact,
    expected_estimate,
    moving,
    one_of_each_kind,
    play,
    play_late,
)


def cases_of(*kinds: str) -> pytest.MarkDecorator:
    """The cases of some kinds."""
    chosen = [(name, make) for name, make in CASES if name.rpartition("-")[0] in kinds]
    return pytest.mark.parametrize(
        "make", [make for _, make in chosen], ids=[name for name, _ in chosen]
    )


ridge_policies = cases_of(*(set(EXAMPLES) - set(LEAST_SQUARES) - set(OWN_ESTIMATE)))


def test_every_registered_policy_has_an_example() -> None:
    assert set(EXAMPLES) == set(POLICIES)
    for kind, makers in EXAMPLES.items():
        assert {make().kind for make in makers} == {kind}


@one_of_each_kind
def test_the_contract(make: Make) -> None:
    sb.testing.check_policy(make())


@cases_of("apsee", "apsee-g")
def test_nothing_is_exploited_before_the_lock(make: Make) -> None:
    learner = make().start(seed=1)
    for _ in range(160):
        decision = play(learner, 1)[0].decision
        assert learner.support is not None or decision.phase == "explore"


@pytest.mark.parametrize(
    "make", [lambda: apsee(sigma=0.08), lambda: apsee_g(confidence_scale=0.2), lambda: compact()]
)
def test_a_cycle_is_the_basis_and_then_m_c_steps_of_one_action(make: Make) -> None:
    """Algorithms 1 and 2 and the compact variant, read off the decisions."""
    policy = make()
    assert isinstance(policy, (sb.APSEE, sb.APSEEG, sb.CompactAPSEEG))
    learner = policy.start()
    plays = play(learner, 600)
    cycles: dict[int, list[sb.Decision]] = {}
    for played in plays:
        cycles.setdefault(played.decision.cycle, []).append(played.decision)
    del cycles[max(cycles)]
    assert list(cycles) == list(range(1, len(cycles) + 1))
    exploited = []
    for decisions in cycles.values():
        explored = np.array([d.action for d in decisions[:DIM]])
        np.testing.assert_array_equal(explored, policy.exploration.actions)
        assert [d.phase for d in decisions] == ["explore"] * DIM + ["exploit"] * (
            len(decisions) - DIM
        )
        exploited.append(len(decisions) - DIM)
        for decision in decisions[DIM:]:
            np.testing.assert_array_equal(decision.action, decisions[DIM].action)
    first = 1
    if policy.verifies:
        gap = policy.test.verify(THETA[None])[1][0]
        assert isinstance(policy.sigma, float)
        thresholds = policy.sigma * policy.test.unit_threshold(np.arange(1, len(cycles) + 1))
        first = int(np.argmax(gap > thresholds)) + 1
        assert 3 < first < len(cycles) - 3
    planned = [cycle if policy.verifies else math.isqrt(cycle) for cycle in cycles]
    assert exploited == [0] * (first - 1) + planned[first - 1 :]


@pytest.mark.parametrize("make", [lambda: apsee(), lambda: apsee_g(confidence_scale=0.1)])
def test_after_the_lock_the_support_stays_and_the_response_to_theta_hat_is_played(
    make: Make,
) -> None:
    """The rewards change their mind: the support may not, the action on it must."""
    policy = make()
    learner = policy.start()
    play(learner, 60)
    support = learner.support
    assert support is not None
    opposite = THETA.copy()
    opposite[[i for i in range(DIM) if i not in support]] = 30.0
    exploited = 0
    for _ in range(200):
        decision = play(learner, 1, theta=opposite)[0].decision
        theta = learner.estimate_in_use
        assert theta is not None
        if decision.phase == "exploit":
            expected = policy.action_set.best_response(theta, support)
            np.testing.assert_array_equal(decision.action, expected)
            exploited += 1
    assert exploited > 100
    assert policy.support_of(np.asarray(theta)) != support == learner.support


def test_the_families_of_estimates_cover_the_table() -> None:
    for kind, makers in EXAMPLES.items():
        for make in makers:
            learner = make().start(seed=0)
            is_ridge = kind not in LEAST_SQUARES and kind not in OWN_ESTIMATE
            assert (learner.theta_hat is not None) == is_ridge


@cases_of(*LEAST_SQUARES)
@pytest.mark.each_value
@pytest.mark.parametrize("seed", [1, 2])
def test_theta_hat_is_least_squares_on_what_was_told(make: Make, seed: int) -> None:
    policy = make()
    learner = policy.start(seed=0)
    assert learner.theta_hat is None
    assert learner.support is None
    plays = play_late(learner, 3, seed=seed, lost=0.0)
    plays += play_late(learner, 120, seed=seed + 10)
    expected = expected_estimate(learner, plays)
    assert expected is not None
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, expected, rtol=1e-9, atol=1e-11)


@ridge_policies
@pytest.mark.each_value
@pytest.mark.parametrize("seed", [1, 2])
def test_theta_hat_is_the_ridge_estimate_from_all_that_was_told(make: Make, seed: int) -> None:
    """0 before the first reward, and then of every reward whatever its phase."""
    policy = make()
    learner = policy.start(seed=0)
    np.testing.assert_array_equal(learner.theta_hat, np.zeros(DIM))
    assert learner.support is None
    plays = play_late(learner, 1, seed=seed, lost=0.0)
    for steps in (2, 5, 80):
        plays += play_late(learner, steps, seed=seed + steps)
        expected = expected_estimate(learner, plays)
        assert_close(learner.theta_hat, expected)


@cases_of("sparse-thompson", "lin-ts", "oful")
def test_while_every_reward_is_zero_all_coordinates_are_tried(make: Make) -> None:
    """Clicks that fail at first: sigma_hat is 0 and so is theta_hat, and all is still to learn."""
    learner = make().start(seed=0)
    tried = np.zeros(DIM, dtype=np.bool_)
    for _ in range(60):
        decision = learner.ask()
        # Where rewards have a baseline, 0 is an action that teaches.
        assert decision.action.any() or getattr(learner.policy, "intercept", False)
        tried |= decision.action != 0
        learner.tell(decision, 0.0)
    assert tried.all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: adaptive("estc", exploration_steps=300, sigma=0.01),
        lambda: adaptive("estc", box(-1.0), exploration_steps=300),
        lambda: adaptive("csar", box(-1.0), sigma=0.01),
        lambda: adaptive("csar", box(), sigma=0.01),
    ],
)
def test_the_lasso_and_the_differences_of_means_come_near_theta(make: Make) -> None:
    learner = make().start(seed=0)
    assert learner.theta_hat is None
    play(learner, 400, sigma=0.01)
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=0.1)


@cases_of(*LEAST_SQUARES)
def test_theta_hat_is_none_until_every_direction_was_told(make: Make) -> None:
    policy = make()
    learner = policy.start(seed=0)
    baseline = 7.0 if getattr(policy, "intercept", False) else 0.0
    decisions = [learner.ask() for _ in range(DIM + bool(baseline))]
    for decision in decisions:
        assert learner.theta_hat is None
        assert np.isnan(learner.certificate().gap)
        learner.tell(decision, baseline + float(THETA @ decision.action))
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)


def test_actions_of_large_bases_are_read_only_too() -> None:
    learner = apsee(sb.LpBall(2001)).start()
    decision = learner.ask()
    assert decision.action[0] == 1
    assert not decision.action.flags.writeable


def test_own_numbers_of_numpy_are_saved_as_plain_ones() -> None:
    policies: list[sb.Policy] = [
        apsee(sparsity=np.int64(2), sigma=np.float32(0.5), delta=np.float64(0.1)),
        apsee(basis_seed=np.int64(2), confidence_scale=np.float32(0.5), use_all_data=np.True_),
        moving(sparsity=np.int64(2), sigma=np.float32(0.5), delta=np.float32(0.1), insist=np.True_),
    ]
    one, half, yes = np.int64(1), np.float32(0.5), np.True_
    policies += [
        adaptive("lin-ts", sparsity=one, sigma=half, scale=half, ridge=half),
        adaptive("oful", sparsity=one, delta=half, starts=np.int64(3), sweeps=one, radius=half),
        adaptive("pege", sparsity=one, basis_seed=one, use_all_data=yes),
        adaptive("explore-then-commit", horizon=np.int64(50), exploration_steps=np.int64(5)),
        adaptive("epsilon-greedy", rate=half, power=half, ridge=half),
        adaptive("estc", exploration_steps=np.int64(5), constant=half, theta_sparsity=one),
        adaptive("support-elimination", delta=half, growth=np.float32(1.5), refine=yes),
        adaptive("csar", box(), delta=half, tolerance=half, sigma=half),
        adaptive("random-sparse", sparsity=one),
        adaptive("sparse-thompson", sparsity=one, sigma=half, guarantee=yes),
    ]
    assert {policy.kind for policy in policies} >= set(POLICIES) - set(SCHEDULED)
    for policy in policies:
        learner = policy.start(seed=0)
        assert sb.Learner.from_dict(learner.to_dict()).to_dict() == learner.to_dict()


def test_a_phased_policy_names_its_parts() -> None:
    text = repr(apsee(confidence_scale=0.5))
    assert text.startswith("APSEE(LpBall(dim=4")
    assert "confidence=paper x 0.5" in text
