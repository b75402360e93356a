"""Which coordinates may be used: a short list of very many, or all but a short list."""

from functools import cached_property

import numpy as np

from sparsebandits.validation import BoolArray, IntArray, read_only


class Availability:
    """The coordinates in a list, or all that are not in it; nothing of length dim until needed.

    Parameters
    ----------
    dim : int
    listed : ascending int array
    is_rest : bool
        Whether the list names what is *not* available.

    Examples
    --------
    >>> import numpy as np
    >>> rest = Availability(10**6, np.array([3, 5]), is_rest=True)
    >>> rest.count, rest.holds(np.array([3, 4])).tolist()
    (999998, [False, True])
    """

    def __init__(self, dim: int, listed: IntArray, is_rest: bool = False) -> None:
        self.dim, self.listed, self.is_rest = dim, read_only(listed), is_rest

    @classmethod
    def everything(cls, dim: int) -> "Availability":
        """Return that of a set in which nothing is out of reach."""
        return cls(dim, np.zeros(0, dtype=np.intp), is_rest=True)

    @property
    def count(self) -> int:
        """How many are available."""
        return self.dim - self.listed.size if self.is_rest else self.listed.size

    @cached_property
    def mask(self) -> BoolArray:
        """Every coordinate, (dim,)."""
        mask = np.full(self.dim, self.is_rest)
        mask[self.listed] = not self.is_rest
        return read_only(mask)

    def holds(self, places: IntArray) -> BoolArray:
        """Whether each of some coordinates is available."""
        if not self.listed.size:
            return np.full(np.shape(places), self.is_rest)
        last = self.listed.size - 1
        near = np.minimum(np.searchsorted(self.listed, places), last)
        return np.asarray((self.listed[near] == places) != self.is_rest)

    def usable(self) -> IntArray:
        """Return what is available, ascending."""
        return np.flatnonzero(self.mask) if self.is_rest else self.listed

    def within(self, other: "Availability") -> "Availability":
        """Return what both of them have."""
        if other.count == other.dim:
            return self
        if self.is_rest and other.is_rest:
            return Availability(self.dim, np.union1d(self.listed, other.listed), is_rest=True)
        some, rest = (other, self) if self.is_rest else (self, other)
        return Availability(self.dim, some.listed[rest.holds(some.listed)])
