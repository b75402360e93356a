"""Least doses: x_i is 0 or at least min_dose_i."""

from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, as_array, as_number, read_only


def as_doses(min_dose: Any, upper: FloatArray) -> FloatArray | None:
    """Return the least dose of each coordinate, (dim,), or None where none is above 0.

    A number is meant for every coordinate that can be used at all.

    Parameters
    ----------
    min_dose : float, array of shape (dim,) or None
    upper : (dim,)
        The largest dose of each; infinite where none is known.
    """
    if min_dose is None:
        return None
    if np.ndim(min_dose) == 0:
        given = np.full(upper.shape, as_number("min_dose", min_dose))
    else:
        given = as_array("min_dose", min_dose, ndim=1)
    if given.shape != upper.shape:
        raise InvalidValueError(
            f"min_dose must be a number or have one entry for each of the {upper.size} "
            f"coordinates, got shape {given.shape}."
        )
    doses = np.where(upper > 0, given, 0.0)
    wrong = np.flatnonzero((doses < 0) | (doses > upper))
    if wrong.size:
        i = wrong[0]
        raise InvalidValueError(
            f"min_dose must lie between 0 and upper, got min_dose[{i}] = {doses[i]} with "
            f"upper[{i}] = {upper[i]}; use upper = 0 for a coordinate that may never be used."
        )
    return read_only(doses) if doses.any() else None
