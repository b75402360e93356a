"""What a sweep file may hold: every key checked before anything starts, with its line."""

import dataclasses
import difflib
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from sparsebandits.action_sets import ACTION_SETS
from sparsebandits.environments import NOISES, PARAMETERS, SEQUENCES
from sparsebandits.errors import SweepError
from sparsebandits.policies import POLICIES, REFERENCES
from sparsebandits.simulation import BENCHMARKS
from sparsebandits.validation import describe

AXES = ("dim", "sparsity", "sigma", "horizon")
"""What may take several values, each a list under [axes], or a single value at the top."""

_Table = Mapping[str, Any]
_Path = tuple[str | int, ...]
"""Keys from the top of the file, with the position where a table is an entry of a list."""

_Legal = tuple[Callable[[Any], bool], str]


def _at_least(least: int) -> _Legal:
    def legal(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return legal, f"an integer of at least {least}"


def _is_level(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf


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
    "sparsity": _at_least(1),
    "sigma": (_is_level, "a finite number of at least 0"),
}
"""Of every key with a single value: what is legal, and what that is called."""

_TOP = (*_VALUES, "checkpoints", "axes", "policies", "environments")
_ENVIRONMENT = ("label", "action_set", "action_sets", "theta_star", "noise", "names", "delay")


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

    def unknown(self, path: _Path, where: str, known: Collection[str]) -> SweepError:
        """Return an error for a key that does not exist, with the nearest one that does."""
        key = str(path[-1])
        return self.error(path, f"unknown key {key!r} in {where}; {_nearest(key, known)}")


def _nearest(given: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    listed = ", ".join(repr(name) for name in known)
    return f"did you mean {close[0]!r}? Known: {listed}." if close else f"known: {listed}."


# ---------------------------------------------------------------------- lines

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ASSIGNMENT = re.compile(r"^\s*([\w\-\"'.\s]+?)\s*=")


def find_line(text: str, path: _Path) -> int | None:
    """Return the line, from 1, on which a key stands; None where it is not found.

    The standard parser of TOML keeps no lines. A key inside an inline table is found on the line of
    that table; for a table of a list the path may end in its position: the line of its heading.

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
    depth, number = 0, 0
    for line, place in _places(text):
        if depth < len(place) and place == path[: len(place)]:
            depth, number = len(place), line
    if 0 < depth < len(path):
        inline = rf"[{{,]\s*[\"']?{re.escape(str(path[-1]))}[\"']?\s*="
        return number if re.search(inline, text.splitlines()[number - 1]) else None
    return number or None


def _places(text: str) -> Iterator[tuple[int, _Path]]:
    """Yield the line and the path of every heading and every key."""
    table: _Path = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            keys = _keys(header[2])
            if header[1] == "[[":
                counts[".".join(keys)] = counts.get(".".join(keys), -1) + 1
            table = ()
            for depth, key in enumerate(keys, start=1):
                place = counts.get(".".join(keys[:depth]))
                table = (*table, key) if place is None else (*table, key, place)
            yield number, table
        elif assignment := _ASSIGNMENT.match(line):
            yield number, (*table, *_keys(assignment[1]))


def _keys(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


# ---------------------------------------------------------------------- keys and values


def check(data: Any, source: Source) -> None:
    """Refuse a sweep with an unknown key, an unknown kind or a value of the wrong type."""
    if not isinstance(data, Mapping):
        raise SweepError(f"{source.name}: a sweep must be a table of keys, got {describe(data)}.")
    for key, value in data.items():
        if key not in _TOP:
            raise source.unknown((key,), "the sweep", _TOP)
        if key in _VALUES:
            _check_value((key,), key, value, source)
    axes = data.get("axes", {})
    _check_axes(data, axes, source)
    for key in ("trials", "horizon", "sparsity"):
        if key not in data and key not in axes:
            also = f", or several values under [axes]: {key} = [...]" if key in AXES else ""
            raise source.error((key,), f"the key {key!r} is missing; add {key} = ...{also}.")
    _check_checkpoints(data, source)
    for name, check_table in (("policies", _check_policy), ("environments", _check_environment)):
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
            check_table(table, (name, i), source)
            _check_label(table, (name, i), source)


def _check_value(path: _Path, key: str, value: Any, source: Source) -> None:
    is_legal, what = _VALUES[key]
    if not is_legal(value):
        raise source.error(path, f"{key} must be {what}, got {describe(value)}.")


def _check_axes(data: _Table, axes: Any, source: Source) -> None:
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
            _check_value(path, name, value, source)
        if len(set(values)) != len(values):
            raise source.error(
                path, f"axes.{name} names a value twice: {describe(values)}; give each once."
            )


def _check_checkpoints(data: _Table, source: Source) -> None:
    path, steps = ("checkpoints",), data.get("checkpoints", [])
    if not isinstance(steps, list):
        raise source.error(path, f"checkpoints must be a list of steps, got {describe(steps)}.")
    longest = max(data.get("axes", {}).get("horizon", [data.get("horizon")]))
    is_step, what = _at_least(1)
    for step in steps:
        if not is_step(step):
            raise source.error(path, f"checkpoints must be {what}, got {describe(step)}.")
        if step > longest:
            raise source.error(
                path, f"checkpoints must lie within the horizon of {longest} steps, got {step}."
            )


def _check_label(table: _Table, path: _Path, source: Source) -> None:
    label = table.get("label", "-")
    if not isinstance(label, str) or not label.strip() or "/" in label or "\n" in label:
        raise source.error(
            (*path, "label"),
            f"label must be a text on one line without '/', got {describe(label)}.",
        )


def _check_policy(table: _Table, path: _Path, source: Source) -> None:
    classes = {**POLICIES, **REFERENCES}
    kind = _kind(table, path, "A policy", classes, source)
    given = ("action_set", "sparsity")
    taken = [field.name for field in dataclasses.fields(classes[kind]) if field.name not in given]
    for key in table:
        if key in given:
            raise source.error(
                (*path, key),
                f"{key!r} does not belong to a policy of a sweep: it comes from the environment "
                "and the axes; remove it.",
            )
        if key not in ("label", "kind", *taken):
            raise source.unknown((*path, key), f"the policy {kind!r}", ("label", "kind", *taken))


def _check_environment(table: _Table, path: _Path, source: Source) -> None:
    for key in table:
        if key not in _ENVIRONMENT:
            raise source.unknown((*path, key), "an environment", _ENVIRONMENT)
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
    part: Any, path: _Path, what: str, classes: Mapping[str, Callable[..., Any]], source: Source
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
            _check_value((*path, key), key, value, source)
        if classes is SEQUENCES and key == "action_set":
            _check_part(value, (*path, key), "An action set", ACTION_SETS, source)
        if classes is SEQUENCES and key == "sets" and isinstance(value, list):
            for i, inner in enumerate(value):
                _check_part(inner, (*path, key, i), "An action set", ACTION_SETS, source)


def _kind(table: _Table, path: _Path, what: str, known: _Table, source: Source) -> str:
    kind = table.get("kind")
    if kind is None:
        raise source.error(
            path, f"the key 'kind' is missing. {what} is one of {', '.join(map(repr, known))}."
        )
    if not isinstance(kind, str) or kind not in known:
        nearest = _nearest(str(kind), tuple(known))
        text = f"{what} of kind {describe(kind)} does not exist; {nearest}"
        raise source.error((*path, "kind"), text)
    return kind
