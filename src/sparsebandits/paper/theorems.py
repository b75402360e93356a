"""Theorems 1-3 with their constants evaluated, next to the regret that was measured."""

from typing import Any

import numpy as np

from sparsebandits.estimation import warmup_cycles
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.verdicts import Judgement, Share, at_most
from sparsebandits.policies import CompactAPSEEG, PhasedPolicy
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell
from sparsebandits.theory import regret_general, regret_general_compact
from sparsebandits.validation import FloatArray


def theorem_claim(cell: Cell, run: Run, **texts: Any) -> Claim:
    """Compare a literal run with the bound of its theorem, trial by trial.

    `texts` are the id, label, statement and experiment of the claim.
    """
    policy = cell.policy
    assert isinstance(policy, PhasedPolicy)
    horizon, measured = int(run.steps[-1]), run.regret[:, -1]
    parameters, place = np.unique(run.theta_star, axis=0, return_inverse=True)
    bounds = np.array([regret_bound(policy, theta, horizon) for theta in parameters])[place]
    trivial = 2 * policy.action_set.norm_bound * np.linalg.norm(run.theta_star, axis=1) * horizon
    ratios = bounds / measured
    judged, says = judge_bound(measured, bounds, trivial, policy.delta)
    above = Share.of(measured[says] > bounds[says])
    exceeded = f", and the regret is above it in {above} of those" if says.any() else ""
    size = f"{np.median(bounds / trivial):.2g} times the trivial one"
    return Claim(
        **texts,
        measured=(
            f"At T = {horizon:,} the bound is below the trivial 2 L ||theta*|| T in "
            f"{int(says.sum())} of {measured.size} literal runs{exceeded}; it is "
            f"{np.median(ratios):,.1f} times the regret (median; from {ratios.min():,.1f} to "
            f"{ratios.max():,.1f}) and {size}."
        ),
        value=float(np.median(ratios)),
        low=float(ratios.min()),
        high=float(ratios.max()),
        verdict=judged.verdict,
        otherwise=judged.otherwise,
        brief=f"bound {size}" + (f", {above.brief} above it" if says.any() else ""),
        details={"horizon": horizon, "median_bound": float(np.median(bounds))},
    )


def judge_bound(
    measured: FloatArray, bounds: FloatArray, trivial: FloatArray, delta: float
) -> tuple[Judgement, Any]:
    """Judge "R_T <= bound with probability 1 - delta", on the trials where the bound says anything.

    What equals the trivial bound cannot be exceeded by any policy, so such a trial decides nothing.
    Returns the judgement and which trials decide, (trials,).
    """
    says = bounds < trivial * (1 - 1e-12)
    if not says.any():
        return Judgement(
            "not testable",
            "a trial whose bound is below 2 L ||theta*|| T, which no regret can exceed",
        ), says
    return at_most(Share.of(measured[says] > bounds[says]), delta), says


def regret_bound(policy: PhasedPolicy, theta: FloatArray, horizon: int) -> float:
    """Evaluate the bound of the theorem that covers the policy, for this theta*."""
    X = policy.action_set
    h_1, norm = policy.exploration.h_1(float(policy.sigma)), X.norm_bound
    shared: dict[str, Any] = {
        "dim": X.dim,
        "norm_bound": norm,
        "theta_norm": float(np.linalg.norm(theta)),
        "h_1": h_1,
        "delta": policy.delta,
    }
    if isinstance(policy, CompactAPSEEG):
        return float(regret_general_compact(horizon, **shared))
    supports, gaps = policy.test.verify(theta[None])
    gap, lipschitz = float(gaps[0]), norm  # thm:regret_adaptive is the general one with L_grad = L
    if policy.oracle != "top-h":
        # The threshold of APSEE-G is 2 L_X epsilon_c: its C_0 is that of a gap smaller by L_X.
        gap, lipschitz = gap / norm, X.response_lipschitz(policy.sparsity)
    bound = regret_general(
        horizon,
        support_norm=float(np.linalg.norm(theta[supports[0][supports[0] >= 0]])),
        warmup_cycles=warmup_cycles(gap, h_1, X.dim, policy.delta),
        response_lipschitz=lipschitz,
        **shared,
    )
    return float(bound)
