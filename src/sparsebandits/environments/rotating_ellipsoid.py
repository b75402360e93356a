"""An ellipsoid that turns slowly: strongly convex at every step, and never the same set."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet, Ellipsoid
from sparsebandits.environments.sequences import FEW, ActionSetSequence, Recent
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import FloatArray, as_integer, as_number, describe

_KEPT_NUMBERS = 2**20
"""Up to this many entries of matrices, the sets of a whole turn are kept."""


class RotatingEllipsoid(ActionSetSequence):
    """X_t = {x : x' R_t' A R_t x <= 1}, where R_t turns some planes by an angle that grows with t.

    x is in X_t when R_t x is in X_0 = {x : x'Ax <= 1}. The half-axes keep their lengths, so one
    norm bound serves all steps; the bound for H-sparse actions is the same number, because a long
    half-axis may turn into a coordinate axis.

    Parameters
    ----------
    matrix : array of shape (dim, dim)
        A, symmetric positive definite.
    angle_per_step : float, optional
        In radians. Give either this or `period`.
    period : int, optional
        The number of steps of one full turn; the sets repeat exactly.
    planes : sequence of pairs of coordinates
        The planes that turn; no coordinate twice.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import RotatingEllipsoid
    >>> moving = RotatingEllipsoid([[4.0, 0.0], [0.0, 1.0]], period=4)
    >>> [ball.axis_reach()[1].round(6).tolist() for ball in (moving.at(0), moving.at(1))]
    [[0.5, 1.0], [1.0, 0.5]]
    """

    kind = "rotating-ellipsoid"

    def __init__(
        self,
        matrix: Any,
        *,
        angle_per_step: float | None = None,
        period: int | None = None,
        planes: Sequence[tuple[int, int]] = ((0, 1),),
    ) -> None:
        ellipsoid = Ellipsoid(matrix)
        super().__init__(ellipsoid)
        self.matrix: FloatArray = ellipsoid.matrix
        if (angle_per_step is None) == (period is None):
            raise InvalidValueError(
                "Give exactly one of angle_per_step and period, got "
                f"angle_per_step={angle_per_step} and period={period}."
            )
        self.period = None if period is None else as_integer("period", period, minimum=1)
        self.angle_per_step = (
            None if angle_per_step is None else as_number("angle_per_step", angle_per_step)
        )
        self.planes = _as_planes(planes, self.dim)
        # A whole turn where that is little memory: the same sets come again.
        turn = self.period if self.period and self.period * self.dim**2 <= _KEPT_NUMBERS else 0
        self._recent = Recent(max(turn, FEW))

    def angle(self, step: int) -> float:
        """Return the angle of R_t in radians."""
        step = as_integer("step", step, minimum=0)
        if self.period is not None:
            return 2 * math.pi * (step % self.period) / self.period
        assert self.angle_per_step is not None
        return step * self.angle_per_step

    def _at(self, step: int) -> ActionSet:
        angle = self.angle(step)
        return self._recent.get(angle, lambda: Ellipsoid(self._turned(angle)))

    def _turned(self, angle: float) -> FloatArray:
        """R' A R, by the two columns and rows of each plane alone."""
        turned = np.array(self.matrix)
        cosine, sine = math.cos(angle), math.sin(angle)
        for i, j in self.planes:
            for rows in (turned, turned.T):
                first, second = rows[i].copy(), rows[j].copy()
                rows[i] = cosine * first + sine * second
                rows[j] = cosine * second - sine * first
        return turned

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the longest half-axis, whatever the sparsity."""
        return self.norm_bound

    def _parameters(self) -> dict[str, Any]:
        name = "angle_per_step" if self.period is None else "period"
        planes = [list(plane) for plane in self.planes]
        return {"matrix": self.matrix.tolist(), name: getattr(self, name), "planes": planes}

    def __repr__(self) -> str:
        turn = f"period={self.period}" if self.period else f"angle_per_step={self.angle_per_step:g}"
        return f"RotatingEllipsoid({self.base!r}, {turn})"


def _as_planes(planes: Any, dim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(planes, str) or not isinstance(planes, Sequence) or len(planes) == 0:
        raise InvalidTypeError(
            f"planes must be a list of pairs of coordinates such as [(0, 1)], "
            f"got {describe(planes)}."
        )
    checked: list[tuple[int, int]] = []
    for number, plane in enumerate(planes):
        if isinstance(plane, str) or not isinstance(plane, Sequence) or len(plane) != 2:
            raise InvalidTypeError(
                f"planes[{number}] must be a pair of coordinates, got {describe(plane)}."
            )
        i, j = (as_integer(f"planes[{number}]", axis, minimum=0) for axis in plane)
        checked.append((i, j))
    used = [axis for plane in checked for axis in plane]
    if max(used) >= dim or len(set(used)) < len(used):
        raise InvalidValueError(
            f"planes must hold distinct coordinates in 0..{dim - 1}, got {describe(planes)}."
        )
    return tuple(checked)
