"""Coordinates by name: what `names=[...]` of an action set is checked to be, and how it is read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sparsebandits.descriptions import nearest
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import as_integer, describe

_SHOWN = 12
"""Letters of a name that a repr shows."""


class AllBut:
    """Every coordinate but these, by name or index: for `restrict` and ``ask(available=...)``.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> sb.Box([0, 0, 0], [1, 2, 3]).restrict(sb.AllBut([1])).best_response([1.0, 1.0, 1.0])
    array([1., 0., 3.])
    """

    def __init__(self, coordinates: Iterable[int | str]) -> None:
        self.coordinates = tuple(coordinates)

    def __repr__(self) -> str:
        return f"AllBut({list(self.coordinates)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllBut) and self.coordinates == other.coordinates

    def __hash__(self) -> int:
        return hash((AllBut, self.coordinates))


def as_names(names: Any, dim: int) -> tuple[str, ...] | None:
    """Return one distinct, non-empty name per coordinate; None where there are none."""
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidTypeError(
            f"names must be a list of {dim} texts, one per coordinate, got {describe(names)}."
        )
    given = tuple(names)
    wrong = next((i for i, name in enumerate(given) if not isinstance(name, str) or not name), None)
    if wrong is not None:
        raise InvalidTypeError(
            f"names must be non-empty texts, got {describe(given[wrong])} at index {wrong}."
        )
    if len(given) != dim:
        raise InvalidValueError(
            f"names must have one entry for each of the {dim} coordinates, got {len(given)}."
        )
    if len(set(given)) != dim:
        first: dict[str, int] = {}
        again = next(i for i, name in enumerate(given) if first.setdefault(name, i) != i)
        raise InvalidValueError(
            f"names must be distinct, got {given[again]!r} at index {first[given[again]]} and "
            f"again at {again}; rename one of them."
        )
    return tuple(str(name) for name in given)


def place_of(coordinate: Any, places: Mapping[str, int], dim: int) -> int:
    """Return the index of a coordinate given by its name or its index.

    Examples
    --------
    >>> place_of("radoi", {"tv": 0, "radio": 1}, 2)
    Traceback (most recent call last):
    sparsebandits.errors.InvalidValueError: There is no coordinate 'radoi'; did you mean 'radio'? \
Known: 'tv', 'radio'.
    """
    if not isinstance(coordinate, str):
        index = as_integer("A coordinate", coordinate, minimum=0)
        if index >= dim:
            raise InvalidValueError(f"A coordinate must lie in 0..{dim - 1}, got {index}.")
        return index
    if coordinate in places:
        return places[coordinate]
    if not places:
        raise InvalidValueError(
            f"The coordinates have no names, got {coordinate!r}; build the set with names=[...] "
            f"or give an index in 0..{dim - 1}."
        )
    raise InvalidValueError(f"There is no coordinate {coordinate!r}; {nearest(coordinate, places)}")


def place_of_text(text: str, places: Mapping[str, int], dim: int) -> int:
    """Return the index of a coordinate given by its name, or by its number as text.

    Examples
    --------
    >>> place_of_text("1", {"tv": 0, "radio": 1}, 2)
    1
    """
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    if is_number and text not in places:
        return place_of(int(text), places, dim)
    return place_of(text, places, dim)


def refuse_doubled(coordinates: Sequence[int | str], places: Sequence[int]) -> None:
    """Refuse coordinates of which one stands twice, by its name or its index."""
    first: dict[int, int] = {}
    for number, place in enumerate(places):
        if first.setdefault(place, number) != number:
            raise InvalidValueError(
                f"Coordinates must be distinct, got {coordinates[number]!r} twice in "
                f"{describe(list(coordinates))}; name it once."
            )


def has_names(coordinates: Any) -> bool:
    """Whether some of these coordinates are given by name."""
    if isinstance(coordinates, np.ndarray):
        return coordinates.dtype.kind in "UO"
    return isinstance(coordinates, Iterable) and any(
        isinstance(coordinate, str) for coordinate in coordinates
    )


def brief(names: tuple[str, ...] | None) -> str:
    """Return what a repr shows of the names: the first and the last."""
    if names is None:
        return ""
    ends = [name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…" for name in names]
    return f", names={ends[0]!r}" if len(names) == 1 else f", names={ends[0]!r}..{ends[-1]!r}"
