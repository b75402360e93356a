"""Read a problem from a JSON or TOML file, with errors that name the file."""

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.names import place_of
from sparsebandits.descriptions import nearest
from sparsebandits.errors import InvalidValueError


def named_set(path: Path, problem: Mapping[str, Any]) -> ActionSet:
    """Return the set of a problem, with the names that stand beside it."""
    described = problem["action_set"]
    names = problem.get("names")
    if names is not None and isinstance(described, Mapping):
        if described.get("names", names) != names:
            raise InvalidValueError(
                f"{path} has names twice, at the top and in action_set, and they differ; keep one."
            )
        described = {**described, "names": names}
    return ActionSet.from_dict(described)


def theta_of(theta: Any, action_set: ActionSet) -> Any:
    """Return theta, (dim,), which may be a table of names; what is not in it is 0."""
    if not isinstance(theta, Mapping):
        return theta
    places = {name: place for place, name in enumerate(action_set.names or ())}
    numbers = [0.0] * action_set.dim
    for name, value in theta.items():
        numbers[place_of(name, places, action_set.dim)] = value
    return numbers


PROBLEM_KEYS = ("action_set", "theta", "sparsity", "method", "names")
"""Of a problem for `solve`, whose set `plan` takes too."""


def read_problem(path: Path) -> dict[str, Any]:
    """Return the table in a ``.json`` or ``.toml`` file."""
    readers = {".json": json.loads, ".toml": tomllib.loads}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidValueError(f"{path} must end in .json or .toml, got {path.suffix!r}.")
    try:
        data = reader(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidValueError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"{path} cannot be read: {error}.") from None
    except ValueError as error:  # also of a number with thousands of digits
        raise InvalidValueError(
            f"{path} is not valid {path.suffix[1:].upper()}: {error}."
        ) from None
    if not isinstance(data, dict):
        raise InvalidValueError(f"{path} must hold a table of keys at the top level.")
    return data


def check_keys(
    path: Path, data: Mapping[str, Any], known: Collection[str], needed: Iterable[str]
) -> None:
    """Refuse a table with a key that is not known, or without one that is needed."""
    for key in data:
        if key not in known:
            raise InvalidValueError(f"{path} has the unknown key {key!r}; {nearest(key, known)}")
    for key in needed:
        if key not in data:
            command = click.get_current_context().command_path
            raise InvalidValueError(f"{path} lacks the key {key!r}; see {command} --help.")
