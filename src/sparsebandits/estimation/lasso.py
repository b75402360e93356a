"""The Lasso of many learners at once, by coordinate descent on their Gram matrices."""

import math

import numpy as np

from sparsebandits.validation import FloatArray

SWEEPS = 2000
"""Sweeps over all coordinates after which descent stops where it is."""

_POLISH = 10
"""Sweeps between two attempts to finish a lane by solving for its non-zeros."""

_LOOKS = 50
"""Rounds of the scaled Lasso after which sigma stays as it is."""


def lasso(
    gram: FloatArray, response: FloatArray, penalty: FloatArray, tolerance: float = 1e-10
) -> FloatArray:
    r"""Minimise theta' G theta - 2 b·theta + sum_j penalty_j abs(theta_j) in every lane.

    With G = X'X / n and b = X'y / n that is ||y - X theta||^2 / n + sum_j penalty_j abs(theta_j)
    but for a constant. theta is a minimiser if and only if 2 (b - G theta)_j = penalty_j
    sign(theta_j) where theta_j is not 0, and abs(2 (b - G theta)_j) <= penalty_j where it is.

    One coordinate after the other is set to its best value; a sweep costs O(d^2). A lane stops
    when a sweep moves no coordinate by more than `tolerance`, measured on columns of unit length
    and relative to the largest correlation, so the units of the coordinates do not matter. Sweeps
    are slow where columns are nearly dependent and the penalty small, so now and then the non-zeros
    are solved for together. All steps act on each lane alone.

    Parameters
    ----------
    gram : (n, dim, dim) array
        G of each lane, positive semidefinite.
    response : (n, dim) array
        b.
    penalty : (n, dim) array
        Non-negative. Coordinates that were never played (G_jj = 0) stay at 0.
    tolerance : float

    Returns
    -------
    (n, dim) array

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.estimation.lasso import lasso
    >>> lasso(np.eye(3)[None], np.array([[2.0, -0.4, -1.0]]), np.full((1, 3), 1.0))
    array([[ 1.5,  0. , -0.5]])
    """
    lanes, dim = response.shape
    squares = gram[:, np.arange(dim), np.arange(dim)]
    length = np.sqrt(np.where(squares > 0, squares, 1.0))
    matrix = gram / length[:, :, None] / length[:, None, :]
    target = np.where(squares > 0, response / length, 0.0)
    half = penalty / length / 2
    theta = np.zeros((lanes, dim))
    limit = tolerance * np.abs(target).max(axis=1, initial=0.0)
    moving = np.flatnonzero(limit > 0)
    for sweep in range(1, SWEEPS + 1):
        if not moving.size:
            break
        part = theta[moving]
        moved = _sweep(matrix[moving], target[moving], half[moving], part)
        theta[moving] = part
        moving = moving[moved > limit[moving]]
        if sweep % _POLISH == 0:
            done = [_polish(matrix[i], target[i], half[i], theta[i], limit[i]) for i in moving]
            moving = moving[~np.array(done, dtype=np.bool_)]
    return np.asarray(theta / length + 0.0)  # no -0.0


def _sweep(
    matrix: FloatArray, target: FloatArray, half: FloatArray, theta: FloatArray
) -> FloatArray:
    """Set every coordinate once, in place; return the largest move of each lane, (n,)."""
    moved = np.zeros(theta.shape[0])
    # Made anew in every sweep, so that the updates below do not drift.
    residual = target - np.matmul(matrix, theta[:, :, None])[:, :, 0]
    for j in range(theta.shape[1]):
        before = theta[:, j]
        pull = residual[:, j] + before
        after = np.sign(pull) * np.maximum(np.abs(pull) - half[:, j], 0.0)
        step = after - before
        residual -= matrix[:, j] * step[:, None]
        theta[:, j] = after
        np.maximum(moved, np.abs(step), out=moved)
    return moved


def _polish(
    matrix: FloatArray, target: FloatArray, half: FloatArray, theta: FloatArray, limit: float
) -> bool:
    """Minimise one lane over its non-zeros, in place; return whether that is the minimum of all.

    Newton steps that stop where a coordinate reaches 0 and drop it, as in feature-sign search (Lee
    et al. 2007). Where the columns are dependent, the penalty falls along their null space first.
    The cost never rises, so that sweeps may go on from here.
    """
    for _ in range(theta.size):
        active = np.flatnonzero(theta)
        signs, now = np.sign(theta[active]), theta[active]
        pull = target[active] - half[active] * signs
        values, vectors = np.linalg.eigh(matrix[np.ix_(active, active)])
        flat = values <= 1e-10 * values.max(initial=0.0)
        along = vectors.T @ pull
        step = vectors[:, flat] @ along[flat]
        bounded = bool(np.abs(step).max(initial=0.0) <= limit)
        if bounded:
            scaled = along[~flat] / values[~flat]
            step = vectors[:, ~flat] @ (scaled - vectors[:, ~flat].T @ now)
        falling = step * signs < 0
        reach = np.full(active.size, np.inf)
        reach[falling] = -now[falling] / step[falling]
        length = min(reach.min(initial=np.inf), 1.0 if bounded else np.inf)
        if not np.isfinite(length):
            return False
        theta[active] = np.where(reach <= length, 0.0, now + length * step)
        if bounded and length == 1.0:
            break
    slope = target - (matrix * theta).sum(axis=1)
    wrong = np.where(theta == 0, np.abs(slope) - half, np.abs(slope - half * np.sign(theta)))
    return bool((wrong <= limit).all())


def lasso_penalty(dim: int, counts: FloatArray, sigma: FloatArray) -> FloatArray:
    r"""Return lambda = 4 sigma sqrt(log(dim) / n) for each lane, (n,).

    The penalty of Hao, Lattimore & Wang (2020) for ||y - X theta||^2 / n and columns of mean
    square at most 1: twice what the noise puts into the largest of dim correlations.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.estimation.lasso import lasso_penalty
    >>> lasso_penalty(100, np.array([400.0]), np.array([0.5])).round(4)
    array([0.2146])
    """
    return np.asarray(4 * sigma * np.sqrt(math.log(dim) / counts))


def published_lasso(
    gram: FloatArray, response: FloatArray, counts: FloatArray, sigma: FloatArray
) -> FloatArray:
    r"""Return the Lasso with the published penalty on columns brought to mean square 1, (n, dim).

    An action with at most H of d non-zeros leaves a column's mean square far below 1, and an
    unscaled penalty would drown every signal: coordinate j is penalised by lambda sqrt(G_jj),
    which is lambda itself where every action is +-1 throughout.

    Parameters
    ----------
    gram, response : (n, dim, dim) and (n, dim) arrays
        The sums of x x' and x y.
    counts, sigma : (n,) arrays
        How many rewards, at least 1, and their noise level.
    """
    dim = response.shape[1]
    mean = gram / counts[:, None, None]
    length = np.sqrt(mean[:, np.arange(dim), np.arange(dim)])
    penalty = lasso_penalty(dim, counts, sigma)[:, None] * length
    return lasso(mean, response / counts[:, None], penalty)


def scaled_lasso(
    gram: FloatArray, response: FloatArray, squares: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Return theta and sigma where each is right for the other (Sun & Zhang 2012).

    sigma^2 is the mean squared residual at the Lasso whose penalty uses that sigma: the minimum of
    a jointly convex problem, reached by turns from sigma^2 = mean y^2. It errs upwards by what the
    Lasso leaves in the residuals, which makes the penalty cautious.

    Parameters
    ----------
    gram, response, squares : (n, dim, dim), (n, dim) and (n,) arrays
        The sums of x x', x y and y^2.
    counts : (n,) array

    Returns
    -------
    theta : (n, dim) array
    sigma : (n,) array
    """
    sigma = np.sqrt(squares / counts)
    # Rewards without noise would make sigma fall for ever.
    floor = 1e-3 * sigma
    theta = np.zeros_like(response)
    moving = np.flatnonzero(sigma > 0)
    for _ in range(_LOOKS):
        if not moving.size:
            break
        part = published_lasso(gram[moving], response[moving], counts[moving], sigma[moving])
        theta[moving] = part
        fitted = np.matmul(gram[moving], part[:, :, None])[:, :, 0]
        explained = np.einsum("nd,nd->n", part, 2 * response[moving] - fitted)
        left = np.sqrt(np.maximum(squares[moving] - explained, 0.0) / counts[moving])
        still = (np.abs(left - sigma[moving]) > 1e-6 * left) & (left > floor[moving])
        sigma[moving] = left
        moving = moving[still]
    return theta, sigma
