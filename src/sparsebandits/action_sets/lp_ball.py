"""The lp ball {x : ||x||_p <= radius}, for every p in [1, inf]."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.scaling import length
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_number


class LpBall(ActionSet):
    r"""{x : ||x||_p <= radius}; p = 1 is the cross-polytope, p = inf the symmetric cube.

    With 1/p + 1/q = 1, Hölder's inequality gives h(S; theta) = radius * ||theta_S||_q, attained at
    x_i = radius * sign(theta_i) (abs(theta_i) / ||theta_S||_q)^(q-1): `prop:l2_exact_solution` for
    every p. It is largest on the H largest abs(theta_i), so sorting is exact.

    Parameters
    ----------
    dim : int
    p : float
        In [1, inf], also as "inf", which is how JSON can hold it. Strongly convex for 1 < p <= 2.
    radius : float
        L_max of the paper when p = 2.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball = sb.LpBall(dim=3, p=2.0)
    >>> ball.value([3.0, 4.0, 0.0])
    5.0
    >>> ball.best_response([3.0, 4.0, 0.0], support=[0])
    array([1., 0., 0.])
    """

    kind = "lp-ball"

    def __init__(
        self,
        dim: int,
        p: float | str = 2.0,
        radius: float = 1.0,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(dim, names)
        self.p = as_number("p", np.inf if p in ("inf", "Infinity") else p, allow_infinite=True)
        if self.p < 1:
            raise InvalidValueError(
                f"p must be at least 1 (below, the ball is not convex), got {self.p}; "
                "use p=1 for the cross-polytope."
            )
        self.radius = as_number("radius", radius, positive=True)
        self.is_strongly_convex = 1 < self.p <= 2
        self._q = np.inf if self.p == 1 else 1.0 if np.isinf(self.p) else self.p / (self.p - 1)

    @property
    def sorting(self) -> Sorting:
        """Sorting by abs(theta_i)."""
        return self.remember("sorting", self._sorting)

    def _sorting(self) -> Sorting:
        if self.is_unrestricted:
            return Sorting(self._q, self.radius)
        usable = self.available.astype(np.float64)
        return Sorting(self._q, self.radius, (-usable, usable))

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        size = np.abs(theta)
        if self._q == np.inf:
            # Only the largest entry earns; argmax takes the first of equals.
            response = np.zeros_like(theta)
            rows, best = np.arange(theta.shape[0]), size.argmax(axis=-1)
            response[rows, best] = self.radius * np.sign(theta[rows, best])
            return response
        if self._q == 1:
            return self.radius * np.sign(theta)
        largest = size.max(axis=-1, keepdims=True)
        largest[largest == 0] = 1.0  # theta = 0, and so is its response
        if self._q == 2:
            unit = theta / largest
            norm = np.sqrt(np.einsum("...i,...i->...", unit, unit))[..., None]
            unit *= self.radius / np.maximum(norm, 1.0)  # at least 1, or 0 where theta is
            return np.asarray(unit)
        shares = (size / largest) ** self._q  # of numbers in [0, 1]: no power overflows
        total = shares.sum(axis=-1, keepdims=True)
        total[total == 0] = 1.0
        shares /= total
        # The p-norm is 1 because the shares sum to 1, however inexact a huge power may be.
        response = np.copysign(shares ** (1.0 / self.p), theta)
        response *= self.radius
        return np.asarray(response)

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return radius * H^(1/2 - 1/p) for p > 2, and radius below: attained."""
        return float(self.radius * self._active(sparsity) ** max(0.0, 0.5 - 1.0 / self.p))

    def response_lipschitz(self, sparsity: int | None = None) -> float:
        """Return radius n^(1/p - 1/2) / (p - 1) in n coordinates, for 1 < p <= 2.

        With q dual to p, the Hessian of ||theta||_q^2 / 2 is at most (q - 1) ||v||_q^2 <=
        (q - 1) ||v||_2^2 in direction v, so that of ||theta||_q is at most (q - 1) / ||theta||_q,
        and ||theta||_q is at least n^(1/q - 1/2) on the unit sphere. This is
        [Garber & Hazan 2015], whose constant (p - 1) / radius is for the p-norm; the power of n is
        the price of the l2 norm.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.LpBall(dim=20, radius=2.0).response_lipschitz()
        2.0
        """
        size = self._active(sparsity)
        if not self.is_strongly_convex:
            return math.inf
        return float(self.radius * size ** (1 / self.p - 0.5) / (self.p - 1))

    def from_sphere(self, points: FloatArray, support: IntArray) -> FloatArray | None:
        """Shrink or stretch each point to p-norm `radius`, for 1 < p < inf."""
        if self._q in (1.0, np.inf):
            return None
        norms = np.linalg.norm(points, ord=self.p, axis=-1, keepdims=True)
        return np.asarray(self.radius * points / norms)

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return -radius and radius."""
        upper: FloatArray = np.where(self.available, self.radius, 0.0)
        return -upper, upper

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        return np.asarray(length(x, self.p) <= self.radius * (1 + tolerance))

    def _section(self, places: IntArray) -> "LpBall":
        return LpBall(places.size, self.p, self.radius)

    def _parameters(self) -> dict[str, Any]:
        p: float | str = "inf" if np.isinf(self.p) else self.p
        return {"dim": self.dim, "p": p, "radius": self.radius}

    def _summary(self) -> str:
        return f"dim={self.dim}, p={self.p:g}, radius={self.radius:g}"
