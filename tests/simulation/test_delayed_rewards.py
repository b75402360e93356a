"""The mailbox: every reward comes once, after its delay, in the order in which it was sent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.simulation import lanes_engine
from sparsebandits.simulation.lanes_engine import Mailbox
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import IntArray


def environment(longest: int | None) -> sb.LinearEnvironment:
    delay = None if longest is None else sb.UniformDelay(longest)
    return sb.LinearEnvironment(action_set=sb.LpBall(2), theta_star=[1.0, 0.0], delay=delay)


def deliver(longest: int | None, steps: int, seed: int = 3, trial: int = 1) -> list[list[int]]:
    """Send the number of every step, and return what arrives after each."""
    box: Mailbox[int] = Mailbox(environment(longest), seed, trial)
    arrived = []
    for step in range(1, steps + 1):
        box.post(step, step)
        arrived.append(box.arrivals(step))
    return arrived


def delays_of(arrived: list[list[int]]) -> dict[int, int]:
    return {sent: step - sent for step, some in enumerate(arrived, start=1) for sent in some}


def drawn(longest: int, blocks: int, seed: int = 3, trial: int = 1) -> IntArray:
    """The delays of the trial's stream, block after block."""
    rng = stream(seed, trial, Stream.DELAY)
    return np.concatenate(
        [sb.UniformDelay(longest).draw(rng, lanes_engine._DELAY_BLOCK) for _ in range(blocks)]
    )


@pytest.mark.parametrize("longest", [None, 0])
def test_without_a_delay_each_reward_comes_at_once(longest: int | None) -> None:
    assert deliver(longest, 50) == [[step] for step in range(1, 51)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(longest=st.integers(0, 60), steps=st.integers(1, 200), seed=st.integers(0, 10**6))
def test_everything_arrives_once_in_its_time_and_in_order(
    longest: int, steps: int, seed: int
) -> None:
    arrived = deliver(longest, steps, seed)
    delays, plan = delays_of(arrived), drawn(longest, 1, seed)
    assert sum(map(len, arrived)) == len(delays)
    for sent in range(1, steps + 1):
        late_by = int(plan[sent - 1])
        if sent + late_by <= steps:
            assert delays[sent] == late_by
        else:
            assert sent not in delays  # beyond the horizon
    for some in arrived:
        assert some == sorted(some)


def test_the_delays_go_on_beyond_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_engine, "_DELAY_BLOCK", 16)
    arrived = deliver(9, 100)
    plan = drawn(9, 7)
    for sent, late_by in delays_of(arrived).items():
        assert late_by == plan[sent - 1]
    assert len(delays_of(arrived)) >= 91
    assert len(set(plan[:16].tolist()) & set(plan[16:32].tolist())) > 0
    assert plan[:16].tolist() != plan[16:32].tolist()


def test_rewards_overtake_each_other() -> None:
    order = [sent for some in deliver(20, 300) for sent in some]
    assert order != sorted(order)
    assert set(range(1, 281)) <= set(order)


def test_a_trial_has_delays_of_its_own_and_always_the_same() -> None:
    assert deliver(30, 80) == deliver(30, 80)
    assert deliver(30, 80, trial=1) != deliver(30, 80, trial=2)
    assert deliver(30, 80, seed=3) != deliver(30, 80, seed=4)


def test_nothing_arrives_twice() -> None:
    box: Mailbox[str] = Mailbox(environment(None), 0, 0)
    box.post(1, "a")
    box.post(1, "b")
    assert box.arrivals(1) == ["a", "b"]
    assert box.arrivals(1) == []
    assert box.arrivals(2) == []


def test_a_delay_beyond_the_horizon_teaches_nothing() -> None:
    """With delays of thousands of steps hardly any reward is told, and no engine minds."""
    ball = sb.LpBall(3)
    env = sb.LinearEnvironment(
        action_set=ball, theta_star=[1.0, 0.0, 0.5], delay=sb.UniformDelay(10**12)
    )
    policies: list[sb.Policy] = [
        sb.LinTS(action_set=ball, sparsity=1),
        sb.CompactAPSEEG(action_set=ball, sparsity=1),
    ]
    lin_ts, compact = sb.simulate(policies, env, horizon=50, trials=2, seed=0)
    np.testing.assert_allclose(lin_ts.theta_error, np.linalg.norm([1.0, 0.0, 0.5]))
    assert np.isnan(compact.theta_error).all()
