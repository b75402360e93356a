"""The cross product of a sweep's axes, policies and environments, each combination built once."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sparsebandits.environments import LinearEnvironment, environment_from_dict
from sparsebandits.errors import CompositionError, SparseBanditsError
from sparsebandits.exploration import Basis
from sparsebandits.policies import POLICIES, REFERENCES, Policy
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.schema import AXES, Source
from sparsebandits.sweeps.sizes import with_dim, with_sigma

Columns = dict[str, str | int | float]
"""What names a cell in the results: policy, environment, sparsity, dim, horizon, perhaps sigma."""

KNOWN = "known"
"""As the sigma of a policy: the level of the environment's noise."""

_SYMBOLS = {"dim": "d", "sparsity": "H", "sigma": "sigma", "horizon": "T"}
_POINTS = 200


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepCell:
    """A cell to simulate, the columns that name it in the results, and its tables in the file."""

    cell: Cell
    columns: Columns
    configuration: dict[str, Any]

    @property
    def key(self) -> str:
        """The name of the cell, unique in its sweep."""
        return self.cell.key


@dataclasses.dataclass(frozen=True, kw_only=True)
class Skipped:
    """A combination that cannot run, and why."""

    key: str
    reason: str


def build(data: Mapping[str, Any], source: Source) -> Iterator[SweepCell | Skipped]:
    """Yield every combination of a checked sweep.

    What cannot run is refused, or, with ``skip_impossible = true``, yielded as skipped.
    """
    axes = data.get("axes", {})
    values = [axes.get(name, [data.get(name)]) for name in AXES]
    policies = _labels(data["policies"], "policies", source)
    environments = _labels(data["environments"], "environments", source)
    for i, label in enumerate(environments):
        for combination in itertools.product(*values):
            point = dict(zip(AXES, combination, strict=True))
            suffix = [f"{_SYMBOLS[name]}={point[name]}" for name in AXES if name in axes]
            environment = _environment(data["environments"][i], point, ("environments", i), source)
            for j, policy in enumerate(policies):
                key = "/".join([policy, label, *suffix])
                try:
                    cell = _cell(data, key, policy, j, environment, point, source)
                except CompositionError as error:
                    if not data.get("skip_impossible", False):
                        raise source.error(
                            ("policies", j),
                            f"the cell {key} cannot run: {error} Take it out, or set "
                            "skip_impossible = true to leave such combinations out.",
                        ) from None
                    yield Skipped(key=key, reason=str(error))
                    continue
                columns: Columns = {
                    "policy": policy,
                    "environment": label,
                    "sparsity": point["sparsity"],
                    "dim": environment.dim,
                    "horizon": point["horizon"],
                }
                if point["sigma"] is not None:
                    columns["sigma"] = float(point["sigma"])
                tables = {
                    "policy": dict(data["policies"][j]),
                    "environment": dict(data["environments"][i]),
                    **{name: value for name, value in point.items() if value is not None},
                }
                yield SweepCell(cell=cell, columns=columns, configuration=tables)


def _cell(
    data: Mapping[str, Any],
    key: str,
    label: str,
    place: int,
    environment: LinearEnvironment,
    point: Mapping[str, Any],
    source: Source,
) -> Cell:
    sparsity, dim = point["sparsity"], environment.dim
    if sparsity > dim:
        raise CompositionError(f"H = {sparsity} is above d = {dim}.")
    table = data["policies"][place]
    try:
        # Drawn once: a sampler that does not fit the dimension says so now.
        environment.draw_theta(np.random.default_rng(0), sparsity)
        policy = _policy(table, environment, sparsity, point["horizon"])
        policy.to_dict()
    except CompositionError:
        raise
    except (SparseBanditsError, TypeError, ValueError) as error:
        named = str(error).split(" ", 1)[0]
        path = ("policies", place, named) if named in table else ("policies", place)
        raise source.error(path, f"the cell {key} cannot be built: {error}") from None
    return Cell(
        key=key,
        label=label,
        policy=policy,
        environment=environment,
        horizon=point["horizon"],
        trials=data["trials"],
        benchmark=data.get("benchmark", "exact"),
        track_support=data.get("track_support", False),
        points=data.get("points", _POINTS),
        checkpoints=tuple(t for t in data.get("checkpoints", ()) if t <= point["horizon"]),
    )


def _policy(
    table: Mapping[str, Any], environment: LinearEnvironment, sparsity: int, horizon: int
) -> Policy:
    keywords = {key: value for key, value in table.items() if key not in ("kind", "label")}
    made = {**POLICIES, **REFERENCES}[table["kind"]]
    takes = {field.name: field for field in dataclasses.fields(made)}
    if keywords.get("sigma") == KNOWN:
        keywords["sigma"] = environment.sigma
        if not math.isfinite(environment.sigma):
            raise CompositionError(
                f"The noise {environment.noise!r} is not sub-Gaussian, so that there is no sigma "
                f'to be known. Give {table["kind"]!r} a number, or sigma = "estimate".'
            )
    if "horizon" in takes and not {"horizon", "exploration_steps"} & set(keywords):
        keywords["horizon"] = horizon
    elif "horizon" in takes and takes["horizon"].default is dataclasses.MISSING:
        keywords.setdefault("horizon", horizon)
    if isinstance(keywords.get("basis"), Mapping):
        keywords["basis"] = Basis.from_dict(keywords["basis"])
    policy: Policy = made(action_set=environment.action_set, sparsity=sparsity, **keywords)
    return policy


def _environment(
    table: Mapping[str, Any], point: Mapping[str, Any], path: tuple[str, int], source: Source
) -> LinearEnvironment:
    fields = {key: value for key, value in table.items() if key != "label"}
    try:
        fields = with_sigma(with_dim(fields, point["dim"]), point["sigma"])
        return environment_from_dict(fields)
    except (SparseBanditsError, TypeError, ValueError) as error:
        raise source.error(path, f"environments[{path[1]}] cannot be built: {error}") from None


def _labels(tables: list[Mapping[str, Any]], name: str, source: Source) -> list[str]:
    labels = [str(table.get("label") or _usual_label(table)) for table in tables]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            raise source.error(
                (name, i),
                f"{name}[{labels.index(label)}] and {name}[{i}] are both called {label!r}; give "
                'each a label = "...".',
            )
    return labels


def _usual_label(table: Mapping[str, Any]) -> str:
    if "kind" in table:
        return str(table["kind"])
    part = table.get("action_set") or table["action_sets"]
    if part["kind"] == "lp-ball":
        p = part.get("p", 2.0)
        return f"l{p:g}-ball" if isinstance(p, (int, float)) else f"l{p}-ball"
    return str(part["kind"])
