"""Theorems 1-3 with their constants evaluated, next to the regret that was measured."""

from typing import Any

import numpy as np

from sparsebandits.estimation import warmup_cycles
from sparsebandits.paper.claim import Claim
from sparsebandits.policies import CompactAPSEEG, PhasedPolicy
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell
from sparsebandits.theory import regret_general, regret_general_compact
from sparsebandits.validation import FloatArray


def theorem_claim(cell: Cell, run: Run, *, id: str, label: str) -> Claim:  # noqa: A002
    """Compare a literal run with the bound of its theorem, trial by trial."""
    policy = cell.policy
    assert isinstance(policy, PhasedPolicy)
    horizon, measured = int(run.steps[-1]), run.regret[:, -1]
    bounds = np.array([regret_bound(policy, theta, horizon) for theta in run.theta_star])
    trivial = 2 * policy.action_set.norm_bound * np.linalg.norm(run.theta_star, axis=1) * horizon
    within, ratios = int((measured <= bounds).sum()), bounds / measured
    return Claim(
        id=f"{id}-theorem",
        label=label,
        statement="The regret stays below the theorem's bound, with its constants.",
        experiment=id,
        measured=(
            f"{within} of {measured.size} literal runs at T = {horizon:,} stay below the bound, "
            f"which is {np.median(ratios):,.0f} times the regret (median; from {ratios.min():,.0f} "
            f"to {ratios.max():,.0f}) and about {np.median(bounds / trivial):.2g} times the "
            "trivial bound 2 L ||theta*|| T."
        ),
        value=float(np.median(ratios)),
        low=float(ratios.min()),
        high=float(ratios.max()),
        verdict="holds" if within >= (1 - policy.delta) * measured.size else "fails",
        details={"horizon": horizon, "median_bound": float(np.median(bounds))},
    )


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
