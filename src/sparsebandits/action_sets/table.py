"""The table of action sets: what contracts, command line and files read."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.box import Box
from sparsebandits.action_sets.budget import Budget
from sparsebandits.action_sets.ellipsoid import Ellipsoid
from sparsebandits.action_sets.finite import FiniteSet
from sparsebandits.action_sets.lp_ball import LpBall
from sparsebandits.action_sets.polytope import Polytope
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import describe

ACTION_SETS: dict[str, type[ActionSet]] = {
    LpBall.kind: LpBall,
    Ellipsoid.kind: Ellipsoid,
    Box.kind: Box,
    Budget.kind: Budget,
    Polytope.kind: Polytope,
    FiniteSet.kind: FiniteSet,
}


def action_set_from_dict(data: Mapping[str, Any]) -> ActionSet:
    """Build the action set that `ActionSet.to_dict` described.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> sb.action_set_from_dict({"kind": "lp-ball", "dim": 3, "p": "inf"})
    LpBall(dim=3, p=inf, radius=1)
    """
    if not isinstance(data, Mapping):
        raise InvalidTypeError(f"An action set must be a table of keys, got {describe(data)}.")
    fields = dict(data)
    kind = fields.pop("kind", None)
    available = fields.pop("available", None)
    if kind not in ACTION_SETS:
        known = ", ".join(repr(name) for name in ACTION_SETS)
        raise InvalidValueError(f"kind must be one of {known}, got {describe(kind)}.")
    if fields.get("p") in ("inf", "Infinity"):
        fields["p"] = float("inf")
    try:
        built = ACTION_SETS[kind](**fields)
    except TypeError as error:
        if isinstance(error, InvalidTypeError):
            raise
        raise InvalidValueError(
            f"{kind!r} does not take the keys {sorted(fields)}: {error}."
        ) from None
    return built if available is None else built.restrict(available)
