"""Any policies on one environment: the same theta* and noise, differences trial by trial."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparsebandits.comparison.field import sees_more, told
from sparsebandits.comparison.tables import Interval, Table, finite, number
from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.policies import Policy
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell, Progress, run_cells
from sparsebandits.validation import FloatArray, as_integer, describe

_USUAL = (2_000, 20_000)

TIMING = (
    "µs: time per decision on this machine, trials side by side; not one of the reproducible "
    "numbers."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """What one policy gave.

    Attributes
    ----------
    label, kind : str
    told : tuple of str
        What it was told beside X, H and its rewards.
    sees : str or None
        What a reference sees that no learner does.
    trials : int
    regret : dict of Interval
        By checkpoint.
    difference : dict of Interval
        Its regret minus the reference policy's in the same trial, by checkpoint.
    optimal_share : float
        The share of all steps whose action uses exactly the benchmark's support.
    theta_error : float
        ||theta_hat - theta*||_2 at the end, mean over trials; nan where nothing is estimated.
    microseconds : float
        Wall time per decision.
    """

    label: str
    kind: str
    told: tuple[str, ...]
    sees: str | None
    trials: int
    regret: dict[int, Interval]
    difference: dict[int, Interval]
    optimal_share: float
    theta_error: float
    microseconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe record."""
        return {
            "label": self.label,
            "kind": self.kind,
            "told": list(self.told),
            "sees": self.sees,
            "trials": self.trials,
            "regret": {str(t): value.to_dict() for t, value in self.regret.items()},
            "difference": {str(t): value.to_dict() for t, value in self.difference.items()},
            "optimal_share": finite(self.optimal_share),
            "theta_error": finite(self.theta_error),
            "microseconds": finite(self.microseconds),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The outcome of `compare`: one entry per policy, in the order given.

    Attributes
    ----------
    reference : str
        The label of the policy that differences are taken to.
    runs : dict of Run
        The simulations behind the entries.
    """

    environment: LinearEnvironment
    horizon: int
    trials: int
    seed: int
    reference: str
    checkpoints: tuple[int, ...]
    entries: tuple[Entry, ...]
    runs: Mapping[str, Run]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def entry(self, label: str) -> Entry:
        """Return the entry with a label."""
        return next(one for one in self.entries if one.label == label)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe record; times per decision are of this machine."""
        return {
            "environment": self.environment.to_dict(),
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "reference": self.reference,
            "checkpoints": list(self.checkpoints),
            "confidence": 0.95,
            "policies": [entry.to_dict() for entry in self.entries],
            "left_out": dict(self.left_out),
        }

    def table(self, title: str = "") -> Table:
        """Return regret at the checkpoints, paired difference at the end, support and time."""
        last = self.checkpoints[-1]
        headings = (
            "policy",
            "told",
            *(f"R at {t:,}" for t in self.checkpoints),
            "difference",
            "on S*",
            "µs",
        )
        rows = tuple(
            (
                entry.label,
                ", ".join(entry.told),
                *(entry.regret[t].text() for t in self.checkpoints),
                "" if entry.label == self.reference else entry.difference[last].text(signed=True),
                f"{entry.optimal_share:.0%}",
                number(entry.microseconds),
            )
            for entry in self.entries
        )
        return Table(title=title, headings=headings, rows=rows, notes=self.notes())

    def notes(self) -> tuple[str, ...]:
        """Say how to read the table."""
        last = f"T = {self.checkpoints[-1]:,}"
        fewer = [f"{e.label} {e.trials}" for e in self.entries if e.trials < self.trials]
        references = [f"{e.label} sees {e.sees}" for e in self.entries if e.sees]
        lines = [
            f"R: regret against the exact optimum, mean of {self.trials} trials ± half of its 95% "
            f"interval; seed {self.seed}.",
            f"difference: R minus that of {self.reference} at {last}, trial by trial on the same "
            "theta* and noise.",
            f"on S*: share of the steps up to {last} that use exactly the best support.",
            "told: what a policy knows beside the set, H and its rewards.",
            TIMING,
        ]
        if fewer:
            lines.insert(1, f"Fewer trials, because they are slow: {', '.join(fewer)}.")
        if references:
            lines.append(f"References, not learners: {'; '.join(references)}.")
        return tuple(lines)


def compare(
    policies: Mapping[str, Policy],
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    seed: int = 0,
    *,
    checkpoints: Sequence[int] | None = None,
    reference: str | None = None,
    workers: int = 1,
    cache: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run policies on the same theta* and the same noise, and set their regret side by side.

    The numbers are the same for any number of workers; the times are not.

    Parameters
    ----------
    policies : mapping of str to Policy
        By the labels that tables and figures show.
    environment : LinearEnvironment
    horizon, trials, seed : int
    checkpoints : sequence of int, optional
        The steps at which regret is reported; T is added. If left out: T, and those of 2,000 and
        20,000 that lie before it, or T / 10 where none does.
    reference : str, optional
        The label that differences are taken to; the first one if left out.
    workers : int
        Processes.
    cache : Path, optional
        A folder in which finished parts are kept, so that an interrupted call can go on.
    progress : function of (done, total), optional

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.comparison.compare import compare
    >>> ball = sb.LpBall(4)
    >>> env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube())
    >>> policies = {
    ...     "LinTS": sb.LinTS(action_set=ball, sparsity=2),
    ...     "random": sb.RandomSparse(action_set=ball, sparsity=2),
    ... }
    >>> found = compare(policies, env, horizon=200, trials=5)
    >>> found.checkpoints, found.entry("random").difference[200].low > 0
    ((20, 200), True)
    """
    first = _check(policies, reference)
    steps = as_checkpoints(horizon, checkpoints)
    cells = comparison_cells(policies, environment, horizon, trials, steps)

    def advance(state: Progress) -> None:
        if progress is not None:
            progress(state.done, state.total)

    seed = as_integer("seed", seed, minimum=0)
    workers = as_integer("workers", workers, minimum=1)
    if cache is None:
        with tempfile.TemporaryDirectory() as folder:
            runs = run_cells(cells, seed, Path(folder), workers=workers, progress=advance)
    else:
        runs = run_cells(cells, seed, cache, workers=workers, progress=advance)
    return summarise(policies, environment, runs, steps, seed, reference=first)


def as_checkpoints(horizon: int, checkpoints: Iterable[int] | None = None) -> tuple[int, ...]:
    """Return the steps at which regret is reported, ascending; the last is the horizon.

    Examples
    --------
    >>> as_checkpoints(2000), as_checkpoints(20_000), as_checkpoints(500, [100])
    ((200, 2000), (2000, 20000), (100, 500))
    """
    horizon = as_integer("horizon", horizon, minimum=1)
    if checkpoints is None:
        before = [t for t in _USUAL if t < horizon]
        if not before and horizon >= 10:
            before = [horizon // 10]
    else:
        before = [as_integer("checkpoints", t, minimum=1) for t in checkpoints]
        if before and max(before) > horizon:
            raise InvalidValueError(
                f"checkpoints must lie within the horizon of {horizon} steps, got {max(before)}."
            )
    return tuple(sorted({*before, horizon}))


def comparison_cells(
    policies: Mapping[str, Policy],
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    checkpoints: tuple[int, ...],
    prefix: str = "",
) -> list[Cell]:
    """Return one cell per policy; its key is `prefix` and the label."""
    trials = as_integer("trials", trials, minimum=1)
    return [
        Cell(
            key=prefix + label,
            label=label,
            policy=policy,
            environment=environment,
            horizon=horizon,
            trials=trials,
            checkpoints=checkpoints,
        )
        for label, policy in policies.items()
    ]


def summarise(
    policies: Mapping[str, Policy],
    environment: LinearEnvironment,
    runs: Mapping[str, Run],
    checkpoints: tuple[int, ...],
    seed: int,
    *,
    reference: str,
    left_out: Mapping[str, str] | None = None,
) -> Comparison:
    """Set runs side by side; where one has fewer trials, differences are over those it has."""
    base = runs[reference]
    entries = []
    for label, policy in policies.items():
        run = runs[label]
        trials = min(run.regret.shape[0], base.regret.shape[0])
        regret = {t: regret_at(run, t) for t in checkpoints}
        entries.append(
            Entry(
                label=label,
                kind=policy.kind,
                told=told(policy),
                sees=sees_more(policy),
                trials=run.regret.shape[0],
                regret={t: Interval.of(values) for t, values in regret.items()},
                difference={
                    t: Interval.of(values[:trials] - regret_at(base, t)[:trials])
                    for t, values in regret.items()
                },
                optimal_share=float(run.optimal_share[:, -1].mean()),
                theta_error=float(run.theta_error[:, -1].mean()),
                microseconds=1e6 * run.seconds / (run.regret.shape[0] * int(run.steps[-1])),
            )
        )
    return Comparison(
        environment=environment,
        horizon=int(base.steps[-1]),
        trials=max(entry.trials for entry in entries),
        seed=seed,
        reference=reference,
        checkpoints=checkpoints,
        entries=tuple(entries),
        runs={label: runs[label] for label in policies},
        left_out=dict(left_out or {}),
    )


def regret_at(run: Run, step: int) -> FloatArray:
    """Return the regret of every trial after a step, which must be a recorded one."""
    if step not in run.steps:
        raise InvalidValueError(
            f"Step {step} was not recorded; pass checkpoints=[{step}] to the simulation."
        )
    return run.at(step)


def _check(policies: Mapping[str, Policy], reference: str | None) -> str:
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidTypeError(
            "policies must be a mapping of labels to policies, such as "
            f"{{'LinTS': sb.LinTS(...)}}, got {describe(policies)}."
        )
    for label, policy in policies.items():
        if not isinstance(policy, Policy):
            raise InvalidTypeError(
                f"policies[{label!r}] must be a policy such as sb.LinTS, got {describe(policy)}."
            )
    sparsities = {policy.sparsity for policy in policies.values()}
    if len(sparsities) > 1:
        raise InvalidValueError(
            f"All policies must have the same sparsity, got {sorted(sparsities)}: with another H "
            "they would solve another problem."
        )
    if reference is None:
        return next(iter(policies))
    if reference not in policies:
        raise InvalidValueError(
            f"reference must be one of {', '.join(map(repr, policies))}, got {reference!r}."
        )
    return reference
