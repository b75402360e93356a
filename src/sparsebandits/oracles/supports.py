"""Which supports are allowed, where a number of non-zeros does not say it all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.choices import Choice, Rules
from sparsebandits.action_sets.names import place_of
from sparsebandits.descriptions import as_fields, nearest
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import IntArray, as_integer, as_sparsity, describe

Coordinate = int | str
Coordinates = tuple[Coordinate, ...]


@dataclass(frozen=True, kw_only=True)
class Supports(Rules):
    """Rules for the coordinates that are on: what H is, and more.

    A coordinate is on when it may differ from 0; where the set has a least dose for it, it then has
    at least that dose, and on a `FiniteSet` it is on when it is not 0. Wherever H is asked for as
    `sparsity`, these rules will do.

    Parameters
    ----------
    at_most : int
        H, how many coordinates may be on; with `blocks`, how many blocks.
    at_least : int
        How many must be on.
    blocks : list of lists of coordinates, optional
        Disjoint; a block counts once, however many of its coordinates are on: a channel cut into
        spend segments, a one-hot choice, a treatment with several components. What is in none is a
        block of its own.
    groups : mapping of tuples of coordinates to int
        How many of each group may be on.
    always : list of coordinates
        These are on.
    never_together : list of pairs of coordinates
        At most one of each pair is on.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> mix = sb.Box([0, 0, 0, 0], [1, 1, 1, 1], names=["tv", "radio", "print", "search"])
    >>> rules = sb.Supports(at_most=2, groups={("tv", "radio"): 1}, always=["print"])
    >>> sb.sparse_argmax(mix, [4.0, 3.0, 1.0, 2.0], rules).action
    array([1., 0., 1., 0.])
    >>> sb.Supports.from_dict(rules.to_dict()) == rules
    True
    """

    at_most: int
    at_least: int = 0
    # Lists as they are given; tuples of tuples once they are checked.
    blocks: Any = None
    groups: Any = ()
    always: Any = ()
    never_together: Any = ()

    def __post_init__(self) -> None:
        at_most = as_integer("at_most (H)", self.at_most, minimum=1)
        at_least = as_integer("at_least", self.at_least, minimum=0)
        if at_least > at_most:
            raise InvalidValueError(
                f"at_least must not exceed at_most, got {at_least} and {at_most}."
            )
        blocks = None if self.blocks is None else _as_lists("blocks", self.blocks, least=1)
        _refuse_shared(blocks or ())
        plain = {
            "at_most": at_most,
            "at_least": at_least,
            "blocks": blocks or None,
            "groups": _as_groups(self.groups),
            "always": _as_coordinates("always", self.always),
            "never_together": _as_lists("never_together", self.never_together, least=2),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def __index__(self) -> int:
        """Return the most coordinates that can be on at once, or a bound above it.

        So that what needs to know how long a support can be, and no more, takes rules for H.
        """
        sizes = sorted((len(block) for block in self.blocks or ()), reverse=True)
        return sum(sizes[: self.at_most]) + max(self.at_most - len(sizes), 0)

    # ------------------------------------------------------------------ on a set

    def choice(self, names: tuple[str, ...] | None, dim: int) -> Choice:
        """Return the rules for coordinates of these names, as arrays."""
        places = {name: place for place, name in enumerate(names or ())}

        def indices(what: str, coordinates: Coordinates) -> IntArray:
            found = [place_of(coordinate, places, dim) for coordinate in coordinates]
            if len(set(found)) != len(found):
                raise InvalidValueError(
                    f"{what} must name distinct coordinates, got {describe(list(coordinates))}."
                )
            return np.array(found, dtype=np.intp)

        blocks = [indices("A block", block) for block in self.blocks or ()]
        _refuse_shared([tuple(block.tolist()) for block in blocks])
        groups = [(indices("A group", members), limit) for members, limit in self.groups]
        groups += [(indices("never_together", few), 1) for few in self.never_together]
        always = tuple(indices("always", self.always).tolist())
        large = [block for block in blocks if block.size > 1]
        count = dim - sum(block.size - 1 for block in large)
        if self.at_most > count:
            what = "blocks, single coordinates among them" if large else "coordinates"
            raise InvalidValueError(
                f"at_most (H) must be at most {count}, the number of {what}, got {self.at_most}; "
                f"use {count} if everything may be on."
            )
        choice = Choice(dim, self.at_most, self.at_least, large, groups, always)
        _refuse_contradiction(choice, names)
        return choice

    def on(self, action_set: ActionSet) -> Choice:
        """Return the rules for the coordinates of a set, made once for it."""
        return action_set.choice_of(self)

    # ------------------------------------------------------------------ files

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `from_dict` reads it back."""
        data: dict[str, Any] = {"at_most": self.at_most}
        if self.at_least:
            data["at_least"] = self.at_least
        if self.blocks is not None:
            data["blocks"] = [list(block) for block in self.blocks]
        if self.groups:
            data["groups"] = [[list(members), limit] for members, limit in self.groups]
        if self.always:
            data["always"] = list(self.always)
        if self.never_together:
            data["never_together"] = [list(few) for few in self.never_together]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Supports":
        """Build what `to_dict` described."""
        given = as_fields("sparsity", data)
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise InvalidValueError(f"sparsity has no key {key!r}; {nearest(str(key), known)}")
        if "at_most" not in given:
            raise InvalidValueError("sparsity must say at_most, how many coordinates may be on.")
        return cls(**given)

    def __repr__(self) -> str:
        parts = [f"at_most={self.at_most}"]
        parts += [
            f"{field.name}={describe(getattr(self, field.name))}"
            for field in fields(self)[1:]
            if getattr(self, field.name) not in (0, None, ())
        ]
        return f"Supports({', '.join(parts)})"


Limit = int | Supports
"""H, or the rules that stand for it."""


def as_limit(sparsity: Any, action_set: ActionSet) -> Limit:
    """Return what may be on: H in 1..dim, or rules that some action of the set obeys.

    Parameters
    ----------
    sparsity : int, Supports, or what `Supports.to_dict` returned
    """
    if not isinstance(sparsity, (Supports, Mapping)):
        number = as_sparsity(sparsity, action_set.dim)
        if not action_set.contains_zero:
            action_set.refuse_empty(number)
        return number
    if not isinstance(sparsity, Supports):
        sparsity = Supports.from_dict(sparsity)
    if sparsity.on(action_set).is_plain:
        return as_limit(sparsity.at_most, action_set)
    rules: Supports = sparsity
    action_set.refuse_empty(action_set.dim, rules)
    return rules


def _refuse_contradiction(choice: Choice, names: tuple[str, ...] | None) -> None:
    """Refuse more that is always on than H, or a group, has room for."""
    opened = np.unique(choice.block_of[list(choice.always)]).size
    if opened > choice.at_most:
        raise InvalidValueError(
            f"at_most (H) must be at least {opened}, what is always on, got {choice.at_most}; "
            "raise it, or leave some of `always` out."
        )
    for members, limit in choice.groups:
        count = int(np.isin(members, list(choice.always)).sum())
        if count > limit:
            shown = [i if names is None else names[i] for i in members.tolist()]
            raise InvalidValueError(
                f"{count} of the group {shown} are always on, of which at most {limit} "
                "may be on together; raise the limit, or leave some of `always` out."
            )


def limit_label(limit: Limit) -> int | str:
    """Return H, or rules as text: what a column or a label of a table holds."""
    return limit if isinstance(limit, int) else str(limit)


def _as_coordinates(name: str, value: Any) -> Coordinates:
    """Return a tuple of indices and names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidTypeError(
            f"{name} must be a list of coordinates, indices or names, got {describe(value)}."
        )
    return tuple(
        entry if isinstance(entry, str) else as_integer(f"A coordinate of {name}", entry, minimum=0)
        for entry in value
    )


def _as_lists(name: str, value: Any, *, least: int) -> tuple[Coordinates, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidTypeError(f"{name} must be a list of lists, got {describe(value)}.")
    lists = tuple(_as_coordinates(name, entry) for entry in value)
    short = next((entry for entry in lists if len(entry) < least), None)
    if short is not None:
        raise InvalidValueError(
            f"{name} must list at least {least} coordinates at a time, got {describe(list(short))}."
        )
    return lists


def _as_groups(groups: Any) -> tuple[tuple[Coordinates, int], ...]:
    """Return (members, limit) pairs, from a mapping or from such pairs."""
    pairs = groups.items() if isinstance(groups, Mapping) else groups
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise InvalidTypeError(
            "groups must map tuples of coordinates to how many of them may be on, such as "
            f"{{('tv', 'radio'): 1}}, got {describe(groups)}."
        )
    made = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InvalidTypeError(f"groups must be pairs of members and a limit, got {pair!r}.")
        members = _as_coordinates("groups", pair[0])
        made.append((members, as_integer("The limit of a group", pair[1], minimum=0)))
    return tuple(made)


def _refuse_shared(blocks: Iterable[Coordinates]) -> None:
    seen: set[Coordinate] = set()
    for block in blocks:
        shared = seen & set(block)
        if shared or len(set(block)) != len(block):
            twice = next(iter(shared), None) if shared else block
            raise InvalidValueError(
                f"blocks must be disjoint, got {describe(twice)} twice; limit overlapping sets of "
                "coordinates by groups."
            )
        seen |= set(block)
