"""Whether actions span, up to rounding, and which one is to blame if they do not."""

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, IntArray


def spanning_singular_values(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Return the singular values of square blocks of rows, (n, k, k) to (n, k), if they span.

    Whether they do is seen after scaling each row to length 1, so that short actions are not taken
    for dependent ones; `labels`, (n, k), names the rows.
    """
    lengths = np.linalg.norm(rows, axis=-1)
    if not lengths.all():
        k = labels[lengths == 0][0]
        raise InvalidValueError(
            f"Action k = {k} of the basis is 0 and teaches nothing; replace it, or use "
            "basis='standard'."
        )
    unit = rows / lengths[..., None]
    dependent = _first_singular(np.linalg.svd(unit, compute_uv=False))
    if dependent is not None:
        raise InvalidValueError(
            f"The actions do not span: up to rounding, action k = "
            f"{labels[dependent, _last_pivot(unit[dependent])]} is a combination of the others. "
            "Replace it, or use basis='standard'."
        )
    singular = np.asarray(np.linalg.svd(rows, compute_uv=False), dtype=np.float64)
    uneven = _first_singular(singular)
    if uneven is not None:
        k = labels[uneven, lengths[uneven].argmin()]
        raise InvalidValueError(
            f"Action k = {k} of the basis has length {lengths[uneven].min():.3g} and another "
            f"{lengths[uneven].max():.3g}: too different to be told apart from 0 in floating "
            "point. Rescale the coordinates."
        )
    return singular


def _first_singular(singular_values: FloatArray) -> int | None:
    rounding = singular_values.shape[1] * np.finfo(np.float64).eps
    lost = np.flatnonzero(singular_values[:, -1] <= rounding * singular_values[:, 0])
    return int(lost[0]) if lost.size else None


def _last_pivot(rows: FloatArray) -> int:
    """Return the row that a greedy, pivoted elimination would take last."""
    left = rows.copy()
    taken = np.zeros(len(rows), dtype=np.bool_)
    for _ in range(len(rows) - 1):
        norms = np.where(taken, -1.0, np.linalg.norm(left, axis=1))
        pivot = int(norms.argmax())
        taken[pivot] = True
        if norms[pivot] > 0:
            direction = left[pivot] / norms[pivot]
            left = left - np.outer(left @ direction, direction)
    return int(taken.argmin())
