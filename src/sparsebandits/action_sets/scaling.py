"""Powers of two that bring numbers to about 1, so that squares neither overflow nor vanish."""

import numpy as np
from numpy.typing import ArrayLike

from sparsebandits.validation import FloatArray

_SMALLEST = np.finfo(np.float64).tiny


def power_of_two(values: ArrayLike) -> FloatArray:
    """Round positive values down to a power of two, and 0 to 1, so that scaling is exact."""
    array = np.asarray(values, dtype=np.float64)
    _, exponent = np.frexp(array)
    return np.where(array > 0.0, np.ldexp(1.0, exponent - 1), 1.0)


def unit_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows with their largest entry in [1, 2) in size, and the scales, (..., 1).

    Examples
    --------
    >>> rows, scales = unit_rows(np.array([[3e-300, -1e-300], [0.0, 0.0]]))
    >>> rows.round(2).tolist(), float(scales[0, 0]) == 2.0**-995
    ([[1.0, -0.33], [0.0, 0.0]], True)
    """
    _, exponents = np.frexp(np.abs(rows).max(axis=-1, keepdims=True))
    scales = np.ldexp(1.0, exponents - 1)
    return rows / scales, scales


def length(rows: FloatArray, order: float = 2.0) -> FloatArray:
    """Return the l2 norm, or another, of the rows: (..., k) to (...)."""
    # Entries over the largest are at most 1: no power overflows.
    scales = np.maximum(np.abs(rows).max(axis=-1, keepdims=True), _SMALLEST)
    return np.asarray(scales[..., 0] * np.linalg.norm(rows / scales, ord=order, axis=-1))
