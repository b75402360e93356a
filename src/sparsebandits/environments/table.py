"""The tables of noises, parameters and sequences: what contracts, command line and files read."""

from collections.abc import Callable, Mapping
from typing import Any

from sparsebandits.action_sets import action_set_from_dict
from sparsebandits.descriptions import as_fields, build_from
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


def noise_from_dict(data: Mapping[str, Any]) -> Noise:
    """Build the noise that `Noise.to_dict` described.

    Examples
    --------
    >>> from sparsebandits.environments import noise_from_dict
    >>> noise_from_dict({"kind": "gaussian", "sigma": 0.5})
    Gaussian(sigma=0.5)
    """
    return build_from("A noise", NOISES, as_fields("A noise", data))


def parameter_from_dict(data: Mapping[str, Any]) -> ThetaSampler:
    """Build the sampler of theta* that `ThetaSampler.to_dict` described.

    Examples
    --------
    >>> from sparsebandits.environments import parameter_from_dict
    >>> parameter_from_dict({"kind": "uniform-cube"})
    UniformCube(half_width=1.0)
    """
    return build_from("A parameter", PARAMETERS, as_fields("A parameter", data))


def sequence_from_dict(data: Mapping[str, Any]) -> ActionSetSequence:
    """Build the sequence of sets that `ActionSetSequence.to_dict` described.

    Examples
    --------
    >>> from sparsebandits.environments import sequence_from_dict
    >>> ball = {"kind": "lp-ball", "dim": 3}
    >>> sequence_from_dict({"kind": "fixed", "action_set": ball})
    FixedSet(LpBall(dim=3, p=2, radius=1))
    """
    fields = as_fields("A sequence", data)
    if "action_set" in fields:
        fields["action_set"] = action_set_from_dict(fields["action_set"])
    if isinstance(fields.get("sets"), list):
        fields["sets"] = [action_set_from_dict(one) for one in fields["sets"]]
    return build_from("A sequence", SEQUENCES, fields)
