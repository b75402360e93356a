"""Environments whose size and noise level are parameters of the sweep."""

from collections.abc import Callable, Mapping
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.validation import describe

_SIDES = ("lower", "upper")
"""Ends that may be one number for all coordinates."""

_GROWING = ("lp-ball", "box", "budget")
"""Sets that exist in any dimension."""

_NOISE_SCALE = {
    "gaussian": "sigma",
    "heteroscedastic": "sigma",
    "uniform": "half_width",
    "rademacher": "scale",
    "student-t": "scale",
}

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

    def sized(one: Table) -> dict[str, Any]:
        return _sized(one, dim)

    return _with_sets(table, sized)


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
    key = _NOISE_SCALE.get(noise["kind"])
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


def _with_sets(table: Table, change: Callable[[Table], dict[str, Any]]) -> dict[str, Any]:
    filled = dict(table)
    if "action_set" in filled:
        filled["action_set"] = change(filled["action_set"])
    if isinstance(filled.get("sets"), list):
        filled["sets"] = [change(one) for one in filled["sets"]]
    if "action_sets" in filled:
        moving = filled["action_sets"]
        # A sequence without a set of its own, such as a rotating ellipsoid, has its own size.
        holds = "action_set" in moving or "sets" in moving
        filled["action_sets"] = _with_sets(moving, change) if holds else change(moving)
    return filled


def _sized(one: Table, dim: int | None) -> dict[str, Any]:
    kind = one["kind"]
    ends = [side for side in _SIDES if isinstance(one.get(side), list)]
    has_size = kind not in _GROWING or "dim" in one or bool(ends)
    if dim is not None and has_size:
        has = f"dim = {one['dim']}" if "dim" in one else "a size of its own"
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
    size = dim if dim is not None else one.get("dim")
    if kind == "lp-ball":
        return {**one, "dim": size}
    return {
        key: [value] * size
        if size is not None and key in _SIDES and not isinstance(value, list)
        else value
        for key, value in one.items()
        if key != "dim"
    }
