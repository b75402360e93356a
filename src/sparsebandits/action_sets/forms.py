"""How a set is written down; the exact oracle has a search for each form (`oracles.exact`)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.validation import BoolArray, FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """{x : x'Ax <= 1} with A = `matrix`, (dim, dim)."""

    matrix: FloatArray


@dataclass(frozen=True, eq=False)
class Spending:
    """{x : x_i is 0 or doses_i <= x_i <= upper_i, sum x <= total}, or with all of it spent.

    `upper` and `doses`, (dim,), are 0 where x must stay 0.
    """

    total: float
    upper: FloatArray
    doses: FloatArray | None = None
    spend_all: bool = False


@dataclass(frozen=True, eq=False)
class Inequalities:
    """{x : Gx <= g} with G and g the program's `matrix` and `bounds`; 0 off `usable`.

    What is on has at least its dose in `program`, and need not in `relaxed`.
    """

    program: LinearProgram
    relaxed: LinearProgram
    usable: IntArray

    @property
    def is_plain(self) -> bool:
        """Whether 0 is inside, and there are no least doses."""
        return self.program.zero_inside and not self.program.has_doses

    @cached_property
    def coordinate_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and largest value that each coordinate can take, by 2 d linear programs."""
        lower, upper = self.relaxed.coordinate_bounds(self.usable)
        return read_only(lower), read_only(upper)


@dataclass(frozen=True, eq=False)
class Points:
    """A list of points, (n, dim): those that use available coordinates only."""

    points: FloatArray

    def sparse(self, sparsity: int) -> FloatArray:
        """Return the points with at most `sparsity` non-zeros, (m, dim)."""
        few: BoolArray = np.count_nonzero(self.points, axis=1) <= sparsity
        return self.points[few]


Form = QuadraticForm | Spending | Inequalities | Points
