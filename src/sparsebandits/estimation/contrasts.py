"""The largest variance among the contrasts w_i theta_i +- w_j theta_j of two coordinates."""

from functools import singledispatch

import numpy as np

from sparsebandits.exploration import AffineBasis, Basis, BlockBasis, DiagonalBasis
from sparsebandits.exploration.affine import EXACT_DIM
from sparsebandits.validation import FloatArray

_CHUNK_ENTRIES = 2_000_000


def sum_of_two_largest(values: FloatArray) -> float:
    """Return the largest v_i + v_j over i != j; 0 when there is no pair."""
    if values.size < 2:
        return 0.0
    return float(np.partition(values, -2)[-2:].sum())


@singledispatch
def largest_contrast_variance(basis: Basis, weights: FloatArray) -> float:
    """Return max over i != j and both signs of the variance after one cycle with unit noise.

    It is w_i^2 B^-1_ii + w_j^2 B^-1_jj + 2 w_i w_j |B^-1_ij|: one of the two signs attains the
    modulus. A few columns of B^-1 are held at a time. Diagonal and block bases, where most
    covariances vanish, need no more than O(dim) and O(dim H) memory.
    """
    scaled = weights**2 * basis.coordinate_variance
    step = max(1, _CHUNK_ENTRIES // basis.dim)
    largest = 0.0
    for start in range(0, basis.dim, step):
        chosen = np.arange(start, min(start + step, basis.dim))
        covariance = np.abs(basis.inverse_gram_columns(chosen)) * weights[:, None]
        total = scaled[:, None] + scaled[chosen] + 2 * covariance * weights[chosen]
        total[chosen, np.arange(chosen.size)] = 0.0  # i = j is no pair
        largest = max(largest, float(total.max()))
    return largest


@largest_contrast_variance.register
def _diagonal(basis: DiagonalBasis, weights: FloatArray) -> float:
    return sum_of_two_largest(weights**2 * basis.coordinate_variance)


@largest_contrast_variance.register
def _block(basis: BlockBasis, weights: FloatArray) -> float:
    # Between blocks the covariance is 0, and inside one it only adds to the variance: the two
    # largest variances serve for all pairs between blocks, wherever they are.
    largest = sum_of_two_largest(weights**2 * basis.coordinate_variance)
    by_size: dict[int, list[tuple[FloatArray, FloatArray]]] = {}
    for coordinates, rows in basis.blocks:
        by_size.setdefault(coordinates.size, []).append((weights[coordinates], rows))
    for size, blocks in by_size.items():
        if size == 1:
            continue
        inverse = np.linalg.inv(np.stack([rows for _, rows in blocks]))
        factor = np.stack([weight for weight, _ in blocks])[..., None] * inverse
        covariance = np.abs(factor @ factor.swapaxes(-1, -2))
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        total = variance[:, :, None] + variance[:, None, :] + 2 * covariance
        total[:, np.arange(size), np.arange(size)] = 0.0
        largest = max(largest, float(total.max()))
    return largest


@largest_contrast_variance.register
def _affine(basis: AffineBasis, weights: FloatArray) -> float:
    if basis.dim <= EXACT_DIM:
        exact = largest_contrast_variance.dispatch(Basis)
        return float(exact(basis, weights))
    # C^-1 = (D'D)^-1 + u u': the largest of a sum is at most the sum of the largest. It is that,
    # where D is diagonal: the pair with the two largest variances has the two largest u as well.
    shared = sum_of_two_largest(weights * np.abs(basis.ray))
    return largest_contrast_variance(basis.differences, weights) + shared**2
