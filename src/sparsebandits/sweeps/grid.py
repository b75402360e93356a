"""The cross product of a sweep's axes, policies and environments, each combination built once."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sparsebandits.environments import LinearEnvironment, environment_from_dict
from sparsebandits.errors import CompositionError, SparseBanditsError
from sparsebandits.oracles import as_limit, limit_label
from sparsebandits.policies.reader import policy_for
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.sizes import with_dim, with_sigma
from sparsebandits.sweeps.sweep_file import AXES, Source

_SYMBOLS = {"dim": "d", "sparsity": "H", "sigma": "sigma", "horizon": "T"}

Table = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Skipped:
    """A combination that cannot run, and why."""

    key: str
    reason: str


def build(data: Table, source: Source) -> Iterator[Cell | Skipped]:
    """Yield every combination of a checked sweep.

    What cannot run is refused, or, with ``skip_impossible = true``, yielded as skipped.
    """
    axes = data.get("axes", {})
    points = itertools.product(*(axes.get(name, [data.get(name)]) for name in AXES))
    policies = _distinct(labels(data["policies"]), "policies", source)
    environments = _distinct(labels(data["environments"]), "environments", source)
    for (i, label), values in itertools.product(enumerate(environments), list(points)):
        point = dict(zip(AXES, values, strict=True))
        suffix = [f"{_SYMBOLS[name]}={point[name]}" for name in AXES if name in axes]
        environment = _environment(data["environments"][i], point, i, source)
        for j, policy in enumerate(policies):
            key = "/".join([policy, label, *suffix])
            columns = {"cell": key, "policy": policy, "environment": label}
            try:
                yield _cell(data, columns, j, environment, point, source)
            except CompositionError as error:
                if not data.get("skip_impossible", False):
                    raise source.error(
                        ("policies", j),
                        f"the cell {key} cannot run: {error} Take it out, or set "
                        "skip_impossible = true to leave such combinations out.",
                    ) from None
                yield Skipped(key=key, reason=str(error))


def labels(tables: Sequence[Table]) -> list[str]:
    """Return what policies or environments are called: their label, or their kind."""
    return [str(table.get("label") or _usual_label(table)) for table in tables]


def _usual_label(table: Table) -> str:
    if "kind" in table:
        return str(table["kind"])
    part = table.get("action_set") or table["action_sets"]
    if part["kind"] == "lp-ball":
        p = part.get("p", 2.0)
        return f"l{p:g}-ball" if isinstance(p, (int, float)) else f"l{p}-ball"
    return str(part["kind"])


def _distinct(names: list[str], where: str, source: Source) -> list[str]:
    for i, name in enumerate(names):
        if (first := names.index(name)) < i:
            raise source.error(
                (where, i),
                f"{where}[{first}] and {where}[{i}] are both called {name!r}; give each a "
                'label = "...".',
            )
    return names


def _cell(
    data: Table,
    columns: dict[str, str],
    place: int,
    environment: LinearEnvironment,
    point: Table,
    source: Source,
) -> Cell:
    sparsity, horizon, dim = point["sparsity"], point["horizon"], environment.dim
    key, table = columns["cell"], data["policies"][place]
    if not isinstance(sparsity, Mapping) and sparsity > dim:
        raise CompositionError(f"H = {sparsity} is above d = {dim}.")
    if isinstance(sparsity, Mapping):
        try:
            sparsity = as_limit(sparsity, environment.action_set)
        except SparseBanditsError as error:
            raise source.error(("sparsity",), f"sparsity does not fit: {error}") from None
    try:
        # Drawn once: a sampler that does not fit the dimension says so now.
        environment.draw_theta(np.random.default_rng(0), sparsity)
        policy = policy_for(
            table["kind"],
            {name: value for name, value in table.items() if name not in ("kind", "label")},
            action_set=environment.action_set,
            sparsity=sparsity,
            horizon=horizon,
            sigma=environment.sigma,
        )
        policy.to_dict()
    except CompositionError:
        raise
    except (SparseBanditsError, TypeError, ValueError) as error:
        named = str(error).split(" ", 1)[0]
        path = ("policies", place, named) if named in table else ("policies", place)
        raise source.error(path, f"the cell {key} cannot be built: {error}") from None
    level = {} if point["sigma"] is None else {"sigma": float(point["sigma"])}
    chosen = {k: data[k] for k in ("benchmark", "track_support", "points") if k in data}
    return Cell(
        key=key,
        label=columns["policy"],
        policy=policy,
        environment=environment,
        horizon=horizon,
        trials=data["trials"],
        checkpoints=tuple(t for t in data.get("checkpoints", ()) if t <= horizon),
        columns={
            **columns,
            "sparsity": limit_label(sparsity),
            "dim": dim,
            "horizon": horizon,
            **level,
        },
        **chosen,
    )


def _environment(table: Table, point: Table, place: int, source: Source) -> LinearEnvironment:
    fields = {key: value for key, value in table.items() if key != "label"}
    try:
        return environment_from_dict(with_sigma(with_dim(fields, point["dim"]), point["sigma"]))
    except (SparseBanditsError, TypeError, ValueError) as error:
        text = f"environments[{place}] cannot be built: {error}"
        raise source.error(("environments", place), text) from None
