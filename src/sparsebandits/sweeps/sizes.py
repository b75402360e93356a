"""Environments whose size and noise level are parameters of the sweep."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.validation import describe

_ENDS = ("lower", "upper")
"""Ends that may be one number for all coordinates."""

_GROWING = ("lp-ball", "box", "budget")
"""Sets that exist in any dimension."""

_LEVEL = {
    "gaussian": "sigma",
    "heteroscedastic": "sigma",
    "uniform": "half_width",
    "rademacher": "scale",
    "student-t": "scale",
}
"""The key that holds the level of a noise."""

Table = Mapping[str, Any]


def with_dim(table: Table, dim: int | None) -> dict[str, Any]:
    """Return an environment's table with every set in d = `dim` coordinates.

    With None each set must say itself how many it has.

    Examples
    --------
    >>> unit = {"kind": "box", "lower": 0.0, "upper": 1.0}
    >>> with_dim({"action_set": unit}, 2)["action_set"]
    {'kind': 'box', 'lower': [0.0, 0.0], 'upper': [1.0, 1.0]}
    """
    sized = dict(table)
    if "action_set" in sized:
        sized["action_set"] = _sized(sized["action_set"], dim)
    if isinstance(sized.get("sets"), list):
        sized["sets"] = [_sized(action_set, dim) for action_set in sized["sets"]]
    if "action_sets" in sized:
        moving = sized["action_sets"]
        # A sequence without a set of its own, such as a turning ellipsoid, has its own size.
        holds = "action_set" in moving or "sets" in moving
        sized["action_sets"] = with_dim(moving, dim) if holds else _sized(moving, dim)
    return sized


def _sized(table: Table, dim: int | None) -> dict[str, Any]:
    kind = table["kind"]
    has_lists = any(isinstance(table.get(end), list) for end in _ENDS)
    has_size = kind not in _GROWING or "dim" in table or has_lists
    if dim is not None and has_size:
        has = f"dim = {table['dim']}" if "dim" in table else "a size of its own"
        remedy = f"Sets that take dim from the sweep: {', '.join(_GROWING)}, the ends as numbers."
        if kind in _GROWING:
            remedy = "Remove one of the two; the ends of a box may be one number for all."
        raise SweepError(
            f"dim is set for the whole sweep, but the set {kind!r} has {has}. {remedy}"
        )
    if dim is None and not has_size:
        raise SweepError(
            f"the set {kind!r} has no size; add dim = ... to it, at the top of the file, or a list "
            "under [axes]."
        )
    size = dim if dim is not None else table.get("dim")
    if kind == "lp-ball":
        return {**table, "dim": size}
    sized = {key: value for key, value in table.items() if key != "dim"}
    for end in _ENDS:
        if size is not None and end in sized and not isinstance(sized[end], list):
            sized[end] = [sized[end]] * size
    return sized


def with_sigma(table: Table, sigma: float | None) -> dict[str, Any]:
    """Return an environment's table with the level of its noise set; Gaussian unless given.

    With None each noise must say its own.

    Examples
    --------
    >>> with_sigma({"noise": {"kind": "rademacher"}}, 0.1)["noise"]
    {'kind': 'rademacher', 'scale': 0.1}
    """
    if sigma is None and "noise" not in table:
        return dict(table)
    noise = dict(table.get("noise", {"kind": "gaussian"}))
    key = _LEVEL.get(noise["kind"])
    if sigma is None:
        if key is not None and key not in noise:
            raise SweepError(
                f"the noise {noise['kind']!r} has no level; add {key} = ... to it, or sigma = ... "
                "at the top of the file, or a list of sigma under [axes]."
            )
        return dict(table)
    if key is None or key in noise:
        has = "values of its own" if key is None else f"{key} = {describe(noise[key])}"
        raise SweepError(
            f"sigma is set for the whole sweep, but the noise {noise['kind']!r} has {has}; remove "
            "one of the two."
        )
    return {**table, "noise": {**noise, key: sigma}}
