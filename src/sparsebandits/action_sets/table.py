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
from sparsebandits.descriptions import as_fields, build_from

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
    fields = as_fields("An action set", data)
    available = fields.pop("available", None)
    if fields.get("p") in ("inf", "Infinity"):
        fields["p"] = float("inf")
    built = build_from("An action set", ACTION_SETS, fields)
    return built if available is None else built.restrict(available)
