"""The one least squares: V theta = b for many V at once, and whether V can be inverted.

Every V is scaled to a unit diagonal first, so that the units of the coordinates do not matter; and
is factored anew, so that no inverse can drift.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from sparsebandits.validation import BoolArray, FloatArray


def unit_diagonal(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return D^-1 V D^-1 of every V, (n, dim, dim), and the D that make its diagonal 1, (n, dim).

    Examples
    --------
    >>> import numpy as np
    >>> unit_diagonal(np.array([[[4.0, 2.0], [2.0, 9.0]]]))[1]
    array([[2., 3.]])
    """
    lengths = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    return gram / lengths[:, :, None] / lengths[:, None, :], lengths


def are_invertible(gram: FloatArray) -> BoolArray:
    """Return whether each V, (n, dim, dim), is invertible up to rounding, whatever its units.

    Examples
    --------
    >>> import numpy as np
    >>> are_invertible(np.array([[[1.0, 0.0], [0.0, 1e-30]], [[1.0, 1.0], [1.0, 1.0]]]))
    array([ True, False])
    """
    invertible = np.asarray(np.diagonal(gram, axis1=-2, axis2=-1).all(axis=-1))
    if invertible.any():
        eigenvalues = np.linalg.eigvalsh(unit_diagonal(gram[invertible])[0])
        rounding = 4 * gram.shape[-1] * np.finfo(np.float64).eps
        invertible[invertible] = eigenvalues[:, 0] > rounding * eigenvalues[:, -1]
    return invertible


def solve(gram: FloatArray, response: FloatArray) -> FloatArray:
    """Return V^-1 b for every invertible V, (n, dim, dim), and b, (n, dim).

    Examples
    --------
    >>> import numpy as np
    >>> solve(np.array([[[2.0, 0.0], [0.0, 4.0]]]), np.array([[6.0, 4.0]]))
    array([[3., 1.]])
    """
    scaled, lengths = unit_diagonal(gram)
    right = (response / lengths)[:, :, None]
    return np.asarray(np.linalg.solve(scaled, right)[:, :, 0] / lengths)


def inverse_root(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return R with R R' = V^-1 of every V, (n, dim, dim), and the smallest pivot behind it, (n,).

    The pivot is that of the Cholesky factor of V scaled to a unit diagonal; it is 0, and R not to
    be used, where there is no such factor.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_root(np.array([[[4.0, 0.0], [0.0, 16.0]]]))[0]
    array([[[0.5 , 0.  ],
            [0.  , 0.25]]])
    """
    scaled, lengths = unit_diagonal(gram)
    lower = _cholesky(scaled)
    pivots = np.asarray(np.diagonal(lower, axis1=1, axis2=2).min(axis=1))
    lower[pivots == 0] = np.eye(gram.shape[-1])
    return np.swapaxes(np.linalg.inv(lower), 1, 2) / lengths[:, :, None], pivots


def inverse(gram: FloatArray) -> tuple[FloatArray, float]:
    """Return V^-1 of one V, (dim, dim), symmetric to the bit, and the smallest pivot behind it.

    The pivot is as in `inverse_root`.

    Examples
    --------
    >>> import numpy as np
    >>> inverse(np.array([[4.0, 0.0], [0.0, 16.0]]))[0]
    array([[0.25  , 0.    ],
           [0.    , 0.0625]])
    """
    scaled, lengths = unit_diagonal(gram[None])
    factor, failed = dpotrf(scaled[0], lower=True)
    if failed:
        return np.zeros_like(gram), 0.0
    lower = np.tril(dpotri(factor, lower=True)[0])
    whole = lower + np.tril(lower, -1).T
    return whole / np.multiply.outer(lengths[0], lengths[0]), float(np.diagonal(factor).min())


def _cholesky(matrices: FloatArray) -> FloatArray:
    """Return the Cholesky factor of each matrix, (n, dim, dim); 0 where it has none."""
    try:
        return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.zeros_like(matrices)
        return np.concatenate([_cholesky(matrix[None]) for matrix in matrices])
