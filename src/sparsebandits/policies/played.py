"""What was played: an action by its non-zeros, and what it was played for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.validation import FloatArray, IntArray, read_only

EXPLOIT = -1
"""The pull of a choice that was made to earn."""


@dataclass(frozen=True, slots=True)
class Played:
    """What an open decision keeps: the non-zeros of its action, its pull and its context."""

    indices: IntArray
    values: FloatArray
    pull: int
    context: FloatArray | None = None

    @classmethod
    def of(cls, action: FloatArray, pull: int, context: FloatArray | None = None) -> "Played":
        """Keep an action, (dim,)."""
        indices = action.nonzero()[0]
        return cls(read_only(indices), read_only(action[indices]), pull, context)

    def action(self, dim: int) -> FloatArray:
        """Return the action, (dim,)."""
        action = np.zeros(dim)
        action[self.indices] = self.values
        return action

    def to_list(self) -> list[Any]:
        """Return indices, values, pull and context, JSON-safe."""
        context = None if self.context is None else self.context.tolist()
        return [self.indices.tolist(), self.values.tolist(), self.pull, context]
