"""The record of a plan: what a setting allows, in numbers and in plain sentences."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from sparsebandits.estimation import PaperBound
from sparsebandits.validation import brief_repr


@dataclass(frozen=True, kw_only=True)
class LockPlan:
    """When the gap test passes with one confidence bound.

    Attributes
    ----------
    confidence : str
        A name of `estimation.CONFIDENCE`.
    threshold : float
        What the gap must exceed at the horizon, in units of the gap.
    lock_cycle, lock_step : float
        When the test passes if the gap of the estimate is the median gap of theta*. Noise makes
        single runs earlier or later.
    sure_cycle, sure_step : float
        By when it has passed with probability 1 - delta, however the noise falls: the threshold is
        below half the gap (`lemma:C_0`, by search instead of by its formula).
    lock_share : float
        Share of the draws of theta* whose gap exceeds the threshold within the horizon.
    """

    confidence: str
    threshold: float
    lock_cycle: float
    lock_step: float
    sure_cycle: float
    sure_step: float
    lock_share: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a setting allows; made by `plan`.

    Attributes
    ----------
    action_set : str
        X in words.
    dim, sparsity : int
        d and H; under rules, the most that can be on at once.
    names : tuple of str or None
        Those of the coordinates, where the set has them.
    rules : str or None
        Those for what may be on, in words, where there are any beside H.
    sigma, delta : float
    horizon : int
        T.
    basis : str
        The name of the exploration basis.
    lambda_0, trace, h_1 : float
        Its smallest eigenvalue, tr(B), and 2 sigma^2 tr(B) / lambda_0^2.
    cycles : int
        Explorations that fit into T steps while nothing is locked: floor(T / d).
    epsilon_c : float
        The paper's error bound after that many cycles.
    oracle : str
        Whose gap is meant: "top-h" where sorting is exact, else "greedy".
    prior : str
        The distribution of theta*.
    gap_is_given : bool
        Whether the gap was given and not drawn.
    gap_low, gap_median, gap_high : float
        10%, 50% and 90% quantiles of the gap of theta*; equal if it was given.
    draws : int
        How many theta* were drawn.
    warmup_cycles : float
        C_0 of `lemma:C_0` at the median gap, as printed.
    locks : tuple of LockPlan
        One for each confidence bound.
    gamma, alpha : float or None
        A lower bound on the submodularity ratio and greedy's share of the optimum, for every
        theta; alpha is 1 where sorting is exact; None where no bound is known.
    theorem : str
        The label of the theorem that covers the set.
    response_lipschitz : float
        L_grad; infinite where the set is not strongly convex.
    theta_norm, support_norm : float
        Median ||theta*|| and ||theta*(S)|| of the draws, used in the regret bounds.
    regret_bound : float
        What that theorem promises at T, for the median gap and norms.
    compact_bound : float
        What `thm:regret_general_compact` promises CompactAPSEEG at T.
    linear_bound : float
        What its proof gives for c steps in cycle c, without any curvature: of order T^(3/4).
    largest_regret : float
        2 L ||theta*|| T: a bound that says no more than this says nothing.
    exploring_regret : float
        Median regret of exploring for all T steps.
    advice : tuple of str
        What follows, in plain sentences.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> setting = sb.plan(sb.LpBall(4), sparsity=2, sigma=0.1, delta=0.05, horizon=20_000)
    >>> setting.sharpest.confidence
    'pairwise'
    >>> print(setting.advice[0][:52])
    The literal test (confidence='paper') can pass: with
    """

    __repr__ = brief_repr

    action_set: str
    dim: int
    sparsity: int
    sigma: float
    delta: float
    horizon: int
    basis: str
    lambda_0: float
    trace: float
    h_1: float
    cycles: int
    epsilon_c: float
    oracle: str
    prior: str
    gap_is_given: bool
    gap_low: float
    gap_median: float
    gap_high: float
    draws: int
    warmup_cycles: float
    locks: tuple[LockPlan, ...]
    gamma: float | None
    alpha: float | None
    theorem: str
    response_lipschitz: float
    theta_norm: float
    support_norm: float
    regret_bound: float
    compact_bound: float
    linear_bound: float
    largest_regret: float
    exploring_regret: float
    names: tuple[str, ...] | None = field(default=None, repr=False)
    rules: str | None = None
    advice: tuple[str, ...] = field(default=(), repr=False)

    @property
    def literal(self) -> LockPlan:
        """The gap test as the paper prints it."""
        return next(lock for lock in self.locks if lock.confidence == PaperBound.name)

    @property
    def sharpest(self) -> LockPlan:
        """The bound with which the test passes first."""
        return min(self.locks, key=lambda lock: (lock.lock_cycle, lock.threshold))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-safe; infinite numbers become None."""
        data = _plain(self)
        data["locks"] = [_plain(lock) for lock in self.locks]
        data["advice"] = list(self.advice)
        return data


def _plain(record: Plan | LockPlan) -> dict[str, Any]:
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
