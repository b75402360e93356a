"""What a simulation keeps: regret at log-spaced steps, locks, estimation errors."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import Policy
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_integer

_MOST_STEPS = 2**53
"""Up to here steps are counted exactly, also where they are floating-point numbers."""


def as_horizon(horizon: int) -> int:
    """Return T, checked to be a number of steps that can be counted."""
    return as_integer("horizon", horizon, minimum=1, maximum=_MOST_STEPS)


def log_spaced_steps(horizon: int, points: int = 200, checkpoints: Iterable[int] = ()) -> IntArray:
    """Return at most `points` distinct steps from 1 to `horizon`, evenly spaced in the logarithm.

    The steps in `checkpoints` are added where they are missing.

    Examples
    --------
    >>> log_spaced_steps(100, points=5).tolist()
    [1, 3, 10, 32, 100]
    >>> log_spaced_steps(100, points=5, checkpoints=[50]).tolist()
    [1, 3, 10, 32, 50, 100]
    """
    horizon = as_horizon(horizon)
    points = as_integer("points", points, minimum=1)
    spaced = np.rint(np.geomspace(1, horizon, points)).astype(np.intp)
    spaced[-1] = horizon
    added = [as_integer("checkpoints", step, minimum=1) for step in checkpoints]
    if added and max(added) > horizon:
        raise InvalidValueError(
            f"checkpoints must lie within the horizon of {horizon} steps, got {max(added)}."
        )
    return np.unique(np.concatenate([spaced, np.array(added, dtype=np.intp)]))


def found_share(policy: Policy, theta: FloatArray, estimate: FloatArray) -> float:
    """Return the share of the true support that the policy's oracle finds on its estimate."""
    truth = set(policy.support_of(theta))
    return len(truth & set(policy.support_of(estimate))) / max(1, len(truth))


@dataclass(frozen=True, eq=False)
class Run:
    """The outcome of one policy over many trials.

    Attributes
    ----------
    steps : (points,) int array
        The recorded steps t, the last one the horizon.
    regret : (trials, points) array
        Cumulative pseudo-regret after t steps, exact at the recorded steps: the sum of benchmark
        minus theta*·x_t, without the noise.
    locked_at : (trials,) array
        The step after which the support was locked; nan where it never was.
    support_correct : (trials,) bool array
        Whether the locked support is the one that the policy's own oracle finds on theta*; False
        where nothing was locked.
    theta_error : (trials, points) array
        ||theta_hat - theta*||_2 of the estimate in use after t steps; nan before the first.
    optimum : (trials,) array
        The benchmark's earning per step; nan where the set moves.
    optimal_share : (trials, points) array
        The share of the first t steps whose action uses exactly the benchmark's support.
    overlap : (trials, points) array or None
        The share of the true support that the oracle finds on the estimate in use; recorded only
        if asked for by ``track_support=True``.
    label : dict
        What was run: policy, benchmark, alpha, horizon, trials, seed, confidence and its scale.
    seconds : float
        Wall time that the simulation took, all trials together: of this machine, and the only
        number here that is another one when the same run is made again.
    """

    steps: IntArray
    regret: FloatArray
    locked_at: FloatArray
    support_correct: BoolArray
    theta_error: FloatArray
    optimum: FloatArray
    optimal_share: FloatArray
    overlap: FloatArray | None = None
    label: dict[str, Any] = field(default_factory=dict)
    seconds: float = float("nan")

    @property
    def locked_share(self) -> float:
        """The share of trials in which the support was locked."""
        return float(np.isfinite(self.locked_at).mean())

    def at(self, step: int) -> FloatArray:
        """Return the regret of every trial after a recorded step, (trials,)."""
        return np.asarray(self.regret[:, int(np.searchsorted(self.steps, step))])


class Recorder:
    """The arrays of a `Run` while they are filled, trial by trial."""

    def __init__(self, steps: IntArray, trials: int, *, track_support: bool = False) -> None:
        self.steps = steps
        self.regret = np.full((trials, steps.size), np.nan)
        self.locked_at = np.full(trials, np.nan)
        self.support_correct = np.zeros(trials, dtype=np.bool_)
        self.theta_error = np.full((trials, steps.size), np.nan)
        self.optimum = np.full(trials, np.nan)
        self.optimal_share = np.full((trials, steps.size), np.nan)
        self.overlap = np.full((trials, steps.size), np.nan) if track_support else None

    def finish(self, label: dict[str, Any], seconds: float = float("nan")) -> Run:
        """Freeze what was recorded."""
        return Run(
            steps=self.steps,
            regret=self.regret,
            locked_at=self.locked_at,
            support_correct=self.support_correct,
            theta_error=self.theta_error,
            optimum=self.optimum,
            optimal_share=self.optimal_share,
            overlap=self.overlap,
            label=label,
            seconds=seconds,
        )
