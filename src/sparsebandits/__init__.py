"""Stochastic linear bandits whose actions may switch on only a few of many knobs."""

from sparsebandits.action_sets import (
    ActionSet,
    Box,
    Budget,
    Ellipsoid,
    FiniteSet,
    LpBall,
    Polytope,
    action_set_from_dict,
)
from sparsebandits.errors import (
    CompositionError,
    InvalidTypeError,
    InvalidValueError,
    SolverError,
    SparseBanditsError,
)
from sparsebandits.oracles import (
    BatchSolution,
    Solution,
    approximation_ratio,
    certified_ratio,
    ellipsoid_gamma_bound,
    sparse_argmax,
    sparse_argmax_batch,
    submodularity_ratio,
)

__version__ = "0.1.0"

__all__ = [
    "ActionSet",
    "BatchSolution",
    "Box",
    "Budget",
    "CompositionError",
    "Ellipsoid",
    "FiniteSet",
    "InvalidTypeError",
    "InvalidValueError",
    "LpBall",
    "Polytope",
    "Solution",
    "SolverError",
    "SparseBanditsError",
    "action_set_from_dict",
    "approximation_ratio",
    "certified_ratio",
    "ellipsoid_gamma_bound",
    "sparse_argmax",
    "sparse_argmax_batch",
    "submodularity_ratio",
]
