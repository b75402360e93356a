"""The table of action sets: what contracts, command line and files read."""

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.box import Box
from sparsebandits.action_sets.budget import Budget
from sparsebandits.action_sets.ellipsoid import Ellipsoid
from sparsebandits.action_sets.finite import FiniteSet
from sparsebandits.action_sets.lp_ball import LpBall
from sparsebandits.action_sets.polytope import Polytope

ACTION_SETS: dict[str, type[ActionSet]] = {
    LpBall.kind: LpBall,
    Ellipsoid.kind: Ellipsoid,
    Box.kind: Box,
    Budget.kind: Budget,
    Polytope.kind: Polytope,
    FiniteSet.kind: FiniteSet,
}


ActionSet.kinds = dict(ACTION_SETS)
