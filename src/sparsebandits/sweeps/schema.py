"""What a sweep file may hold: every key checked before anything starts, with its line."""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sparsebandits.action_sets import ACTION_SETS
from sparsebandits.descriptions import nearest
from sparsebandits.environments import NOISES, PARAMETERS, SEQUENCES
from sparsebandits.errors import SweepError
from sparsebandits.policies import POLICIES, REFERENCES
from sparsebandits.sweeps.toml_lines import find_line
from sparsebandits.validation import describe

AXES = ("dim", "sparsity", "sigma", "horizon")
"""What may take several values, each a list under [axes], or one value at the top of the file."""

_INTEGERS = {"seed": 0, "trials": 1, "horizon": 1, "points": 1, "dim": 1, "sparsity": 1}
"""The least value of every integer."""

_SWITCHES = ("track_support", "skip_impossible")

TOP = (
    "seed",
    "trials",
    "horizon",
    "benchmark",
    "points",
    "checkpoints",
    "track_support",
    "skip_impossible",
    "dim",
    "sparsity",
    "sigma",
    "axes",
    "policies",
    "environments",
)

ENVIRONMENT = ("label", "action_set", "action_sets", "theta_star", "noise", "names", "delay")

_Path = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a sweep came from, to point at a line of it."""

    name: str = "The sweep"
    text: str = ""

    def error(self, path: _Path, message: str) -> SweepError:
        """Return an error that names the file, the line where it is found, and the place."""
        line = None
        if self.text:
            # A key that is missing has no line: point at its table.
            lines = (find_line(self.text, path[:n]) for n in range(len(path), 0, -1))
            line = next((number for number in lines if number is not None), None)
        at = self.name if line is None else f"{self.name}, line {line}"
        return SweepError(f"{at}: {message}")

    def unknown(self, path: _Path, where: str, known: Collection[str]) -> SweepError:
        """Return an error for a key that does not exist, with the nearest one that does."""
        return self.error(
            path, f"unknown key {str(path[-1])!r} in {where}; {nearest(str(path[-1]), known)}"
        )


def check(data: Any, source: Source) -> None:
    """Refuse a sweep with an unknown key, an unknown kind or a value of the wrong type."""
    if not isinstance(data, Mapping):
        raise SweepError(f"{source.name}: a sweep must be a table of keys, got {describe(data)}.")
    for key in data:
        if key not in TOP:
            raise source.unknown((key,), "the sweep", TOP)
    _check_top(data, source)
    _check_axes(data, source)
    _check_complete(data, source)
    _check_checkpoints(data, source)
    for name in ("policies", "environments"):
        tables = data.get(name)
        if not isinstance(tables, list) or not tables:
            raise source.error(
                (name,), f"a sweep needs at least one table [[{name}]], got {describe(tables)}."
            )
        for i, table in enumerate(tables):
            if not isinstance(table, Mapping):
                raise source.error(
                    (name, i), f"{name}[{i}] must be a table of keys, got {describe(table)}."
                )
            checker = _check_policy if name == "policies" else _check_environment
            checker(table, (name, i), source)


def _check_top(data: Mapping[str, Any], source: Source) -> None:
    for key, least in _INTEGERS.items():
        if key in data:
            _integer((key,), data[key], least, source)
    for key in _SWITCHES:
        if key in data and not isinstance(data[key], bool):
            raise source.error((key,), f"{key} must be true or false, got {describe(data[key])}.")
    if "sigma" in data:
        _scale(("sigma",), data["sigma"], source)
    if data.get("benchmark", "exact") not in ("exact", "greedy"):
        raise source.error(
            ("benchmark",),
            f"benchmark must be 'exact' or 'greedy', got {describe(data['benchmark'])}.",
        )


def _check_axes(data: Mapping[str, Any], source: Source) -> None:
    axes = data.get("axes", {})
    if not isinstance(axes, Mapping):
        raise source.error(("axes",), f"axes must be a table [axes], got {describe(axes)}.")
    for name, values in axes.items():
        path = ("axes", name)
        if name not in AXES:
            raise source.unknown(path, "[axes]", AXES)
        if name in data:
            raise source.error(
                path, f"{name!r} is given at the top and under [axes]; give it once."
            )
        if not isinstance(values, list) or not values:
            raise source.error(
                path, f"axes.{name} must be a list of values, got {describe(values)}."
            )
        for value in values:
            if name == "sigma":
                _scale(path, value, source)
            else:
                _integer(path, value, _INTEGERS[name], source)
        if len(set(values)) != len(values):
            raise source.error(
                path, f"axes.{name} names a value twice: {describe(values)}; give each once."
            )


def _check_complete(data: Mapping[str, Any], source: Source) -> None:
    axes = data.get("axes", {})
    for key in ("trials", "horizon", "sparsity"):
        if key not in data and key not in axes:
            also = f", or several values under [axes]: {key} = [...]" if key in AXES else ""
            raise source.error((key,), f"the key {key!r} is missing; add {key} = ...{also}.")


def _check_checkpoints(data: Mapping[str, Any], source: Source) -> None:
    path, steps = ("checkpoints",), data.get("checkpoints", [])
    if not isinstance(steps, list):
        raise source.error(path, f"checkpoints must be a list of steps, got {describe(steps)}.")
    longest = max(data.get("axes", {}).get("horizon", [data.get("horizon")]))
    for step in steps:
        _integer(path, step, 1, source)
        if step > longest:
            raise source.error(
                path, f"checkpoints must lie within the horizon of {longest} steps, got {step}."
            )


def _check_policy(table: Mapping[str, Any], path: _Path, source: Source) -> None:
    classes = {**POLICIES, **REFERENCES}
    kind = _kind(table, path, "A policy", classes, source)
    taken = tuple(
        field.name
        for field in dataclasses.fields(classes[kind])
        if field.name not in ("action_set", "sparsity")
    )
    known = ("label", "kind", *taken)
    for key in table:
        if key in ("action_set", "sparsity"):
            raise source.error(
                (*path, key),
                f"{key!r} does not belong to a policy of a sweep: it comes from the environment "
                "and the axes; remove it.",
            )
        if key not in known:
            raise source.unknown((*path, key), f"the policy {kind!r}", known)
    _label(table, path, source)


def _check_environment(table: Mapping[str, Any], path: _Path, source: Source) -> None:
    for key in table:
        if key not in ENVIRONMENT:
            raise source.unknown((*path, key), "an environment", ENVIRONMENT)
    if ("action_set" in table) == ("action_sets" in table):
        raise source.error(
            path, "an environment needs exactly one of 'action_set' and 'action_sets'."
        )
    if "theta_star" not in table:
        raise source.error(
            path,
            "the key 'theta_star' is missing; add theta_star = { kind = \"uniform-cube\" }, or a "
            "list of numbers.",
        )
    _label(table, path, source)
    parts: dict[str, tuple[str, Mapping[str, Callable[..., Any]]]] = {
        "action_set": ("An action set", ACTION_SETS),
        "action_sets": ("A sequence of action sets", SEQUENCES),
        "theta_star": ("A parameter", PARAMETERS),
        "noise": ("A noise", NOISES),
    }
    for key, (what, classes) in parts.items():
        if key in table and not (key == "theta_star" and isinstance(table[key], list)):
            _check_part(table[key], (*path, key), what, classes, source)


def _check_part(
    part: Any,
    path: _Path,
    what: str,
    classes: Mapping[str, Callable[..., Any]],
    source: Source,
) -> None:
    if not isinstance(part, Mapping):
        raise source.error(path, f"{path[-1]} must be a table of keys, got {describe(part)}.")
    kind = _kind(part, path, what, classes, source)
    known = tuple(inspect.signature(classes[kind]).parameters)
    if classes is ACTION_SETS:
        # Sets whose size comes from `dim` may name it in any shorthand.
        known = tuple(dict.fromkeys((*known, "dim", "available")))
    for key, value in part.items():
        if key != "kind" and key not in known:
            where = f"{what[0].lower()}{what[1:]} of kind {kind!r}"
            raise source.unknown((*path, key), where, ("kind", *known))
        if key == "dim":
            _integer((*path, key), value, 1, source)
        if classes is SEQUENCES and key == "action_set":
            _check_part(value, (*path, key), "An action set", ACTION_SETS, source)
        if classes is SEQUENCES and key == "sets" and isinstance(value, list):
            for i, one in enumerate(value):
                _check_part(one, (*path, key, i), "An action set", ACTION_SETS, source)


def _kind(
    table: Mapping[str, Any], path: _Path, what: str, known: Mapping[str, Any], source: Source
) -> str:
    kind = table.get("kind")
    if isinstance(kind, str) and kind in known:
        return kind
    if kind is None:
        raise source.error(
            path, f"the key 'kind' is missing. {what} is one of {', '.join(map(repr, known))}."
        )
    raise source.error(
        (*path, "kind"), f"{what} of kind {describe(kind)} does not exist; "
        f"{nearest(str(kind), tuple(known))}"
    )  # fmt: skip


def _label(table: Mapping[str, Any], path: _Path, source: Source) -> None:
    label = table.get("label", "-")
    if not isinstance(label, str) or not label.strip() or "/" in label or "\n" in label:
        raise source.error(
            (*path, "label"),
            f"label must be a text on one line without '/', got {describe(label)}.",
        )


def _integer(path: _Path, value: Any, least: int, source: Source) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise source.error(
            path, f"{path[-1]} must be an integer of at least {least}, got {describe(value)}."
        )


def _scale(path: _Path, value: Any, source: Source) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value < float("inf"):
        raise source.error(
            path, f"sigma must be a finite number of at least 0, got {describe(value)}."
        )
