"""X: the sets that actions come from, each with its value h(S; theta) and best response."""

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.box import Box
from sparsebandits.action_sets.budget import Budget
from sparsebandits.action_sets.ellipsoid import Ellipsoid
from sparsebandits.action_sets.finite import FiniteSet
from sparsebandits.action_sets.forms import Inequalities, Points, QuadraticForm, Spending
from sparsebandits.action_sets.lp_ball import LpBall
from sparsebandits.action_sets.marginals import Marginals
from sparsebandits.action_sets.polytope import Polytope
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.action_sets.table import ACTION_SETS

__all__ = [
    "ACTION_SETS",
    "ActionSet",
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
