"""A cell is one configuration of a sweep; its runs come in chunks of trials."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsebandits.environments import LinearEnvironment
from sparsebandits.policies import Policy
from sparsebandits.simulation import Run, simulate
from sparsebandits.validation import brief_repr

FINGERPRINT_VERSION = 3
"""Goes up when the same configuration begins to give other numbers."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One policy in one environment over one horizon.

    Parameters
    ----------
    key : str
        The name of the cell, unique in its sweep.
    label : str
        What a figure or a table calls it.
    policy : Policy
    environment : LinearEnvironment
    horizon : int
    trials : int
        How many are wanted. More can be asked for later: those that are there are kept.
    benchmark : {"exact", "greedy"}
    track_support : bool
    points : int
        How many log-spaced steps are recorded.
    checkpoints : tuple of int
        Steps that are recorded exactly, besides the log-spaced ones.
    """

    __repr__ = brief_repr

    key: str
    label: str
    policy: Policy
    environment: LinearEnvironment
    horizon: int
    trials: int
    benchmark: str = "exact"
    track_support: bool = False
    points: int = 200
    checkpoints: tuple[int, ...] = ()
    _names: dict[int, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def configuration(self, seed: int) -> dict[str, Any]:
        """Return all that shapes the numbers of a trial, as JSON can hold it."""
        return {
            "policy": self.policy.to_dict(),
            "environment": self.environment.to_dict(),
            "horizon": self.horizon,
            "benchmark": self.benchmark,
            "track_support": self.track_support,
            "points": self.points,
            "checkpoints": sorted(set(self.checkpoints)),
            "seed": seed,
        }

    def fingerprint(self, seed: int) -> str:
        """Name the results of this cell: they change when anything that shapes them does.

        The number of trials is not part of it, nor are the key and the label. The name is kept,
        because a large action set takes long to write out.
        """
        if seed not in self._names:
            content = {"version": FINGERPRINT_VERSION, **self.configuration(seed)}
            text = json.dumps(content, sort_keys=True)
            self._names[seed] = hashlib.sha256(text.encode()).hexdigest()[:24]
        return self._names[seed]

    def simulate(self, seed: int, first: int, count: int) -> Run:
        """Simulate the trials from `first` on, `count` of them."""
        return simulate(
            self.policy,
            self.environment,
            self.horizon,
            count,
            seed,
            self.benchmark,
            points=self.points,
            track_support=self.track_support,
            checkpoints=self.checkpoints,
            first_trial=first,
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


def first_trials(run: Run, count: int) -> Run:
    """Return the first `count` trials of a run, with their share of its time."""
    trials = run.regret.shape[0]
    if count >= trials:
        return run
    return replace(
        run,
        regret=run.regret[:count],
        locked_at=run.locked_at[:count],
        support_correct=run.support_correct[:count],
        theta_error=run.theta_error[:count],
        optimum=run.optimum[:count],
        optimal_share=run.optimal_share[:count],
        overlap=None if run.overlap is None else run.overlap[:count],
        label={**run.label, "trials": count},
        seconds=run.seconds * count / trials,
    )
