r"""Upper bounds on :math:`\max_{|S| = r} \theta_S^\top A_S^{-1} \theta_S`, for many nodes at once.

Split :math:`A = M + \mathrm{Diag}(D)` with :math:`D > 0` and :math:`M \succeq 0`. For every w,
:math:`x^\top M x \ge 2 w^\top M x - w^\top M w`, hence for every x with at most r nonzeros

.. math::
    2\theta^\top x - x^\top A x \le w^\top M w + \sum_i [2 (\theta - Mw)_i x_i - D_i x_i^2]
    \le w^\top M w + \text{the sum of the r largest } v_i, \quad v_i = (\theta - Mw)_i^2 / D_i.

The left side has maximum :math:`\theta_S^\top A_S^{-1}\theta_S` over x supported on S, so the right
side bounds the best subset *whatever w and D are*: how well they were optimised affects the
strength of a bound, never its validity. Its minimum over w is the perspective relaxation; its
minimum over w and D together is the semidefinite relaxation of Dong, Chen and Linderoth (2015).

Written in :math:`p = Mw` the bound is jointly convex in (p, D), a matrix-fractional term plus
quadratic-over-linear terms, and that is how `tighten` minimises it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import BoolArray, FloatArray, IntArray

# The distance to the cutoff is spread evenly over the smoothing terms. A sharper smoothing has the
# better limit and the worse Newton step: with 2 or 3 times sharper terms the trees grew 2 to 9
# times at condition number 50, because nodes take only two steps.
_LEAST_RELATIVE_GAP = 1e-3


# OpenBLAS spreads a factorisation of more than about 90 rows, or a product of more than 2^18
# multiplications, over threads. For the small systems of one node that costs more than it saves,
# and fifty times more when another process uses the cores.
_SERIAL_ROWS = 64
_SERIAL_PRODUCT = 1 << 18


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Multiply stacks of matrices, in pieces that BLAS does on one thread."""
    columns = right.shape[2]
    piece = max(1, _SERIAL_PRODUCT // (left.shape[1] * left.shape[2]))
    if columns <= piece:
        return left @ right
    starts = range(0, columns, piece)
    return np.concatenate([left @ right[:, :, at : at + piece] for at in starts], axis=2)


def solve_positive(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve stacks of positive definite systems, shapes (n, k, k) and (n, k, columns).

    Large ones are halved by a Schur complement, which needs no pivoting between the halves.
    """
    size = matrices.shape[1]
    if size <= _SERIAL_ROWS:
        solved: FloatArray = np.linalg.solve(matrices, right).astype(np.float64, copy=False)
        return solved
    half = size // 2
    corner = matrices[:, half:, :half]
    first = solve_positive(
        matrices[:, :half, :half],
        np.concatenate([matrices[:, :half, half:], right[:, :half]], axis=2),
    )
    below = _product(corner, first)
    rest = size - half
    last = solve_positive(
        matrices[:, half:, half:] - below[:, :, :rest], right[:, half:] - below[:, :, rest:]
    )
    return np.concatenate([first[:, :, rest:] - _product(first[:, :, :rest], last), last], axis=1)


def condition(
    matrix: FloatArray, theta: FloatArray, included: IntArray, free: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eliminate the included coordinates of every node by a Schur complement.

    Parameters
    ----------
    matrix, theta
        The problem, shapes (d, d) and (d,).
    included, free
        Coordinates of each node, shapes (nodes, k) and (nodes, f).

    Returns
    -------
    matrices, thetas, values
        The problem left on the free coordinates, shapes (nodes, f, f) and (nodes, f), and the
        value of the included support alone, shape (nodes,): for every subset T of the free ones,
        the value of (included + T) is this value plus the value of T in the problem left.
    """
    matrices = matrix[free[:, :, None], free[:, None, :]]
    thetas = theta[free]
    if included.shape[1] == 0:
        return matrices, thetas, np.zeros(len(free))
    block = matrix[included[:, :, None], included[:, None, :]]
    cross = matrix[included[:, :, None], free[:, None, :]]
    right = np.concatenate([cross, theta[included][:, :, None]], axis=2)
    solved = solve_positive(block, right)
    eliminated = _product(cross.transpose(0, 2, 1), solved)
    values = np.sum(theta[included] * solved[:, :, -1], axis=1)
    return matrices - eliminated[:, :, :-1], thetas - eliminated[:, :, -1], values


def pad(
    matrices: FloatArray, thetas: FloatArray, padding: BoolArray, pivot: float, target: float
) -> None:
    """Isolate the coordinates marked in `padding`: choosing one adds target^2 / pivot."""
    node, coordinate = np.nonzero(padding)
    matrices[node, coordinate, :] = 0.0
    matrices[node, :, coordinate] = 0.0
    matrices[node, coordinate, coordinate] = pivot
    thetas[node, coordinate] = target


@dataclass
class Relaxation:
    """What `tighten` found, one row per node."""

    bound: FloatArray  # (nodes,)
    diagonal: FloatArray  # (nodes, f), the D of the best bound
    point: FloatArray  # (nodes, f), its w
    score: FloatArray  # (nodes, f), its v: what each coordinate contributes when chosen
    exclude: BoolArray  # (nodes, f): every support that reaches the cutoff leaves these out
    include: BoolArray  # (nodes, f): every support that reaches the cutoff has these


def evaluate(
    matrices: FloatArray,
    thetas: FloatArray,
    diagonal: FloatArray,
    point: FloatArray,
    remaining: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give bound, products p = Mw and scores v, for any D with M = A - D PSD and any w.

    `remaining` coordinates, at least one and at most f, may still be chosen.
    """
    products = (matrices @ point[:, :, None])[:, :, 0] - diagonal * point
    scores = (thetas - products) ** 2 / diagonal
    largest = np.partition(scores, scores.shape[1] - remaining, axis=1)[:, -remaining:]
    return np.sum(point * products, axis=1) + largest.sum(axis=1), products, scores


def tighten(
    matrices: FloatArray,
    thetas: FloatArray,
    diagonal: FloatArray,
    point: FloatArray,
    remaining: int,
    cutoff: FloatArray,
    steps: int,
) -> Relaxation:
    """Lower the bound of every node by Newton steps on (p, D), and fix coordinates on the way.

    Parameters
    ----------
    matrices, thetas
        The problems, shapes (nodes, f, f) and (nodes, f).
    diagonal, point
        Start of D, strictly feasible, and of w; shape (nodes, f). A child inherits its parent's:
        both a principal submatrix and a Schur complement keep A - D positive definite.
    remaining
        r, the coordinates still to choose, below f.
    cutoff
        Values at or below it are of no interest, shape (nodes,).
    steps
        Newton steps; every iterate gives a valid bound and valid fixings.
    """
    best = Relaxation(
        np.full(len(thetas), np.inf),
        diagonal.copy(),
        point.copy(),
        np.zeros_like(thetas),
        np.zeros(thetas.shape, dtype=np.bool_),
        np.zeros(thetas.shape, dtype=np.bool_),
    )
    for step in range(steps + 1):
        bound, products, scores = evaluate(matrices, thetas, diagonal, point, remaining)
        split = thetas.shape[1] - remaining
        ordered = np.partition(scores, (split - 1, split), axis=1)
        least_in, best_out = ordered[:, split, None], ordered[:, split - 1, None]
        chosen = scores >= least_in
        swapped = bound[:, None] + np.where(chosen, best_out - scores, scores - least_in)
        hopeless = swapped <= cutoff[:, None]
        best.exclude |= hopeless & ~chosen
        best.include |= hopeless & chosen
        better = bound < best.bound
        best.bound[better] = bound[better]
        best.diagonal[better] = diagonal[better]
        best.point[better] = point[better]
        best.score[better] = scores[better]
        if step == steps:
            break
        gap = best.bound - cutoff
        gap = np.maximum(gap, _LEAST_RELATIVE_GAP * np.maximum(np.abs(cutoff), np.abs(best.bound)))
        moved = _newton_step(
            matrices, thetas, diagonal, point, products, scores, remaining,
            0.5 * (least_in + best_out), gap[:, None],
        )  # fmt: skip
        if moved is None:
            break
        diagonal, point = moved
    return best


def _newton_step(
    matrices: FloatArray,
    thetas: FloatArray,
    diagonal: FloatArray,
    point: FloatArray,
    products: FloatArray,
    scores: FloatArray,
    remaining: int,
    threshold: FloatArray,
    gap: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    r"""One damped Newton step on the smoothed bound; None when the system is singular.

    The sum of the r largest v_i is :math:`\min_t r t + \sum_i (v_i - t)_+`; the positive part is
    smoothed to a softplus of temperature gap / r, and :math:`\log\det(A - D)`, :math:`\log D_i`
    with weight gap / f keep the iterates inside the cone. The unknowns are (p, D, t).
    """
    nodes, f = thetas.shape
    on = np.arange(f)
    heat, barrier = gap / remaining, gap / f
    split = matrices.copy()
    split[:, on, on] -= diagonal
    with np.errstate(all="ignore"):  # a step that is not finite is not taken
        try:
            inverse = solve_positive(split, np.broadcast_to(np.eye(f), split.shape))
            y = (thetas - products) / diagonal
            z = 1.0 / (1.0 + np.exp(np.clip((threshold - scores) / heat, -30.0, 30.0)))
            curvature = z * (1.0 - z) / heat
            squared = inverse * inverse

            system = np.empty((nodes, 2 * f + 1, 2 * f + 1))
            doubled = 2.0 * inverse
            system[:, :f, :f] = doubled
            system[:, on, on] += 2.0 * z / diagonal + 4.0 * curvature * y**2
            doubled *= point[:, None, :]
            system[:, f:-1, f:-1] = doubled * point[:, :, None] + barrier[:, :, None] * squared
            system[:, f + on, f + on] += (
                2.0 * z * y**2 / diagonal + curvature * y**4 + barrier / diagonal**2
            )
            doubled[:, on, on] += 2.0 * z * y / diagonal + 2.0 * curvature * y**3
            system[:, :f, f:-1] = doubled
            system[:, f:-1, :f] = doubled.transpose(0, 2, 1)
            system[:, :f, -1] = system[:, -1, :f] = 2.0 * curvature * y
            system[:, f:-1, -1] = system[:, -1, f:-1] = curvature * y**2
            # The small term keeps t determined when no score lies near it.
            system[:, -1, -1] = curvature.sum(axis=1) + 1e-9 / heat[:, 0]

            gradient = np.empty((nodes, 2 * f + 1))
            gradient[:, :f] = 2.0 * (point - z * y)
            gradient[:, f:-1] = point**2 - z * y**2
            gradient[:, f:-1] += barrier * (inverse[:, on, on] - 1.0 / diagonal)
            gradient[:, -1] = remaining - z.sum(axis=1)
            step = -solve_positive(system, gradient[:, :, None])
        except np.linalg.LinAlgError:
            return None
        by_diagonal = step[:, f:-1, 0]
        # Within the Dikin ellipsoid, tr((M^-1 dD)^2) < 1, A - D provably stays positive definite.
        radius = np.sqrt(np.sum(by_diagonal * (squared @ step[:, f:-1])[:, :, 0], axis=1))
        shrinkage = np.max(-by_diagonal / diagonal, axis=1)
        length = np.minimum(1.0, np.minimum(0.9 / radius, 0.8 / np.maximum(shrinkage, 1e-300)))
        # dw = M^-1 (dp + dD w) to first order.
        change = step[:, :f] + (by_diagonal * point)[:, :, None]
        new_diagonal = diagonal + length[:, None] * by_diagonal
        new_point = point + length[:, None] * (inverse @ change)[:, :, 0]
    finite = np.isfinite(new_diagonal).all(axis=1) & np.isfinite(new_point).all(axis=1)
    finite &= (new_diagonal > 0.0).all(axis=1)
    return (
        np.where(finite[:, None], new_diagonal, diagonal),
        np.where(finite[:, None], new_point, point),
    )


def starting_point(
    matrix: FloatArray, theta: FloatArray, sparsity: int, least_eigenvalue: float
) -> tuple[FloatArray, FloatArray]:
    """D and w for the root: D a multiple of the identity, w from three reweighted ridge fits."""
    diagonal = np.full(len(theta), 0.7 * least_eigenvalue)
    remainder = matrix - np.diag(diagonal)
    weight = np.full(len(theta), sparsity / len(theta))
    point = np.zeros_like(theta)
    for _ in range(3):
        root = np.sqrt(weight)
        scaled = root[:, None] * remainder * root + np.diag(diagonal)
        point = root * np.linalg.solve(scaled, root * theta)
        weight = np.clip(np.abs(point) * sparsity / np.abs(point).sum(), 1e-6, 1.0)
    return diagonal, point
