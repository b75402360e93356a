"""How a set is written down; the exact oracle has a search for each form (`oracles.exact`)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.action_sets.spend_relaxation import ROUNDING
from sparsebandits.validation import BoolArray, FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """{x : x'Ax <= 1} with A = `matrix`, (dim, dim)."""

    matrix: FloatArray


@dataclass(frozen=True, eq=False)
class Spending:
    """{x : x_i is 0 or doses_i <= x_i <= upper_i, sum x <= total}, or with all of it spent.

    `upper` and `doses` are 0 where x must stay 0: (dim,), or (n, dim) for a set per theta.
    """

    total: float
    upper: FloatArray
    doses: FloatArray | None = None
    spend_all: bool = False

    @cached_property
    def usable(self) -> BoolArray:
        """Where something can be spent, as rows."""
        return read_only(self._ends[0] > 0.0)

    @cached_property
    def listed(self) -> list[tuple[list[float], list[float]]]:
        """The ends of what is on, in units in which the total is 1, row by row as plain lists."""
        caps, doses = self._ends
        if not doses.any():  # a list of one number takes a quarter of the memory
            return [(row.tolist(), [0.0] * row.size) for row in caps]
        return list(zip(caps.tolist(), doses.tolist(), strict=True))

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """The most and the least of what is on, as rows, in units in which the total is 1.

        What cannot have its least dose within the total has 0 for both.
        """
        upper = np.atleast_2d(self.upper)
        caps = np.minimum(upper / self.total, 1.0)
        if self.doses is None or not self.doses.any():
            return read_only(caps), read_only(np.zeros_like(caps))
        doses = np.where(upper > 0.0, self.doses / self.total, 0.0)
        caps = np.where(doses > 1.0 + ROUNDING, 0.0, caps)
        return read_only(caps), read_only(np.where(caps > 0.0, np.minimum(doses, caps), 0.0))

    def fill(self, theta: list[float], row: int, on: list[int]) -> list[float]:
        """Return what is best spent on these, all of them on, given the largest theta first.

        In the unit of the total and in the steps of `Budget`, whose response it is.
        """
        caps, least = _entries(self.upper, row, on), [0.0] * len(on)
        if self.doses is not None:
            least = _entries(self.doses, row, on)
        left, reached, spent = self.total - sum(least), 0.0, []
        for w, cap, dose in zip(theta, caps, least, strict=True):
            wanted = cap - dose if w > 0.0 or self.spend_all else 0.0
            reached += wanted
            spent.append(dose + max(min(wanted, left - (reached - wanted)), 0.0))
        return spent

    def without(self, off: IntArray) -> "Spending":
        """Return a set for each of these coordinates, in which that one too must stay 0."""
        upper = np.tile(self.upper, (off.size, 1))
        upper[np.arange(off.size), off] = 0.0
        return Spending(self.total, upper, self.doses, self.spend_all)


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


def _entries(ends: FloatArray, row: int, on: list[int]) -> list[float]:
    """Return some entries of a row, where every row has its own; of the one that there is, else."""
    some: list[float] = (ends[on] if ends.ndim == 1 else ends[row, on]).tolist()
    return some
