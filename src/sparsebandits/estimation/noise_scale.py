"""sigma: given, or estimated from the spread of the rewards of each action about their mean."""

import math
from typing import Any

import numpy as np
import scipy.special

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    FloatArray,
    as_delta,
    as_floats,
    as_integers,
    as_non_negative,
    describe,
)

ESTIMATE = "estimate"


def as_sigma(sigma: Any) -> float | str:
    """Return sigma as a number >= 0, or the word ``"estimate"``."""
    if isinstance(sigma, str):
        if sigma != ESTIMATE:
            raise InvalidValueError(f"sigma must be a number or {ESTIMATE!r}, got {sigma!r}.")
        return sigma
    return as_non_negative("sigma", sigma)


def split_delta(delta: float, sigma: float | str) -> tuple[float, float]:
    """Return the shares of delta for the bounds on theta_hat and for the bound on sigma.

    Halves if sigma is estimated, so that both hold together with probability 1 - delta; all of it
    and nothing if sigma is given.

    Examples
    --------
    >>> from sparsebandits.estimation import split_delta
    >>> split_delta(0.05, 0.5), split_delta(0.05, "estimate")
    ((0.05, 0.0), (0.025, 0.025))
    """
    total = as_delta(delta)
    return (total / 2, total / 2) if as_sigma(sigma) == ESTIMATE else (total, 0.0)


def pooled_sigma(squares: Any, nu: Any) -> FloatArray:
    """sqrt(squares / nu), the pooled standard deviation; inf while nu = 0.

    Parameters
    ----------
    squares : float or array
        Sums of squared deviations within the actions, such as `ArmLanes.residual_squares`.
    nu : int or array of int
        Degrees of freedom, sum_k (n_k - 1).

    Examples
    --------
    >>> from sparsebandits.estimation import pooled_sigma
    >>> pooled_sigma([8.0, 0.0], [2, 0])
    array([ 2., inf])
    """
    sums, freedom = _as_squares(squares, nu)
    return _root_of_ratio(sums, freedom, freedom)


def sigma_upper(squares: Any, nu: Any, delta: float, look: Any = None) -> FloatArray:
    """Bound sigma from above at all looks at once, with probability at least 1 - delta.

    For Gaussian noise with standard deviation sigma, squares / sigma^2 has the chi-square
    distribution with nu degrees of freedom, so sigma is at most sqrt(squares / q) with q its
    lower quantile at level 6 delta / (pi^2 look^2); the levels add up to delta over all looks.

    This rests on the noise being Gaussian, with equal variance throughout. The sub-Gaussian
    parameter of noise in general cannot be bounded from data: a rare large value of probability p
    raises it by an amount that does not depend on p, and will not have been seen in fewer than
    1 / p rewards.

    Parameters
    ----------
    squares, nu
        As in `pooled_sigma`; at nu = 0 the bound is inf.
    delta : float
        See `split_delta`.
    look : int or array of int, optional
        The number of this look, if looks are numbered 1, 2, ... in advance: c - 1 at the end of
        cycle c, when nu is (c - 1) d. By default nu itself, which allows a look at any time.

    Examples
    --------
    >>> from sparsebandits.estimation import sigma_upper
    >>> sigma_upper([0.0, 25.0, 2500.0], [0, 100, 10_000], delta=0.025).round(3)
    array([  inf, 0.728, 0.523])
    """
    sums, freedom = _as_squares(squares, nu)
    number = freedom if look is None else as_integers("look", look, minimum=0)
    level = 6 * as_delta(delta) / (math.pi * np.maximum(number, 1.0)) ** 2
    # gammaincinv keeps its precision at tiny levels, where 1 - level would be rounded to 1.
    quantile = 2 * scipy.special.gammaincinv(np.maximum(freedom, 1.0) / 2, level)
    return _root_of_ratio(sums, freedom, quantile)


def _root_of_ratio(squares: FloatArray, nu: FloatArray, divisor: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(squares / divisor)
    # An underflowed quantile, or no data at all, leaves sigma unbounded.
    return np.asarray(np.where((nu > 0) & (divisor > 0), root, np.inf))


def _as_squares(squares: Any, nu: Any) -> tuple[FloatArray, FloatArray]:
    sums = as_floats("squares", squares, "of any shape")
    if not (sums >= 0).all() or np.isinf(sums).any():
        raise InvalidValueError(
            f"squares must be finite and non-negative, got {describe(squares)}."
        )
    return sums, as_integers("nu", nu, minimum=0).astype(np.float64)
