"""The regret bounds of the three theorems with the constants of their proofs, at finite T."""

import math
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.theory.cycles import cycles_in
from sparsebandits.validation import (
    FloatArray,
    as_choice,
    as_delta,
    as_integer,
    as_integers,
    as_non_negative,
)


def regret_adaptive(
    horizon: Any,
    *,
    dim: int,
    norm_bound: float,
    theta_norm: float,
    support_norm: float,
    h_1: float,
    delta: float,
    warmup_cycles: float,
    literal: bool = False,
) -> FloatArray:
    """Bound the regret of APSEE on the l2 ball (`thm:regret_adaptive`).

    With probability 1 - delta, R_T is at most

        2 d L ||theta*|| K + 2 L h_1 ln(2 d K^2 / delta) K / ||theta*(S*)||,

    where L is the radius and K the cycle into which step T falls. This is `regret_general` with
    L_grad = L; parameters as there.

    Examples
    --------
    >>> from sparsebandits.theory import regret_adaptive
    >>> regret_adaptive(
    ...     [1_000, 100_000], dim=4, norm_bound=1.0, theta_norm=1.0, support_norm=1.0,
    ...     h_1=0.08, delta=0.05, warmup_cycles=12,
    ... ).round()
    array([ 420., 4768.])
    """
    return regret_general(
        horizon,
        dim=dim,
        norm_bound=norm_bound,
        response_lipschitz=norm_bound,
        theta_norm=theta_norm,
        support_norm=support_norm,
        h_1=h_1,
        delta=delta,
        warmup_cycles=warmup_cycles,
        literal=literal,
    )


def regret_general(
    horizon: Any,
    *,
    dim: int,
    norm_bound: float,
    response_lipschitz: float,
    theta_norm: float,
    support_norm: float,
    h_1: float,
    delta: float,
    warmup_cycles: float,
    literal: bool = False,
) -> FloatArray:
    """Bound the alpha-regret of APSEE-G on a strongly convex set (`thm:regret_general`).

    With probability 1 - delta, alpha-R_T is at most

        2 d L ||theta*|| K + 2 L_grad h_1 ln(2 d K^2 / delta) K / ||theta*(S)||

    and never more than 2 L ||theta*|| T, which is all that can be said while T <= d C_0.

    Parameters
    ----------
    horizon : int or array of int
        T.
    dim : int
        d.
    norm_bound : float
        L_max, the largest l2 norm of an action.
    response_lipschitz : float
        L_grad for unit theta; see `theory.response_lipschitz`.
    theta_norm : float
        ||theta*||_2.
    support_norm : float
        ||theta*(S)||_2 on the support that is locked.
    h_1 : float
        2 sigma^2 tr(B) / lambda_0^2.
    delta : float
    warmup_cycles : float
        C_0: a cycle by which the support is sure to be locked, from `estimation.warmup_cycles`
        (`lemma:C_0`) or, sharper, `estimation.cycles_to_lock` at half the gap.
    literal : bool
        As the paper prints it: ||theta*|| in place of ||theta*(S)||, which is larger, so that the
        second term is smaller than what was proved; and 2 L ||theta*|| d C_0 while T <= d C_0.

    Examples
    --------
    >>> from sparsebandits.theory import regret_general
    >>> regret_general(
    ...     [10_000], dim=4, norm_bound=1.0, response_lipschitz=3.0, theta_norm=1.2,
    ...     support_norm=1.0, h_1=0.08, delta=0.05, warmup_cycles=12,
    ... ).round()
    array([2314.])
    """
    steps, d, common = _common(horizon, dim, norm_bound, theta_norm, h_1, delta)
    norm, length, h, failure = common
    if response_lipschitz == math.inf:
        raise InvalidValueError(
            "response_lipschitz is infinite: the set is not strongly convex, and "
            "regret_general_compact is the bound for it."
        )
    curvature = as_non_negative("response_lipschitz", response_lipschitz)
    divisor = length if literal else as_non_negative("support_norm", support_norm)
    cycles = cycles_in(steps, d, "linear", warmup_cycles).astype(np.float64)
    explore = 2 * d * norm * length * cycles  # eqn:total exploration alpha regret
    logarithm = np.log(2 * d * cycles**2 / failure)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_cycle = np.divide(2 * curvature * h * logarithm, divisor)
    exploit = cycles * np.where(curvature * h > 0, per_cycle, 0.0)
    bound = explore + exploit  # eqn:stable exploitation alpha regret
    if literal:
        short = 2 * norm * length * d * warmup_cycles if length > 0 else 0.0
        return np.asarray(np.where(steps > d * warmup_cycles, bound, short))
    return np.asarray(np.minimum(bound, 2 * norm * length * steps))


def regret_general_compact(
    horizon: Any,
    *,
    dim: int,
    norm_bound: float,
    theta_norm: float,
    h_1: float,
    delta: float,
    schedule: str = "sqrt",
    literal: bool = False,
) -> FloatArray:
    """Bound the alpha-regret of the compact variant (`thm:regret_general_compact`).

    With probability 1 - delta, alpha-R_T is at most

        2 d L ||theta*|| K + 2 L sqrt(h_1 ln(2 d K^2 / delta)) K

    with K from cycles of d + floor(sqrt(c)) steps, and never more than 2 L ||theta*|| T. The same
    proof covers cycles of d + c steps, which cost c epsilon_c <= sqrt(K ...) each: K^(3/2) in the
    place of the last K, so T^(3/4) in all.

    Parameters
    ----------
    horizon, dim, norm_bound, theta_norm, h_1, delta
        As in `regret_general`.
    schedule : {"sqrt", "linear"}
        m_c = floor(sqrt(c)) as in the theorem, or m_c = c.
    literal : bool
        Without the last remark.

    Notes
    -----
    The proof needs an oracle whose answer for theta_hat is worth alpha times the best for
    theta_hat. An exact oracle has alpha = 1; for greedy, alpha must hold for every theta, not for
    theta* alone as printed.

    Examples
    --------
    >>> from sparsebandits.theory import regret_general_compact
    >>> regret_general_compact(
    ...     [2_000, 200_000], dim=20, norm_bound=1.0, theta_norm=2.6, h_1=10.0, delta=0.05
    ... ).round()
    array([ 10178., 459187.])
    """
    steps, d, common = _common(horizon, dim, norm_bound, theta_norm, h_1, delta)
    norm, length, h, failure = common
    power = _POWERS[as_choice("schedule", schedule, _POWERS)]
    cycles = cycles_in(steps, d, schedule).astype(np.float64)
    explore = 2 * d * norm * length * cycles  # eqn:explore reg3
    logarithm = np.log(2 * d * cycles**2 / failure)
    exploit = 2 * norm * math.sqrt(h) * cycles**power * np.sqrt(logarithm)  # eqn:exploit reg3
    bound = np.asarray(explore + exploit)
    return bound if literal else np.asarray(np.minimum(bound, 2 * norm * length * steps))


_POWERS = {"sqrt": 1.0, "linear": 1.5}
"""The sum of m_c / sqrt(c) over K cycles is at most K to this power."""


def _common(
    horizon: Any, dim: int, norm_bound: float, theta_norm: float, h_1: float, delta: float
) -> tuple[Any, int, tuple[float, float, float, float]]:
    numbers = (
        as_non_negative("norm_bound", norm_bound),
        as_non_negative("theta_norm", theta_norm),
        as_non_negative("h_1", h_1),
        as_delta(delta),
    )
    return as_integers("horizon", horizon, minimum=1), as_integer("dim", dim, minimum=1), numbers
