"""How many cycles the support test takes: by search, and by the paper's formula."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, as_delta, as_integer, as_non_negative, as_number

_SCANNED = 64
_LAST = 10**12


def cycles_to_lock(
    gap: float, threshold: Callable[[Any], FloatArray], *, sigma: float = 1.0, scale: float = 1.0
) -> float:
    """Return the smallest c with gap > sigma * scale * threshold(c); inf beyond 10^12.

    With the gap of theta_hat this is when the test passes if the gap stays as it is. The test is
    sure to pass, when the bound holds, by the c found for half the gap of theta*.

    Parameters
    ----------
    gap : float
        May be infinite, when there is nothing to compare with.
    threshold : callable
        From an array of cycles to thresholds for unit noise, such as
        `ConfidenceBound.top_h_threshold`. Non-increasing in c after the first few cycles.
    sigma : float
        Noise level.
    scale : float
        The policy's `confidence_scale`, and the set's Lipschitz constant if it has one.

    Examples
    --------
    >>> from sparsebandits.estimation import cycles_to_lock, make_confidence
    >>> from sparsebandits.exploration import DiagonalBasis
    >>> basis = DiagonalBasis([1.0] * 20)
    >>> for name in ("paper", "pairwise"):
    ...     bound = make_confidence(name, basis, delta=0.05)
    ...     print(name, cycles_to_lock(0.3, bound.top_h_threshold, sigma=0.5))
    paper 11264.0
    pairwise 124.0
    """
    gap = as_number("gap", gap, allow_infinite=True)
    factor = as_non_negative("sigma", sigma, allow_infinite=True)
    factor *= as_non_negative("scale", scale)
    if math.isnan(factor):
        raise InvalidValueError("sigma is infinite and scale is 0: their product means nothing.")
    if gap == math.inf:
        return 1.0

    def passes(cycle: Any) -> Any:
        return gap > factor * threshold(cycle)

    # ln(c^2 ...) / c may rise at first when delta is large, so the beginning is scanned.
    early = np.flatnonzero(passes(np.arange(1, _SCANNED + 1)))
    if early.size:
        return float(early[0] + 1)
    low, high = _SCANNED, 2 * _SCANNED
    while not passes(min(high, _LAST)):
        if high >= _LAST:
            return math.inf
        low, high = high, 2 * high
    high = min(high, _LAST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return float(high)


def warmup_cycles(gap: float, h_1: float, dim: int, delta: float) -> float:
    """Return C_0, the length of the warm-up that `lemma:C_0` grants, as printed.

    Parameters
    ----------
    gap : float
        Delta_min, the gap of theta*; positive.
    h_1 : float
        2 sigma^2 tr(B) / lambda_0^2. The proof needs 64 h_1 / gap^2 > e; below that the formula
        may even be negative.
    dim : int
    delta : float

    Examples
    --------
    >>> from sparsebandits.estimation import warmup_cycles
    >>> round(warmup_cycles(gap=0.3, h_1=10.0, dim=20, delta=0.05))
    149910
    """
    smallest = as_number("gap", gap, positive=True)
    d = as_integer("dim", dim, minimum=1)
    ratio = as_non_negative("h_1", h_1) / smallest / smallest  # smallest**2 may underflow
    if ratio == 0:
        return 0.0
    first = 32 * ratio * math.log(2 * d / as_delta(delta))
    return first + 128 * ratio * math.log(64 * ratio)  # eqn:C_0
