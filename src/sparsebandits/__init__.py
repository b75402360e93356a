"""Stochastic linear bandits whose actions may switch on only a few of many knobs."""

import importlib
from typing import TYPE_CHECKING, Any

from sparsebandits import testing
from sparsebandits.action_sets import (
    ActionSet,
    AllBut,
    Box,
    Budget,
    Ellipsoid,
    FiniteSet,
    LpBall,
    Polytope,
)
from sparsebandits.environments import (
    ActionSetSequence,
    AdversarialTheta,
    Alternating,
    Empirical,
    FixedSet,
    GapTheta,
    Gaussian,
    GaussianContexts,
    Heteroscedastic,
    Jump,
    LinearEnvironment,
    Noise,
    PeriodicAvailability,
    Rademacher,
    RandomAvailability,
    RotatingEllipsoid,
    SparseTheta,
    StandardTheta,
    StudentT,
    ThetaSampler,
    UniformCube,
    UniformDelay,
    UniformNoise,
    environment_from_dict,
    film_recommendation,
    video_recommendation,
)
from sparsebandits.errors import (
    CompositionError,
    InvalidTypeError,
    InvalidValueError,
    SolverError,
    SparseBanditsError,
)
from sparsebandits.exploration import Basis, make_basis
from sparsebandits.oracles import (
    BatchSolution,
    Solution,
    Supports,
    approximation_ratio,
    certified_ratio,
    sparse_argmax,
    sparse_argmax_batch,
    submodularity_ratio,
)
from sparsebandits.policies import (
    APSEE,
    APSEEG,
    CSAR,
    CUCB,
    ESTC,
    OFUL,
    PEGE,
    Certificate,
    Clairvoyant,
    CompactAPSEEG,
    Decision,
    EpsilonGreedy,
    ExploreThenCommit,
    HedgedAPSEE,
    Learner,
    LinTS,
    Policy,
    PosteriorCertificate,
    RandomSparse,
    SparseThompson,
    SupportElimination,
    TimeVaryingAPSEEG,
)
from sparsebandits.policies.rule import Rule
from sparsebandits.simulation import Run, simulate
from sparsebandits.theory import Plan, plan
from sparsebandits.version import __version__

if TYPE_CHECKING:
    from sparsebandits.comparison.compare import compare
    from sparsebandits.comparison.sweep_folder import compare_sweep
    from sparsebandits.service.client import AsyncClient, Client, ServiceError
    from sparsebandits.sweeps import sweep

_ON_FIRST_USE = {
    "AsyncClient": "sparsebandits.service.client",
    "Client": "sparsebandits.service.client",
    "ServiceError": "sparsebandits.service.client",
    "compare": "sparsebandits.comparison.compare",
    "compare_sweep": "sparsebandits.comparison.sweep_folder",
    "sweep": "sparsebandits.sweeps",
}
"""What a learner in a process of its own never needs: imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ON_FIRST_USE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


action_set_from_dict = ActionSet.from_dict
policy_from_dict = Policy.from_dict

__all__ = [
    "APSEE",
    "APSEEG",
    "CSAR",
    "CUCB",
    "ESTC",
    "OFUL",
    "PEGE",
    "ActionSet",
    "ActionSetSequence",
    "AdversarialTheta",
    "AllBut",
    "Alternating",
    "AsyncClient",
    "Basis",
    "BatchSolution",
    "Box",
    "Budget",
    "Certificate",
    "Clairvoyant",
    "Client",
    "CompactAPSEEG",
    "CompositionError",
    "Decision",
    "Ellipsoid",
    "Empirical",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FiniteSet",
    "FixedSet",
    "GapTheta",
    "Gaussian",
    "GaussianContexts",
    "HedgedAPSEE",
    "Heteroscedastic",
    "InvalidTypeError",
    "InvalidValueError",
    "Jump",
    "Learner",
    "LinTS",
    "LinearEnvironment",
    "LpBall",
    "Noise",
    "PeriodicAvailability",
    "Plan",
    "Policy",
    "Polytope",
    "PosteriorCertificate",
    "Rademacher",
    "RandomAvailability",
    "RandomSparse",
    "RotatingEllipsoid",
    "Rule",
    "Run",
    "ServiceError",
    "Solution",
    "SolverError",
    "SparseBanditsError",
    "SparseTheta",
    "SparseThompson",
    "StandardTheta",
    "StudentT",
    "SupportElimination",
    "Supports",
    "ThetaSampler",
    "TimeVaryingAPSEEG",
    "UniformCube",
    "UniformDelay",
    "UniformNoise",
    "__version__",
    "action_set_from_dict",
    "approximation_ratio",
    "certified_ratio",
    "compare",
    "compare_sweep",
    "environment_from_dict",
    "film_recommendation",
    "make_basis",
    "plan",
    "policy_from_dict",
    "simulate",
    "sparse_argmax",
    "sparse_argmax_batch",
    "submodularity_ratio",
    "sweep",
    "testing",
    "video_recommendation",
]
