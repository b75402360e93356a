"""One or more examples of every noise, sampler and sequence: a new one adds its line here."""

import numpy as np

import sparsebandits as sb
from sparsebandits.environments import (
    ActionSetSequence,
    AdversarialTheta,
    Alternating,
    Empirical,
    FixedSet,
    GapTheta,
    Gaussian,
    Heteroscedastic,
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
    UniformNoise,
)
from sparsebandits.validation import FloatArray

SUB_GAUSSIAN: list[Noise] = [
    Gaussian(0.5),
    UniformNoise(0.6),
    Rademacher(0.4),
    Heteroscedastic(0.5, norm_bound=2.0, floor=0.3),
    Empirical([-0.4, 0.1, 2.0, 0.3]),
    Empirical([-1.0, 0.25, 0.5], counts=[1, 7, 3]),
]
HEAVY: list[Noise] = [StudentT(0.5, degrees=3.0), StudentT(0.5, degrees=1.5)]
NOISE_EXAMPLES = SUB_GAUSSIAN + HEAVY

SAMPLER_EXAMPLES: list[ThetaSampler] = [
    UniformCube(),
    UniformCube(2.5),
    StandardTheta(0.1),
    StandardTheta(0.2, level=0.0, largest=3.0),
    AdversarialTheta(0.1),
    AdversarialTheta(0.2, level=0.0, spread=0.01),
    SparseTheta(3),
    SparseTheta(2, smallest=0.5, half_width=0.75),
    GapTheta(0.3),
    GapTheta(0.05, half_width=0.2),
]


def positive_definite(dim: int, seed: int = 0) -> FloatArray:
    factor = np.random.default_rng(seed).standard_normal((dim, dim + 1))
    return np.asarray(factor @ factor.T / dim)


SEQUENCE_EXAMPLES: list[ActionSetSequence] = [
    FixedSet(sb.LpBall(4, p=1.0)),
    RandomAvailability(sb.LpBall(4, p=np.inf), probability=0.3, seed=5),
    RandomAvailability(sb.Ellipsoid(positive_definite(6)).restrict([0, 2, 5]), 0.05),
    PeriodicAvailability(sb.Box([-1, 0, -2], [1, 3, 0]), [[0], [True, False, True], [0, 1, 2]]),
    RotatingEllipsoid(positive_definite(5), angle_per_step=0.3, planes=[(0, 3), (4, 1)]),
    RotatingEllipsoid(positive_definite(3), period=7),
    Alternating([sb.LpBall(3), sb.LpBall(3, p=np.inf), sb.Box([0, 0, 0], [2, 1, 0])]),
]
