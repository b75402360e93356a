"""Logged data: replications where they are exploration actions, least squares in any case."""

import numpy as np
import pytest

from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    CASES,
    DIM,
    FIRST_OF_EACH,
    LEAST_SQUARES,
    OWN_ESTIMATE,
    SIGMA,
    THETA,
    Make,
    Play,
    adaptive,
    apsee,
    apsee_g,
    assert_close,
    compact,
    decision_of,
    expected_estimate,
    moving,
    play,
    through_json,
)

every_kind = pytest.mark.parametrize(
    "make",
    [
        lambda: apsee(),
        lambda: apsee(basis="block-gaussian"),
        lambda: apsee(use_all_data=True),
        lambda: apsee_g(confidence_scale=0.1),
        lambda: compact(),
        lambda: moving(schedule="sqrt"),
        lambda: adaptive("pege"),
        lambda: adaptive("pege", use_all_data=True),
        lambda: adaptive("explore-then-commit", horizon=60),
    ],
    ids=["apsee", "block", "all-data", "apsee-g", "compact", "moving", "pege", "pege-all", "etc"],
)


def as_plays(actions: FloatArray, rewards: FloatArray) -> list[Play]:
    return [
        Play(decision_of(action), float(reward))
        for action, reward in zip(actions, rewards, strict=True)
    ]


def logs(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-0.5, 0.5, (n, DIM)) * (rng.random((n, DIM)) < 0.5)
    return actions, actions @ THETA + SIGMA * rng.standard_normal(n)


@every_kind
@pytest.mark.parametrize("moment", [0, 3, 3 * DIM, 60])
def test_theta_hat_is_least_squares_on_logs_and_explorations(make: Make, moment: int) -> None:
    """Brought in before the first step, in the middle of one cycle, or after the lock."""
    policy = make()
    learner = policy.start(seed=0)
    plays = play(learner, moment, sigma=SIGMA)
    for seed in (1, 2):
        actions, rewards = logs(seed, 9)
        learner.warm_start(actions, rewards)
        plays += as_plays(actions, rewards)
        plays += play(learner, 50, sigma=SIGMA, seed=seed)
        expected = expected_estimate(learner, plays)
        assert expected is not None
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, expected, rtol=1e-8, atol=1e-10)
    assert any(p.decision.phase == "exploit" for p in plays)


RIDGE = [
    (name, make)
    for name, make in CASES
    if name.rpartition("-")[0] not in (*LEAST_SQUARES, *OWN_ESTIMATE)
]


@pytest.mark.parametrize("make", [make for _, make in RIDGE], ids=[name for name, _ in RIDGE])
@pytest.mark.parametrize("moment", [0, 3, 40])
def test_theta_hat_is_the_ridge_estimate_on_logs_and_plays(make: Make, moment: int) -> None:
    policy = make()
    learner = policy.start(seed=0)
    plays = play(learner, moment, sigma=SIGMA)
    for seed in (1, 2):
        actions, rewards = logs(seed, 9)
        learner.warm_start(actions, rewards)
        plays += as_plays(actions, rewards)
        assert learner.certificate().replications == len(plays)
        plays += play(learner, 25, sigma=SIGMA, seed=seed)
        expected = expected_estimate(learner, plays)
        assert_close(learner.theta_hat, expected)
        assert learner.certificate().replications == len(plays)


@pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
def test_logs_are_taken_by_every_adaptive_policy_at_any_moment(make: Make) -> None:
    """In one piece or row by row they teach the same, and open no decision."""
    policy = make()
    whole, rows = policy.start(seed=0), policy.start(seed=0)
    for seed, moment in ((1, 0), (2, 7), (3, 40)):
        for learner in (whole, rows):
            play(learner, moment)
        actions, rewards = logs(seed, 12)
        whole.warm_start(actions.tolist(), rewards.tolist())
        for action, reward in zip(actions, rewards, strict=True):
            rows.warm_start(action[None], [reward])
        assert whole.open_decisions == rows.open_decisions == ()
        if whole.theta_hat is None:
            assert rows.theta_hat is None
        else:
            assert_close(whole.theta_hat, rows.theta_hat)
        # From here on rounding may part them.
        rows = through_json(whole)
    assert rows.to_dict() == whole.to_dict()


def test_logs_in_units_that_sums_cannot_hold() -> None:
    """One direction, a billion long: its Gram matrix is singular to the last digit."""
    for make in FIRST_OF_EACH.values():
        learner = make().start(seed=0)
        learner.warm_start([[1e9, 1e9, 0.0, 0.0]] * 3, [1.0, 1.0, 1.0])
        play(learner, 20)
        assert learner.theta_hat is None or np.isfinite(learner.theta_hat).all()
        assert through_json(learner).to_dict() == learner.to_dict()


@every_kind
def test_logs_that_span_give_an_estimate_before_the_first_step(make: Make) -> None:
    learner = make().start(seed=0)
    actions, rewards = logs(3, 40)
    learner.warm_start(actions.tolist(), rewards.tolist())
    assert learner.theta_hat is not None
    np.testing.assert_allclose(
        learner.theta_hat, np.linalg.lstsq(actions, rewards, rcond=None)[0], rtol=1e-8
    )


@pytest.mark.parametrize("basis", ["standard", "block-gaussian", "designed"])
def test_logged_exploration_actions_are_replications(basis: str) -> None:
    policy = apsee(basis=basis, sigma="estimate")
    rows = policy.exploration.actions
    rng = np.random.default_rng(0)
    rewards = rng.standard_normal((3, DIM))
    logged, played = policy.start(), policy.start()
    # A negative zero is a zero.
    logged.warm_start(np.vstack([rows, rows, rows * 1.0]) - 0.0, rewards.ravel())
    for row in rewards:
        for reward in row:
            played.tell(played.ask(), float(reward))
    assert logged.certificate().replications == 3
    one, two = logged.to_dict()["state"], played.to_dict()["state"]
    assert one["gram"] is None
    for name in ("counts", "sums", "squares"):
        np.testing.assert_allclose(one[name], two[name], rtol=1e-12)
    assert logged.certificate().sigma == pytest.approx(played.certificate().sigma)
    assert logged.certificate().gap == pytest.approx(played.certificate().gap)


def test_negative_zeros_do_not_hide_an_exploration_action() -> None:
    learner = apsee().start()
    learner.warm_start(np.where(np.eye(DIM) == 0, -0.0, 1.0), THETA)
    assert learner.to_dict()["state"]["counts"] == [1] * DIM
    own = apsee(basis=np.array([[1.0, -0.0, 0, 0], [0.5, 0.5, 0, 0], *np.eye(DIM)[2:]])).start()
    own.warm_start([[1.0, 0.0, 0.0, 0.0]], [1.0])
    assert own.to_dict()["state"]["counts"] == [1, 0, 0, 0]


@pytest.mark.parametrize("general", [False, True])
def test_enough_logs_lock_in_the_first_test(general: bool) -> None:
    policy = apsee(sigma=0.1)
    learner, cold = policy.start(), policy.start()
    # Two half steps are worth a quarter each: V >= 100 B for both.
    actions = np.tile(0.5 * np.eye(DIM), (400, 1)) if general else np.tile(np.eye(DIM), (100, 1))
    learner.warm_start(actions, actions @ THETA)
    certificate = learner.certificate()
    assert certificate.replications == 100
    assert certificate.gap > certificate.threshold > 0
    assert not certificate.locked
    plays, without = play(learner, DIM + 2), play(cold, DIM + 2)
    assert [p.decision.phase for p in plays] == ["explore"] * DIM + ["exploit", "explore"]
    assert {p.decision.phase for p in without} == {"explore"}
    assert learner.support == (0, 2)
    assert learner.certificate().threshold < certificate.threshold
    assert through_json(learner).to_dict() == learner.to_dict()


def test_the_certificate_and_the_test_see_the_same_general_logs() -> None:
    """V >= c B is what the test counts; a certificate of the arms alone would say nothing."""
    policy = apsee(sigma=0.1)
    learner = policy.start()
    actions = 0.5 * np.tile(np.eye(DIM), (8, 1))
    learner.warm_start(actions, actions @ THETA)
    before = learner.certificate()
    assert before.replications == 2
    assert before.gap == pytest.approx(0.5)
    assert before.threshold == pytest.approx(0.1 * float(policy.test.unit_threshold(2)))
    needed = before.replications + before.cycles_to_lock
    while learner.support is None:
        last = play(learner, 1)[0].decision
    assert last.cycle + 2 == needed


def test_weak_logs_are_worth_less_than_a_cycle() -> None:
    learner = apsee().start()
    actions = 0.1 * np.eye(DIM)
    learner.warm_start(actions, actions @ THETA)
    certificate = learner.certificate()
    assert certificate.replications == 0
    assert np.isnan(certificate.gap)
    assert learner.theta_hat is not None
    play(learner, DIM + 1)
    assert learner.certificate().replications == 1


def test_exploitation_rewards_stay_out_after_logs_came_in() -> None:
    """Only `use_all_data` lets them in; logs must not open the door."""
    learner = apsee(sigma=0.05).start()
    learner.warm_start(0.5 * np.tile(np.eye(DIM), (400, 1)), 0.5 * np.tile(THETA, 400))
    while True:
        decision = learner.ask()
        if decision.phase == "exploit":
            break
        learner.tell(decision, float(THETA @ decision.action))
    before = learner.theta_hat
    learner.tell(decision, 1e6)
    np.testing.assert_array_equal(learner.theta_hat, before)


def test_a_basis_too_large_to_be_kept_takes_all_logs_through_the_gram_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sparsebandits.policies.cycle._KEPT_ACTIONS", DIM - 1)
    policy = apsee(basis="block-gaussian", sigma=0.1)
    learner = policy.start()
    rows = np.tile(policy.exploration.actions, (5, 1))
    learner.warm_start(rows, rows @ THETA)
    plays = play(learner, 3 * DIM)
    np.testing.assert_array_equal([p.decision.action for p in plays[:DIM]], rows[:DIM])
    assert not plays[0].decision.action.flags.writeable
    assert learner.certificate().replications == 8
    assert learner.theta_hat is not None
    np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-9)
