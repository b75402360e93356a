"""Gram statistics against plain least squares, and over ten million updates."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.estimation import GramStatistics
from sparsebandits.validation import FloatArray


def data(seed: int, n: int = 40, dim: int = 5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, dim)), rng.standard_normal(n) + 2.0


def filled(actions: FloatArray, rewards: FloatArray) -> GramStatistics:
    statistics = GramStatistics(actions.shape[1])
    for x, reward in zip(actions, rewards, strict=True):
        statistics.add(x, reward)
    return statistics


def test_estimate_is_least_squares() -> None:
    actions, rewards = data(1)
    statistics = filled(actions, rewards)
    expected, residuals, *_ = np.linalg.lstsq(actions, rewards, rcond=None)
    inverse = np.linalg.inv(actions.T @ actions)
    np.testing.assert_allclose(statistics.estimate(), expected, rtol=1e-10)
    np.testing.assert_allclose(statistics.gram, actions.T @ actions)
    np.testing.assert_allclose(statistics.response, actions.T @ rewards)
    np.testing.assert_allclose(statistics.coordinate_variance, np.diag(inverse))
    assert statistics.reward_squares == pytest.approx((rewards**2).sum())
    assert statistics.residual_squares == pytest.approx(residuals[0])
    assert statistics.largest_variance == pytest.approx(np.linalg.eigvalsh(inverse)[-1])
    assert statistics.count == 40


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 2.0])
def test_ridge_and_the_factor(ridge: float) -> None:
    actions, rewards = data(2)
    statistics = filled(actions, rewards)
    regularised = actions.T @ actions + ridge * np.eye(5)
    expected = np.linalg.solve(regularised, actions.T @ rewards)
    factor = statistics.covariance_factor(ridge)
    np.testing.assert_allclose(statistics.estimate(ridge), expected, rtol=1e-10)
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(regularised), rtol=1e-9, atol=1e-15)


def test_ridge_alone_gives_zero() -> None:
    np.testing.assert_array_equal(GramStatistics(3).estimate(ridge=1.0), np.zeros(3))


def test_sparse_actions_and_blocks_give_the_same_sums() -> None:
    actions, rewards = data(3, n=60, dim=12)
    actions[np.random.default_rng(3).random(actions.shape) < 0.8] = 0.0
    one_by_one = filled(actions, rewards)
    in_blocks = GramStatistics(12)
    in_blocks.add_many(actions[:13], rewards[:13])
    in_blocks.add_many(actions[13:], rewards[13:])
    assert in_blocks.count == one_by_one.count
    np.testing.assert_allclose(one_by_one.gram, actions.T @ actions, atol=1e-12)
    np.testing.assert_allclose(in_blocks.gram, one_by_one.gram, atol=1e-12)
    np.testing.assert_allclose(in_blocks.estimate(), one_by_one.estimate(), rtol=1e-9)
    assert in_blocks.reward_squares == pytest.approx(one_by_one.reward_squares)


def test_the_factor_follows_the_data() -> None:
    actions, rewards = data(4)
    statistics = filled(actions[:20], rewards[:20])
    before = statistics.estimate()
    statistics.add(actions[20], rewards[20])
    assert not np.array_equal(statistics.estimate(), before)
    statistics.add_many(actions[21:], rewards[21:])
    expected = np.linalg.lstsq(actions, rewards, rcond=None)[0]
    np.testing.assert_allclose(statistics.estimate(), expected, rtol=1e-10)


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 10**6), rank=st.integers(1, 6), exponent=st.integers(-20, 20), n=st.just(30)
)
def test_identified_means_full_rank_whatever_the_units(
    seed: int, rank: int, exponent: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    actions = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, 6))
    if rank == 6:
        actions = rng.standard_normal((n, 6))
    actions *= 10.0 ** np.array([exponent, 0, 1, -exponent, 2, 0])
    statistics = GramStatistics(6)
    statistics.add_many(actions, rng.standard_normal(n))
    assert statistics.is_identified == (rank == 6)


def test_very_different_units_are_solved() -> None:
    actions, rewards = data(5)
    units = np.array([1e-12, 1.0, 1e9, 1e3, 1e-3])
    expected = np.linalg.lstsq(actions, rewards, rcond=None)[0]
    solved = filled(actions * units, rewards).estimate()
    np.testing.assert_allclose(solved * units, expected, rtol=1e-9)


def test_ten_million_updates_keep_nine_digits_and_more() -> None:
    """Against extended precision; ill-conditioned on purpose (condition number about 400)."""
    rng = np.random.default_rng(6)
    statistics = GramStatistics(3)
    exact = np.zeros((4, 4), dtype=np.longdouble)
    theta = np.array([1.0, -2.0, 0.5])
    for _ in range(50):
        actions = rng.random((200_000, 3)) * 0.1 + 1.0
        rewards = actions @ theta + 0.5 * rng.standard_normal(200_000)
        statistics.add_many(actions, rewards)
        z = np.column_stack([actions, rewards])
        for i in range(4):
            for j in range(i + 1):
                exact[i, j] += (z[:, i].astype(np.longdouble) * z[:, j]).sum()
    exact = np.tril(exact) + np.tril(exact, -1).T
    expected = solved_exactly(exact[:3, :3], exact[:3, 3])
    assert statistics.count == 10_000_000
    error = np.abs(statistics.estimate() - expected).max() / np.abs(expected).max()
    print(f"relative error after 10^7 updates: {error:.1e}")
    assert error < 1e-9


def solved_exactly(matrix: Any, vector: Any) -> FloatArray:
    """Gaussian elimination in fractions."""
    size = len(vector)
    rows = [[Fraction(*x.as_integer_ratio()) for x in [*matrix[i], vector[i]]] for i in range(size)]
    for i in range(size):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])


def test_single_updates_do_not_drift() -> None:
    """The same addition 10^5 times: a plain sum is off by 8e-13 here and by 1.4e-10 at 10^7.

    The error of the compensated sum is 1e-16 and does not grow, so 10^7 is like 10^5.
    """
    statistics = GramStatistics(2)
    plain = 0.0
    for _ in range(100_000):
        statistics.add([0.1, 0.0], 0.3)
        plain += 0.1 * 0.1
    exact = float(100_000 * Fraction(0.1 * 0.1))
    assert abs(plain / exact - 1) > 1e-13
    assert statistics.gram[0, 0] == pytest.approx(exact, rel=4e-16)
    assert statistics.response[0] == pytest.approx(float(100_000 * Fraction(0.1 * 0.3)), rel=4e-16)
    assert statistics.reward_squares == pytest.approx(
        float(100_000 * Fraction(0.3 * 0.3)), rel=4e-16
    )


def test_json_keeps_every_bit_and_goes_on_alike() -> None:
    actions, rewards = data(7)
    statistics = filled(actions, rewards)
    restored = GramStatistics.from_dict(json.loads(json.dumps(statistics.to_dict())))
    assert restored == statistics
    assert restored.count == 40
    for x, reward in zip(actions, rewards, strict=True):
        statistics.add(x, reward)
        restored.add(x, reward)
    assert restored.to_dict() == statistics.to_dict()
    assert restored.estimate().tobytes() == statistics.estimate().tobytes()


def test_too_few_actions_are_refused() -> None:
    statistics = GramStatistics(3)
    statistics.add_many([[1, 0, 0], [1, 1, 0], [0, 1, 0]], [1.0, 2.0, 3.0])
    with pytest.raises(sb.InvalidValueError, match="3 actions so far do not span all 3"):
        statistics.estimate()
    statistics.add([1.0, 0.0, 0.0], 1.0)
    np.testing.assert_allclose(statistics.estimate(ridge=1e-30)[2], 0.0)
    tied = GramStatistics(2)
    tied.add([1.0, 1.0], 1.0)
    with pytest.raises(sb.InvalidValueError, match="ridge = 1e-30 does not make up"):
        tied.estimate(ridge=1e-30)
    with pytest.raises(sb.InvalidValueError, match="ridge must be non-negative"):
        statistics.estimate(ridge=-1.0)
    with pytest.raises(sb.InvalidValueError, match="ridge must be a finite number"):
        statistics.covariance_factor(ridge=math.nan)


@pytest.mark.parametrize(
    ("x", "reward", "message"),
    [
        ([1.0], 1.0, "x must have 2 coordinates"),
        ([math.nan, 1.0], 1.0, "x must be finite"),
        ([1e200, 1.0], 1.0, "x must be smaller"),
        ([1.0, 1.0], math.nan, "reward must be a finite number"),
        ([1.0, 1.0], 1e200, "reward must be smaller"),
        ("ab", 1.0, "x must be an array of numbers"),
    ],
)
def test_bad_data_change_nothing(x: Any, reward: float, message: str) -> None:
    statistics = GramStatistics(2)
    with pytest.raises(sb.SparseBanditsError, match=message):
        statistics.add(x, reward)
    assert statistics == GramStatistics(2)


def test_blocks_are_checked() -> None:
    statistics = GramStatistics(2)
    with pytest.raises(sb.InvalidValueError, match="2 rewards and 1 actions"):
        statistics.add_many([[1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(sb.InvalidValueError, match="reward must be smaller"):
        statistics.add_many([[1.0, 2.0]], [-1e200])
    with pytest.raises(sb.InvalidValueError, match="rewards must be finite"):
        statistics.add_many([[1.0, 2.0]], [math.nan])


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"count": 1, "moments": [[1.0]], "lost": [[0.0]]},
        {"count": 1, "moments": [[1.0, 0.0]], "lost": [[0.0, 0.0]]},
        {"count": -1, "moments": np.eye(2).tolist(), "lost": np.eye(2).tolist()},
        {"count": 1, "moments": [[math.nan, 0], [0, 1]], "lost": np.eye(2).tolist()},
    ],
)
def test_broken_states_are_refused(broken: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="must"):
        GramStatistics.from_dict(broken)
