"""How late rewards come."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.descriptions import Described
from sparsebandits.validation import IntArray, as_integer


@dataclass(frozen=True)
class UniformDelay(Described):
    """The reward of a step is told 0 to `longest` steps later, each equally likely.

    Rewards overtake each other. Those that would come after the horizon are never told.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import UniformDelay
    >>> UniformDelay(200).draw(np.random.default_rng(0), 4).tolist()
    [170, 128, 102, 54]
    """

    kind = "uniform"
    noun = "A delay"

    longest: int

    def __post_init__(self) -> None:
        self._set_plain(longest=as_integer("longest", self.longest, minimum=0))

    def draw(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw the delays of the next steps, (size,)."""
        return np.asarray(rng.integers(0, self.longest + 1, size), dtype=np.intp)


UniformDelay.kinds = {UniformDelay.kind: UniformDelay}
