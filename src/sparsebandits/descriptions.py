"""From a description, as files and the command line hold it, to the object of that kind."""

import difflib
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar

from sparsebandits.errors import InvalidTypeError, InvalidValueError, SparseBanditsError
from sparsebandits.validation import describe

Built = TypeVar("Built")

_LISTED = 30
"""Names that an error lists."""


def as_fields(what: str, data: Any) -> dict[str, Any]:
    """Return a copy of the keys and values in a description, checked to be a table."""
    if not isinstance(data, Mapping):
        raise InvalidTypeError(f"{what} must be a table of keys, got {describe(data)}.")
    return dict(data)


def build_from(
    what: str, table: Mapping[str, Callable[..., Built]], data: Mapping[str, Any]
) -> Built:
    """Call the entry of the table that `kind` names with the other keys.

    Examples
    --------
    >>> build_from("A number", {"whole": int, "real": float}, {"kind": "half"})
    Traceback (most recent call last):
    sparsebandits.errors.InvalidValueError: A number must be of kind 'whole', 'real', got 'half'.
    """
    given = dict(data)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in table:
        known = ", ".join(repr(name) for name in table)
        raise InvalidValueError(f"{what} must be of kind {known}, got {describe(kind)}.")
    return call_with(repr(kind), table[kind], given)


def call_with(what: str, builder: Callable[..., Built], given: Mapping[str, Any]) -> Built:
    """Call a builder with keys from a file; the error says which it does not take."""
    try:
        return builder(**given)
    except TypeError as error:
        if isinstance(error, SparseBanditsError):
            raise
        raise InvalidValueError(
            f"{what} does not take the keys {sorted(given)}: {error}."
        ) from None


def nearest(given: str, known: Iterable[str]) -> str:
    """Return the end of an error for a name that does not exist: the nearest one that does.

    Examples
    --------
    >>> nearest("sclae", ["scale", "ridge"])
    "did you mean 'scale'? Known: 'scale', 'ridge'."
    """
    names = list(known)
    close = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    listed = ", ".join(map(repr, names[:_LISTED]))
    if len(names) > _LISTED:
        listed += f", ... ({len(names)} in all)"
    return f"did you mean {close[0]!r}? Known: {listed}." if close else f"known: {listed}."


class Described(ABC):
    """Something that files hold as a table of keys, of which `kind` names the class."""

    kind: ClassVar[str]
    """The name of the class in the table, in files and on the command line."""

    noun: ClassVar[str]
    """What an error calls any of them: "An action set"."""

    kinds: ClassVar[dict[str, Any]]
    """The table of all of their classes, set by the module that lists them; add your own to it."""

    def _set_plain(self, **values: Any) -> None:
        """Replace parameters by what they were checked to be: NumPy's would not survive JSON."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's keywords as JSON-safe values: the fields, of a dataclass."""
        record: Any = self
        return {field.name: getattr(self, field.name) for field in fields(record) if field.init}

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `from_dict` reads it back."""
        return {"kind": self.kind, **self._parameters()}

    @classmethod
    def _from_fields(cls, **keywords: Any) -> Self:
        """Build one of this kind from what `to_dict` said of it."""
        return cls(**keywords)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build what `to_dict` described.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> data = sb.LpBall(3, p=1.0).to_dict()
        >>> data
        {'kind': 'lp-ball', 'dim': 3, 'p': 1.0, 'radius': 1.0}
        >>> sb.ActionSet.from_dict(data)
        LpBall(dim=3, p=1, radius=1)
        """
        builders = {kind: described._from_fields for kind, described in cls.kinds.items()}
        built: Self = build_from(cls.noun, builders, as_fields(cls.noun, data))
        return built
