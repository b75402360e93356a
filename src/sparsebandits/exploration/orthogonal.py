"""The paper's random bases, made H-sparse: random orthogonal blocks on a random partition."""

from collections.abc import Callable

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidTypeError
from sparsebandits.exploration.block import BlockBasis
from sparsebandits.validation import FloatArray, IntArray

# A unit vector may leave a unit ball by rounding alone; it then keeps its length.
_TOLERANCE = 1e-12
_SMALLEST_SCALE = 2.0**-40
_BISECTIONS = 32
_CHUNK_ENTRIES = 2_000_000


def block_gaussian(
    action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
) -> BlockBasis:
    """Orthogonal blocks from Gaussian matrices: uniform (Haar) among the rotations of a block.

    Every row keeps length 1 where it is in X and is shrunk into X otherwise. A row points the way
    it can go further.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis
    >>> basis = make_basis("block-gaussian", sb.LpBall(dim=7), sparsity=3, rng=0)
    >>> basis.sparsity, round(basis.lambda_0, 12)
    (3, 1.0)
    """
    draws = _needed(rng, "block-gaussian")
    return _random_blocks(action_set, sparsity, draws, draws.standard_normal, "block-gaussian")


def block_uniform(
    action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
) -> BlockBasis:
    """Orthogonal blocks from matrices uniform on [-1, 1]; see `block_gaussian`."""
    draws = _needed(rng, "block-uniform")

    def entries(shape: tuple[int, ...]) -> FloatArray:
        return draws.uniform(-1.0, 1.0, shape)

    return _random_blocks(action_set, sparsity, draws, entries, "block-uniform")


def _needed(rng: np.random.Generator | None, name: str) -> np.random.Generator:
    if rng is None:
        raise InvalidTypeError(
            f"basis={name!r} is random and needs rng, got None; pass a seed or "
            "numpy.random.default_rng(seed)."
        )
    return rng


def _random_blocks(
    action_set: ActionSet,
    sparsity: int,
    rng: np.random.Generator,
    entries: Callable[[tuple[int, ...]], FloatArray],
    name: str,
) -> BlockBasis:
    shuffled = rng.permutation(action_set.dim)
    whole = action_set.dim // sparsity * sparsity
    blocks: list[tuple[IntArray, FloatArray]] = []
    for part, size in ((shuffled[:whole], sparsity), (shuffled[whole:], action_set.dim - whole)):
        if part.size:
            indices = part.reshape(-1, size)
            rows = _orthogonal(entries((len(indices), size, size)))
            blocks += zip(indices, _shrunk(action_set, indices, rows, name), strict=True)
    return BlockBasis(blocks, name)


def _orthogonal(matrices: FloatArray) -> FloatArray:
    q, r = np.linalg.qr(matrices)
    # Householder QR fixes the signs its own way; with R's diagonal positive, Q is Haar.
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.asarray(q * signs[..., None, :])


def _shrunk(action_set: ActionSet, indices: IntArray, rows: FloatArray, name: str) -> FloatArray:
    """Scale every row, (n, k, k), into X, by at most 1 and along the better of its two signs."""
    size = indices.shape[1]
    flat, where = rows.reshape(-1, size), np.repeat(indices, size, axis=0)
    scales = np.empty(len(flat))
    step = max(1, _CHUNK_ENTRIES // action_set.dim)
    for start in range(0, len(flat), step):
        chunk = slice(start, start + step)
        scales[chunk] = _best_scales(action_set, flat[chunk], where[chunk])
    stuck = np.flatnonzero(scales == 0)
    if stuck.size:
        support = sorted(int(i) for i in where[stuck[0]])
        raise CompositionError(
            f"basis={name!r} has actions with entries of both signs, and {action_set!r} contains "
            f"no multiple of the one drawn on coordinates {support}. Use basis='designed', "
            "'boundary' or 'standard', which stay inside."
        )
    return np.asarray((flat * scales[:, None]).reshape(rows.shape))


def _best_scales(action_set: ActionSet, rows: FloatArray, indices: IntArray) -> FloatArray:
    dense = np.zeros((len(rows), action_set.dim))
    np.put_along_axis(dense, indices, rows, axis=1)
    ahead = largest_scales(action_set, dense)
    shorter = ahead < 1
    behind = np.zeros(len(rows))
    if shorter.any():
        behind[shorter] = largest_scales(action_set, -dense[shorter])
    return np.where(ahead >= behind, ahead, -behind)


def largest_scales(action_set: ActionSet, x: FloatArray) -> FloatArray:
    """Return the largest t <= 1 with t x in X for the rows of x, (n, dim); 0 where there is none.

    By halving and bisection on `contains`, to 10 digits from below: right for every convex set.
    """
    inside = np.asarray(action_set.contains(x, tolerance=_TOLERANCE))
    low = np.ones(len(x))
    left = np.flatnonzero(~inside)
    rest = left
    while rest.size:
        low[rest] = np.where(low[rest] > _SMALLEST_SCALE, low[rest] / 2, 0.0)
        rest = rest[~np.asarray(action_set.contains(x[rest] * low[rest, None], tolerance=0.0))]
    left = left[low[left] > 0]
    high = 2 * low[left]
    for _ in range(_BISECTIONS):
        middle = (low[left] + high) / 2
        fits = np.asarray(action_set.contains(x[left] * middle[:, None], tolerance=0.0))
        low[left] = np.where(fits, middle, low[left])
        high = np.where(fits, high, middle)
    return low
