"""Read ``--policy NAME[:key=value,...]``: a policy of the table, fitted to an environment."""

import difflib
import json
import math
from dataclasses import fields
from typing import Any

from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import POLICIES, REFERENCES, Policy

_GIVEN = ("action_set", "sparsity")


def read_policy(text: str, environment: LinearEnvironment, sparsity: int, horizon: int) -> Policy:
    """Build the policy that an option names; set, H and, where it plans for one, T are filled in.

    A policy that cannot do without the noise level is told the standard deviation of the noise.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> env = sb.LinearEnvironment(action_set=sb.LpBall(3), theta_star=[1.0, 0.0, 0.0])
    >>> policy = read_policy("lin-ts:scale=0.5,oracle=exact", env, sparsity=1, horizon=100)
    >>> policy.kind, policy.scale, policy.oracle
    ('lin-ts', 0.5, 'exact')
    """
    name, _, options = text.partition(":")
    table = {**POLICIES, **REFERENCES}
    if name not in table:
        raise InvalidValueError(f"Unknown policy {name!r}{_nearest(name, list(table))}.")
    kind = table[name]
    known = {one.name: one for one in fields(kind) if one.name not in _GIVEN}
    keywords = _keywords(text, options)
    for key in keywords:
        if key not in known:
            raise InvalidValueError(
                f"The policy {name!r} has no key {key!r}{_nearest(key, list(known))}."
            )
    level = environment.noise.standard_deviation
    # Where the default is not "estimate" there is no way to do without the number.
    if "sigma" in known and "sigma" not in keywords and known["sigma"].default != "estimate":
        if not math.isfinite(level):
            raise InvalidValueError(
                f"The policy {name!r} must be told sigma, and this noise has none; write "
                f"{name}:sigma=..."
            )
        keywords["sigma"] = level
    if "horizon" in known and not {"horizon", "exploration_steps"} & set(keywords):
        keywords["horizon"] = horizon
    try:
        made: Policy = kind(action_set=environment.action_set, sparsity=sparsity, **keywords)
    except TypeError as error:
        raise InvalidValueError(f"The policy {text!r} cannot be built: {error}.") from None
    return made


def _keywords(text: str, options: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in options.split(",") if options else []:
        key, sign, value = part.partition("=")
        key = key.strip()
        if not sign or not key:
            raise InvalidValueError(
                f"--policy takes NAME:key=value,key=value; {part!r} in {text!r} is no key=value."
            )
        if key in found:
            raise InvalidValueError(f"--policy {text!r} gives the key {key!r} twice.")
        found[key] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    """Return a number, true, false or null as such, and anything else as text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}? Known: {', '.join(known)}"
    return f"; known: {', '.join(known)}"
