"""What a sweep file may hold: every key checked before anything starts, with its line."""

import dataclasses
import inspect
import math
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sparsebandits.action_sets import ACTION_SETS
from sparsebandits.descriptions import nearest
from sparsebandits.environments import (
    ENVIRONMENT_KEYS,
    NOISES,
    PARAMETERS,
    SEQUENCES,
    GaussianContexts,
    Jump,
    UniformDelay,
)
from sparsebandits.errors import SweepError
from sparsebandits.policies import POLICIES, REFERENCES
from sparsebandits.simulation import BENCHMARKS
from sparsebandits.validation import describe

AXES = ("dim", "sparsity", "sigma", "horizon")
"""What may take several values, each a list under [axes], or a single value at the top."""

_Table = Mapping[str, Any]
_Path = tuple[str | int, ...]
"""Keys from the top of the file, with the position where a table is an entry of a list."""

_Classes = Mapping[str, Callable[..., Any]]
_Legal = tuple[Callable[[Any], bool], str]


def _at_least(least: int) -> _Legal:
    def legal(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return legal, f"an integer of at least {least}"


def _is_level(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf


def _is_limit(value: Any) -> bool:
    return isinstance(value, Mapping) or _at_least(1)[0](value)


_SWITCH: _Legal = (lambda value: isinstance(value, bool), "true or false")

_VALUES: dict[str, _Legal] = {
    "seed": _at_least(0),
    "trials": _at_least(1),
    "horizon": _at_least(1),
    "benchmark": (lambda value: value in BENCHMARKS, " or ".join(map(repr, BENCHMARKS))),
    "points": _at_least(1),
    "track_support": _SWITCH,
    "skip_impossible": _SWITCH,
    "dim": _at_least(1),
    "sparsity": (_is_limit, "an integer of at least 1, or a table of rules (at_most = ...)"),
    "sigma": (_is_level, "a finite number of at least 0"),
}
"""Of every key with a single value: what is legal, and what that is called."""

_TOP = (*_VALUES, "checkpoints", "axes", "policies", "environments")
_GIVEN = ("action_set", "sparsity")
"""What a policy takes, and a sweep gives it."""

_ENVIRONMENT = ("label", *ENVIRONMENT_KEYS)


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a sweep came from, to point at a line of it."""

    name: str = "The sweep"
    text: str = ""

    def error(self, path: _Path, message: str) -> SweepError:
        """Return an error that names the file, the line where the path stands, and the fault."""
        # A key that is missing has no line: point at its table.
        lines = (find_line(self.text, path[:depth]) for depth in range(len(path), 0, -1))
        line = next((number for number in lines if number is not None), None)
        at = self.name if line is None else f"{self.name}, line {line}"
        return SweepError(f"{at}: {message}")

    def require(self, holds: bool, path: _Path, message: str) -> None:
        """Raise the error unless something holds."""
        if not holds:
            raise self.error(path, message)

    def require_known(self, path: _Path, where: str, known: Collection[str]) -> None:
        """Refuse a key that does not exist, and name the nearest one that does."""
        key = str(path[-1])
        text = f"unknown key {key!r} in {where}; {nearest(key, known)}"
        self.require(key in known, path, text)


def find_line(text: str, path: _Path) -> int | None:
    """Return the line, from 1, on which a key or a table stands; None where it is not found.

    The parser of TOML keeps no lines: it is given more and more of them, until the key is there.

    Examples
    --------
    >>> text = '''seed = 0
    ... [[policies]]
    ... kind = "apsee"
    ... [[policies]]
    ... kind = "oful"
    ... '''
    >>> find_line(text, ("seed",)), find_line(text, ("policies", 1, "kind"))
    (1, 5)
    >>> find_line(text, ("policies", 1)), find_line(text, ("trials",))
    (4, None)
    """
    lines = text.splitlines()
    whole = 0
    for count in range(1, len(lines) + 1):
        try:
            table: Any = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        try:
            for key in path:
                table = table[key]
        except (KeyError, IndexError, TypeError):
            whole = count
        else:
            return whole + 1
    return None


def check(data: Any, source: Source) -> None:
    """Refuse a sweep with an unknown key, an unknown kind or a value of the wrong type."""
    if not isinstance(data, Mapping):
        raise SweepError(f"{source.name}: a sweep must be a table of keys, got {describe(data)}.")
    for key, value in data.items():
        source.require_known((key,), "the sweep", _TOP)
        if key in _VALUES:
            _check_value((key,), key, value, source)
    axes = data.get("axes", {})
    _check_axes(data, axes, source)
    for key in ("trials", "horizon", "sparsity"):
        also = f", or several values under [axes]: {key} = [...]" if key in AXES else ""
        missing = f"the key {key!r} is missing; add {key} = ...{also}."
        source.require(key in data or key in axes, (key,), missing)
    _check_checkpoints(data, source)
    for name, check_table in (("policies", _check_policy), ("environments", _check_environment)):
        tables = data.get(name)
        needed = f"a sweep needs at least one table [[{name}]], got {describe(tables)}."
        if not isinstance(tables, list) or not tables:
            raise source.error((name,), needed)
        for i, table in enumerate(tables):
            wrong = f"{name}[{i}] must be a table of keys, got {describe(table)}."
            source.require(isinstance(table, Mapping), (name, i), wrong)
            check_table(table, (name, i), source)
            _check_label(table, (name, i), source)


def _check_value(path: _Path, key: str, value: Any, source: Source) -> None:
    is_legal, what = _VALUES[key]
    source.require(is_legal(value), path, f"{key} must be {what}, got {describe(value)}.")


def _check_axes(data: _Table, axes: Any, source: Source) -> None:
    if not isinstance(axes, Mapping):
        raise source.error(("axes",), f"axes must be a table [axes], got {describe(axes)}.")
    for name, values in axes.items():
        path, given = ("axes", name), describe(values)
        source.require_known(path, "[axes]", AXES)
        twice = f"{name!r} is given at the top and under [axes]; give it once."
        source.require(name not in data, path, twice)
        if not isinstance(values, list) or not values:
            raise source.error(path, f"axes.{name} must be a list of values, got {given}.")
        for value in values:
            rules = "rules for what may be on are a table [sparsity] at the top, not under [axes]."
            source.require(not isinstance(value, Mapping), path, rules)
            _check_value(path, name, value, source)
        repeated = f"axes.{name} names a value twice: {given}; give each once."
        source.require(len(set(values)) == len(values), path, repeated)


def _check_checkpoints(data: _Table, source: Source) -> None:
    path, steps = ("checkpoints",), data.get("checkpoints", [])
    if not isinstance(steps, list):
        raise source.error(path, f"checkpoints must be a list of steps, got {describe(steps)}.")
    longest = max(data.get("axes", {}).get("horizon", [data.get("horizon")]))
    is_step, what = _at_least(1)
    for step in steps:
        wrong = f"checkpoints must be {what}, got {describe(step)}."
        source.require(is_step(step), path, wrong)
        outside = f"checkpoints must lie within the horizon of {longest} steps, got {step}."
        source.require(step <= longest, path, outside)


def _check_label(table: _Table, path: _Path, source: Source) -> None:
    label = table.get("label", "-")
    is_legal = isinstance(label, str) and label.strip() and not set("/\n") & set(label)
    wrong = f"label must be a text on one line without '/', got {describe(label)}."
    source.require(bool(is_legal), (*path, "label"), wrong)


def _check_policy(table: _Table, path: _Path, source: Source) -> None:
    for key in _GIVEN:
        text = f"{key!r} does not belong to a policy of a sweep: it comes from the environment "
        source.require(key not in table, (*path, key), f"{text}and the axes; remove it.")
    _check_part(table, path, "A policy", {**POLICIES, **REFERENCES}, source)


def _check_environment(table: _Table, path: _Path, source: Source) -> None:
    for key in table:
        source.require_known((*path, key), "an environment", _ENVIRONMENT)
    one_set = ("action_set" in table) != ("action_sets" in table)
    text = "an environment needs exactly one of 'action_set' and 'action_sets'."
    source.require(one_set, path, text)
    text = "the key 'theta_star' is missing; add theta_star = { kind = \"uniform-cube\" }, or a "
    source.require("theta_star" in table, path, f"{text}list of numbers.")
    parts: dict[str, tuple[str, _Classes]] = {
        "action_set": ("An action set", ACTION_SETS),
        "action_sets": ("A sequence of action sets", SEQUENCES),
        "theta_star": ("A parameter", PARAMETERS),
        "noise": ("A noise", NOISES),
        "delay": (UniformDelay.noun, UniformDelay.kinds),
        "contexts": (GaussianContexts.noun, GaussianContexts.kinds),
        "drift": (Jump.noun, Jump.kinds),
    }
    for key, (what, classes) in parts.items():
        if key in table and not (key == "theta_star" and isinstance(table[key], list)):
            _check_part(table[key], (*path, key), what, classes, source)


def _check_part(part: Any, path: _Path, what: str, classes: _Classes, source: Source) -> None:
    """Check a table whose `kind` names a class: its keys are what that class takes."""
    if not isinstance(part, Mapping):
        raise source.error(path, f"{path[-1]} must be a table of keys, got {describe(part)}.")
    kind = part.get("kind")
    if kind is None:
        listed = ", ".join(map(repr, classes))
        raise source.error(path, f"the key 'kind' is missing. {what} is one of {listed}.")
    if not isinstance(kind, str) or kind not in classes:
        text = f"{what} of kind {describe(kind)} does not exist; {nearest(str(kind), classes)}"
        raise source.error((*path, "kind"), text)
    known = dict.fromkeys(["label", "kind"] if what == "A policy" else ["kind"])
    known |= dict.fromkeys(inspect.signature(classes[kind]).parameters)
    if what == "A policy":
        known = {key: None for key in known if key not in _GIVEN}
    if classes is ACTION_SETS:
        # A set may name `dim` though its class does not take it: see `sizes`.
        known |= dict.fromkeys(["dim", "available"])
    for key, value in part.items():
        where = f"{what[0].lower()}{what[1:]} of kind {kind!r}"
        source.require_known((*path, key), where, known)
        if key == "dim":
            _check_value((*path, key), key, value, source)
        if classes is SEQUENCES and key == "action_set":
            _check_part(value, (*path, key), "An action set", ACTION_SETS, source)
        if classes is SEQUENCES and key == "sets" and isinstance(value, list):
            for i, inner in enumerate(value):
                _check_part(inner, (*path, key, i), "An action set", ACTION_SETS, source)
