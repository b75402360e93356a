"""Calls found by the parts of their path, past the layers that a general framework has.

Starlette tries one pattern after another, behind layers for errors, telemetry and exit stacks that
a call of the table does not use; for a server that answers a request in a fraction of a millisecond
they are a good part of it.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class Shortcut(Generic[Found]):
    """A table of paths such as /v1/learners/{key}/ask, looked up in one step.

    Paths with equally many parts must have their parameters in the same places.

    Examples
    --------
    >>> table = Shortcut([("GET", "/v1/learners/{key}", "show")])
    >>> table.find("GET", "/v1/learners/spring")
    ('show', {'key': 'spring'})
    >>> table.find("POST", "/v1/learners/spring") is None
    True
    """

    def __init__(self, entries: Iterable[tuple[str, str, Found]]) -> None:
        self._found: dict[tuple[str, ...], Found] = {}
        self._places: dict[int, dict[int, str]] = {}
        for method, path, found in entries:
            parts = path.split("/")
            names = {place: part[1:-1] for place, part in enumerate(parts) if part.startswith("{")}
            assert self._places.setdefault(len(parts), names).keys() == names.keys()
            masked = ("" if place in names else part for place, part in enumerate(parts))
            self._found[method, *masked] = found

    def find(self, method: str, path: str) -> tuple[Found, dict[str, str]] | None:
        """Return what is at a path, and its parameters; None if it is not in the table."""
        parts = path.split("/")
        names = self._places.get(len(parts))
        if names is None:
            return None
        parameters = {}
        for place, name in names.items():
            if not parts[place]:
                return None
            parameters[name], parts[place] = parts[place], ""
        found = self._found.get((method, *parts))
        return None if found is None else (found, parameters)
