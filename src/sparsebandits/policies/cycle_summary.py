"""What a cycle knows of each coordinate: intervals of least squares, and chances by draws."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sparsebandits.estimation import ArmLanes, GramLanes, pooled_sigma
from sparsebandits.estimation.least_squares import inverse_root
from sparsebandits.policies.summary import Summary, baseline_note
from sparsebandits.validation import FloatArray

if TYPE_CHECKING:
    from sparsebandits.policies.cycle_memory import CycleMemory

_DRAWN_DIM = 2000
"""Up to this many coordinates a summary has intervals, and chances by draws."""


def described(memory: "CycleMemory", summary: Summary, draws: int) -> Summary:
    """Return the summary of the only lane, whose theta is known, with what least squares adds.

    Intervals are those of this moment, not the wider ones for all cycles at once on which a lock
    rests; with more than 2,000 coordinates there are none.
    """
    sigma, note = _sigma(memory), ""
    if memory.parts.intercept:
        note = baseline_note(memory.anchor[0] + _baseline(memory))
    summary = replace(summary, sigma=sigma, note=note)
    if memory.dim > _DRAWN_DIM:
        return summary
    thetas, inclusion = thetas_drawn(memory, draws), summary.inclusion
    if thetas is not None:
        inclusion = (memory.oracle.actions(thetas[1:], memory.action_set) != 0).mean(axis=0)
    deviation = sigma * np.linalg.norm(_errors(memory), axis=1)
    return replace(summary, deviation=deviation, inclusion=inclusion)


def thetas_drawn(memory: "CycleMemory", draws: int) -> FloatArray | None:
    """Return theta by least squares, then as it may be with their errors, (1 + draws, dim).

    For the only lane: the posterior under a flat prior, the same for the same data. None where
    theta or sigma is not known, and with more than 2,000 coordinates.
    """
    sigma = _sigma(memory)
    if memory.dim > _DRAWN_DIM or not memory.is_known(memory.everyone)[0] or not sigma > 0:
        return None
    errors, theta = _errors(memory), memory.least_squares(memory.everyone)
    rng = np.random.default_rng(rewards_behind(memory.arms, memory.sums))
    return np.vstack(
        [theta, theta + sigma * (rng.standard_normal((draws, errors.shape[1])) @ errors.T)]
    )


def rewards_behind(arms: ArmLanes | None, sums: GramLanes | None) -> int:
    """Return how many rewards of the only lane are behind its estimate."""
    told = 0 if arms is None else int(arms.counts[0].sum())
    return told if sums is None else max(told, int(sums.counts[0]))


def _sigma(memory: "CycleMemory") -> float:
    """Return the sigma that was given, or the pooled estimate; nan where there is neither."""
    test, arms = memory.parts.test, memory.arms
    if test is not None and not isinstance(test.sigma, str):
        return float(test.sigma)
    if arms is None:
        return math.nan
    sigma = float(pooled_sigma(arms.residual_squares[0], arms.degrees_of_freedom[0]))
    return sigma if math.isfinite(sigma) else math.nan


def _errors(memory: "CycleMemory") -> FloatArray:
    """Return E, (dim, n): theta_hat of the only lane is off by sigma E times n unit normals."""
    if memory.sums is not None:
        return np.asarray(inverse_root(memory.sums.gram())[0][0, memory.design.base :])
    assert memory.arms is not None
    assert memory.parts.basis is not None
    noise = np.diag(memory.arms.counts[0] ** -0.5)
    return np.asarray(memory.parts.basis.estimate(noise).T)


def _baseline(memory: "CycleMemory") -> float:
    """Return b above the anchor in the only lane."""
    if memory.sums is not None:
        return float(memory.sums.estimate()[0, 0])
    assert memory.arms is not None
    origin = memory.parts.actions(np.array([memory.dim]))[0]
    mean = memory.arms.sums[0, -1] / memory.arms.counts[0, -1]
    return float(mean - origin @ memory.least_squares(memory.everyone)[0])
