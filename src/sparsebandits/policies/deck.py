"""Which of very many coordinates are looked at next."""

from collections.abc import Collection

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.validation import IntArray

SMALL = 4096
"""Up to so many coordinates fresh ones are dealt from a list of all."""

_ATTEMPTS = 64
"""How often random numbers are tried before all that may be dealt are listed."""


class Deck:
    """Fresh coordinates, dealt at random, or in an order where one is given.

    Of very many no list is kept, or made: the cost is that of the few that are dealt. Who is in a
    slot already is said with each call, and what is dealt may be dealt again once it has lost its
    slot.

    Parameters
    ----------
    rng : numpy.random.Generator
    order : (dim,) int array, optional
        All coordinates, those first that are dealt first.
    """

    def __init__(self, rng: np.random.Generator, order: IntArray | None = None) -> None:
        self._rng, self._order = rng, order

    def deal(self, count: int, current: ActionSet, taken: Collection[int]) -> IntArray:
        """Return up to `count` coordinates that are available and not taken.

        Parameters
        ----------
        count : int
        current : ActionSet
        taken : dict or set of int
            Those that are in a slot.
        """
        if self._order is not None:
            return self._next_in(self._order, count, current, taken)
        if min(current.dim, current.available_count) > SMALL:
            dealt = self._tried(count, current, taken)
            if len(dealt) == count:
                return np.array(dealt)
        return self._shuffled(count, current, taken)

    def _tried(self, count: int, current: ActionSet, taken: Collection[int]) -> list[int]:
        """Return those of some random coordinates that may be dealt, as many as are wanted."""
        dealt: list[int] = []
        for _ in range(_ATTEMPTS):
            for number in self._rng.integers(0, current.dim, 4 * count).tolist():
                fits = number not in taken and number not in dealt
                if fits and len(dealt) < count and current.is_available(number):
                    dealt.append(number)
            if len(dealt) == count:
                break
        return dealt

    def _shuffled(self, count: int, current: ActionSet, taken: Collection[int]) -> IntArray:
        """Return random ones out of the list of all that may be dealt."""
        rest = current.available_indices()
        seen = np.fromiter(taken, dtype=np.intp, count=len(taken))
        return self._rng.permutation(rest[~np.isin(rest, seen)])[:count]

    @staticmethod
    def _next_in(
        order: IntArray, count: int, current: ActionSet, taken: Collection[int]
    ) -> IntArray:
        """Return the first ones in this order."""
        dealt: list[int] = []
        # Where all are available the first look suffices: no more are taken than there are.
        first, size = 0, count + len(taken)
        while len(dealt) < count and first < order.size:
            some = order[first : first + size]
            fits = some[current.is_available(some)].tolist()
            dealt += [number for number in fits if number not in taken]
            first, size = first + size, 2 * size
        return np.array(dealt[:count], dtype=np.intp)
