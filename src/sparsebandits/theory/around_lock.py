"""Regret without the gap test, before the lock and after it; the proofs are in `docs/theory.md`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.theory.cycles import cycles_in
from sparsebandits.validation import (
    FloatArray,
    as_delta,
    as_integer,
    as_integers,
    as_non_negative,
)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """What the bounds need to know of a problem and of how it is explored.

    Parameters
    ----------
    dim : int
        d.
    norm_bound : float
        L, the largest l2 norm of an H-sparse action.
    theta_norm : float
        ||theta*||_2.
    curvature : float
        A = 2 L_grad / ||theta*(S*)||, so that an action on the best support costs at most A times
        the squared error of the estimate there.
    sigma : float
    inverse_trace : float
        tr(B^-1): d for the standard basis.

    Examples
    --------
    >>> from sparsebandits.theory import Instance
    >>> ball = Instance(
    ...     dim=20, norm_bound=1.0, theta_norm=2.6, curvature=1.1, sigma=0.5, inverse_trace=20.0
    ... )
    >>> ball.error_constant
    5.0
    """

    dim: int
    norm_bound: float
    theta_norm: float
    curvature: float
    sigma: float
    inverse_trace: float

    def __post_init__(self) -> None:
        as_integer("dim", self.dim, minimum=1)
        for name in ("norm_bound", "theta_norm", "sigma", "inverse_trace"):
            as_non_negative(name, getattr(self, name))
        if self.curvature == math.inf:
            raise InvalidValueError(
                "curvature is infinite: the set is not strongly convex, and these bounds need an "
                "action whose regret is quadratic in the error; see regret_general_compact."
            )
        as_non_negative("curvature", self.curvature)

    @property
    def error_constant(self) -> float:
        """V = sigma^2 tr(B^-1): the expected squared error of theta_hat_c is at most V / c."""
        return self.sigma**2 * self.inverse_trace

    @property
    def exploration(self) -> float:
        """2 L ||theta*||: what a step costs at most."""
        return 2 * self.norm_bound * self.theta_norm


def regret_untested(
    horizon: Any, instance: Instance, *, gap: float = 0.0, density: float | None = None
) -> FloatArray:
    """Bound the expected regret of m_c = c steps without a gap test, with an exact oracle.

    With K the cycle into which step T falls,

        E R_T <= 2 d L ||theta*|| K + min{ K V (A + 4 L^2 / gap), (4/3) L sqrt(V) (K + 1)^(3/2) }:

    d sqrt(T) with a gap, T^(3/4) without. If theta* is drawn, and P(gap <= u) <= density u for all
    u, the minimum is K V (A + 4 L^2 density): d sqrt(T) on average, although the gap may be 0.

    Parameters
    ----------
    horizon : int or array of int
        T.
    instance : Instance
        Where theta* is drawn, with the means of ||theta*|| and of A.
    gap : float
        h(S*) minus the best value on any other support of H coordinates.
    density : float, optional
        Of the gap, where theta* is drawn.

    Examples
    --------
    >>> from sparsebandits.theory import Instance, regret_untested
    >>> ball = Instance(
    ...     dim=20, norm_bound=1.0, theta_norm=2.6, curvature=1.1, sigma=0.5, inverse_trace=20.0
    ... )
    >>> regret_untested([2_000, 200_000], ball, gap=0.5).round()
    array([ 5745., 91644.])
    >>> regret_untested([2_000, 200_000], ball).round()
    array([  5745., 109112.])
    """
    steps = as_integers("horizon", horizon, minimum=1)
    cycles = cycles_in(steps, instance.dim, "linear").astype(np.float64)
    norm, error = instance.norm_bound, instance.error_constant
    explore = instance.dim * instance.exploration * cycles
    if density is not None:
        steep = 4 * norm**2 * as_non_negative("density", density)
        return np.asarray(explore + cycles * error * (instance.curvature + steep))
    distance = as_non_negative("gap", gap)
    worst = 4 / 3 * norm * math.sqrt(error) * (cycles + 1) ** 1.5
    if distance == 0:
        return np.asarray(explore + worst)
    apart = cycles * error * (instance.curvature + 4 * norm**2 / distance)
    return np.asarray(explore + np.minimum(apart, worst))


def regret_around_lock(
    horizon: Any,
    instance: Instance,
    *,
    explored: int,
    support_inverse_trace: float,
    delta: float,
    warmup_cycles: float,
    waits: bool,
) -> FloatArray:
    """Bound the regret of APSEE that explores a part of the basis once the support is locked.

    With an exact oracle and probability 1 - 2 delta, where N is the number of cycles up to the
    lock, l = 2 sigma^2 ln(pi^2 d K^2 / (3 delta)), and K = N + sqrt(2 T) + 1,

        R_T <= (2 d L ||theta*|| + w) N + (2 a L ||theta*|| + A l tr_S(B^-1)) (sqrt(2 T) + 1).

    If nothing is exploited before the lock, w = 0 and N = C_0 where T reaches it: the regret is of
    order d C_0 + H sqrt(T). If floor(sqrt(c)) steps are, w = 2 L sqrt(l tr(B^-1)) and
    N = min{C_0, (3 T / 2)^(2/3) + 1}: of order d T^(2/3) at worst. Never more than
    2 L ||theta*|| T.

    Parameters
    ----------
    horizon : int or array of int
        T.
    instance : Instance
    explored : int
        a, the explorations of a cycle after the lock: H with the standard basis, or d.
    support_inverse_trace : float
        The sum of (B^-1)_ii over the locked support: H with the standard basis.
    delta : float
    warmup_cycles : float
        C_0, a cycle by which the support is sure to be locked; infinite where it need not be.
    waits : bool
        Whether floor(sqrt(c)) steps are exploited before the lock.

    Examples
    --------
    >>> from sparsebandits.theory import Instance, regret_around_lock
    >>> ball = Instance(
    ...     dim=20, norm_bound=1.0, theta_norm=2.6, curvature=1.1, sigma=0.5, inverse_trace=20.0
    ... )
    >>> for explored in (20, 5):
    ...     regret_around_lock(
    ...         [2_000_000], ball, explored=explored, support_inverse_trace=5.0, delta=0.05,
    ...         warmup_cycles=1_000, waits=False,
    ...     ).round()
    array([439744.])
    array([283666.])
    """
    steps = as_integers("horizon", horizon, minimum=1)
    failure, count = as_delta(delta), as_integer("explored", explored, minimum=1)
    traces = instance.inverse_trace, as_non_negative("support_inverse_trace", support_inverse_trace)
    after = np.sqrt(2.0 * steps) + 1
    before = np.minimum(steps / instance.dim + 1, warmup_cycles)
    if waits:
        before = np.minimum(before, (1.5 * steps) ** (2 / 3) + 1)
    logarithm = np.log(np.pi**2 * instance.dim * (before + after) ** 2 / (3 * failure))
    level = 2 * instance.sigma**2 * logarithm
    waiting = 2 * instance.norm_bound * np.sqrt(level * traces[0]) if waits else 0.0
    unlocked = before * (instance.dim * instance.exploration + waiting)
    locked = after * (count * instance.exploration + instance.curvature * level * traces[1])
    return np.asarray(np.minimum(unlocked + locked, instance.exploration * steps))
