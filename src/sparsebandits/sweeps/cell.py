"""A cell is one configuration of a sweep; its trials are run in chunks."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparsebandits.environments import LinearEnvironment
from sparsebandits.policies import Policy
from sparsebandits.simulation import Run, simulate
from sparsebandits.validation import brief_repr

FINGERPRINT_VERSION = 4
"""Goes up when the same configuration begins to give other numbers."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One policy in one environment over one horizon."""

    __repr__ = brief_repr

    key: str
    """Unique in its sweep; the label is what a figure or a table calls it."""
    label: str
    policy: Policy
    environment: LinearEnvironment
    horizon: int
    trials: int
    """How many there shall be. More can be asked for later: those that are there are kept."""
    benchmark: str = "exact"
    track_support: bool = False
    points: int = 200
    """How many log-spaced steps are recorded; the checkpoints are recorded besides."""
    checkpoints: tuple[int, ...] = ()
    columns: Mapping[str, str | int | float] = field(default_factory=dict, hash=False)
    """What names the cell in each row of its results."""

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

        The number of trials is not part of it, nor are the key and the label; the columns are,
        because they stand in the files.
        """
        content = {"version": FINGERPRINT_VERSION, **self.configuration(seed)}
        text = json.dumps({**content, "columns": dict(self.columns)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

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
