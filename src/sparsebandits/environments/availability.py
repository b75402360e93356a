"""Coordinates that come and go: the same set, restricted to what is available at each step."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments.sequences import ActionSetSequence, Recent
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import BoolArray, Support, as_integer, as_number, describe

# Masks are drawn for many steps at once, at most this many numbers: a step alone costs a generator.
_BLOCK_ENTRIES = 16_384


class RandomAvailability(ActionSetSequence):
    """At each step every coordinate is available with the same probability, independently.

    Where the draw leaves none, one is chosen uniformly, so that there is always something to do.

    Parameters
    ----------
    action_set : ActionSet
        X; a coordinate that it does not offer never becomes available.
    probability : float
        In (0, 1].
    seed : int
        The masks are a function of the seed and the step.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import RandomAvailability
    >>> moving = RandomAvailability(sb.LpBall(dim=4), probability=0.5, seed=0)
    >>> moving.at(9).available
    array([ True,  True,  True, False])
    """

    kind = "random-availability"

    def __init__(self, action_set: ActionSet, probability: float, seed: int = 0) -> None:
        super().__init__(action_set)
        self.probability = as_number("probability", probability, positive=True)
        if self.probability > 1:
            raise InvalidValueError(
                f"probability must be at most 1, got {self.probability}; 0.8 makes a coordinate "
                "available in 80% of the steps."
            )
        self.seed = as_integer("seed", seed, minimum=0)
        self._block_length = max(1, _BLOCK_ENTRIES // (self.dim + 1))
        self._block: tuple[int, BoolArray] | None = None
        self._recent = Recent()

    def _at(self, step: int) -> ActionSet:
        block, row = divmod(step, self._block_length)
        if self._block is None or self._block[0] != block:
            self._block = (block, self._masks(block))
        mask = self._block[1][row]
        return self._recent.get(mask.tobytes(), lambda: self.base.restrict(mask))

    def _masks(self, block: int) -> BoolArray:
        """Draw the masks of one block of steps, (steps, dim)."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(block,))
        draws = np.random.default_rng(stream).random((self._block_length, self.dim + 1))
        masks: BoolArray = (draws[:, : self.dim] < self.probability) & self.base.available
        # Drawn whether needed or not: a step's bits must not depend on the steps before it.
        usable = np.flatnonzero(self.base.available)
        stand_in = usable[(draws[:, self.dim] * usable.size).astype(np.intp)]
        empty = np.flatnonzero(~masks.any(axis=1))
        masks[empty, stand_in[empty]] = True
        return masks

    def _parameters(self) -> dict[str, Any]:
        return {
            "action_set": self.base.to_dict(),
            "probability": self.probability,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return f"RandomAvailability({self.base!r}, probability={self.probability:g})"


class PeriodicAvailability(ActionSetSequence):
    """A list of masks, one after the other and again from the start: weekdays, seasons, shifts.

    Parameters
    ----------
    action_set : ActionSet
        X.
    masks : sequence of boolean masks or lists of indices
        What is available; each must leave at least one coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import PeriodicAvailability
    >>> shifts = PeriodicAvailability(sb.LpBall(dim=3), [[0, 1], [2]])
    >>> shifts.at(5).available
    array([False, False,  True])
    """

    kind = "periodic-availability"

    def __init__(self, action_set: ActionSet, masks: Sequence[Support]) -> None:
        super().__init__(action_set)
        given: object = masks
        if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
            raise InvalidTypeError(
                f"masks must be a list with the available coordinates of each step, "
                f"got {describe(given)}."
            )
        if len(masks) == 0:
            raise InvalidValueError("masks must hold at least one mask, got none.")
        self._sets = tuple(self._restricted(number, mask) for number, mask in enumerate(masks))

    def _restricted(self, number: int, mask: Support) -> ActionSet:
        try:
            return self.base.restrict(mask)
        except (InvalidTypeError, InvalidValueError) as error:
            raise type(error)(f"masks[{number}]: {error}") from None

    def _at(self, step: int) -> ActionSet:
        return self._sets[step % len(self._sets)]

    def _parameters(self) -> dict[str, Any]:
        masks = [[int(i) for i in np.flatnonzero(X.available)] for X in self._sets]
        return {"action_set": self.base.to_dict(), "masks": masks}

    def __repr__(self) -> str:
        return f"PeriodicAvailability({self.base!r}, {len(self._sets)} masks)"
