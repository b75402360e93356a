"""Tests of a linear model on its data: what an F test, a CUSUM and two moments can tell.

All of them are made on least-squares residuals. Their levels are exact, or asymptotically so, for
normal noise and actions fixed in advance; a learner chooses actions by looking at earlier rewards,
which is why an alarm asks for much (`ALARM`) and says what to look at, not what is proved.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from sparsebandits.validation import FloatArray

ALARM = 0.001
"""How probable so much, or more, may be by chance where an alarm is given."""

_DEPENDENT = 1e-6
"""Relative size below which a direction among columns is rounding."""

_ROUNDING = 1e-12
"""Relative length below which what is left of rewards is rounding."""

_FRESH = 1e-4
"""Relative length below which a column adds nothing to those before it."""


@dataclass(frozen=True)
class Found:
    """The outcome of a test.

    Attributes
    ----------
    p : float
        How probable so much, or more, is by chance; nan where it cannot be told.
    gain : float
        The share of the residual variance that is explained, or another size of the effect.
    added : int
        Columns that are not combinations of those before.
    """

    p: float
    gain: float = math.nan
    added: int = 0

    @property
    def is_known(self) -> bool:
        """Whether there was anything to test."""
        return math.isfinite(self.p)

    @property
    def is_alarm(self) -> bool:
        """Whether chance alone hardly does that."""
        return self.is_known and self.p < ALARM


UNKNOWN = Found(math.nan)


def basis_of(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of what columns span, (n, rank)."""
    lengths = np.linalg.norm(columns, axis=0)
    kept = columns[:, lengths > 0] / lengths[lengths > 0]
    if not kept.shape[1]:
        return np.zeros((len(columns), 0))
    # By the small matrix of products, many times faster than by singular values; what rounding
    # leaves of angles the second time takes away.
    return _orthonormal(_orthonormal(kept))


def _orthonormal(columns: FloatArray) -> FloatArray:
    squares, directions = np.linalg.eigh(columns.T @ columns)
    kept = squares > _DEPENDENT**2 * squares[-1]
    return np.asarray(columns @ (directions[:, kept] / np.sqrt(squares[kept])))


def residuals_of(columns: FloatArray, rewards: FloatArray) -> tuple[FloatArray, int]:
    """Return what least squares leave unexplained, (n,), and the degrees of freedom left."""
    basis = basis_of(columns)
    return _rest(basis, rewards), rewards.size - basis.shape[1]


def _rest(basis: FloatArray, rewards: FloatArray) -> FloatArray:
    """Return what is left of rewards; zeros where it is rounding alone."""
    rest = np.asarray(rewards - basis @ (basis.T @ rewards))
    is_rounding = np.linalg.norm(rest) <= _ROUNDING * np.linalg.norm(rewards)
    return np.zeros_like(rest) if is_rounding else rest


def f_test(columns: FloatArray, more: FloatArray, rewards: FloatArray) -> Found:
    """Test whether further columns explain more than chance would.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> noise = np.random.default_rng(0).normal(size=60)
    >>> line = np.hstack([np.ones((60, 1)), x])
    >>> f_test(line, x**2, x[:, 0] + 0.1 * noise).is_alarm
    False
    >>> f_test(line, x**2, x[:, 0] ** 2 + 0.1 * noise).is_alarm
    True
    """
    basis = basis_of(columns)
    lengths = np.linalg.norm(more, axis=0)
    beyond = more - basis @ (basis.T @ more)
    fresh = np.linalg.norm(beyond, axis=0) > _FRESH * np.maximum(lengths, 1e-300)
    added = basis_of(beyond[:, fresh])
    rest = _rest(basis, rewards)
    between, left = added.shape[1], rewards.size - basis.shape[1] - added.shape[1]
    if not between or left < 1:
        return UNKNOWN
    explained = float(((added.T @ rest) ** 2).sum())
    whole = float((rest**2).sum())
    unexplained = max(whole - explained, 0.0)
    if not whole > 0:  # nothing was left to explain
        return Found(1.0, 0.0, between)
    if unexplained <= 1e-12 * whole:
        return Found(0.0, 1.0, between)
    ratio = (explained / between) / (unexplained / left)
    return Found(float(scipy.special.fdtrc(between, left, ratio)), explained / whole, between)


def cusum_test(rest: FloatArray, freedom: int) -> Found:
    """Test whether residuals of a fit with a baseline keep to 0 all the time.

    The largest cumulative sum, over sigma sqrt(n), is that of a Brownian bridge where they do
    (Ploberger and Kraemer 1992).
    """
    spread = math.sqrt(float((rest**2).sum()) / max(freedom, 1))
    if not spread > 0:
        return UNKNOWN
    largest = float(np.abs(np.cumsum(rest)).max()) / (spread * math.sqrt(rest.size))
    return Found(float(scipy.special.kolmogorov(largest)), largest)


def moments(rest: FloatArray) -> tuple[float, float]:
    """Return skewness and excess kurtosis."""
    centred = rest - rest.mean()
    variance = float((centred**2).mean())
    if not variance > 0:
        return 0.0, 0.0
    unit = centred / math.sqrt(variance)
    return float((unit**3).mean()), float((unit**4).mean() - 3.0)


def normality_test(rest: FloatArray) -> Found:
    """Test skewness and kurtosis together: K^2 of D'Agostino and Pearson, chi-squared with 2.

    `gain` is the larger of the two in size.
    """
    n = rest.size
    if n < 20 or not rest.std() > 0:
        return UNKNOWN
    skewness, excess = moments(rest)
    statistic = _skewness_score(skewness, n) ** 2 + _kurtosis_score(excess + 3.0, n) ** 2
    return Found(float(scipy.special.chdtrc(2, statistic)), max(abs(skewness), abs(excess)))


def _skewness_score(skewness: float, n: int) -> float:
    """Transform skewness to a standard normal score (D'Agostino 1970)."""
    y = skewness * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    beta /= (n - 2.0) * (n + 5) * (n + 7) * (n + 9)
    w_squared = -1 + math.sqrt(2 * (beta - 1))
    alpha = math.sqrt(2.0 / (w_squared - 1))
    return math.asinh(y / alpha) / math.sqrt(0.5 * math.log(w_squared))


def _kurtosis_score(kurtosis: float, n: int) -> float:
    """Transform kurtosis to a standard normal score (Anscombe and Glynn 1983)."""
    mean = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3.0) * (n + 5))
    x = (kurtosis - mean) / math.sqrt(variance)
    skew = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    skew *= math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2.0) * (n - 3)))
    a = 6.0 + 8.0 / skew * (2.0 / skew + math.sqrt(1 + 4.0 / skew**2))
    denominator = 1 + x * math.sqrt(2 / (a - 4.0))
    root = math.copysign(abs((1 - 2.0 / a) / denominator) ** (1 / 3.0), denominator)
    return (1 - 2 / (9.0 * a) - root) / math.sqrt(2 / (9.0 * a))
