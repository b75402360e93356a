"""Policies side by side: what the trials of each gave, and how any two differ."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebandits.comparison.intervals import Interval, Means, welch
from sparsebandits.errors import InvalidValueError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.schema import MEASURES
from sparsebandits.validation import FloatArray, IntArray, describe

_WORLD = ("environment", "dim", "sigma", "horizon")
"""The columns that two entries must share to have seen the same theta* and noise in each trial."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """What the trials of one policy in one environment gave."""

    label: str
    columns: Mapping[str, Any]
    """Policy, environment, sparsity, dim, horizon and, where a sweep sets it, sigma."""
    trials: int
    planned: int
    measures: Mapping[str, Means]
    """regret, theta_error and optimal_share; overlap if it was tracked."""
    regret_by_trial: Callable[[int], tuple[IntArray, FloatArray]] = field(repr=False)
    """The numbers of the trials, (trials,), and their regret after a recorded step, (trials,)."""
    locked_share: float
    correct_share: float
    """Of the trials that locked a support, the share that locked the right one."""
    kind: str = ""
    told: tuple[str, ...] = ()
    """What the policy was told beside X, H and its rewards."""
    sees: str | None = None
    """What a reference sees that no learner does."""
    microseconds: float = math.nan
    """Wall time per decision, on the machine that ran it."""

    @property
    def regret(self) -> Means:
        """The regret; `entry.regret[t]` is its mean after t steps."""
        return self.measures["regret"]

    @property
    def steps(self) -> IntArray:
        """The recorded steps, (points,)."""
        return self.regret.steps

    @property
    def optimal_share(self) -> float:
        """The share of all steps whose action uses exactly the benchmark's support."""
        return float(self.measures["optimal_share"].mean[-1])

    @property
    def theta_error(self) -> float:
        """||theta_hat - theta*||_2 at the end; nan where nothing is estimated."""
        return float(self.measures["theta_error"].mean[-1])


def entry_of(runs: Iterable[Run], **fields: Any) -> Entry:
    """Add up the runs of an entry, one at a time in memory."""
    measures: dict[str, Means] = {}
    trials = locked = correct = 0
    for run in runs:
        for name in MEASURES:
            values = getattr(run, name)
            if values is not None:
                measures.setdefault(name, Means(run.steps)).add(values)
        trials += run.trials
        locked += int(np.isfinite(run.locked_at).sum())
        correct += int(run.support_correct.sum())
    return Entry(
        trials=trials,
        measures=measures,
        locked_share=locked / trials,
        correct_share=correct / locked if locked else math.nan,
        **fields,
    )


@dataclass(frozen=True, kw_only=True)
class Difference(Interval):
    """The regret of the entry `first` minus that of `second` after a step."""

    first: str
    second: str
    step: int
    paired: bool
    """Whether it was taken trial by trial; otherwise the interval is Welch's."""
    trials: tuple[int, int]
    """How many of each entry."""
    reason: str
    """Why it was, or was not, taken trial by trial."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Entries:
    """Entries side by side, in the order of tables; all of one seed."""

    entries: tuple[Entry, ...]

    def __repr__(self) -> str:
        labels = describe([entry.label for entry in self.entries])
        return f"{type(self).__name__}({labels})"

    def entry(self, label: str) -> Entry:
        """Return the entry with a label."""
        for entry in self.entries:
            if entry.label == label:
                return entry
        known = ", ".join(repr(entry.label) for entry in self.entries)
        raise InvalidValueError(f"There are no results of {label!r}; there are those of {known}.")

    def difference(self, first: str, second: str, step: int | None = None) -> Difference:
        """Compare the regret of two entries after a step; the last that both recorded if left out.

        Entries share the seed. Where they share environment and horizon too, trial i had the same
        theta* and the same noise in both: then the difference is taken trial by trial, over the
        trials that both have. Otherwise the interval is Welch's.
        """
        entries = self.entry(first), self.entry(second)
        if step is None:
            common = np.intersect1d(entries[0].steps, entries[1].steps)
            if common.size == 0:
                raise InvalidValueError(f"{first} and {second} share no recorded step.")
            step = int(common[-1])
        means = [entry.regret[step] for entry in entries]
        columns, others = (entry.columns for entry in entries)
        differing = [name for name in _WORLD if columns.get(name) != others.get(name)]
        if differing:
            interval = welch(*means)
            trials = (means[0].count, means[1].count)
            reason = (
                f"Welch: the cells differ in {' and '.join(differing)}, so noise was not shared"
            )
        else:
            (here, regret), (there, baseline) = (entry.regret_by_trial(step) for entry in entries)
            shared, rows, other_rows = np.intersect1d(here, there, return_indices=True)
            interval = Interval.of(regret[rows] - baseline[other_rows])
            trials = (shared.size, shared.size)
            reason = "paired: the same theta* and noise in each trial"
        return Difference(
            **vars(interval),
            first=first,
            second=second,
            step=step,
            paired=not differing,
            trials=trials,
            reason=reason,
        )
