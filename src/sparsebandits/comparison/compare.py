"""Any policies on one environment: the same theta* and noise, differences trial by trial."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.comparison.entries import Entries, Entry, entry_of
from sparsebandits.comparison.field import sees_more, told
from sparsebandits.comparison.intervals import CONFIDENCE, finite
from sparsebandits.comparison.text_table import TextTable, number
from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.oracles import limit_label
from sparsebandits.policies import Policy
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell, Progress, run_cells
from sparsebandits.validation import as_integer, describe

_USUAL = (2_000, 20_000)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison(Entries):
    """The outcome of `compare`: one entry per policy, in the order given.

    Attributes
    ----------
    reference : str
        The label of the policy that differences are taken to.
    checkpoints : tuple of int
        The steps that tables show; the last is the horizon.
    runs : mapping of str to Run
        The simulations behind the entries.
    left_out : mapping of str to str
        Policies that cannot run in this environment, and why.
    """

    environment: LinearEnvironment
    horizon: int
    trials: int
    seed: int
    reference: str
    checkpoints: tuple[int, ...]
    runs: Mapping[str, Run]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe record; times per decision are of this machine."""
        return {
            "environment": self.environment.to_dict(),
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "reference": self.reference,
            "checkpoints": list(self.checkpoints),
            "confidence": CONFIDENCE,
            "policies": [self._record(entry) for entry in self.entries],
            "left_out": dict(self.left_out),
        }

    def _record(self, entry: Entry) -> dict[str, Any]:
        differences = {t: self.difference(entry.label, self.reference, t) for t in self.checkpoints}
        return {
            "label": entry.label,
            "kind": entry.kind,
            "told": list(entry.told),
            "sees": entry.sees,
            "trials": entry.trials,
            "regret": {str(t): entry.regret[t].to_dict() for t in self.checkpoints},
            "difference": {str(t): value.to_dict() for t, value in differences.items()},
            "optimal_share": finite(entry.optimal_share),
            "theta_error": finite(entry.theta_error),
            "microseconds": finite(entry.microseconds),
        }

    def table(self, title: str = "") -> TextTable:
        """Return regret at the checkpoints, difference at the end, support and time."""
        headings = ("policy", "told", *(f"R at {t:,}" for t in self.checkpoints))
        rows = []
        for entry in self.entries:
            gap = self.difference(entry.label, self.reference, self.horizon)
            rows.append(
                (
                    entry.label,
                    ", ".join(entry.told),
                    *(entry.regret[t].text() for t in self.checkpoints),
                    "" if entry.label == self.reference else gap.text(signed=True),
                    f"{entry.optimal_share:.0%}",
                    number(entry.microseconds),
                )
            )
        return TextTable(
            title=title,
            headings=(*headings, "difference", "on S*", "µs"),
            rows=tuple(rows),
            notes=self.notes(),
        )

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
            "µs: time per decision on this machine, trials side by side; not one of the "
            "reproducible numbers.",
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
    >>> ball = sb.LpBall(4)
    >>> env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube())
    >>> policies = {
    ...     "LinTS": sb.LinTS(action_set=ball, sparsity=2),
    ...     "random": sb.RandomSparse(action_set=ball, sparsity=2),
    ... }
    >>> comparison = sb.compare(policies, env, horizon=200, trials=5)
    >>> comparison.checkpoints, comparison.difference("random", "LinTS").low > 0
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
    runs = run_cells(cells, seed, cache, workers=workers, progress=advance)
    return compare_runs(policies, environment, runs, steps, seed, reference=first)


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


def compare_runs(
    policies: Mapping[str, Policy],
    environment: LinearEnvironment,
    runs: Mapping[str, Run],
    checkpoints: tuple[int, ...],
    seed: int,
    *,
    reference: str,
    left_out: Mapping[str, str] | None = None,
) -> Comparison:
    """Set runs of one seed side by side; one with fewer trials is compared over those it has."""
    T = checkpoints[-1]
    entries = tuple(_entry(label, policy, runs[label], T) for label, policy in policies.items())
    return Comparison(
        entries=entries,
        environment=environment,
        horizon=T,
        trials=max(entry.trials for entry in entries),
        seed=seed,
        reference=reference,
        checkpoints=checkpoints,
        runs={label: runs[label] for label in policies},
        left_out=dict(left_out or {}),
    )


def _entry(label: str, policy: Policy, run: Run, horizon: int) -> Entry:
    return entry_of(
        [run],
        regret_by_trial=lambda step: (np.arange(run.trials), run.at(step)),
        label=label,
        columns={"policy": label, "sparsity": limit_label(policy.sparsity), "horizon": horizon},
        planned=run.trials,
        kind=policy.kind,
        told=told(policy),
        sees=sees_more(policy),
        microseconds=1e6 * run.seconds / (run.trials * horizon),
    )


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
        given = ", ".join(sorted(map(str, sparsities)))
        raise InvalidValueError(
            f"All policies must have the same sparsity, got [{given}]: with another H they would "
            "solve another problem."
        )
    if reference is None:
        return next(iter(policies))
    if reference not in policies:
        raise InvalidValueError(
            f"reference must be one of {', '.join(map(repr, policies))}, got {reference!r}."
        )
    return reference
