"""The worlds that policies play in: action sets over time, theta* and the noise on the reward."""

from sparsebandits.environments.availability import PeriodicAvailability, RandomAvailability
from sparsebandits.environments.contexts import GaussianContexts
from sparsebandits.environments.delay import UniformDelay
from sparsebandits.environments.drift import Jump
from sparsebandits.environments.empirical import Empirical
from sparsebandits.environments.films import film_recommendation
from sparsebandits.environments.linear import ENVIRONMENT_KEYS, LinearEnvironment
from sparsebandits.environments.noise import (
    Gaussian,
    Heteroscedastic,
    Noise,
    Rademacher,
    StudentT,
    UniformNoise,
)
from sparsebandits.environments.parameters import (
    AdversarialTheta,
    GapTheta,
    SparseTheta,
    StandardTheta,
    ThetaSampler,
    UniformCube,
)
from sparsebandits.environments.rotating_ellipsoid import RotatingEllipsoid
from sparsebandits.environments.sequences import ActionSetSequence, Alternating, FixedSet
from sparsebandits.environments.session import EnvironmentSession
from sparsebandits.environments.table import (
    NOISES,
    PARAMETERS,
    SEQUENCES,
)
from sparsebandits.environments.video_recommendation import (
    GENRES,
    GENRES_SHOWN,
    video_recommendation,
)

environment_from_dict = LinearEnvironment.from_dict

__all__ = [
    "ENVIRONMENT_KEYS",
    "GENRES",
    "GENRES_SHOWN",
    "NOISES",
    "PARAMETERS",
    "SEQUENCES",
    "ActionSetSequence",
    "AdversarialTheta",
    "Alternating",
    "Empirical",
    "EnvironmentSession",
    "FixedSet",
    "GapTheta",
    "Gaussian",
    "GaussianContexts",
    "Heteroscedastic",
    "Jump",
    "LinearEnvironment",
    "Noise",
    "PeriodicAvailability",
    "Rademacher",
    "RandomAvailability",
    "RotatingEllipsoid",
    "SparseTheta",
    "StandardTheta",
    "StudentT",
    "ThetaSampler",
    "UniformCube",
    "UniformDelay",
    "UniformNoise",
    "environment_from_dict",
    "film_recommendation",
    "video_recommendation",
]
