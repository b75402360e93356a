"""How late rewards come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import IntArray, as_integer, describe


@dataclass(frozen=True)
class UniformDelay:
    """The reward of a step is told 0 to `longest` steps later, each equally likely.

    Rewards overtake each other. Those that would come after the horizon are never told.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import UniformDelay
    >>> UniformDelay(200).draw(np.random.default_rng(0), 4).tolist()
    [170, 128, 102, 54]
    """

    kind: ClassVar[str] = "uniform"

    longest: int

    def __post_init__(self) -> None:
        longest = as_integer("longest", self.longest, minimum=0)
        object.__setattr__(self, "longest", longest)

    def draw(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw the delays of the next steps, (size,)."""
        return np.asarray(rng.integers(0, self.longest + 1, size), dtype=np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `delay_from_dict` reads it back."""
        return {"kind": self.kind, "longest": self.longest}


def delay_from_dict(data: Any) -> UniformDelay | None:
    """Build the delay that `UniformDelay.to_dict` described; None stays None."""
    if data is None:
        return None
    if not isinstance(data, Mapping) or set(data) != {"kind", "longest"}:
        raise InvalidTypeError(
            f"A delay must be a table with the keys kind and longest, got {describe(data)}."
        )
    if data["kind"] != UniformDelay.kind:
        raise InvalidValueError(
            f"kind of a delay must be {UniformDelay.kind!r}, got {describe(data['kind'])}."
        )
    return UniformDelay(data["longest"])
