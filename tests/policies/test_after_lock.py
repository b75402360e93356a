"""What the paper's policies do otherwise around the lock: explore less after it, earn before it."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import make_basis
from tests.policies.examples import DIM, THETA, apsee, hedged, play, through_json

OPTIONS: dict[str, Any] = {"confidence": "pairwise", "explore_locked_only": True}


def test_after_the_lock_a_cycle_explores_the_support_and_exploits_c_steps() -> None:
    """THETA is (1, -0.2, 0.7, 0.1): the support is (0, 2), and b_k = e_k."""
    learner = apsee(sigma=0.3, **OPTIONS).start(seed=0)
    cycles: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    locked_in = 0
    for one in play(learner, 1200):
        used = tuple(np.flatnonzero(one.decision.action).tolist())
        cycles.setdefault(one.decision.cycle, []).append((one.decision.phase, used))
        if one.decision.phase == "exploit" and not locked_in:
            locked_in = one.decision.cycle
    assert learner.support == (0, 2)
    assert locked_in > 1
    everything = [("explore", (k,)) for k in range(DIM)]
    for cycle in range(1, max(cycles)):  # the last one may be cut
        exploited = [("exploit", (0, 2))] * cycle
        if cycle < locked_in:
            assert cycles[cycle] == everything
        elif cycle == locked_in:
            assert cycles[cycle] == everything + exploited
        else:
            assert cycles[cycle] == [("explore", (0,)), ("explore", (2,)), *exploited]


def test_before_the_lock_the_hedged_policy_plays_the_oracles_action() -> None:
    learner = hedged(sigma=50.0).start(seed=0)  # so much noise that nothing locks
    phases: dict[int, list[str]] = {}
    for one in play(learner, 400):
        phases.setdefault(one.decision.cycle, []).append(one.decision.phase)
        if one.decision.phase == "exploit":
            expected = sb.LpBall(DIM).best_response(THETA, [0, 2])
            np.testing.assert_allclose(one.decision.action, expected, atol=1e-12)
    assert learner.support is None
    for cycle in range(1, max(phases)):
        assert phases[cycle] == ["explore"] * DIM + ["exploit"] * int(cycle**0.5)


@pytest.mark.parametrize("basis", ["standard", "block-gaussian", "designed", "boundary"])
def test_the_actions_behind_a_support_are_the_columns_of_the_inverse(basis: str) -> None:
    ball = sb.LpBall(7)
    made = make_basis(basis, ball, sparsity=3, rng=1)
    inverse = np.linalg.inv(made.actions)
    for support in ([0], [2, 5], [1, 3, 6]):
        expected = (np.abs(inverse[support]) > 1e-9).any(axis=0)
        np.testing.assert_array_equal(made.behind(support), expected)


@pytest.mark.parametrize("make", [apsee, hedged])
def test_a_learner_saved_on_either_side_of_the_lock_goes_on_bit_for_bit(make: Any) -> None:
    learner = make(**OPTIONS).start(seed=0)
    for steps in (30, 301, 302, 303, 304, 305):  # in every place of a cycle
        play(learner, steps, sigma=0.05, seed=steps)
        twin = through_json(learner)
        plays = [play(each, 50, seed=1) for each in (learner, twin)]
        for one, other in zip(*plays, strict=True):
            np.testing.assert_array_equal(one.decision.action, other.decision.action)
            assert one.decision.cycle == other.decision.cycle
    assert learner.support == (0, 2)


def test_a_support_that_is_empty_is_explored_in_full() -> None:
    """On a box of non-negative actions nothing gains where theta is negative."""
    box = sb.Box(np.zeros(DIM), np.ones(DIM))
    learner = apsee(box, **OPTIONS).start(seed=0)
    plays = play(learner, 2000, theta=np.full(DIM, -1.0))
    assert learner.support == ()
    explored = [one.decision for one in plays[-200:] if one.decision.phase == "explore"]
    assert {int(np.flatnonzero(each.action)[0]) for each in explored} == set(range(DIM))


WORLDS: dict[str, dict[str, Any]] = {
    "known sigma": {"sigma": 0.3},
    "sigma estimated": {"sigma": "estimate"},
    "blocks": {"sigma": 0.3, "basis": "block-gaussian"},
    "all explored": {"sigma": 0.3, "explore_locked_only": False},
}


@pytest.mark.parametrize("kind", [sb.APSEE, sb.HedgedAPSEE])
@pytest.mark.parametrize("world", WORLDS)
def test_both_engines_have_the_same_bits(kind: Any, world: str) -> None:
    ball = sb.LpBall(6)
    policy = kind(action_set=ball, sparsity=2, **{**OPTIONS, **WORLDS[world]})
    noise = sb.Heteroscedastic(0.3, norm_bound=1.0) if world == "blocks" else sb.Gaussian(0.3)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube(), noise=noise)
    options: dict[str, Any] = {"horizon": 2500, "trials": 5, "seed": 4, "track_support": True}
    blocks = sb.simulate(policy, env, **options)
    lanes = sb.simulate(policy, env, **options, engine="lanes")
    assert blocks.locked_share > 0
    for name in ("locked_at", "support_correct", "theta_error", "overlap", "optimal_share"):
        np.testing.assert_array_equal(getattr(blocks, name), getattr(lanes, name), err_msg=name)
    np.testing.assert_allclose(blocks.regret, lanes.regret, rtol=1e-11)


def test_the_size_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock may fall anywhere in a block; what was drawn after it is drawn for other actions."""
    from sparsebandits.simulation import blockwise_engine

    ball = sb.LpBall(6)
    policy = sb.HedgedAPSEE(action_set=ball, sparsity=2, sigma=0.3)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.3))
    whole = sb.simulate(policy, env, 2500, 4, seed=4)
    monkeypatch.setattr(blockwise_engine, "_BLOCK", 200)
    small = sb.simulate(policy, env, 2500, 4, seed=4)
    np.testing.assert_array_equal(whole.regret, small.regret)
    np.testing.assert_array_equal(whole.theta_error, small.theta_error)


def test_the_warning_says_what_happens_until_the_lock() -> None:
    for make, words in ((apsee, "every step explores"), (hedged, "the waiting schedule")):
        learner = make(sigma=50.0, confidence="pairwise").start(seed=0)
        play(learner, 40)
        warning = learner.certificate(horizon=100).warning
        assert warning is not None
        assert words in warning
