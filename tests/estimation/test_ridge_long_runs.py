"""RidgeLanes over long runs and in bad units, against the normal equations solved anew."""

import numpy as np
import pytest

from sparsebandits.estimation import RidgeLanes
from sparsebandits.estimation.ridge import REFACTOR
from sparsebandits.validation import FloatArray
from tests.estimation.test_ridge import PRIOR, Slow, bits, random_data


@pytest.mark.parametrize("updates", [20_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_many_updates_do_not_drift(updates: int) -> None:
    rng = np.random.default_rng(9)
    dim, steps = 8, updates + REFACTOR // 2
    actions = rng.standard_normal((64, dim)) * (rng.random((64, dim)) < 0.4)
    rewards = rng.standard_normal(steps)
    data = RidgeLanes(1, np.ones(dim))
    for step in range(steps):
        data.add(actions[[step % 64]], rewards[[step]])
    design = actions[np.arange(steps) % 64]
    fresh = RidgeLanes(1, np.ones(dim))
    fresh.add_many(design, rewards)
    square = data.root[0] @ data.root[0].T
    inverse = np.linalg.inv(design.T @ design + np.eye(dim))
    np.testing.assert_allclose(square, inverse, rtol=1e-10, atol=1e-17)
    np.testing.assert_allclose(data.theta_hat, fresh.theta_hat, rtol=1e-9)
    assert data.squares[0] == pytest.approx(fresh.squares[0], rel=1e-11)
    assert data.counts[0] == steps


def test_whatever_has_crept_in_is_gone_after_the_next_factorisation() -> None:
    """Potter's step alone would carry an error on for ever."""
    actions, rewards = random_data(12, REFACTOR)
    data, slow = RidgeLanes(1, PRIOR), Slow(PRIOR)
    for number, (action, reward) in enumerate(zip(actions, rewards, strict=True)):
        if number == REFACTOR - 3:
            data.root *= 1 + 1e-6
            data.theta_hat += 1e-6
        data.add(action[None], np.array([reward]))
        slow.add(action, reward)
    inverse = np.linalg.inv(slow.precision)
    np.testing.assert_allclose(data.root[0] @ data.root[0].T, inverse, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(data.theta_hat[0], slow.theta, rtol=1e-11)


def test_sixty_thousand_updates_keep_the_root_definite() -> None:
    """One lane keeps to a single direction, so that its V is as singular as can be."""
    rng = np.random.default_rng(10)
    dim, steps = 5, 60_000
    several = rng.standard_normal((8, dim))
    actions = np.stack([several, np.tile([1.0, -2.0, 0.0, 0.5, 3.0], (8, 1))], axis=1)
    rewards = rng.standard_normal((steps, 2))
    data = RidgeLanes(2, np.full(dim, 0.1))
    for step in range(steps):
        data.add(actions[step % 8], rewards[step])
    assert all(np.isfinite(array).all() for array in data.arrays().values())
    for lane in range(2):
        square = data.root[lane] @ data.root[lane].T
        gram = sum(np.outer(row, row) for row in actions[:, lane]) * (steps / 8)
        precision = gram + 0.1 * np.eye(dim)
        assert np.linalg.eigvalsh(square)[0] > 0
        np.testing.assert_allclose(square, np.linalg.inv(precision), rtol=0, atol=1e-8)
        # Relative to what is known along each action, too.
        whitened = actions[0, lane] @ square @ actions[0, lane]
        assert whitened == pytest.approx(
            actions[0, lane] @ np.linalg.solve(precision, actions[0, lane]), rel=1e-7
        )


def test_lengths_from_a_millionth_to_a_million() -> None:
    """The root of coordinates in different units, against the same in like units."""
    rng = np.random.default_rng(11)
    units = np.array([1e-6, 1e-2, 1.0, 1e3, 1e6])
    plain = rng.standard_normal((REFACTOR + 100, 5))
    rewards = rng.standard_normal(len(plain))
    scaled, like = RidgeLanes(1, units**2), RidgeLanes(1, np.ones(5))
    for action, reward in zip(plain, rewards, strict=True):
        scaled.add((action * units)[None], np.array([reward]))
        like.add(action[None], np.array([reward]))
    np.testing.assert_allclose(scaled.theta_hat * units, like.theta_hat, rtol=1e-9)
    np.testing.assert_allclose(scaled.deviations() * units, like.deviations(), rtol=1e-9)
    np.testing.assert_allclose(scaled.squares, like.squares, rtol=1e-11)
    logged = RidgeLanes(1, units**2)
    logged.add_many(plain * units, rewards)
    np.testing.assert_allclose(logged.deviations() * units, like.deviations(), rtol=1e-9)
    np.testing.assert_allclose(logged.theta_hat * units, like.theta_hat, rtol=1e-9)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_one_long_direction_again_and_again(length: float, one_by_one: bool) -> None:
    """V + P has a condition of 1e21, of which sums in double precision know nothing.

    (V + P)^-1 = (I - n u u' / (1 + n u·u)) for V = n u u' and P = I, in closed form.
    """
    n = 3 * REFACTOR
    direction = length * np.array([1.0, 1.0, 1.0])
    data = RidgeLanes(1, np.ones(3))
    if one_by_one:
        for _ in range(n):
            data.add(direction[None], np.array([2.0]))
    else:
        data.add_many(np.tile(direction, (n, 1)), np.full(n, 2.0))
    assert all(np.isfinite(array).all() for array in data.arrays().values())
    norm = 3 * length**2
    np.testing.assert_allclose(data.theta_hat[0], 2 * n * direction / (1 + n * norm), rtol=1e-6)
    across = np.array([[1.0, -1.0, 0.0]])
    assert data.widths(across)[0] == pytest.approx(2.0, rel=1e-6)
    # Digits are lost with the length; what is left stays positive and of the right size.
    assert data.widths(direction[None])[0] == pytest.approx(norm / (1 + n * norm), rel=0.01)
    data.add(across, np.array([0.0]))
    assert data.widths(across)[0] == pytest.approx(2 / 3, rel=1e-6)


def test_a_lane_that_cannot_be_made_anew_does_not_stop_the_others() -> None:
    long, short = np.array([1e9, 1e9, 0.0]), np.array([0.5, 0.0, 0.5])
    together, alone = RidgeLanes(2, np.ones(3)), RidgeLanes(1, np.ones(3))
    for _ in range(REFACTOR):
        together.add(np.stack([long, short]), np.ones(2))
        alone.add(short[None], np.ones(1))
    assert bits(together, 1) == bits(alone, 0)
    assert np.isfinite(together.root).all()
    assert together.refactor(np.arange(2)).tolist() == [False, True]


def test_counts_and_rewards_of_any_size() -> None:
    """Rewards up to the largest that a learner takes, and as many as a year has milliseconds."""
    data = RidgeLanes(2, np.ones(2))
    for reward in (9e99, -9e99, 9e99):
        data.add(np.array([[1.0, 0.0], [9e99, 0.0]]), np.array([reward, reward]))
    assert all(np.isfinite(array).all() for array in data.arrays().values())
    assert data.theta_hat[0, 0] == pytest.approx(9e99 / 4)
    assert np.isfinite(data.noise_scale()).all()
    many = RidgeLanes(1, np.ones(2))
    many.counts[0] = 3 * 10**10
    many.gram[0] = 3e10 * np.eye(2)
    many.response[0] = [3e10, -6e10]
    many.squares[0] = 3e10
    many.refactor(np.array([0]))
    np.testing.assert_allclose(many.theta_hat[0], [1.0, -2.0], rtol=1e-9)
    before = many.theta_hat[0].copy()
    many.add(np.array([[1.0, 0.0]]), np.array([5.0]))
    assert many.theta_hat[0, 0] - before[0] == pytest.approx(4 / 3e10, rel=1e-5)
    assert many.noise_scale()[0] == pytest.approx(1.0)


def test_an_action_far_longer_than_the_others_costs_no_digits() -> None:
    """Potter's step alone would cancel: theta_hat was 1 % off its equations."""
    actions, rewards = random_data(30, 40)
    actions[20] = [4e15, 0.5, 0.0, 0.0]
    data = RidgeLanes(1, PRIOR)
    for action, reward in zip(actions, rewards, strict=True):
        data.add(action[None], np.array([reward]))
    precision, theta = data.gram[0] + np.diag(PRIOR), data.theta_hat[0]
    lengths = np.sqrt(np.diagonal(precision))
    off = (precision @ theta - data.response[0]) / lengths
    assert np.abs(off).max() < 1e-9 * np.abs(data.response[0] / lengths).max()


def nearly_alike(data: RidgeLanes) -> FloatArray:
    """Tell two rewards of actions that only differ by a millionth; return R R'."""
    for action in ([1.0, 1.0, 0.0], [1.0, 1.0 + 1e-6, 0.0]):
        data.add(np.array([action]), np.array([1.0]))
    return np.asarray(data.root[0] @ data.root[0].T)


def test_a_prior_that_is_lost_in_the_rounding_is_not_taken() -> None:
    """R would be left that of another prior than the one kept, which no saved state may hold."""
    data = RidgeLanes(1, np.ones(3))
    nearly_alike(data)
    before = data.copy()
    taken = data.set_prior(np.array([0]), np.array([1e-20]), np.ones(3), 0)
    assert not taken.any()
    assert bits(data, 0) == bits(before, 0)
    np.testing.assert_array_equal(data.prior, before.prior)
    assert data.set_prior(np.array([0]), np.array([0.5]), np.ones(3), 0).all()
    np.testing.assert_array_equal(data.prior, 0.5)


def test_what_cannot_be_made_anew_fades_by_itself() -> None:
    data = RidgeLanes(1, np.full(3, 1e-7))
    information = np.linalg.inv(nearly_alike(data)) - 1e-7 * np.eye(3)
    theta = data.theta_hat[0].copy()
    data.fade(np.array([0]), np.array([0.25]))
    precision = 0.25 * information + 1e-7 * np.eye(3)
    np.testing.assert_allclose(data.root[0] @ data.root[0].T @ precision, np.eye(3), atol=1e-3)
    moved = np.linalg.solve(precision, 0.25 * (information + 1e-7 * np.eye(3)) @ theta)
    np.testing.assert_allclose(data.theta_hat[0], moved, rtol=1e-3, atol=1e-6)
    assert data.counts[0] == 0.5
