"""K: how many cycles T steps hold, counted and not estimated."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebandits.policies.schedules import Schedule, make_schedule
from sparsebandits.validation import IntArray, as_integer, as_integers, as_number


def cycles_in(
    horizon: Any, dim: int, schedule: Any = "linear", warmup_cycles: float = 1.0
) -> IntArray:
    """Return K, the cycle into which step T falls, for every T in `horizon`.

    Cycle c takes d steps while c < C_0 and d + m_c steps from C_0 on. The paper writes
    K = Theta(sqrt(T)) for m_c = c and Theta(T^(2/3)) for m_c = floor(sqrt(c)).

    Parameters
    ----------
    horizon : int or array of int
        T >= 1.
    dim : int
        d.
    schedule : str or function
        m_c: "linear", "sqrt", or a function of the cycle.
    warmup_cycles : float
        C_0, the cycle in which the support is locked, which is also the first to exploit; up to 1
        there is no warm-up, infinite means never.

    Examples
    --------
    >>> from sparsebandits.theory import cycles_in
    >>> cycles_in([2_000, 200_000], dim=20)
    array([ 46, 613])
    >>> cycles_in([2_000, 200_000], dim=20, schedule="sqrt")
    array([  79, 3419])
    """
    steps = as_integers("horizon", horizon, minimum=1)
    d = as_integer("dim", dim, minimum=1)
    m = make_schedule(schedule)
    locked = as_number("warmup_cycles", warmup_cycles, allow_infinite=True)
    largest = int(steps.max(initial=1))
    # A warm-up beyond the last step is one that never ends.
    silent = min(largest, max(0, math.ceil(min(locked, largest + 1)) - 1))
    if isinstance(schedule, str):
        cycles = [_search(int(t), d, _EXPLOITED[schedule], silent) for t in steps.flat]
        return np.array(cycles, dtype=np.intp).reshape(steps.shape)
    ends = _ends(largest, d, m, silent)
    return np.asarray(np.searchsorted(ends, steps, side="left") + 1)


def _square_root_sum(cycles: int) -> int:
    """Sum floor(sqrt(c)) for c = 1..cycles: each value j < s occurs 2j + 1 times."""
    s = math.isqrt(cycles)
    return (s - 1) * s * (4 * s + 1) // 6 + s * (cycles - s * s + 1)


_EXPLOITED: dict[str, Callable[[int], int]] = {
    "linear": lambda cycles: cycles * (cycles + 1) // 2,
    "sqrt": _square_root_sum,
    "quadratic": lambda cycles: cycles * (cycles + 1) * (2 * cycles + 1) // 6,
}
"""Exploitation steps of cycles 1..K together, in closed form for the named schedules."""


def _search(horizon: int, dim: int, exploited: Callable[[int], int], silent: int) -> int:
    low, high = 0, -(-horizon // dim)
    while high - low > 1:
        middle = (low + high) // 2
        steps = dim * middle + exploited(max(middle, silent)) - exploited(silent)
        low, high = (middle, high) if steps < horizon else (low, middle)
    return high


def _ends(horizon: int, dim: int, schedule: Schedule, silent: int) -> list[int]:
    """Return the last step of each cycle, up to the one that reaches the horizon."""
    ends: list[int] = []
    total = 0
    while total < horizon:
        cycle = len(ends) + 1
        total += dim + (schedule(cycle) if cycle > silent else 0)
        ends.append(total)
    return ends
