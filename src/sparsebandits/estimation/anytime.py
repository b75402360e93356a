"""How far a mean of c sub-Gaussian terms may stray, for all c at once: three boundaries.

Each returns, for terms with variance proxy 1, a half-width g(c) such that

P(there is c >= 1 with |mean of the first c terms| > g(c)) <= alpha.

The terms are sub-Gaussian given the past: E exp(lambda X) <= exp(lambda^2 / 2).
"""

import math

import numpy as np
import scipy.special

from sparsebandits.validation import FloatArray


def union_width(cycle: FloatArray, alpha: float) -> FloatArray:
    """One sub-Gaussian tail per c, each with its own share 6 alpha / (pi^2 c^2) of alpha.

    The shares add up to alpha, because sum 1/c^2 = pi^2 / 6.
    """
    return np.sqrt(2 * (math.log(math.pi**2 / (3 * alpha)) + 2 * np.log(cycle)) / cycle)


def mixture_width(cycle: FloatArray, log_level: float, rho: float, size: int = 1) -> FloatArray:
    """Robbins' (1970) normal mixture: no union over c at all; log_level is ln(1 / alpha).

    exp(lambda S_c - lambda^2 c / 2) is a supermartingale for every lambda. So is its average over
    lambda ~ N(0, 1 / rho), which is sqrt(rho / (c + rho)) exp(S_c^2 / (2 (c + rho))) and starts at
    1. By Ville's inequality it ever exceeds 1 / alpha with probability at most alpha.

    For vectors of `size` entries with variance proxy I, lambda ~ N(0, I / rho) gives the same with
    the root to the power `size`, and bounds the l2 norm of the mean.
    """
    inside = size * np.log1p(cycle / rho) + 2 * log_level
    return np.asarray(np.sqrt((cycle + rho) * inside) / cycle)


def best_rho(log_level: float, cycle: float, size: int = 1) -> float:
    """Return the rho that makes `mixture_width` smallest at the given cycle.

    With x = cycle / rho + 1 the width is smallest where x - ln x = 1 + 2 log_level / size; the map
    x -> 1 + 2 log_level / size + ln x leads there. Any rho > 0 keeps the boundary valid.
    """
    start = 1 + 2 * log_level / size
    x = start
    for _ in range(60):
        x = start + math.log(x)
    return cycle / (x - 1)


def stitched_width(cycle: FloatArray, alpha: float) -> FloatArray:
    """Polynomial stitching of Howard, Ramdas, McAuliffe and Sekhon (2021), Theorem 1.

    One line per epoch eta^k <= c < eta^(k+1), with share 1 / (zeta(s) (k+1)^s) of alpha; eta = 2
    and s = 1.4 as they recommend, alpha / 2 for each side. Grows like sqrt(ln ln c / c), which is
    the right rate.
    """
    eta, s = 2.0, 1.4
    k_1 = (eta**0.25 + eta**-0.25) / math.sqrt(2)
    zeta = float(scipy.special.zeta(s))
    level = s * np.log(np.log(eta * cycle) / math.log(eta)) + math.log(2 * zeta / alpha)
    return np.asarray(k_1 * np.sqrt(level / cycle))
