"""How the parameters of a policy are declared: a default, and what it is checked to be."""

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.estimation import as_sigma
from sparsebandits.validation import (
    FloatArray,
    as_array,
    as_delta,
    as_flag,
    as_integer,
    as_number,
    read_only,
)

Check = Callable[[str, Any], Any]
"""From the name and what was given to the plain value; it refuses what will not do."""

positive: Check = partial(as_number, positive=True)
count: Check = partial(as_integer, minimum=1)
size: Check = partial(as_integer, minimum=0)


def checked(check: Check, default: Any) -> Any:
    """Declare a parameter of a policy; None is not checked where it is the default."""
    return field(default=default, metadata={"check": check})


def sigma_or_estimate(name: str, sigma: Any) -> float | str:
    """Return sigma as a number >= 0, or the word "estimate"."""
    return as_sigma(sigma)


def failure_probability(name: str, delta: Any) -> float:
    """Return delta, strictly between 0 and 1."""
    return as_delta(delta)


def per_coordinate(name: str, value: Any) -> float | FloatArray:
    """Return a number, or an array with one for each coordinate."""
    if np.ndim(value) == 0:
        return as_number(name, value)
    return read_only(as_array(name, value, ndim=1).copy())


def flag(name: str, value: Any) -> bool:
    """Return a plain boolean."""
    return as_flag(name, value)
