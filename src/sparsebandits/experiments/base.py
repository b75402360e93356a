"""An experiment is data plus a score: cells to simulate, curves to draw, claims to judge."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebandits import Gaussian, LinearEnvironment, Policy, Run, UniformCube
from sparsebandits.action_sets import ActionSet
from sparsebandits.experiments.claim import Claim
from sparsebandits.experiments.curves import Figure
from sparsebandits.experiments.tables import Table

DIM, SPARSITY, SIGMA, DELTA = 20, 5, 0.5, 0.05
"""The paper's setting (`sec:numerical experiments`); delta is ours, the paper names none."""

SHORT, LONG, TRIALS = 2_000, 200_000, 20
"""The paper's two horizons and its number of trials."""

CACHE_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One policy in one environment over one horizon."""

    key: str
    label: str
    policy: Policy
    environment: LinearEnvironment
    horizon: int
    trials: int
    benchmark: str = "exact"
    track_support: bool = False
    chunk: int = 10
    checkpoints: tuple[int, ...] = ()
    """Steps that are recorded exactly, besides the log-spaced ones."""

    def fingerprint(self, seed: int) -> str:
        """Name the results of this cell: they change when anything that shapes them does."""
        content = {
            "version": CACHE_VERSION,
            "policy": self.policy.to_dict(),
            "environment": self.environment.to_dict(),
            "horizon": self.horizon,
            "benchmark": self.benchmark,
            "track_support": self.track_support,
            "checkpoints": sorted(set(self.checkpoints)),
            "seed": seed,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]

    def chunks(self) -> list[tuple[int, int]]:
        """Split the trials into (first, count) pieces of work."""
        return [
            (first, min(self.chunk, self.trials - first))
            for first in range(0, self.trials, self.chunk)
        ]


Results = Mapping[str, Run]
"""The run of every cell, by its key."""


def no_tables(results: Results) -> list[Table]:
    """Return none: most experiments say all in figures and claims."""
    return []


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure of the paper, or one family of them; or, where `ours`, a study of our own."""

    id: str
    labels: tuple[str, ...]
    title: str
    about: str
    cells: Callable[[bool], list[Cell]]
    figures: Callable[[Results, int], list[Figure]]
    claims: Callable[[Results], list[Claim]]
    decisions: tuple[str, ...] = field(default=())
    tables: Callable[[Results], list[Table]] = no_tables
    ours: bool = False
    """Not in the paper: shown on a page of its own, its claims not counted with the paper's."""


def paper_environment(action_set: ActionSet, theta: Any = None) -> LinearEnvironment:
    """theta* uniform on [-1, 1]^20 anew in each trial, noise N(0, 0.5^2)."""
    return LinearEnvironment(
        action_set=action_set,
        theta_star=UniformCube() if theta is None else theta,
        noise=Gaussian(SIGMA),
    )


def join_runs(parts: list[Run]) -> Run:
    """Put the trials of several chunks of one cell together, in their order."""
    overlaps = [part.overlap for part in parts if part.overlap is not None]
    label = {**parts[0].label, "trials": sum(part.regret.shape[0] for part in parts)}
    return Run(
        steps=parts[0].steps,
        regret=np.concatenate([part.regret for part in parts]),
        locked_at=np.concatenate([part.locked_at for part in parts]),
        support_correct=np.concatenate([part.support_correct for part in parts]),
        theta_error=np.concatenate([part.theta_error for part in parts]),
        optimum=np.concatenate([part.optimum for part in parts]),
        optimal_share=np.concatenate([part.optimal_share for part in parts]),
        overlap=np.concatenate(overlaps) if overlaps else None,
        label=label,
        seconds=sum(part.seconds for part in parts),
    )
