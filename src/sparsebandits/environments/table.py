"""The tables of noises, parameters and sequences: what contracts, command line and files read."""

from sparsebandits.environments.availability import PeriodicAvailability, RandomAvailability
from sparsebandits.environments.empirical import Empirical
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

NOISES: dict[str, type[Noise]] = {
    noise.kind: noise
    for noise in (Gaussian, UniformNoise, Rademacher, Heteroscedastic, StudentT, Empirical)
}

PARAMETERS: dict[str, type[ThetaSampler]] = {
    sampler.kind: sampler
    for sampler in (UniformCube, StandardTheta, AdversarialTheta, SparseTheta, GapTheta)
}

SEQUENCES: dict[str, type[ActionSetSequence]] = {
    sequence.kind: sequence
    for sequence in (
        FixedSet,
        RandomAvailability,
        PeriodicAvailability,
        RotatingEllipsoid,
        Alternating,
    )
}

Noise.kinds = NOISES
ThetaSampler.kinds = PARAMETERS
ActionSetSequence.kinds = SEQUENCES
