"""CoreRidge over long runs and in bad units, against the normal equations solved anew."""

import math

import numpy as np
import pytest
from scipy.stats import ortho_group

from sparsebandits.estimation.core_ridge import CoreRidge
from sparsebandits.estimation.ridge import REFACTOR
from sparsebandits.validation import FloatArray, IntArray
from tests.estimation.test_core_ridge import (
    FREE,
    PRIOR,
    SIZE,
    add,
    assert_symmetric,
    filled,
    precision_of,
    rewards_of,
    sparse_actions,
)


def mixed(actions: FloatArray, counts: IntArray, prior: FloatArray) -> FloatArray:
    """(V + P)^-1 of actions seen so often."""
    return np.asarray(np.linalg.inv((actions.T * counts) @ actions + np.diag(prior)))


@pytest.mark.parametrize("updates", [100_000, pytest.param(1_000_000, marks=pytest.mark.thorough)])
def test_many_updates_do_not_drift(updates: int) -> None:
    steps = updates + REFACTOR // 2  # in the middle between two factorisations
    actions = np.array(sparse_actions(16, 64, first=1))
    chosen = [(np.flatnonzero(x), x[x != 0]) for x in actions]
    rng = np.random.default_rng(17)
    rewards = rng.standard_normal(steps) + 3.0
    model = CoreRidge(FREE)
    for step in range(steps):
        model.add(*chosen[step % 64], float(rewards[step]))
    counts = np.bincount(np.arange(steps) % 64)
    expected = mixed(actions, counts, FREE)
    np.testing.assert_allclose(model.covariance, expected, rtol=1e-9, atol=1e-16)
    above = rewards - rewards[0]
    sums = np.bincount(np.arange(steps) % 64, weights=above)
    theta = expected @ (actions.T @ sums)
    np.testing.assert_allclose(model.theta, theta, rtol=1e-8, atol=1e-10)
    missed = above - (actions @ theta)[np.arange(steps) % 64]
    squares = float(missed @ missed + theta @ (FREE * theta))
    assert model.squares == pytest.approx(squares, rel=1e-10)
    assert model.noise_scale() == pytest.approx(1.0, abs=0.02)
    assert_symmetric(model)
    assert model.agrees()


def test_whatever_has_crept_in_is_gone_after_the_next_factorisation() -> None:
    model, _ = filled(PRIOR, 18, REFACTOR - 3)
    model._square[0] *= 1 + 1e-6
    model._rows[0] += 1e-6
    for action in sparse_actions(19, 3):
        add(model, action, 1.0)
    expected = np.linalg.inv(precision_of(model))
    np.testing.assert_allclose(model.covariance, expected, rtol=1e-11)
    np.testing.assert_allclose(model.theta, expected @ model.response, rtol=1e-10)


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8])
def test_conditions_up_to_1e8(condition: float) -> None:
    """V = Q diag(l) Q' with l from 1 to the condition: what is known along each q is 1 / (1 + l).

    The directions come in turns, so that no one is known long before the others. C may lose as many
    digits as the condition has.
    """
    basis = ortho_group.rvs(SIZE, random_state=np.random.default_rng(20))
    rounds = 3 * REFACTOR
    known = np.geomspace(1, condition, SIZE)
    model = CoreRidge(np.ones(SIZE))
    everything = np.arange(SIZE)
    theta = np.linspace(-1, 1, SIZE)
    for step in range(rounds * SIZE):
        action = basis[step % SIZE] * math.sqrt(known[step % SIZE] / rounds)
        model.add(everything, action, float(action @ theta))
    widths = np.einsum("ki,ij,kj->k", basis, model.covariance, basis)
    np.testing.assert_allclose(widths, 1 / (1 + known), rtol=100 * condition * 2e-16)
    expected = (known / (1 + known)) * (basis @ theta)
    np.testing.assert_allclose(basis @ model.theta, expected, rtol=1e-6, atol=1e-8)
    assert np.linalg.eigvalsh(model.covariance)[0] > 0
    assert model.agrees()
    assert_symmetric(model)


@pytest.mark.parametrize("length", [1e-6, 1.0, 10.0])
@pytest.mark.parametrize("weight", [1.0, 100.0])
def test_one_long_direction_again_and_again(length: float, weight: float) -> None:
    """(V + P)^-1 = I - n u u' / (1 + n u·u) for V = n u u' and P = I, conditions up to 3e7."""
    direction, n = length * np.array([1.0, 1.0, 1.0]), 2 * REFACTOR
    model = CoreRidge(np.ones(3))
    for _ in range(n):
        model.add(np.arange(3), direction, 2.0, weight)
    norm, total = 3 * length**2, n * weight
    expected = np.eye(3) - total * np.outer(direction, direction) / (1 + total * norm)
    np.testing.assert_allclose(model.covariance, expected, atol=1e-9)
    np.testing.assert_allclose(model.theta, 2 * total * direction / (1 + total * norm), rtol=1e-6)
    width = direction @ model.covariance @ direction
    assert width == pytest.approx(norm / (1 + total * norm), rel=1e-3)


@pytest.mark.parametrize("length", [1e5, 1e9, 1e30, 9e99])
def test_actions_far_longer_than_the_prior_expects_leave_a_sound_posterior(length: float) -> None:
    """Theirs counts as the reward of a shorter action, so that C stays definite."""
    model = CoreRidge(np.ones(4))
    for step in range(600):
        model.add(np.arange(2), np.full(2, length), 4.0 * length)
        if step % 100 == 50:
            model.add(np.arange(1, 3), np.ones(2), 1.0)
    np.testing.assert_allclose(model.theta[:3], [2.5, 1.5, -0.4], atol=0.2)
    assert np.linalg.eigvalsh(model.covariance)[0] > 0
    assert model.covariance[3, 3] == 1
    np.linalg.cholesky(model.covariance)
    assert model.agrees()


def test_lengths_from_a_millionth_to_a_million() -> None:
    units = np.array([1e-6, 1e-2, 1.0, 1e3, 1e6, 1.0])
    scaled, like = CoreRidge(PRIOR * units**2), CoreRidge(PRIOR)
    actions = sparse_actions(21, REFACTOR + 100)
    for action, reward in zip(actions, rewards_of(actions, 22), strict=True):
        add(scaled, action * units, reward)
        add(like, action, reward)
    np.testing.assert_allclose(scaled.theta * units, like.theta, rtol=1e-9)
    np.testing.assert_allclose(scaled.covariance * np.outer(units, units), like.covariance)
    assert scaled.squares == pytest.approx(like.squares, rel=1e-11)
    assert scaled.noise_scale() == pytest.approx(like.noise_scale(), rel=1e-11)


def test_sums_that_have_lost_their_digits_are_not_factored() -> None:
    model = CoreRidge(np.ones(2))
    model.gram[:] = 1e20
    before = model.covariance.copy()
    assert not model.refactor()
    np.testing.assert_array_equal(model.covariance, before)


def test_a_prior_that_is_lost_in_the_rounding_is_not_taken() -> None:
    rng = np.random.default_rng(0)
    model = CoreRidge(np.full(3, 1e-7))
    for values in ([1.0, 1.0], [1.0, 1.0 + 1e-6]):
        model.add(np.array([0, 1]), np.array(values), 1.0)
    before = model.copy()
    assert not model.scale_prior(1e-9, 0, rng)
    np.testing.assert_array_equal(model.prior, before.prior)
    np.testing.assert_array_equal(model.covariance, before.covariance)
    assert model.agrees()


def test_what_cannot_be_made_anew_fades_by_itself() -> None:
    model = CoreRidge(np.ones(3))
    model.add(np.array([0, 1]), np.array([5e3, 5e3]), 1.0, weight=1e6)
    assert not model.refactor()
    faded = 0.25 * model.gram + np.eye(3)
    model.fade(0.25, np.random.default_rng(0))
    np.testing.assert_allclose(model.covariance @ faded, np.eye(3), atol=1e-2)
