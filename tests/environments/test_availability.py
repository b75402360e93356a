"""Random and periodic availability."""

import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import PeriodicAvailability, RandomAvailability
from sparsebandits.validation import BoolArray


def masks_of(sequence: RandomAvailability, steps: int) -> BoolArray:
    return np.array([sequence.at(step).available for step in range(steps)])


def test_each_coordinate_comes_with_its_probability_independently() -> None:
    masks = masks_of(RandomAvailability(sb.LpBall(12), 0.6, seed=1), 4000)
    # 5 standard errors: a false alarm of 6e-7 for each number; 12 + 66 + 12 numbers. That none of
    # 12 is drawn has probability 2e-5 and shifts the mean by less than 1e-5.
    error = 5 * math.sqrt(0.24 / 4000)
    assert np.abs(masks.mean(axis=0) - 0.6).max() < error
    centred = masks - 0.6
    between = centred.T @ centred / 4000
    assert np.abs(between[~np.eye(12, dtype=bool)]).max() < 5 * 0.24 / math.sqrt(4000)
    over_time = (centred[1:] * centred[:-1]).mean(axis=0)
    assert np.abs(over_time).max() < 5 * 0.24 / math.sqrt(3999)


def test_at_least_one_is_always_available_and_chosen_uniformly() -> None:
    masks = masks_of(RandomAvailability(sb.LpBall(4), 0.001, seed=2), 4000)
    assert masks.any(axis=1).all()
    assert masks.sum() < 4050
    # 5 standard errors: a false alarm of 6e-7 for each of the 4 shares.
    assert np.abs(masks.mean(axis=0) - 0.25).max() < 5 * math.sqrt(0.1875 / 4000) + 0.001


def test_what_the_set_does_not_offer_never_comes() -> None:
    base = sb.LpBall(5).restrict([1, 4])
    masks = masks_of(RandomAvailability(base, 0.2, seed=3), 500)
    assert masks.any(axis=1).all()
    assert (masks.any(axis=0) == base.available).all()


def test_seeds_differ_and_certainty_keeps_all() -> None:
    first, second = (masks_of(RandomAvailability(sb.LpBall(8), 0.5, seed), 50) for seed in (0, 1))
    assert (first != second).any()
    assert masks_of(RandomAvailability(sb.LpBall(8), 1.0), 50).all()


def test_blocks_are_drawn_anew() -> None:
    sequence = RandomAvailability(sb.LpBall(10_000), 0.5)
    assert (sequence.at(0).available != sequence.at(1).available).any()
    small = RandomAvailability(sb.LpBall(50), 0.5)
    masks = masks_of(small, 1000)
    assert np.unique(masks, axis=0).shape[0] == 1000


def test_equal_masks_share_one_set_and_its_caches() -> None:
    sequence = RandomAvailability(sb.LpBall(2), 0.5)
    distinct = {id(sequence.at(step)) for step in range(200)}
    assert len(distinct) == 3


def test_one_generator_serves_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made, default_rng = [], np.random.default_rng

    def counted(stream: np.random.SeedSequence) -> np.random.Generator:
        made.append(stream)
        return default_rng(stream)

    monkeypatch.setattr(np.random, "default_rng", counted)
    sequence = RandomAvailability(sb.LpBall(20), 0.8)
    for step in range(10_000):
        sequence.at(step)
    assert len(made) < 20


def test_periodic_masks_come_in_turn() -> None:
    base = sb.LpBall(3)
    masks: list[Any] = [[2, 0], np.array([False, True, False]), [0, 1, 2]]
    shifts = PeriodicAvailability(base, masks)
    expected = [[True, False, True], [False, True, False], [True, True, True]]
    for step in range(9):
        assert shifts.at(step).available.tolist() == expected[step % 3]
    as_rows: Any = np.array(expected)
    assert PeriodicAvailability(base, as_rows) == shifts
    assert shifts.is_strongly_convex
    assert shifts.base is base


@pytest.mark.parametrize("probability", [0.0, 1.5, -0.2, math.nan, "half"])
def test_probability_is_checked(probability: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="probability must be"):
        RandomAvailability(sb.LpBall(3), probability)


def test_seed_is_checked() -> None:
    for seed in (-1, 0.5, None):
        wrong: Any = seed
        with pytest.raises(sb.SparseBanditsError, match="seed must be"):
            RandomAvailability(sb.LpBall(3), 0.5, wrong)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([], "at least one mask"),
        (3, "masks must be a list"),
        ("01", "masks must be a list"),
        ([[0], []], r"masks\[1\]: available leaves no coordinate"),
        ([[0], [7]], r"masks\[1\]: support indices must lie in 0..2"),
        ([[0.5]], r"masks\[0\]: support must be a flat list"),
        ([[True, False]], r"masks\[0\]: A boolean support must have shape \(3,\)"),
    ],
)
def test_masks_are_checked(masks: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        PeriodicAvailability(sb.LpBall(3), masks)
