"""Arm statistics against plain least squares on the raw rewards."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.estimation import ArmStatistics
from sparsebandits.exploration import Basis, DiagonalBasis
from sparsebandits.validation import FloatArray
from tests.exploration.examples import DIM, example_bases

each_basis = pytest.mark.parametrize("basis", example_bases(), ids=lambda basis: basis.kind)


def filled(arms: list[int], rewards: Iterable[float], dim: int = DIM) -> ArmStatistics:
    statistics = ArmStatistics(dim)
    for arm, reward in zip(arms, rewards, strict=True):
        statistics.add(arm, reward)
    return statistics


def uneven_data(seed: int) -> tuple[list[int], FloatArray]:
    rng = np.random.default_rng(seed)
    arms = [*range(DIM), *rng.integers(0, DIM, 40).tolist()]
    return arms, rng.standard_normal(len(arms)) + np.array(arms)


@each_basis
def test_estimate_is_least_squares_whatever_the_counts(basis: Basis) -> None:
    arms, rewards = uneven_data(1)
    statistics = filled(arms, rewards)
    expected = np.linalg.lstsq(basis.actions[arms], rewards, rcond=None)[0]
    assert len(set(statistics.counts.tolist())) >= 3
    np.testing.assert_allclose(statistics.estimate(basis), expected, rtol=1e-9, atol=1e-9)


@each_basis
def test_complete_cycles_give_the_papers_formula(basis: Basis) -> None:
    rewards = np.random.default_rng(2).standard_normal((5, DIM))
    statistics = filled(list(range(DIM)) * 5, rewards.ravel())
    total = sum(
        (basis.action(k) * rewards[s, k] for s in range(5) for k in range(DIM)), np.zeros(DIM)
    )
    expected = np.linalg.solve(5 * basis.gram, total)  # eqn:sparse-PEE-ols
    assert statistics.replications == 5
    np.testing.assert_allclose(statistics.estimate(basis), expected, rtol=1e-8, atol=1e-9)


def test_moments_are_those_of_the_raw_rewards() -> None:
    arms, rewards = uneven_data(3)
    statistics = filled(arms, rewards)
    groups = [rewards[np.array(arms) == k] for k in range(DIM)]
    assert statistics.counts.tolist() == [len(g) for g in groups]
    np.testing.assert_allclose(statistics.sums, [g.sum() for g in groups])
    np.testing.assert_allclose(statistics.means, [g.mean() for g in groups])
    expected = [((g - g.mean()) ** 2).sum() for g in groups]
    np.testing.assert_allclose(statistics.squares, expected, atol=1e-12)
    assert statistics.residual_squares == pytest.approx(sum(expected))
    assert statistics.degrees_of_freedom == len(arms) - DIM


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), max_size=40))
def test_replications_is_always_the_smallest_count(arms: list[int]) -> None:
    statistics = ArmStatistics(4)
    for n, arm in enumerate(arms, start=1):
        statistics.add(arm, 1.0)
        assert statistics.replications == min(arms[:n].count(k) for k in range(4))


def test_a_large_offset_does_not_spoil_the_variance() -> None:
    noise = np.random.default_rng(4).standard_normal(2000)
    statistics = filled([0] * 2000, noise + 1e8, dim=1)
    expected = (((noise + 1e8) - (noise + 1e8).mean()) ** 2).sum()
    assert statistics.residual_squares == pytest.approx(expected, rel=1e-6)


def test_a_million_rewards_lose_nothing_that_matters() -> None:
    rewards = (0.1 + np.random.default_rng(5).standard_normal(1_000_000)).tolist()
    statistics = ArmStatistics(1)
    for reward in rewards:
        statistics.add(0, reward)
    mean = math.fsum(rewards) / len(rewards)
    squares = math.fsum((reward - mean) ** 2 for reward in rewards)
    assert statistics.means[0] == pytest.approx(mean, rel=1e-12)
    assert statistics.residual_squares == pytest.approx(squares, rel=1e-12)


def test_merging_equals_seeing_everything() -> None:
    arms, rewards = uneven_data(6)
    rewards += 1000.0
    first, second = filled(arms[:25], rewards[:25]), filled(arms[25:], rewards[25:])
    merged, whole = first.merged(second), filled(arms, rewards)
    assert merged.counts.tolist() == whole.counts.tolist()
    assert merged.replications == whole.replications
    np.testing.assert_allclose(merged.sums, whole.sums)
    np.testing.assert_allclose(merged.squares, whole.squares, atol=1e-8)
    empty = ArmStatistics(DIM)
    assert whole.merged(empty) == whole
    assert empty.merged(whole) == whole


def test_json_keeps_every_bit_and_goes_on_alike() -> None:
    arms, rewards = uneven_data(7)
    statistics = filled(arms, rewards / 3)
    restored = ArmStatistics.from_dict(json.loads(json.dumps(statistics.to_dict())))
    assert restored == statistics
    for arm, reward in zip(arms, rewards, strict=True):
        statistics.add(arm, reward)
        restored.add(arm, reward)
    assert restored.to_dict() == statistics.to_dict()
    assert restored.replications == statistics.replications
    assert restored.squares.tobytes() == statistics.squares.tobytes()


def test_what_is_handed_out_is_a_copy() -> None:
    statistics = filled([0, 1], np.array([1.0, 2.0]), dim=2)
    statistics.sums[0] = statistics.squares[0] = 9.0
    statistics.counts[0] = 9
    assert statistics.to_dict() == {"counts": [1, 1], "sums": [1.0, 2.0], "squares": [0.0, 0.0]}


@pytest.mark.parametrize("kind", [float, np.float64, int])
def test_rewards_of_every_kind_of_number_are_taken(kind: type[Any]) -> None:
    assert filled([0], [kind(3)], dim=1).to_dict()["sums"] == [3.0]


def test_a_missing_arm_is_named() -> None:
    statistics = filled([0, 2], np.array([1.0, 2.0]), dim=4)
    with pytest.raises(sb.InvalidValueError, match=r"actions 1, 3 have none yet"):
        statistics.estimate(DiagonalBasis([1.0] * 4))


@pytest.mark.parametrize("reward", [math.nan, math.inf, 1e101, np.float64("nan"), "1.0", None])
def test_bad_rewards_change_nothing(reward: Any) -> None:
    statistics = ArmStatistics(2)
    with pytest.raises(sb.SparseBanditsError, match="reward must be"):
        statistics.add(0, reward)
    assert statistics == ArmStatistics(2)


@pytest.mark.parametrize("arm", [-1, 2])
def test_unknown_arms_are_refused(arm: int) -> None:
    with pytest.raises(sb.InvalidValueError, match=r"arm must lie in 0..1"):
        ArmStatistics(2).add(arm, 1.0)


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"counts": [1], "sums": [1.0]},
        {"counts": [1, 1], "sums": [1.0], "squares": [0.0]},
        {"counts": [-1], "sums": [1.0], "squares": [0.0]},
        {"counts": [0.5], "sums": [1.0], "squares": [0.0]},
        {"counts": [1], "sums": [math.nan], "squares": [0.0]},
        {"counts": [1], "sums": [1.0], "squares": [-1.0]},
    ],
)
def test_broken_states_are_refused(data: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match=r"must"):
        ArmStatistics.from_dict(data)


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(sb.InvalidValueError, match="same dim, got 2 and 3"):
        ArmStatistics(2).merged(ArmStatistics(3))
