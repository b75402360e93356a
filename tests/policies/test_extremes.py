"""The edges: everything fits, one coordinate, no noise, no signal, and coordinates that lose."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.estimation import CONFIDENCE
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    THETA,
    adaptive,
    apsee,
    apsee_g,
    compact,
    moving,
    play,
    polytope,
    reward_of,
    through_json,
)


@pytest.mark.parametrize("sigma", [0.0, 100.0, "estimate"])
@pytest.mark.parametrize("confidence", list(CONFIDENCE))
@pytest.mark.parametrize("dim", [1, 3])
def test_where_everything_fits_the_first_test_locks_everything(
    sigma: float | str, confidence: str, dim: int
) -> None:
    """The gap is infinite, whatever the noise, and even while sigma is unbounded."""
    sets = [sb.LpBall(dim), sb.LpBall(dim, p=1.0), sb.Box(np.zeros(dim), np.ones(dim))]
    policies: list[sb.APSEE | sb.APSEEG] = [
        sb.APSEE(action_set=chosen, sparsity=dim, sigma=sigma, confidence=confidence)
        for chosen in sets
    ]
    for oracle in ("greedy", "exact"):
        ellipsoid = sb.Ellipsoid(np.eye(dim) + 0.3)
        policies.append(
            sb.APSEEG(
                action_set=ellipsoid,
                sparsity=dim,
                sigma=sigma,
                confidence=confidence,
                oracle=oracle,
            )
        )
    for policy in policies:
        learner = policy.start(seed=0)
        plays = play(learner, dim + 2, theta=np.linspace(-1, 1, dim) + 0.5)
        phases = [p.decision.phase for p in plays]
        assert phases == ["explore"] * dim + ["exploit", "explore"]
        assert learner.support == tuple(range(dim))
        assert math.isinf(learner.certificate().gap)
        assert through_json(learner).to_dict() == learner.to_dict()


def test_one_coordinate_for_every_policy() -> None:
    theta = np.array([-0.7])
    policies: list[sb.Policy] = [
        sb.APSEE(action_set=sb.LpBall(1), sparsity=1),
        sb.APSEEG(action_set=sb.Ellipsoid([[4.0]]), sparsity=1),
        sb.CompactAPSEEG(action_set=sb.Box([-2.0], [1.0]), sparsity=1),
        sb.TimeVaryingAPSEEG(action_set=sb.LpBall(1), sparsity=1, sigma=0.1),
        sb.TimeVaryingAPSEEG(action_set=sb.LpBall(1), sparsity=1, schedule="sqrt"),
        adaptive("pege", sb.LpBall(1), sparsity=1),
        adaptive("explore-then-commit", sb.Box([-2.0], [1.0]), sparsity=1, horizon=20),
    ]
    for policy in policies:
        learner = policy.start(seed=0)
        plays = play(learner, 60, theta=theta)
        assert learner.theta_hat == pytest.approx(theta)
        exploited = [p.decision for p in plays if p.decision.phase == "exploit"]
        best = policy.action_set.best_response(theta)
        assert exploited
        for decision in exploited:
            np.testing.assert_allclose(decision.action, best)
        assert learner.ask(available=[0]).action[0] != 0


@pytest.mark.parametrize("kind", [kind for kind in FIRST_OF_EACH if kind != "random-sparse"])
@pytest.mark.parametrize("dim", [1, 2])
def test_adaptive_policies_learn_the_best_of_one_coordinate_and_where_everything_fits(
    kind: str, dim: int
) -> None:
    theta = np.array([-0.7, 0.9])[:dim]
    needed: dict[str, dict[str, Any]] = {
        "explore-then-commit": {"horizon": 30},
        "estc": {"exploration_steps": 10, "sigma": 1e-3},
        "csar": {"sigma": 1e-3},
        "support-elimination": {"sigma": 1e-3},
        "epsilon-greedy": {"rate": 0.2},
    }
    box = sb.Box(np.full(dim, -2.0), np.ones(dim))
    policy = adaptive(kind, box, sparsity=dim, **needed.get(kind, {}))
    learner = policy.start(seed=0)
    play(learner, 150, theta=theta)
    best = box.best_response(theta)
    decisions = [played.decision for played in play(learner, 40, theta=theta)]
    earned = [reward_of(made, theta) for made in decisions if made.phase == "exploit"]
    assert np.mean(earned) > 0.9 * float(best @ theta)
    assert learner.ask(available=[0]).action[0] != 0
    assert through_json(learner).to_dict() == learner.to_dict()


@pytest.mark.parametrize("kind", FIRST_OF_EACH)
def test_without_signal_adaptive_policies_stay_feasible(kind: str) -> None:
    policy = FIRST_OF_EACH[kind]()
    learner = policy.start(seed=0)
    for played in play(learner, 80, theta=np.zeros(DIM)):
        assert policy.action_set.contains(played.decision.action)
    assert learner.theta_hat is None or not learner.theta_hat.any()
    assert through_json(learner).to_dict() == learner.to_dict()


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, float("inf")])
def test_one_place_takes_the_largest(p: float) -> None:
    learner = apsee(sb.LpBall(DIM, p=p), sparsity=1).start()
    last = play(learner, 100)[-1].decision
    assert learner.support == (0,)
    while last.phase == "explore":
        last = play(learner, 1)[0].decision
    np.testing.assert_array_equal(last.action, [1.0, 0.0, 0.0, 0.0])


def test_the_l1_ball_locks_one_coordinate_whatever_h() -> None:
    """Only the largest earns there: every gain after the first is 0 and no gap counts it."""
    for policy in (
        apsee(sb.LpBall(DIM, p=1.0), sparsity=3),
        apsee_g(sb.LpBall(DIM, p=1.0), sparsity=3, insist=True, sigma=0.001),
    ):
        learner = policy.start()
        play(learner, 100)
        assert learner.support == (0,)


def test_without_noise_sigma_zero_locks_at_once() -> None:
    for policy in (apsee(sigma=0.0), apsee_g(sigma=0.0), apsee_g(sigma=0.0, oracle="exact")):
        learner = policy.start()
        phases = [p.decision.phase for p in play(learner, DIM + 1)]
        assert phases[-1] == "exploit"
        assert learner.support == policy.support_of(THETA)
    moved = moving(sigma=0.0).start()
    assert "exploit" in {p.decision.phase for p in play(moved, 4 * DIM)}


def test_without_signal_nothing_is_ever_locked() -> None:
    zero = np.zeros(DIM)
    for policy in (apsee(sigma=0.0), apsee_g(sigma=0.0), apsee(), apsee(sigma="estimate")):
        learner = policy.start()
        assert {p.decision.phase for p in play(learner, 80, theta=zero)} == {"explore"}
        assert learner.support is None
    unverified: list[sb.Policy] = [compact(), moving(schedule="sqrt")]
    for other in unverified:
        for played in play(other.start(), 80, theta=zero):
            assert other.action_set.contains(played.decision.action)


def test_equal_coordinates_are_never_told_apart() -> None:
    tied = np.array([1.0, 0.5, 0.5, 0.1])
    learner = apsee(sigma=0.0).start()
    play(learner, 80, theta=tied)
    assert learner.support is None


# ---------------------------------------------------------------------- coordinates that lose


def _box_policies(dim: int, sparsity: int, delta: float) -> list[sb.APSEE | sb.APSEEG]:
    box = sb.Box(np.zeros(dim), np.ones(dim))
    bold = {"sparsity": sparsity, "sigma": 1.0, "delta": delta, "confidence": "coordinate"}
    return [
        apsee(box, **bold),
        apsee_g(box, **bold, schedule="sqrt"),
        apsee_g(box, **bold, schedule="sqrt", oracle="exact"),
    ]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["top-h", "greedy", "exact"])
def test_a_coordinate_that_earns_a_little_is_not_locked_out(which: int) -> None:
    """Fewer than H estimates are positive: the others must be known to lose before the lock.

    theta* = (9, 0.05, -9) on [0, 1]^3 with H = 2 and unit noise. The first estimate of 0.05 is
    negative in 48% of the runs, and the only gap among the estimates that gain is then 9: a test
    of that gap alone locks (0,) for ever. With the idle margin the second coordinate is locked
    out with probability at most delta = 0.1, so out of 200 runs more than 45 are so with
    probability P(Bin(200, 0.1) > 45) < 1e-7, the false-alarm probability of this test.
    """
    theta = np.array([9.0, 0.05, -9.0])
    assert binom.sf(45, 200, 0.1) < 1e-7
    policy = _box_policies(3, 2, 0.1)[which]
    excluded = 0
    for seed in range(200):
        learner = policy.start()
        play(learner, 12, theta=theta, sigma=1.0, seed=seed)
        excluded += learner.support is not None and 1 not in learner.support
    assert excluded <= 45


@pytest.mark.parametrize("which", [0, 1, 2], ids=["top-h", "greedy", "exact"])
def test_coordinates_that_clearly_lose_do_not_prevent_the_lock(which: int) -> None:
    policy = _box_policies(3, 2, 0.1)[which]
    learner = policy.start()
    play(learner, 1500, theta=np.array([9.0, -8.0, -9.0]), sigma=1.0)
    assert learner.support == (0,)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["top-h", "greedy", "exact"])
def test_where_everything_loses_nothing_is_played(which: int) -> None:
    policy = _box_policies(3, 2, 0.1)[which]
    learner = policy.start()
    plays = play(learner, 1500, theta=np.array([-9.0, -8.0, -9.0]), sigma=1.0)
    assert learner.support == ()
    exploited = [p.decision for p in plays if p.decision.phase == "exploit"]
    assert exploited
    assert not any(decision.action.any() for decision in exploited)
    assert through_json(learner).to_dict() == learner.to_dict()


def _locked(policy: sb.APSEE, theta: FloatArray, runs: int) -> list[tuple[int, ...] | None]:
    supports = []
    for seed in range(runs):
        learner = policy.start()
        play(learner, 40 * DIM, theta=theta, sigma=0.5, seed=seed)
        supports.append(learner.support)
    return supports


@pytest.mark.parametrize(
    ("sigma", "use_all_data"),
    [
        (0.5, False),
        pytest.param(0.5, True, marks=pytest.mark.thorough),
        pytest.param("estimate", False, marks=pytest.mark.thorough),
    ],
)
def test_wrong_supports_are_locked_in_at_most_delta_of_the_runs(
    sigma: float | str, use_all_data: bool
) -> None:
    """`lemma:stopping_condition_l2ball` for the narrowest bound, delta = 0.2, a gap of 0.2 sigma.

    The first estimate alone is wrong in more than half of the runs. P(Bin(100, 0.2) > 45) < 1e-8
    is the false-alarm probability. An easy theta* is locked, or the test would say nothing.
    """
    assert binom.sf(45, 100, 0.2) < 1e-8
    policy = apsee(sigma=sigma, delta=0.2, confidence="pairwise", use_all_data=use_all_data)
    hard, easy = np.array([1.0, 0.5, 0.4, -0.4]), np.array([3.0, -2.5, 0.4, 0.2])
    supports = _locked(policy, hard, 100)
    assert sum(support not in (None, (0, 1)) for support in supports) <= 45
    assert _locked(policy, easy, 5) == [(0, 1)] * 5


def test_policies_on_sets_with_few_ways_still_answer() -> None:
    slates = sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM), np.eye(DIM) + np.eye(DIM)[0]]))
    for policy in (compact(slates), compact(slates, oracle="exact"), compact(polytope())):
        learner = policy.start(seed=0)
        play(learner, 2 * DIM)
        for k in range(DIM):
            decision = learner.ask(available=[k])
            assert policy.action_set.contains(decision.action)
            assert set(np.flatnonzero(decision.action)) <= {k}
