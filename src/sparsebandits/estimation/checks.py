"""Arguments that every part of estimation checks alike: delta, cycles, weights, rewards."""

from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, as_array, as_integers, as_number

LARGEST_REWARD = 1e100
"""Rewards stay below this, so that squares of sums of rewards do not overflow."""


def as_delta(delta: Any) -> float:
    """Return the failure probability, checked to lie strictly between 0 and 1."""
    number = as_number("delta", delta)
    if not 0 < number < 1:
        raise InvalidValueError(
            f"delta must lie strictly between 0 and 1, got {number}; "
            "0.05 means right with probability 95%."
        )
    return number


def as_cycles(cycle: Any) -> FloatArray:
    """Return cycle numbers c >= 1 as floats of the same shape; fractions are refused."""
    return as_integers("cycle", cycle, minimum=1).astype(np.float64)


def as_weights(weights: Any, dim: int) -> FloatArray:
    """Return non-negative weights, one per coordinate."""
    array = as_array("weights", weights, ndim=1)
    if array.shape != (dim,):
        raise InvalidValueError(f"weights must have shape ({dim},), got {array.shape}.")
    if array.min() < 0:
        raise InvalidValueError(f"weights must be non-negative, got {array.min()}.")
    return array


def as_non_negative(name: str, value: Any, *, allow_infinite: bool = False) -> float:
    """Return a number >= 0."""
    number = as_number(name, value, allow_infinite=allow_infinite)
    if number < 0:
        raise InvalidValueError(f"{name} must be non-negative, got {number}.")
    return number


def as_reward(reward: Any) -> float:
    """Return a reward that is a finite number, and small enough to be squared."""
    number = as_number("reward", reward)
    if abs(number) >= LARGEST_REWARD:
        raise InvalidValueError(
            f"reward must be smaller than {LARGEST_REWARD:g} in size, got {number}; "
            "change its unit."
        )
    return number
