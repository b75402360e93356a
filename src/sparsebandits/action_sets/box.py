"""The box {x : lower <= x <= upper}, with 0 inside."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.scaling import length
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_sparsity,
    read_only,
)


class Box(ActionSet):
    """{x : lower <= x <= upper} per coordinate, with lower <= 0 <= upper.

    Each coordinate earns max(theta_i upper_i, theta_i lower_i) on its own, so h is modular in S,
    sorting is exact, and greedy is exact with alpha = 1. The paper's video recommendation is
    ``Box(np.zeros(20), np.ones(20))``.

    Parameters
    ----------
    lower, upper : array of shape (dim,)
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> box = sb.Box([0, 0, 0], [1, 1, 2])
    >>> box.best_response([0.5, -1.0, 2.0])
    array([1., 0., 2.])
    """

    kind = "box"

    def __init__(self, lower: Any, upper: Any, *, names: Sequence[str] | None = None) -> None:
        self.lower = as_array("lower", lower, ndim=1)
        self.upper = as_array("upper", upper, ndim=1)
        super().__init__(self.upper.size, names)
        if self.lower.shape != self.upper.shape:
            raise InvalidValueError(
                f"lower and upper must have the same length, got {self.lower.size} and "
                f"{self.upper.size}."
            )
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            i = crossed[0]
            raise InvalidValueError(
                f"lower must not exceed upper, got lower[{i}] = {self.lower[i]} and "
                f"upper[{i}] = {self.upper[i]}; swap them."
            )
        outside = np.flatnonzero((self.lower > 0) | (self.upper < 0))
        if outside.size:
            i = outside[0]
            raise InvalidValueError(
                f"0 must be inside (an unused coordinate is 0), got lower[{i}] = {self.lower[i]} "
                f"and upper[{i}] = {self.upper[i]}; shift the coordinate so that 0 means unused."
            )
        self._reach = read_only(np.maximum(-self.lower, self.upper))

    @property
    def sorting(self) -> Sorting:
        """Sorting by what each coordinate earns alone: the earnings add up."""
        return self.remember("sorting", lambda: Sorting(1.0, ends=self.axis_reach()))

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        earning = np.where(theta > 0, self.upper[indices], self.lower[indices])
        return np.where(theta == 0, 0.0, earning)

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the norm of the H longest sides from 0: attained."""
        active = as_sparsity(sparsity, self.dim)
        return float(length(np.sort(self._reach[self.available])[::-1][:active]))

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the sides."""
        if self.is_unrestricted:
            return self.lower, self.upper
        return self.lower * self.available, self.upper * self.available

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        slack = tolerance * self._reach.max()
        return np.asarray(((x >= self.lower - slack) & (x <= self.upper + slack)).all(axis=-1))

    def _section(self, places: IntArray) -> "Box":
        return Box(self.lower[places], self.upper[places])

    def _parameters(self) -> dict[str, Any]:
        return {"lower": self.lower.tolist(), "upper": self.upper.tolist()}

    def _summary(self) -> str:
        def side(bound: FloatArray) -> str:
            if (bound == bound[0]).all():
                return f"{bound[0]:g}"
            return f"{bound.min():g}..{bound.max():g}"

        return f"dim={self.dim}, lower={side(self.lower)}, upper={side(self.upper)}"
