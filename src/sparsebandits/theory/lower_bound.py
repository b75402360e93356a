"""What no policy can do better than on the l2 ball; the proof is in `docs/theory.md`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, IntArray, as_integer, as_number, as_sparsity


@dataclass(frozen=True)
class HardInstances:
    """theta = delta_theta times one unit vector of each of H blocks of coordinates.

    Whatever the policy, its regret at T on the unit ball with N(0, sigma^2) noise, averaged over
    all choices of the unit vectors, is at least `regret`.

    Parameters
    ----------
    dim : int
        d, at least 4 H.
    sparsity : int
        H.
    horizon : int
        T, at least d.
    sigma : float

    Examples
    --------
    >>> from sparsebandits.theory import HardInstances
    >>> hard = HardInstances(dim=20, sparsity=5, horizon=20_000, sigma=0.5)
    >>> hard.block, round(hard.entry, 5), round(hard.regret, 2), round(hard.rate, 2)
    (4, 0.00157, 8.78, 7.86)
    """

    dim: int
    sparsity: int
    horizon: int
    sigma: float

    def __post_init__(self) -> None:
        dim = as_integer("dim", self.dim, minimum=1)
        sparsity = as_sparsity(self.sparsity, dim)
        horizon = as_integer("horizon", self.horizon, minimum=1)
        as_number("sigma", self.sigma, positive=True)
        if dim < 4 * sparsity or horizon < dim:
            raise InvalidValueError(
                f"The bound needs dim >= 4 * sparsity and horizon >= dim, got dim = {dim}, "
                f"sparsity = {sparsity}, horizon = {horizon}."
            )

    @property
    def block(self) -> int:
        """M = floor(d / H), the coordinates of a block; what is left over is not used."""
        return self.dim // self.sparsity

    @property
    def entry(self) -> float:
        """Delta = (sigma / 9) sqrt(4 H m / (5 T)), the size of the H non-zeros of theta."""
        used = self.sparsity * self.block
        return float(self.sigma / 9 * np.sqrt(4 * used / (5 * self.horizon)))

    @property
    def regret(self) -> float:
        """Delta sqrt(H) T / 8: the mean regret of every policy is at least that."""
        return float(self.entry * np.sqrt(self.sparsity) * self.horizon / 8)

    @property
    def rate(self) -> float:
        """The same with a closed constant: sigma sqrt(d H T) / 90, which `regret` exceeds."""
        return float(self.sigma * np.sqrt(self.dim * self.sparsity * self.horizon) / 90)

    def theta(self, choices: Any) -> FloatArray:
        """Return theta, (dim,), with the chosen coordinate of each block, (sparsity,)."""
        chosen: IntArray = np.asarray(choices, dtype=np.intp)
        theta = np.zeros(self.dim)
        theta[np.arange(self.sparsity) * self.block + chosen] = self.entry
        return theta
