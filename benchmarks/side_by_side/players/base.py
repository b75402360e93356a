"""What takes part: something that suggests an action, is told its reward, and names its best."""

from typing import Protocol

from sparsebandits.validation import FloatArray


class Player(Protocol):
    """It knows d, H = 5 and a seed of its own; what else it is told stands in its file."""

    starts: int
    """How many of the problem's random actions are played before its first suggestion."""

    def suggest(self) -> FloatArray:
        """Return the action to try next, (dim,)."""
        ...

    def tell(self, action: FloatArray, reward: float) -> None:
        """Take in a reward, of a suggestion or of a random start."""
        ...

    def best(self) -> FloatArray:
        """Return the action that it takes for the best by now: simple regret is of this one."""
        ...
