"""Checks that several parts of the environments share."""

from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import as_number, describe


def as_generator(rng: Any) -> np.random.Generator:
    """Return `rng`, checked to be a numpy generator: a seed would restart at every call."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidTypeError(
            f"rng must be a numpy.random.Generator, got {describe(rng)}; "
            "pass numpy.random.default_rng(seed)."
        )
    return rng


def as_non_negative(name: str, value: Any) -> float:
    """Return `value` as a finite float that is at least 0."""
    number = as_number(name, value)
    if number < 0:
        raise InvalidValueError(f"{name} must be non-negative, got {number}.")
    return number
