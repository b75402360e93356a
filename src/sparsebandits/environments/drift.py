"""How theta* changes in the course of a trial."""

from dataclasses import dataclass

from sparsebandits.descriptions import Described
from sparsebandits.validation import as_integer


@dataclass(frozen=True)
class Jump(Described):
    """After `at` steps theta* is drawn anew, once.

    Examples
    --------
    >>> from sparsebandits.environments import Jump
    >>> jump = Jump(at=1000)
    >>> [jump.is_due(step) for step in (999, 1000, 1001)]
    [False, True, False]
    """

    kind = "jump"
    noun = "A drift"

    at: int

    def __post_init__(self) -> None:
        self._set_plain(at=as_integer("at", self.at, minimum=1))

    def is_due(self, step: int) -> bool:
        """Whether theta* is drawn anew before this step; the first step is 0."""
        return step == self.at


Jump.kinds = {Jump.kind: Jump}
