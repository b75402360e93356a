"""How bold the index of SparseThompson is, against its formula."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.recipe import Recipe


@pytest.mark.parametrize(
    ("horizon", "rewards", "growth"),
    [
        (2_000, 50, 1.0),
        (20_000, 50, 1.4),
        (10**6, 50, 1.4),
        (200, 50, 0.8),
        (20_000, 500, 1.1),
        (2_000, 500, 1.1),
    ],
)
def test_told_t_the_index_counts_the_steps_left_and_the_young_are_bolder_where_t_is_long(
    horizon: int, rewards: int, growth: float
) -> None:
    box = sb.Box(np.zeros(20), np.ones(20))
    recipe = Recipe.on(box, 5).told(horizon)
    width, sigma, left = 0.3, 0.5, max(horizon - rewards, 1)
    bonus = recipe.boldness(np.array([sigma]), np.array([float(rewards)]))(np.array([[width]]))
    expected = sigma * np.sqrt(growth * np.log(np.e + 0.5 * left * width))
    assert bonus[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("dim", "growth"), [(10, 0.8), (20, 0.8), (45, 1.6 / 3), (400, 0.4)])
def test_on_flat_sets_the_young_are_less_bold_the_more_coordinates_there_are(
    dim: int, growth: float
) -> None:
    recipe = Recipe.on(sb.Box(np.zeros(dim), np.ones(dim)), 5)
    width, sigma, rewards = 0.3, 0.5, 50
    bonus = recipe.boldness(np.array([sigma]), np.array([float(rewards)]))(np.array([[width]]))
    steps = (rewards + 1) * (1000 / (rewards + 1)) ** 0.35
    expected = sigma * np.sqrt(growth * np.log(np.e + 0.5 * steps * width))
    assert bonus[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("action_set", "horizon", "share", "draws"),
    [
        (sb.Box(np.zeros(20), np.ones(20)), None, 0.02, 3),
        (sb.Box(np.zeros(20), np.ones(20)), 20_000, 0.005, 6),
        (sb.LpBall(20), 20_000, 0.02, 3),
        (sb.LpBall(20, p=1), 20_000, 0.02, 3),
    ],
)
def test_told_t_on_flat_sets_one_decides_more_often_and_draws_more(
    action_set: sb.ActionSet, horizon: int | None, share: float, draws: int
) -> None:
    recipe = Recipe.on(action_set, 5).told(horizon)
    known, widths = np.array([10_000.0, 10_000.0]), np.array([1e-5, 4e-4])
    expected = [1 + int(share * 10_000), int(share / 4e-4)]
    assert recipe.steps(known, widths).tolist() == expected
    assert recipe.samples == draws


@pytest.mark.parametrize("horizon", [None, 20_000])
@pytest.mark.parametrize("action_set", [sb.LpBall(20), sb.Box(np.zeros(20), np.ones(20))])
def test_young_and_old_lanes_side_by_side_are_as_bold_as_each_alone(
    action_set: sb.ActionSet, horizon: int | None
) -> None:
    recipe = Recipe.on(action_set, 5).told(horizon)
    sigma, rewards = np.array([0.5, 0.6, 0.7]), np.array([20.0, 5000.0, 90.0])
    widths = np.array([[0.3, 0.1], [0.02, 0.4], [1.0, 2.0]])
    away = np.array([[True, False], [True, False], [False, True]])
    together = recipe.boldness(sigma, rewards)(widths, away)
    for lane in range(3):
        row = slice(lane, lane + 1)
        alone = recipe.boldness(sigma[row], rewards[row])(widths[row], away[row])
        np.testing.assert_array_equal(together[row], alone)
