"""What a description may hold, looked at before anything is built from it."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.service.answers import RefusedError

_DEEPEST = 16
_LONG = ("points", "matrix", "bounds", "equalities")
"""Lists with an entry per point or constraint rather than per coordinate."""


def check_description(data: Any, max_dim: int) -> None:
    """Refuse a description that would make arrays larger than allowed.

    Every whole number in it could be a size, so none but a seed may exceed ten times the largest
    dimension, and what is called dim not even that; nor may a list be longer.
    """
    waiting = [("", data, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if depth > _DEEPEST:
            raise RefusedError("invalid", f"The description is nested more than {_DEEPEST} deep.")
        if isinstance(value, Mapping):
            waiting.extend((str(key), entry, depth + 1) for key, entry in value.items())
        elif isinstance(value, list):
            _refuse_beyond(
                10 * max_dim if name in _LONG else max_dim, len(value), f"{name} (entries)"
            )
            nested = (entry for entry in value if isinstance(entry, (list, Mapping)))
            waiting.extend(("", entry, depth + 1) for entry in nested)
        elif isinstance(value, int) and "seed" not in name and name != "horizon":
            _refuse_beyond(max_dim if name == "dim" else 10 * max_dim, value, name)


def _refuse_beyond(limit: int, given: int, name: str) -> None:
    if given > limit:
        shown = f"{given:,}" if given < 10**15 else "far more"
        raise RefusedError(
            "invalid",
            f"{name}: this server takes up to {limit:,} (serve --max-dim), got {shown}.",
        )
