"""Uniform delays: their range, their distribution, and their place in an environment."""

import json
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import sparsebandits as sb
from sparsebandits.environments import LinearEnvironment, UniformDelay, environment_from_dict


def environment(**changes: Any) -> LinearEnvironment:
    return LinearEnvironment(
        **{"action_set": sb.LpBall(3), "theta_star": [1.0, -0.5, 0.2], **changes}
    )


@pytest.mark.parametrize("longest", [0, 1, 7, 200])
def test_every_delay_from_zero_to_the_longest_is_drawn(longest: int) -> None:
    drawn = UniformDelay(longest).draw(np.random.default_rng(0), 5000)
    assert drawn.shape == (5000,)
    assert drawn.dtype == np.intp
    assert set(drawn.tolist()) == set(range(longest + 1))


@pytest.mark.parametrize("longest", [1, 9, 63])
def test_all_delays_are_equally_likely(longest: int) -> None:
    """Pearson's chi-square: a false alarm of 1e-7 for each."""
    n = 200_000
    drawn = UniformDelay(longest).draw(np.random.default_rng(1), n)
    counts = np.bincount(drawn, minlength=longest + 1)
    expected = n / (longest + 1)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-7, longest)
    # And one says nothing about the next.
    pairs = np.corrcoef(drawn[:-1], drawn[1:])[0, 1]
    assert abs(pairs) < 5.4 / np.sqrt(n)


def test_the_generator_decides() -> None:
    delay = UniformDelay(50)
    one, two = (delay.draw(np.random.default_rng(3), 20) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(delay.draw(rng, 0), [])
    np.testing.assert_array_equal(delay.draw(rng, 20), one)


def test_delays_are_values() -> None:
    assert UniformDelay(5) == UniformDelay(5) != UniformDelay(6)
    assert hash(UniformDelay(5)) == hash(UniformDelay(5))
    assert repr(UniformDelay(5)) == "UniformDelay(longest=5)"
    assert pickle.loads(pickle.dumps(UniformDelay(5))) == UniformDelay(5)
    name = "longest"
    with pytest.raises(FrozenInstanceError):
        setattr(UniformDelay(5), name, 6)


def test_a_delay_is_read_back() -> None:
    lengths: list[Any] = [0, 7, np.int64(200)]
    for longest in lengths:
        delay = UniformDelay(longest)
        again = UniformDelay.from_dict(json.loads(json.dumps(delay.to_dict())))
        assert again == delay
        assert isinstance(delay.longest, int)


@pytest.mark.parametrize("longest", [-1, 1.5, "3", None, True, float("inf"), [2]])
def test_wrong_lengths_are_refused(longest: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="longest must be"):
        UniformDelay(longest)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "A delay must be of kind 'uniform', got None"),
        ({"kind": "uniform"}, "does not take the keys"),
        ({"kind": "uniform", "longest": 3, "more": 1}, "does not take the keys"),
        (["uniform", 3], "A delay must be a table of keys"),
        (3, "A delay must be a table of keys"),
        ({"kind": "poisson", "longest": 3}, "A delay must be of kind 'uniform', got 'poisson'"),
        ({"kind": None, "longest": 3}, "A delay must be of kind 'uniform', got None"),
        ({"kind": "uniform", "longest": -3}, "longest must be at least 0"),
        ({"kind": "uniform", "longest": "x"}, "longest must be an integer"),
    ],
)
def test_wrong_descriptions_are_refused(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        UniformDelay.from_dict(data)
    with pytest.raises(sb.SparseBanditsError, match=message):
        environment_from_dict({**environment().to_dict(), "delay": data})


def test_an_environment_keeps_its_delay() -> None:
    late, prompt = environment(delay=UniformDelay(9)), environment()
    assert prompt.delay is None
    assert late.delay == UniformDelay(9)
    assert late != prompt
    assert late == environment(delay=UniformDelay(9))
    assert late != environment(delay=UniformDelay(8))
    assert hash(late) == hash(environment(delay=UniformDelay(9)))
    assert "delay=UniformDelay(longest=9)" in repr(late)
    assert "delay" not in repr(prompt)
    for env in (late, prompt):
        again = environment_from_dict(json.loads(json.dumps(env.to_dict())))
        assert again == env
        assert again.delay == env.delay
    assert "delay" not in prompt.to_dict()
    assert environment_from_dict({**prompt.to_dict(), "delay": None}) == prompt
    moving = LinearEnvironment(
        action_sets=sb.RandomAvailability(sb.LpBall(3), 0.5),
        theta_star=sb.UniformCube(),
        delay=UniformDelay(2),
    )
    assert environment_from_dict(moving.to_dict()) == moving


@pytest.mark.parametrize("delay", [3, "uniform", {"kind": "uniform", "longest": 3}, UniformDelay])
def test_what_is_no_delay_is_refused(delay: Any) -> None:
    with pytest.raises(sb.InvalidTypeError, match=r"delay must be a delay such as UniformDelay"):
        environment(delay=delay)
