"""What a simulation keeps: regret at log-spaced steps, locks, estimation errors."""

from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import Policy
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_integer, brief_repr


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
    horizon = as_integer("horizon", horizon, minimum=1)
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


def axes_of(entry: "Field[Any]") -> tuple[str, ...]:
    """Return what the axes of a field of `Run` are: "trial", "step", "coordinate"; () of no array.

    All that is done with a whole run (joining, taking trials, writing it down) goes by these, so
    that a new field is named once, where it is declared.
    """
    axes: tuple[str, ...] = entry.metadata["axes"]
    return axes


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
    theta_star : (trials, dim) array
        The parameter of every trial.
    overlap : (trials, points) array or None
        The share of the true support that the oracle finds on the estimate in use; recorded only
        if asked for by ``track_support=True``.
    label : dict
        What was run: policy, benchmark, alpha, horizon, trials, seed, confidence and its scale.
    seconds : float
        Wall time that the simulation took, all trials together: of this machine, and the only
        number here that is another one when the same run is made again.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> X = sb.LpBall(4)
    >>> world = sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube())
    >>> run = sb.simulate(sb.SparseThompson(action_set=X, sparsity=2), world, horizon=50, trials=3)
    >>> run.regret.shape == (3, run.steps.size), int(run.steps[-1])
    (True, 50)
    """

    __repr__ = brief_repr

    steps: IntArray = field(metadata={"axes": ("step",)})
    regret: FloatArray = field(metadata={"axes": ("trial", "step")})
    locked_at: FloatArray = field(metadata={"axes": ("trial",)})
    support_correct: BoolArray = field(metadata={"axes": ("trial",)})
    theta_error: FloatArray = field(metadata={"axes": ("trial", "step")})
    optimum: FloatArray = field(metadata={"axes": ("trial",)})
    optimal_share: FloatArray = field(metadata={"axes": ("trial", "step")})
    theta_star: FloatArray = field(metadata={"axes": ("trial", "coordinate")})
    overlap: FloatArray | None = field(default=None, metadata={"axes": ("trial", "step")})
    label: dict[str, Any] = field(default_factory=dict, metadata={"axes": ()})
    seconds: float = field(default=float("nan"), metadata={"axes": ()})

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return int(self.regret.shape[0])

    @property
    def locked_share(self) -> float:
        """The share of trials in which the support was locked."""
        return float(np.isfinite(self.locked_at).mean())

    def at(self, step: int) -> FloatArray:
        """Return the regret of every trial after a recorded step, (trials,)."""
        return np.asarray(self.regret[:, int(np.searchsorted(self.steps, step))])

    def rows(self, selection: slice | BoolArray | IntArray) -> "Run":
        """Return some of the trials, with their share of the time.

        Parameters
        ----------
        selection : slice, (trials,) bool array or int array
            As NumPy takes rows.
        """
        taken: dict[str, Any] = {
            name: None if value is None else value[selection]
            for name, value in self._by_trial().items()
        }
        count = taken["regret"].shape[0]
        share = count / self.trials if self.trials else 1.0
        return replace(
            self, **taken, label=_counted(self.label, count), seconds=self.seconds * share
        )

    @classmethod
    def join(cls, runs: Sequence["Run"]) -> "Run":
        """Put the trials of several runs of one configuration together, in their order."""
        if not runs:
            raise InvalidValueError("There is nothing to join: give at least one run.")
        first = runs[0]
        if any(not np.array_equal(run.steps, first.steps) for run in runs):
            raise InvalidValueError("Runs with other recorded steps cannot be joined.")
        joined: dict[str, Any] = {}
        for name in first._by_trial():
            parts = [getattr(run, name) for run in runs]
            absent = sum(part is None for part in parts)
            if absent not in (0, len(parts)):
                raise InvalidValueError(f"{name} was recorded in some of the runs only.")
            joined[name] = None if absent else np.concatenate(parts)
        label = _counted(first.label, sum(run.trials for run in runs))
        return replace(first, **joined, label=label, seconds=sum(run.seconds for run in runs))

    def _by_trial(self) -> dict[str, Any]:
        """Return what has a row for each trial, by its name."""
        return {e.name: getattr(self, e.name) for e in fields(self) if "trial" in axes_of(e)}


def _counted(label: dict[str, Any], trials: int) -> dict[str, Any]:
    return {**label, "trials": trials} if "trials" in label else label


class Recorder:
    """The arrays of a `Run` while they are filled, trial by trial."""

    def __init__(
        self, steps: IntArray, theta_star: FloatArray, *, track_support: bool = False
    ) -> None:
        trials = theta_star.shape[0]
        shape = (trials, steps.size)
        self.steps = steps
        self.theta_star = theta_star
        self.regret = np.full(shape, np.nan)
        self.locked_at = np.full(trials, np.nan)
        self.support_correct = np.zeros(trials, dtype=np.bool_)
        self.theta_error = np.full(shape, np.nan)
        self.optimum = np.full(trials, np.nan)
        self.optimal_share = np.full(shape, np.nan)
        self.overlap = np.full(shape, np.nan) if track_support else None

    def finish(self, label: dict[str, Any], seconds: float = float("nan")) -> Run:
        """Freeze what was recorded."""
        return Run(**vars(self), label=label, seconds=seconds)
