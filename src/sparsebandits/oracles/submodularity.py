"""The submodularity ratio gamma of h(.; theta), and what greedy is worth because of it."""

import math
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.oracles.argmax import sparse_argmax
from sparsebandits.oracles.solution import padded
from sparsebandits.validation import FloatArray, as_number, as_sparsity, as_theta

_LARGEST_DIM = 14
_ROUNDING = 1e-12


def submodularity_ratio(action_set: ActionSet, theta: Any) -> float:
    """Compute gamma of h(.; theta) by its definition (`def:submodularity ratio`).

    The least of sum_w (h(S+w) - h(S)) / (h(S+Omega) - h(S)) over disjoint S, Omega, with 0/0 = 1.
    All 3^d pairs are tried, so d is limited to 14 available coordinates. In [0, 1]; 1 exactly when
    h is submodular; 0 where no single coordinate gains and a pair does, as on {(s, s)}.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> sb.submodularity_ratio(sb.Box([0, 0, 0], [1, 1, 1]), [0.3, -1.0, 2.0])
    1.0
    """
    if not action_set.contains_zero:
        raise CompositionError(
            f"gamma is defined by the gains of h over 0, and {action_set!r} does not contain 0. "
            "Use method='exact', which needs no gamma."
        )
    parameter = as_theta(theta, action_set.dim)
    if parameter.ndim != 1:
        raise InvalidValueError(f"theta must have shape (dim,), got shape {parameter.shape}.")
    usable = np.flatnonzero(action_set.available)
    if usable.size > _LARGEST_DIM:
        raise InvalidValueError(
            f"gamma by its definition needs at most {_LARGEST_DIM} available coordinates, got "
            f"{usable.size}; use action_set.gamma_bound, or restrict the set."
        )
    values = _values_of_all_supports(action_set, parameter)
    least = 1.0
    everything = values.size - 1
    for support in range(values.size):
        least = min(least, _least_ratio(values, support, everything & ~support))
    return max(least, 0.0)


def _values_of_all_supports(action_set: ActionSet, theta: FloatArray) -> FloatArray:
    """H of every subset of the available coordinates, indexed by its bit mask."""
    usable = np.flatnonzero(action_set.available)
    codes = np.arange(2**usable.size)
    masks = np.zeros((codes.size, action_set.dim), dtype=np.bool_)
    masks[:, usable] = (codes[:, None] >> np.arange(usable.size)) & 1
    rows = np.repeat(theta[None, :], codes.size, axis=0)
    return action_set.respond_on(rows, padded(masks, usable.size))[1]


def _least_ratio(values: FloatArray, support: int, free: int) -> float:
    """Try every Omega inside the bit mask `free`; sums and unions are built one bit at a time."""
    gained, summed = np.zeros(1), np.zeros(1)
    codes = np.zeros(1, dtype=np.intp)
    noise = _ROUNDING * float(values[-1])
    for bit in range(free.bit_length()):
        if free >> bit & 1:
            own = max(float(values[support | 1 << bit] - values[support]), 0.0)
            own = own if own > noise else 0.0
            codes = np.concatenate([codes, codes | 1 << bit])
            summed = np.concatenate([summed, summed + own])
    gained = values[support | codes] - values[support]
    positive = gained > noise
    if not positive.any():
        return 1.0
    return float((summed[positive] / gained[positive]).min())


def approximation_ratio(gamma: float) -> float:
    """Alpha = 1 - exp(-gamma), the share of the optimum that greedy is sure to reach.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> round(sb.approximation_ratio(1.0), 3)
    0.632
    """
    gamma = as_number("gamma", gamma)
    if not 0 <= gamma <= 1 + _ROUNDING:
        raise InvalidValueError(f"gamma must lie in [0, 1], got {gamma}.")
    return -math.expm1(-gamma)  # lemma:approximation ratio expression


def certified_ratio(
    action_set: ActionSet, theta: Any, sparsity: int, *, time_limit: float | None = None
) -> float:
    """Return greedy's value over the optimum on this very instance, or a lower bound on it.

    The optimum is the exact oracle's upper bound, which is the optimum itself unless `time_limit`
    stops the proof. 1 where nothing can be earned; 0 where the optimum itself is a loss, as it may
    be where 0 is not in the set, and greedy loses more.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> tilted = sb.Ellipsoid([[2.4, -0.2, -1.9], [-0.2, 0.2, 0.1], [-1.9, 0.1, 1.7]])
    >>> round(sb.certified_ratio(tilted, [-0.5, -0.8, -0.8], sparsity=2), 3)
    0.732
    """
    as_sparsity(sparsity, action_set.dim)
    reached = sparse_argmax(action_set, theta, sparsity, "greedy").value
    best = sparse_argmax(action_set, theta, sparsity, "exact", time_limit=time_limit).upper_bound
    if best > 0:
        return min(reached / best, 1.0)
    return 1.0 if reached >= best else 0.0
