"""The rewards that a model is held against, with what they were earned by."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.dashboard.history import History
from sparsebandits.dashboard.regression import residuals_of
from sparsebandits.policies import Policy
from sparsebandits.validation import FloatArray, IntArray

_WORK = 4e8
"""Rewards times squared columns: with many coordinates only the last rewards are looked at.

As many as can be, since a learner's actions move slowly: within a short time they move with the
clock, and a fit takes what drifts for an effect of theirs.
"""

_ALWAYS = 1000

_FEWEST = 40
_PER_COLUMN = 3
"""Rewards that it takes, at least, and per column of the model."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """The rewards that the model is held against.

    Attributes
    ----------
    places : (n,) int array
        Of decisions in the history.
    rewards : (n,) array
    actions : (n, k) array
        The coordinates that were on at least once.
    contexts : (n, z) array or None
    times : (n,) array or None
        Seconds since 1970.
    intercept : bool
        Whether the policy reckons with a baseline.
    half_life : float or None
        Whether it forgets.
    """

    places: IntArray
    rewards: FloatArray
    actions: FloatArray
    contexts: FloatArray | None = None
    times: FloatArray | None = None
    intercept: bool = True
    half_life: float | None = None

    @property
    def baseline(self) -> FloatArray:
        """A column of ones."""
        return np.ones((self.rewards.size, 1))

    @property
    def trend(self) -> FloatArray:
        """A column that goes up steadily, so as not to take what drifts for anything else."""
        return np.linspace(-1.0, 1.0, self.rewards.size)[:, None]

    @property
    def columns(self) -> FloatArray:
        """The columns of the policy's own model, (n, m)."""
        parts = [self.baseline] if self.intercept else []
        parts.append(self.actions)
        if self.contexts is not None:
            if self.intercept:
                parts.append(self.contexts)
            parts.extend(self.actions * z[:, None] for z in self.contexts.T)
        return np.hstack(parts)

    @property
    def whole(self) -> FloatArray:
        """Those columns, with a baseline in any case."""
        return self.columns if self.intercept else np.hstack([self.baseline, self.columns])

    @property
    def needed(self) -> int:
        """How many rewards it takes to tell anything."""
        return max(_FEWEST, _PER_COLUMN * (int(self.whole.shape[1]) + 1))

    @property
    def is_enough(self) -> bool:
        """Whether there are so many."""
        return int(self.rewards.size) >= self.needed


def sample_of(policy: Policy, history: History) -> Sample:
    """Return the last rewards of a history, with what they were earned by."""
    width = 1 if history.contexts is None else 1 + history.contexts.shape[1]
    columns = width * (1 + history.used().size)
    places = history.told[-max(_ALWAYS, int(_WORK / columns**2)) :]
    used = np.flatnonzero(history.actions(places, history.used()).any(axis=0))
    coordinates = history.used()[used]
    return Sample(
        places=places,
        rewards=history.rewards[places],
        actions=history.actions(places, coordinates),
        contexts=None if history.contexts is None else history.contexts[places],
        times=history.asked_at[places] if history.has_times else None,
        intercept=bool(getattr(policy, "intercept", False)),
        half_life=getattr(policy, "half_life", None),
    )


def residuals(sample: Sample) -> FloatArray:
    """Return what the policy's model leaves unexplained, fitted by least squares, (n,)."""
    return residuals_of(sample.columns, sample.rewards)[0]
