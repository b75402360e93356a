"""Arm statistics against plain least squares on the raw rewards."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsebandits.estimation import ArmLanes
from sparsebandits.exploration import Basis
from sparsebandits.validation import FloatArray
from tests.exploration.examples import DIM, example_bases

each_basis = pytest.mark.parametrize("basis", example_bases(), ids=lambda basis: basis.kind)


def filled(arms: Iterable[int], rewards: Iterable[float], dim: int = DIM) -> ArmLanes:
    data, lane = ArmLanes(1, dim), np.array([0])
    for arm, reward in zip(arms, rewards, strict=True):
        data.add(lane, np.array([arm]), np.array([reward]))
    return data


def uneven_data(seed: int, count: int = DIM) -> tuple[list[int], FloatArray]:
    rng = np.random.default_rng(seed)
    arms = [*range(count), *rng.integers(0, count, 40).tolist()]
    return arms, rng.standard_normal(len(arms)) + np.array(arms)


@each_basis
def test_estimate_is_least_squares_whatever_the_counts(basis: Basis) -> None:
    arms, rewards = uneven_data(1, basis.count)
    data = filled(arms, rewards, dim=basis.count)
    columns = basis.actions[arms]
    if basis.count > DIM:  # there is a baseline
        columns = np.column_stack([np.ones(len(arms)), columns])
    expected = np.linalg.lstsq(columns, rewards, rcond=None)[0][-DIM:]
    assert len(set(data.counts[0].tolist())) >= 3
    np.testing.assert_allclose(data.estimate(basis)[0], expected, rtol=1e-9, atol=1e-9)


@each_basis
def test_complete_cycles_give_the_papers_formula(basis: Basis) -> None:
    rewards = np.random.default_rng(2).standard_normal((5, basis.count))
    data = filled(list(range(basis.count)) * 5, rewards.ravel(), dim=basis.count)
    centre = basis.actions.mean(axis=0) if basis.count > DIM else np.zeros(DIM)
    total = np.zeros(DIM)
    for s, k in np.ndindex(5, basis.count):
        total += (basis.action(k) - centre) * rewards[s, k]
    expected = np.linalg.solve(5 * basis.gram, total)  # eqn:sparse-PEE-ols
    assert data.replications.tolist() == [5]
    np.testing.assert_allclose(data.estimate(basis)[0], expected, rtol=1e-8, atol=1e-9)


def test_moments_are_those_of_the_raw_rewards() -> None:
    arms, rewards = uneven_data(3)
    data = filled(arms, rewards)
    groups = [rewards[np.array(arms) == k] for k in range(DIM)]
    assert data.counts[0].tolist() == [len(g) for g in groups]
    np.testing.assert_allclose(data.sums[0], [g.sum() for g in groups])
    expected = [((g - g.mean()) ** 2).sum() for g in groups]
    np.testing.assert_allclose(data.squares[0], expected, atol=1e-12)
    assert data.residual_squares[0] == pytest.approx(sum(expected))
    assert data.degrees_of_freedom[0] == len(arms) - DIM


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), max_size=40))
def test_replications_are_the_smallest_count_and_freedom_the_repeats(arms: list[int]) -> None:
    data = filled(arms, [1.0] * len(arms), dim=4)
    assert data.replications.tolist() == [min(arms.count(k) for k in range(4))]
    assert data.degrees_of_freedom.tolist() == [len(arms) - len(set(arms))]


def test_a_large_offset_does_not_spoil_the_variance() -> None:
    rewards = np.random.default_rng(4).standard_normal(2000) + 1e8
    expected = ((rewards - rewards.mean()) ** 2).sum()
    found = filled([0] * 2000, rewards, dim=1).residual_squares[0]
    assert found == pytest.approx(expected, rel=1e-6)


def test_many_rewards_lose_nothing_that_matters() -> None:
    rewards = (0.1 + np.random.default_rng(5).standard_normal(100_000)).tolist()
    data = filled([0] * len(rewards), rewards, dim=1)
    mean = math.fsum(rewards) / len(rewards)
    squares = math.fsum((reward - mean) ** 2 for reward in rewards)
    assert data.sums[0, 0] / len(rewards) == pytest.approx(mean, rel=1e-12)
    assert data.residual_squares[0] == pytest.approx(squares, rel=1e-12)


def test_a_lane_does_not_depend_on_the_lanes_beside_it() -> None:
    basis, rng = example_bases()[0], np.random.default_rng(6)
    alone = [ArmLanes(1, DIM) for _ in range(3)]
    beside = ArmLanes(3, DIM)
    for step in range(4 * DIM):
        lanes = np.flatnonzero(rng.random(3) < 0.7)
        arms, rewards = np.full(lanes.size, step % DIM), rng.standard_normal(lanes.size) * 1e8
        beside.add(lanes, arms, rewards)
        for place, lane in enumerate(lanes.tolist()):
            here = slice(place, place + 1)
            alone[lane].add(np.array([0]), arms[here], rewards[here])
    for lane, single in enumerate(alone):
        assert single.counts[0].tolist() == beside.counts[lane].tolist()
        assert single.squares[0].tobytes() == beside.squares[lane].tobytes()
        assert single.counts.all()
        found = beside.estimate(basis, np.array([lane]))
        assert single.estimate(basis).tobytes() == found.tobytes()
