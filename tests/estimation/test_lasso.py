"""The Lasso: optimality conditions, closed forms, a slow reference, and its published error."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from sparsebandits.estimation.lasso import lasso, lasso_penalty, published_lasso, scaled_lasso
from sparsebandits.validation import FloatArray


def regression(
    seed: int, lanes: int, n: int, dim: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X, y and penalties of many lanes, with columns of very different length."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((lanes, n, dim)) * 10.0 ** rng.uniform(-2, 2, dim)
    theta = rng.standard_normal((lanes, dim)) * (rng.random((lanes, dim)) < 0.3)
    y = np.einsum("lnd,ld->ln", X, theta) + rng.standard_normal((lanes, n))
    return X, y, rng.uniform(0.05, 2.0, (lanes, dim)) * np.sqrt((X**2).mean(axis=1))


def moments(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    n = X.shape[1]
    return np.einsum("lni,lnj->lij", X, X) / n, np.einsum("lni,ln->li", X, y) / n


@pytest.mark.parametrize(("n", "dim"), [(40, 10), (10, 30), (1, 5), (50, 1)])
def test_the_optimality_conditions_hold(n: int, dim: int) -> None:
    X, y, penalty = regression(n, 20, n, dim)
    gram, response = moments(X, y)
    theta = lasso(gram, response, penalty)
    slope = 2 * (response - np.einsum("lij,lj->li", gram, theta))
    scale = np.abs(response).max(axis=1, keepdims=True) + np.sqrt(gram.diagonal(0, 1, 2))
    active = theta != 0
    assert 0 < active.mean() < 1 or dim == 1
    wrong = np.where(active, np.abs(slope - penalty * np.sign(theta)), np.abs(slope) - penalty)
    assert (wrong <= 1e-6 * scale).all()


def test_orthogonal_columns_are_soft_thresholded() -> None:
    rng = np.random.default_rng(1)
    squares = rng.uniform(0.1, 5.0, (7, 6))
    response, penalty = rng.standard_normal((7, 6)), rng.uniform(0, 1.5, (7, 6))
    theta = lasso(squares[:, :, None] * np.eye(6), response, penalty)
    shrunk = np.sign(response) * np.maximum(np.abs(response) - penalty / 2, 0) / squares
    np.testing.assert_allclose(theta, shrunk, atol=1e-12)


def test_without_a_penalty_it_is_least_squares() -> None:
    X, y, penalty = regression(2, 5, 60, 8)
    theta = lasso(*moments(X, y), 0 * penalty, tolerance=1e-13)
    for lane in range(5):
        np.testing.assert_allclose(theta[lane], np.linalg.lstsq(X[lane], y[lane])[0], rtol=1e-6)


@pytest.mark.parametrize(("n", "dim"), [(30, 6), (5, 9)])
def test_no_other_solver_finds_less(n: int, dim: int) -> None:
    """scipy on the positive and negative parts, which are smooth."""
    X, y, penalty = regression(3, 4, n, dim)
    X /= np.sqrt((X**2).mean(axis=1, keepdims=True))
    penalty = np.random.default_rng(4).uniform(0.05, 1.0, penalty.shape)
    theta = lasso(*moments(X, y), penalty)
    for lane in range(4):

        def cost(parts: FloatArray, lane: int = lane) -> float:
            error = y[lane] - X[lane] @ (parts[:dim] - parts[dim:])
            return float(error @ error / n + penalty[lane] @ (parts[:dim] + parts[dim:]))

        found = scipy.optimize.minimize(
            cost, np.zeros(2 * dim), bounds=[(0, None)] * (2 * dim), options={"maxfun": 10**6}
        )
        own = cost(np.concatenate([np.maximum(theta[lane], 0), np.maximum(-theta[lane], 0)]))
        assert own <= found.fun + 1e-10
        assert own == pytest.approx(found.fun, rel=1e-5)


def test_a_lane_has_the_same_bits_alone() -> None:
    X, y, penalty = regression(5, 9, 15, 20)
    gram, response = moments(X, y)
    together = lasso(gram, response, penalty)
    for lane in range(9):
        one = slice(lane, lane + 1)
        alone = lasso(gram[one], response[one], penalty[one])
        assert alone.tobytes() == together[one].tobytes()
    counts, squares = np.full(9, 15.0), (y**2).sum(axis=1)
    both = scaled_lasso(15 * gram, 15 * response, squares, counts)
    for lane in range(9):
        one = slice(lane, lane + 1)
        alone, sigma = scaled_lasso(15 * gram[one], 15 * response[one], squares[one], counts[one])
        assert alone.tobytes() == both[0][one].tobytes()
        assert sigma.tobytes() == both[1][one].tobytes()


def test_the_units_of_the_coordinates_do_not_matter() -> None:
    X, y, _ = regression(6, 3, 25, 10)
    counts, sigma = np.full(3, 25.0), np.full(3, 0.5)
    gram, response = moments(X, y)
    plain = published_lasso(25 * gram, 25 * response, counts, sigma)
    factor = 2.0 ** np.arange(-5, 5)
    gram, response = moments(X * factor, y)
    scaled = published_lasso(25 * gram, 25 * response, counts, sigma)
    np.testing.assert_allclose(scaled * factor, plain, rtol=1e-6, atol=1e-12)


def test_coordinates_never_played_and_empty_rewards_stay_at_zero() -> None:
    gram = np.diag([2.0, 0.0, 1.0])[None]
    theta = lasso(gram, np.array([[2.0, 0.0, 0.0]]), np.zeros((1, 3)))
    assert theta.tolist() == [[1.0, 0.0, 0.0]]
    theta, sigma = scaled_lasso(gram, np.zeros((1, 3)), np.zeros(1), np.ones(1))
    assert theta.tolist() == [[0.0, 0.0, 0.0]]
    assert sigma.tolist() == [0.0]


def signs(seed: int, lanes: int, n: int, dim: int, s: int, sigma: float) -> tuple[FloatArray, ...]:
    """A design of random signs, whose columns have mean square exactly 1."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (lanes, n, dim))
    theta = np.zeros((lanes, dim))
    theta[:, :s] = rng.choice([-1.0, 1.0], (lanes, s)) * rng.uniform(0.5, 1.0, (lanes, s))
    noise = sigma * rng.standard_normal((lanes, n))
    return X, theta, noise, np.einsum("lnd,ld->ln", X, theta) + noise


def test_the_l1_error_is_within_the_published_bound() -> None:
    r"""||theta_hat - theta*||_1 <= 2 (1 + rho) / (1 - rho) lambda s / kappa.

    rho is the largest noise correlation over lambda and kappa the smallest eigenvalue of G. Given
    rho < 1 that is a theorem, so every lane is checked; rho < 1 has probability at least 1 - 2 / d
    for lambda = 4 sigma sqrt(log(d) / n). False alarm: a binomial tail below 1e-6.
    """
    lanes, n, dim, s, sigma = 400, 200, 60, 3, 0.5
    X, theta, noise, y = signs(7, lanes, n, dim, s, sigma)
    gram, response = moments(X, y)
    counts, level = np.full(lanes, float(n)), np.full(lanes, sigma)
    fit = published_lasso(n * gram, n * response, counts, level)
    penalty = 4 * sigma * math.sqrt(math.log(dim) / n)
    np.testing.assert_allclose(lasso_penalty(dim, counts, level), penalty)
    rho = np.abs(2 * np.einsum("lni,ln->li", X, noise) / n).max(axis=1) / penalty
    limit = scipy.stats.binom.isf(1e-6, lanes, 2 / dim)
    assert (rho >= 1).sum() <= limit
    kappa = np.linalg.eigvalsh(gram)[:, 0]
    error = np.abs(fit - theta).sum(axis=1)
    held = rho < 1
    bound = 2 * (1 + rho) / (1 - rho) * penalty * s / kappa
    assert (error[held] <= bound[held]).all()
    # The penalty is not idle: noise alone selects next to nothing.
    assert (fit[:, s:] != 0).mean() < 2 / dim
    assert (fit[:, :s] != 0).mean() > 0.99


def test_the_error_halves_with_four_times_the_rewards() -> None:
    """The rate is 1 / sqrt(n) even where n < d; a mean over 100 lanes, 5 standard errors apart."""
    errors = []
    for n in (100, 400):
        X, theta, _, y = signs(8, 100, n, 150, 3, 0.3)
        gram, response = moments(X, y)
        counts = np.full(100, float(n))
        fit = published_lasso(n * gram, n * response, counts, np.full(100, 0.3))
        errors.append(np.abs(fit - theta).sum(axis=1).mean())
    assert 1.7 < errors[0] / errors[1] < 2.6


def test_the_scaled_lasso_finds_sigma_and_agrees_with_itself() -> None:
    n, sigma = 400, 0.7
    X, _, _, y = signs(9, 50, n, 80, 3, sigma)
    gram, response = moments(X, y)
    counts, squares = np.full(50, float(n)), (y**2).sum(axis=1)
    theta, found = scaled_lasso(n * gram, n * response, squares, counts)
    # It errs upwards, by the bias of the Lasso: lambda^2 s / 4 in sigma^2, about 0.1 sigma.
    assert sigma < found.mean() < 1.2 * sigma
    again = published_lasso(n * gram, n * response, counts, found)
    np.testing.assert_allclose(theta, again, atol=1e-4)
    left = y - np.einsum("lnd,ld->ln", X, theta)
    np.testing.assert_allclose(found, np.sqrt((left**2).mean(axis=1)), rtol=1e-5)
