"""A certificate says what then happens: when the lock comes, and whether the horizon allows it."""

import math

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import sigma_upper
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    SIGMA,
    THETA,
    apsee,
    apsee_g,
    compact,
    ellipsoid,
    moving,
    play,
)

VERIFYING: list[sb.APSEE | sb.APSEEG] = [
    apsee(sigma=0.1),
    apsee(sigma=0.1, confidence="pairwise"),
    apsee(sigma=0.5, confidence="mixture", basis="block-gaussian"),
    apsee(sigma=0.1, confidence_scale=0.7, delta=0.3),
    apsee(sb.Box(np.zeros(DIM), 2 * np.ones(DIM)), sigma=0.1),
    apsee(sb.LpBall(DIM, p=1.0), sigma=0.1),
    apsee_g(confidence_scale=0.2),
    apsee_g(ellipsoid(), oracle="exact", confidence="coordinate", sigma=0.01),
    apsee_g(sb.LpBall(DIM), confidence="stitched", sigma=0.05),
]


@pytest.mark.parametrize("policy", VERIFYING, ids=repr)
def test_the_predicted_cycle_is_the_one_that_locks(policy: sb.APSEE | sb.APSEEG) -> None:
    """Without noise the gap stays as it is from the first cycle on."""
    learner = policy.start(seed=0)
    start = learner.certificate(horizon=1)
    assert math.isnan(start.gap)
    assert math.isnan(start.threshold)
    assert math.isnan(start.cycles_to_lock)
    assert start.warning is None
    play(learner, DIM + 1)
    first = learner.certificate()
    assert not first.locked
    assert first.replications == 1
    lock = first.replications + first.cycles_to_lock
    assert 3 < lock < 2000
    while learner.support is None:
        certificate = learner.certificate()
        assert certificate.gap == pytest.approx(float(policy.test.verify(THETA[None])[1][0]))
        assert isinstance(policy.sigma, float)
        expected = policy.sigma * float(policy.test.unit_threshold(certificate.replications))
        assert certificate.threshold == pytest.approx(expected)
        assert certificate.sigma == policy.sigma
        assert certificate.support is None
        if certificate.replications < lock:
            assert certificate.replications + certificate.cycles_to_lock == lock
            assert certificate.steps_to_lock == certificate.cycles_to_lock * DIM
        last = play(learner, 1)[0].decision
    assert last.cycle == lock
    locked = learner.certificate(horizon=1)
    assert locked.locked
    assert locked.support == learner.support == policy.support_of(THETA)
    assert (locked.cycles_to_lock, locked.steps_to_lock) == (0.0, 0.0)
    assert locked.gap > locked.threshold
    assert locked.warning is None


@pytest.mark.parametrize("policy", VERIFYING, ids=repr)
def test_the_warning_appears_exactly_when_the_horizon_is_too_short(
    policy: sb.APSEE | sb.APSEEG,
) -> None:
    learner = policy.start(seed=0)
    play(learner, DIM + 1)
    steps = int(learner.certificate().steps_to_lock)
    assert learner.certificate().warning is None
    assert learner.certificate(horizon=steps).warning is None
    warning = learner.certificate(horizon=steps - 1).warning
    assert warning is not None
    assert f"not within the {steps - 1} steps" in warning
    assert "every step explores" in warning
    assert f"{steps:.3g} steps" in warning
    assert "confidence='mixture' or 'pairwise'" in warning


def test_a_gap_of_zero_never_locks_and_says_so() -> None:
    learner = apsee(sigma=0.1).start()
    for _ in range(3 * DIM):
        learner.tell(learner.ask(), 0.0)
    certificate = learner.certificate(horizon=10**9)
    assert certificate.gap == 0
    assert math.isinf(certificate.cycles_to_lock)
    assert certificate.warning is not None
    assert "the test passes never" in certificate.warning


def test_nothing_to_verify_nothing_to_promise() -> None:
    learner = compact().start(seed=0)
    play(learner, 40)
    certificate = learner.certificate(horizon=1)
    assert not certificate.locked
    assert certificate.support is None
    assert certificate.warning is None
    for value in (certificate.gap, certificate.threshold, certificate.cycles_to_lock):
        assert math.isnan(value)


def test_a_certificate_does_not_change_the_learner() -> None:
    policies: list[sb.Policy] = [*VERIFYING, compact(), moving()]
    for policy in [*policies, *(make() for make in FIRST_OF_EACH.values())]:
        learner, calm = policy.start(seed=0), policy.start(seed=0)
        for _ in range(3 * DIM):
            before = learner.to_dict()
            first, again = (learner.certificate(horizon=5) for _ in range(2))
            assert repr(first) == repr(again)
            assert learner.to_dict() == before
            play(learner, 1)
            play(calm, 1)
        assert learner.to_dict() == calm.to_dict()


def test_supports_are_shown_by_name_where_the_set_has_names() -> None:
    names = ["tv", "radio", "print", "search"]
    for named, shown in ((names, "('tv', 'print')"), (None, "(0, 2)")):
        X = sb.LpBall(DIM, names=named)
        sure, guessing = apsee(X).start(), sb.SparseThompson(action_set=X, sparsity=2).start(seed=0)
        for learner in (sure, guessing):
            play(learner, 200, sigma=SIGMA, seed=5)
        locked, believed = sure.certificate(), guessing.certificate()
        assert locked.support == (0, 2)  # which code goes on reading by index
        assert f"locked=True, support={shown}" in repr(locked)
        assert f"best_support={shown}" in repr(believed)
        assert "support=None" in repr(apsee(X).start().certificate())


def test_estimated_sigma_starts_unbounded_and_comes_down() -> None:
    policy = apsee(sigma="estimate", delta=0.1)
    learner = policy.start()
    play(learner, DIM, sigma=SIGMA, seed=3)
    first = learner.certificate(horizon=10)
    assert math.isinf(first.sigma)
    assert math.isinf(first.threshold)
    assert math.isnan(first.cycles_to_lock)
    assert first.warning is None
    plays = play(learner, 3 * DIM, sigma=SIGMA, seed=4)
    certificate = learner.certificate()
    assert certificate.replications == 4
    squares = learner.to_dict()["state"]["squares"]
    expected = float(sigma_upper(sum(squares), 3 * DIM, 0.05, look=4))
    assert certificate.sigma == pytest.approx(expected)
    assert SIGMA < certificate.sigma < 10 * SIGMA
    assert all(p.decision.phase == "explore" for p in plays)
    play(learner, 200, sigma=SIGMA, seed=5)
    assert learner.support == (0, 2)
    assert learner.certificate().sigma < certificate.sigma


def test_the_moving_certificate_reports_the_last_test() -> None:
    policy = moving(confidence_scale=0.2)
    learner = policy.start(seed=0)
    assert learner.certificate(horizon=5).warning is not None
    while True:
        last = learner.ask()
        learner.tell(last, float(THETA @ last.action))
        certificate = learner.certificate(horizon=5)
        assert not certificate.locked
        if not math.isnan(certificate.gap):
            passed = certificate.gap > certificate.threshold
            assert (certificate.warning is None) == passed
            if passed:
                break
    assert last.phase == "exploit"
    best = sb.sparse_argmax(policy.action_set, THETA, 2, "greedy")
    assert certificate.gap == pytest.approx(best.gap)
    assert moving(schedule="sqrt").start().certificate(horizon=5).warning is None
