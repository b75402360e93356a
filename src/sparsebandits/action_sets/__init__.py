"""X: the sets that actions come from, each with its value h(S; theta) and best response."""

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.box import Box
from sparsebandits.action_sets.budget import Budget
from sparsebandits.action_sets.ellipsoid import Ellipsoid
from sparsebandits.action_sets.finite import FiniteSet
from sparsebandits.action_sets.forms import Inequalities, Points, QuadraticForm, Spending
from sparsebandits.action_sets.lp_ball import LpBall
from sparsebandits.action_sets.marginals import Marginals
from sparsebandits.action_sets.names import AllBut
from sparsebandits.action_sets.polytope import Polytope
from sparsebandits.action_sets.sorting import Sorting

__all__ = [
    "ACTION_SETS",
    "ActionSet",
    "AllBut",
    "Box",
    "Budget",
    "Ellipsoid",
    "FiniteSet",
    "Inequalities",
    "LpBall",
    "Marginals",
    "Points",
    "Polytope",
    "QuadraticForm",
    "Sorting",
    "Spending",
]

ACTION_SETS: dict[str, type[ActionSet]] = {
    action_set.kind: action_set
    for action_set in (LpBall, Ellipsoid, Box, Budget, Polytope, FiniteSet)
}
"""The table that contracts, command line and files read."""

ActionSet.kinds = ACTION_SETS
