"""m_c: how many exploitation steps follow the exploration of cycle c."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError
from sparsebandits.validation import IntArray, as_choice, as_integer, describe

Schedule = Callable[[int], int]


def linear(cycle: int) -> int:
    """m_c = c, for strongly convex sets: the d sqrt(T) rate (`thm:regret_general`)."""
    return cycle


def square_root(cycle: int) -> int:
    """m_c = floor(sqrt(c)), for any compact set: d T^(2/3) (`thm:regret_general_compact`)."""
    return math.isqrt(cycle)


def quadratic(cycle: int) -> int:
    """m_c = c^2: the exploration is T^(1/3) of all steps; no rate of the paper uses it."""
    return cycle * cycle


SCHEDULES: dict[str, Schedule] = {
    "linear": linear,
    "sqrt": square_root,
    "quadratic": quadratic,
}


def make_schedule(schedule: Any) -> Schedule:
    """Return a schedule by its name, or the caller's own function of the cycle.

    What an own function returns is checked to be a non-negative integer at each cycle.
    """
    if isinstance(schedule, str):
        return SCHEDULES[as_choice("schedule", schedule, SCHEDULES)]
    if not callable(schedule):
        raise InvalidTypeError(
            f"schedule must be a name or a function of the cycle, got {describe(schedule)}."
        )

    def checked(cycle: int) -> int:
        return as_integer(f"schedule({cycle})", schedule(cycle), minimum=0)

    return checked


def lengths(schedule: Schedule, cycles: IntArray) -> IntArray:
    """m_c for an array of cycles."""
    return np.array([schedule(int(cycle)) for cycle in cycles], dtype=np.intp)
