"""The tables of noises, parameters and sequences: what contracts, command line and files read."""

from collections.abc import Callable

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
    Gaussian.kind: Gaussian,
    UniformNoise.kind: UniformNoise,
    Rademacher.kind: Rademacher,
    Heteroscedastic.kind: Heteroscedastic,
    StudentT.kind: StudentT,
    Empirical.kind: Empirical,
}

PARAMETERS: dict[str, type[ThetaSampler]] = {
    UniformCube.kind: UniformCube,
    StandardTheta.kind: StandardTheta,
    AdversarialTheta.kind: AdversarialTheta,
    SparseTheta.kind: SparseTheta,
    GapTheta.kind: GapTheta,
}

SEQUENCES: dict[str, Callable[..., ActionSetSequence]] = {
    FixedSet.kind: FixedSet,
    RandomAvailability.kind: RandomAvailability,
    PeriodicAvailability.kind: PeriodicAvailability,
    RotatingEllipsoid.kind: RotatingEllipsoid,
    Alternating.kind: Alternating,
}

Noise.kinds = dict(NOISES)
ThetaSampler.kinds = dict(PARAMETERS)
ActionSetSequence.kinds = SEQUENCES
