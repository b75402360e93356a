"""The environment and its interactive side: rewards, refusals, and theta* out of reach."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    Alternating,
    FixedSet,
    Gaussian,
    Heteroscedastic,
    LinearEnvironment,
    PeriodicAvailability,
    UniformCube,
    environment_from_dict,
)
from sparsebandits.validation import FloatArray
from tests.environments.examples import NOISE_EXAMPLES, SAMPLER_EXAMPLES, SEQUENCE_EXAMPLES

THETA = np.array([0.31, -1.7, 0.052, 0.9])


def fixed(**changes: Any) -> LinearEnvironment:
    return LinearEnvironment(**{"action_set": sb.LpBall(4), "theta_star": THETA, **changes})


def test_rewards_have_the_right_mean_and_noise() -> None:
    session = fixed(noise=Gaussian(0.3)).start(seed=0, sparsity=2)
    action = np.array([0.6, -0.8, 0.0, 0.0])
    rewards = np.array([session.pull(action) for _ in range(5000)])
    mean = 0.31 * 0.6 + 1.7 * 0.8
    assert session.mean(action) == pytest.approx(mean, abs=1e-14)
    # 5 standard errors each: a false alarm of 6e-7.
    assert abs(rewards.mean() - mean) < 5 * 0.3 / math.sqrt(5000)
    assert abs(rewards.std() - 0.3) < 5 * 0.3 / math.sqrt(10_000)
    assert session.step == 5000


def test_rewards_are_the_mean_plus_scaled_draws_of_the_noise_stream() -> None:
    noise = Heteroscedastic(0.5, norm_bound=1.0, floor=0.1)
    session = fixed(noise=noise).session(THETA, np.random.default_rng(9))
    draws = noise.draw(np.random.default_rng(9), 50)
    actions = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 4))
    for action, draw in zip(actions, draws, strict=True):
        expected = THETA @ action + noise.scale_of(action) * draw
        assert session.pull(action) == pytest.approx(expected, abs=1e-14)


def test_without_noise_the_reward_is_the_mean() -> None:
    session = fixed(noise=Gaussian(0.0)).start(seed=0, sparsity=1)
    assert session.pull([0, 1, 0, 0]) == session.mean([0, 1, 0, 0]) == -1.7


def test_the_seed_decides_everything() -> None:
    env = fixed(theta_star=UniformCube())
    action = [1.0, 0.0, 0.0, 0.0]
    first, again, other = (env.start(seed=seed, sparsity=1) for seed in (3, 3, 4))
    assert [first.pull(action) for _ in range(5)] == [again.pull(action) for _ in range(5)]
    assert first.mean(action) == again.mean(action) != other.mean(action)


def test_the_noise_does_not_depend_on_the_actions() -> None:
    env = fixed()
    one, two = (env.start(seed=5, sparsity=1) for _ in range(2))
    here, there = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -0.5]
    first = [one.pull(here) - one.mean(here) for _ in range(10)]
    second = [two.pull(there) - two.mean(there) for _ in range(10)]
    np.testing.assert_allclose(first, second, atol=1e-14)


def test_draw_theta_is_the_given_one_or_a_draw() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert (fixed().draw_theta(rng, 2) == THETA).all()
    assert rng.bit_generator.state == before
    drawn = fixed(theta_star=UniformCube()).draw_theta(np.random.default_rng(1), 2)
    assert (drawn == UniformCube().draw(np.random.default_rng(1), 4, 2)).all()
    with pytest.raises(sb.InvalidValueError, match="sparsity"):
        fixed().draw_theta(rng, 5)


def test_the_given_theta_is_copied_and_read_only() -> None:
    own = THETA.copy()
    env = fixed(theta_star=own)
    own[:] = 0
    theta = env.draw_theta(np.random.default_rng(0), 1)
    assert (theta == THETA).all()
    with pytest.raises(ValueError, match="read-only"):
        theta[0] = 1.0


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([1.0, 0.0, 0.0], r"action must have shape \(4,\), .* got shape \(3,\)"),
        ([[1.0, 0.0, 0.0, 0.0]], r"got shape \(1, 4\)"),
        (1.0, r"got shape \(\)"),
        ([0.0, math.nan, 0.0, 0.0], "action must be finite, got nan at index 1"),
        ([0.0, 0.0, math.inf, 0.0], "action must be finite, got inf at index 2"),
        ("up", "action must be an array of numbers.*got 'up'"),
        ([1.0, 1.0, 0.0, 0.0], r"action is not in LpBall\(.*\) at step 0, got \[1.0, 1.0"),
        ([0.1, 0.1, 0.1, 0.0], "at most H = 2 coordinates, got 3 non-zeros"),
    ],
)
def test_wrong_actions_are_refused_and_cost_nothing(action: Any, message: str) -> None:
    env, good = fixed(), [0.0, 1.0, 0.0, 0.0]
    session, undisturbed = env.start(seed=0, sparsity=2), env.start(seed=0, sparsity=2)
    with pytest.raises(sb.SparseBanditsError, match=message):
        session.pull(action)
    assert session.step == 0
    assert session.pull(good) == undisturbed.pull(good)


def test_the_mean_of_an_infeasible_action_can_be_asked_for() -> None:
    session = fixed().start(seed=0, sparsity=1)
    assert session.mean([1, 1, 1, 1]) == pytest.approx(THETA.sum())
    with pytest.raises(sb.InvalidValueError, match="shape"):
        session.mean([1, 1])
    with pytest.raises(sb.InvalidValueError, match="finite"):
        session.mean([1, 1, math.nan, 1])


def test_the_set_moves_with_the_steps() -> None:
    shifts = PeriodicAvailability(sb.LpBall(4), [[0, 1], [2, 3]])
    env = LinearEnvironment(action_sets=shifts, theta_star=THETA)
    assert env.action_sets is shifts
    assert env.action_set is shifts.base
    session = env.start(seed=0, sparsity=1)
    session.pull([0.0, 1.0, 0.0, 0.0])
    assert session.action_set.available.tolist() == [False, False, True, True]
    with pytest.raises(sb.InvalidValueError, match=r"not in LpBall.* at step 1"):
        session.pull([0.0, 1.0, 0.0, 0.0])
    session.pull([0.0, 0.0, 1.0, 0.0])
    session.pull([1.0, 0.0, 0.0, 0.0])
    assert session.step == 3


def test_a_fixed_set_is_a_sequence_that_does_not_move() -> None:
    env = fixed()
    assert env.action_sets == FixedSet(env.action_set)
    assert env.dim == 4
    assert env.sigma == env.noise.sigma == 0.5
    assert LinearEnvironment(action_sets=FixedSet(sb.LpBall(4)), theta_star=THETA) == env


def test_environments_and_sessions_can_be_read() -> None:
    env = fixed(noise=Gaussian(0.25))
    assert repr(env) == (
        "LinearEnvironment(LpBall(dim=4, p=2, radius=1), theta_star=fixed, "
        "noise=Gaussian(sigma=0.25))"
    )
    session = env.start(seed=0, sparsity=2)
    assert repr(session) == "EnvironmentSession(LpBall(dim=4, p=2, radius=1), sparsity=2, step=0)"
    assert (session.dim, session.sparsity, session.names) == (4, 2, None)
    for name in ("theta_star", "action_set", "noise"):
        with pytest.raises(FrozenInstanceError):
            setattr(env, name, None)


def environments() -> list[LinearEnvironment]:
    ball, names = sb.LpBall(4, p=np.inf), ["a", "b", "c", "d"]
    return [
        *(fixed(noise=noise) for noise in NOISE_EXAMPLES),
        *(fixed(theta_star=sampler, names=names) for sampler in SAMPLER_EXAMPLES),
        *(
            LinearEnvironment(action_sets=sequence, theta_star=UniformCube())
            for sequence in SEQUENCE_EXAMPLES
        ),
        LinearEnvironment(action_set=ball.restrict([1, 2]), theta_star=THETA),
    ]


def test_round_trips() -> None:
    everything = environments()
    for number, env in enumerate(everything):
        read = environment_from_dict(json.loads(json.dumps(env.to_dict(), allow_nan=False)))
        for copy in (read, pickle.loads(pickle.dumps(env))):
            assert copy == env
            assert hash(copy) == hash(env)
            zero = np.zeros(env.dim)
            rewards = [one.start(seed=1, sparsity=1).pull(zero) for one in (env, copy)]
            assert rewards[0] == rewards[1]
            probe = np.arange(env.dim) + 1.0
            means = [one.start(seed=1, sparsity=1).mean(probe) for one in (env, copy)]
            assert means[0] == means[1]
        assert all(env != other for other in everything[:number])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action_set": None}, "exactly one of action_set .* and action_sets"),
        ({"action_sets": FixedSet(sb.LpBall(4))}, "exactly one of action_set .* and action_sets"),
        ({"action_set": None, "action_sets": sb.LpBall(4)}, "action_sets must be a sequence"),
        ({"action_set": [1.0]}, "action_set must be an action set"),
        ({"action_set": FixedSet(sb.LpBall(4))}, "action_set must be an action set"),
        ({"theta_star": [1.0, 2.0]}, "theta_star must have one entry per .* 4, got 2"),
        ({"theta_star": [[1.0] * 4]}, "theta_star must be a non-empty array with 1 axes"),
        ({"theta_star": [1.0, 2.0, math.nan, 4.0]}, "theta_star must be finite, got nan"),
        ({"theta_star": UniformCube}, r"got the class UniformCube; write UniformCube\("),
        ({"theta_star": "cube"}, "theta_star must be an array"),
        ({"noise": 0.5}, r"noise must be a noise such as Gaussian\(0.5\), got 0.5"),
        ({"names": "abcd"}, "names must be a list of strings"),
        ({"names": 4}, "names must be a list of strings"),
        ({"names": [1, 2, 3, 4]}, "names must be strings"),
        ({"names": ["a", "b"]}, "names must be 4 different strings, .* got 2"),
        ({"names": ["a", "b", "b", "c"]}, "got 4 of which 3 differ"),
    ],
)
def test_parts_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        fixed(**changes)


def test_session_arguments_are_checked() -> None:
    env = fixed()
    for seed in (-1, 0.5):
        wrong: Any = seed
        with pytest.raises(sb.SparseBanditsError, match="seed must be"):
            env.start(seed=wrong, sparsity=1)
    with pytest.raises(sb.InvalidValueError, match="sparsity"):
        env.start(seed=0, sparsity=5)
    with pytest.raises(sb.InvalidValueError, match="theta_star must have one entry"):
        env.session([1.0], np.random.default_rng(0))
    number: Any = 0
    with pytest.raises(sb.InvalidTypeError, match="rng must be"):
        env.session(THETA, number)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "An environment must be a table"),
        ({"theta": []}, r"An environment does not take the keys \['theta'\]"),
        ({"action_set": {"kind": "lp-ball", "dim": 2}, "theta_star": {"kind": "x"}}, "A parameter"),
        ({"action_set": {"kind": "lp-ball", "dim": 2}, "theta_star": "x"}, "theta_star must be"),
        ({"noise": {"kind": "x"}}, "A noise must be of kind"),
    ],
)
def test_unreadable_descriptions_are_refused(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        environment_from_dict(data)


# ---------------------------------------------------------------------- theta* stays out of reach


def holds(value: object, secret: FloatArray) -> bool:
    """Whether an array or list equals theta*, or a number equals one of its entries."""
    if isinstance(value, np.ndarray):
        return value.dtype == np.float64 and bool(np.isin(secret, value).any())
    return isinstance(value, float) and bool((secret == value).any())


def reaches(root: object, secret: FloatArray) -> bool:
    """Walk all attributes, items and properties that can be reached from `root`."""
    seen: set[int] = set()
    kept: list[object] = [root]
    waiting: list[object] = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if holds(value, secret):
            return True
        parts: list[object] = list(getattr(value, "__dict__", {}).values())
        if isinstance(value, dict):
            parts += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set)):
            parts += value
        elif type(value).__module__.startswith("sparsebandits"):
            names = [
                name for name in dir(type(value)) if isinstance(vars_of(value, name), property)
            ]
            parts += [attribute(value, name) for name in names]
        # Kept alive, so that no id is used twice.
        kept += parts
        waiting += parts
    return False


def vars_of(value: object, name: str) -> object:
    return next((vars(cls)[name] for cls in type(value).__mro__ if name in vars(cls)), None)


def attribute(value: object, name: str) -> object:
    try:
        return getattr(value, name)
    except sb.SparseBanditsError:
        return None


@pytest.mark.parametrize("moving", [False, True])
def test_nothing_that_a_learner_receives_leads_to_theta_star(moving: bool) -> None:
    ball, names = sb.LpBall(4), ["a", "b", "c", "d"]
    env = (
        LinearEnvironment(
            action_sets=Alternating([ball, sb.LpBall(4, p=1.5)]), theta_star=THETA, names=names
        )
        if moving
        else fixed(names=names)
    )
    session = env.start(seed=0, sparsity=2)
    session.pull([1.0, 0.0, 0.0, 0.0])
    assert reaches(env, THETA)
    for handed in (env.action_set, env.action_sets, env.names, env.sigma, env.noise):
        assert not reaches(handed, THETA)
    assert not reaches(session, THETA)
    assert not reaches(session.action_set, THETA)
    assert not hasattr(session, "theta_star")
    assert not hasattr(session, "theta")
