"""What a setting allows before a step is played: whether the support can be locked in time."""

import math
import operator
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import ThetaSampler, UniformCube
from sparsebandits.estimation import CONFIDENCE, PaperBound, cycles_to_lock, warmup_cycles
from sparsebandits.oracles import approximation_ratio
from sparsebandits.policies import APSEE, APSEEG, PhasedPolicy
from sparsebandits.theory.advice import advise
from sparsebandits.theory.record import LockPlan, Plan
from sparsebandits.theory.regret_bounds import regret_general, regret_general_compact
from sparsebandits.validation import FloatArray, as_instance, as_integer, as_number

_QUANTILES = (0.1, 0.5, 0.9)
_DRAWS = 4000
_SLOW_DRAWS = 100
"""Where each greedy step solves linear programs, thousands of draws would take minutes."""
_NUMBERS, _FEWEST_DRAWS = 4_000_000, 10
"""All draws together hold at most so many numbers, for as long as there are a few."""
_EARLY = 64
"""Thresholds fall from here on at the latest; before, ln(c^2) / c may rise."""


def plan(
    action_set: ActionSet,
    sparsity: Any,
    sigma: float,
    delta: float,
    horizon: int,
    gap: float | None = None,
    prior: ThetaSampler | None = None,
    basis: Any = "standard",
    seed: int = 0,
) -> Plan:
    """Work out whether, and when, the support can be locked, and what regret is promised.

    Parameters
    ----------
    action_set : ActionSet
        X.
    sparsity : int or Supports
        H.
    sigma : float
        Noise level.
    delta : float
        Failure probability, in (0, 1).
    horizon : int
        T, in steps.
    gap : float, optional
        The gap of theta* as the policy measures it: Delta_min of the sorted abs(theta_i) where
        sorting is exact, else the minimum greedy gap. By default that of draws from the prior.
    prior : ThetaSampler, optional
        Where theta* comes from; uniform on [-1, 1]^d by default. With a given gap it serves for
        the length of theta* only.
    basis : str, Basis or array
        Exploration actions.
    seed : int
        Draws theta* and random bases.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.theory import plan
    >>> setting = plan(sb.LpBall(20), sparsity=5, sigma=0.5, delta=0.05, horizon=2_000)
    >>> setting.h_1, round(setting.literal.threshold, 2), round(setting.gap_median, 2)
    (10.0, 2.52, 0.03)
    >>> setting.literal.lock_share
    0.0
    """
    as_instance("action_set", action_set, ActionSet, "an action set such as sb.LpBall(dim=20)")
    level = as_number("sigma", sigma)
    steps = as_integer("horizon", horizon, minimum=1)
    given = None if gap is None else as_number("gap", gap, positive=True)
    source = UniformCube() if prior is None else prior
    as_instance("prior", source, ThetaSampler, "a sampler such as sb.UniformCube()")
    # The test may be asked about where the linear schedule has no guarantee.
    literal = (APSEEG if action_set.sorting is None else APSEE)(
        action_set=action_set,
        sparsity=sparsity,
        sigma=level,
        delta=delta,
        basis=basis,
        basis_seed=seed,
        confidence=PaperBound.name,
        insist=True,
    )
    exploration = literal.exploration
    policies = [replace(literal, basis=exploration, confidence=name) for name in CONFIDENCE]
    width = operator.index(literal.sparsity)  # of rules, the most that can be on at once
    theta = _draw(source, action_set, width, as_integer("seed", seed, minimum=0))
    supports, gaps = literal.test.verify(theta)
    if given is not None:
        gaps = np.full(theta.shape[0], given)
    low, median, high = (float(q) for q in np.quantile(gaps, _QUANTILES, method="inverted_cdf"))
    cycles = steps // action_set.dim
    locks = tuple(_lock(policy, median, gaps, cycles) for policy in policies)
    optimum = action_set.respond_on(theta, supports)[1]
    per_step = optimum - exploration.predict(theta).mean(axis=1)
    gamma, alpha = _greedy_share(action_set)
    theta_norm = float(np.median(np.linalg.norm(theta, axis=1)))
    support_norm = _support_norm(theta, supports)
    allowed = Plan(
        action_set=repr(action_set),
        dim=action_set.dim,
        names=action_set.names,
        sparsity=width,
        rules=str(literal.sparsity) if literal.sparse_oracle.is_ruled else None,
        sigma=level,
        delta=literal.delta,
        horizon=steps,
        basis=exploration.name,
        lambda_0=exploration.lambda_0,
        trace=exploration.trace,
        h_1=exploration.h_1(level),
        cycles=cycles,
        epsilon_c=level * float(literal.bound.radius(cycles, width)) if cycles else math.inf,
        oracle=literal.oracle,
        prior=source.kind,
        gap_is_given=given is not None,
        gap_low=low,
        gap_median=median,
        gap_high=high,
        draws=theta.shape[0],
        warmup_cycles=_lemma_warmup(literal, level, median),
        locks=locks,
        gamma=gamma,
        alpha=alpha,
        theta_norm=theta_norm,
        support_norm=support_norm,
        exploring_regret=float(steps * np.median(per_step)),
        largest_regret=2 * action_set.norm_bound * theta_norm * steps,
        **_bounds(literal, steps, theta_norm, support_norm, locks),
    )
    return replace(allowed, advice=advise(allowed))


def _draw(prior: ThetaSampler, action_set: ActionSet, sparsity: int, seed: int) -> FloatArray:
    is_fast = action_set.sorting is not None or action_set.is_strongly_convex
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    draws = min(_DRAWS if is_fast else _SLOW_DRAWS, max(_FEWEST_DRAWS, _NUMBERS // action_set.dim))
    return np.array([prior.draw(rng, action_set.dim, sparsity) for _ in range(draws)])


def _lock(policy: PhasedPolicy, gap: float, gaps: FloatArray, cycles: int) -> LockPlan:
    sigma, dim = float(policy.sigma), policy.action_set.dim
    threshold = least = math.inf
    if cycles:
        tried = np.append(np.arange(1, min(cycles, _EARLY) + 1), cycles)
        thresholds = sigma * policy.test.unit_threshold(tried)
        threshold, least = float(thresholds[-1]), float(thresholds.min())
    lock = cycles_to_lock(gap, policy.test.unit_threshold, sigma=sigma)
    sure = cycles_to_lock(gap / 2, policy.test.unit_threshold, sigma=sigma)
    passes = (gaps > least) | (np.isinf(gaps) & (cycles > 0))
    return LockPlan(
        confidence=policy.bound.name,
        threshold=threshold,
        lock_cycle=lock,
        lock_step=lock * dim,
        sure_cycle=sure,
        sure_step=sure * dim,
        lock_share=float(passes.mean()),
    )


def _lemma_warmup(policy: PhasedPolicy, sigma: float, gap: float) -> float:
    """C_0 of `lemma:C_0`, for a test that compares the gap with any multiple of epsilon_c."""
    if gap <= 0:
        return math.inf
    if math.isinf(gap):
        return 0.0
    # The lemma is for 2 epsilon_c; a test against f epsilon_c is one with the gap 2/f times.
    factor = float(policy.test.unit_threshold(1)) / float(policy.bound.radius(1, policy.test.size))
    h_1 = policy.exploration.h_1(sigma)
    c_0 = warmup_cycles(2 * gap / factor, h_1, policy.action_set.dim, policy.delta)
    return max(c_0, 0.0)


def _support_norm(theta: FloatArray, supports: Any) -> float:
    rows = np.arange(theta.shape[0])[:, None]
    entries = np.where(supports >= 0, theta[rows, supports], 0.0)
    return float(np.median(np.linalg.norm(entries, axis=1)))


def _greedy_share(action_set: ActionSet) -> tuple[float | None, float | None]:
    gamma = action_set.gamma_bound
    if action_set.sorting is not None:
        return gamma, 1.0  # greedy and sorting find the same support
    return (gamma, approximation_ratio(gamma)) if gamma > 0 else (None, None)


def _bounds(
    policy: PhasedPolicy,
    horizon: int,
    theta_norm: float,
    support_norm: float,
    locks: tuple[LockPlan, ...],
) -> dict[str, Any]:
    """Evaluate the theorem that covers the set, and the one that covers every set."""
    action_set = policy.action_set
    common: dict[str, Any] = {
        "dim": action_set.dim,
        "norm_bound": action_set.norm_bound,
        "theta_norm": theta_norm,
        "h_1": policy.exploration.h_1(float(policy.sigma)),
        "delta": policy.delta,
    }
    compact = float(regret_general_compact(horizon, **common))
    curvature = action_set.response_lipschitz(policy.test.size)
    theorem, bound = "thm:regret_general_compact", compact
    if math.isfinite(curvature):
        is_ball = action_set.sorting is not None and action_set.sorting.is_l2
        theorem = "thm:regret_adaptive" if is_ball else "thm:regret_general"
        literal = next(lock for lock in locks if lock.confidence == PaperBound.name)
        bound = float(
            regret_general(
                horizon,
                response_lipschitz=curvature,
                support_norm=support_norm,
                warmup_cycles=literal.sure_cycle,
                **common,
            )
        )
    return {
        "theorem": theorem,
        "response_lipschitz": curvature,
        "regret_bound": bound,
        "compact_bound": compact,
        "linear_bound": float(regret_general_compact(horizon, schedule="linear", **common)),
    }
