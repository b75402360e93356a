"""Reading a saved learner: each field is checked, and named where it is wrong."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.estimation import GramStatistics
from sparsebandits.validation import FloatArray, as_array, as_integer, describe


def read_integer(
    state: Mapping[str, Any], name: str, *, minimum: int, maximum: int | None = None
) -> int:
    """Return an integer between the given bounds."""
    number = as_integer(f"state.{name}", state[name], minimum=minimum)
    if maximum is not None and number > maximum:
        raise InvalidValueError(f"state.{name} must be at most {maximum}, got {number}.")
    return number


def read_indices(state: Mapping[str, Any], name: str, dim: int, start: int = 0) -> list[int]:
    """Return ascending, distinct indices in start..dim-1."""
    values = state[name]
    if not isinstance(values, list):
        raise InvalidTypeError(f"state.{name} must be a list of indices, got {describe(values)}.")
    indices = [as_integer(f"state.{name}", value, minimum=start) for value in values]
    if indices != sorted(set(indices)) or (indices and indices[-1] >= dim):
        raise InvalidValueError(
            f"state.{name} must be ascending indices in {start}..{dim - 1}, got {describe(values)}."
        )
    return indices


def read_vector(state: Mapping[str, Any], name: str, dim: int) -> FloatArray | None:
    """Return a finite vector, (dim,), or None."""
    return None if state[name] is None else as_vector(name, state[name], dim)


def as_vector(name: str, value: Any, dim: int) -> FloatArray:
    """Return the value of field `name` as a finite vector, (dim,)."""
    vector = as_array(f"state.{name}", value, ndim=1)
    if vector.size != dim:
        raise InvalidValueError(f"state.{name} must have {dim} entries, got {vector.size}.")
    return vector


def read_float(state: Mapping[str, Any], name: str) -> float:
    """Return a float saved as text, which may be infinite, or as None, which means nan."""
    value = state[name]
    if value is None:
        return math.nan
    try:
        if not isinstance(value, str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"state.{name} must be a number written as text, got {describe(value)}."
        ) from None


def read_gram(state: Mapping[str, Any], dim: int) -> GramStatistics:
    """Return Gram statistics of the right dimension, whose V can be a sum of x x'."""
    gram = GramStatistics.from_dict(state["gram"])
    if gram.dim != dim or np.diag(gram.gram).min() < 0:
        raise InvalidValueError(
            f"state.gram must have {dim} coordinates and no negative sum of squares, got "
            f"{gram.dim} and {describe(np.diag(gram.gram).tolist())}."
        )
    return gram


def read_decisions(state: Mapping[str, Any]) -> tuple[int, dict[int, Any]]:
    """Return the next id and the open decisions: ascending ids below it, with their records."""
    next_id = read_integer(state, "next_id", minimum=1)
    pairs = state["open"]
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise InvalidTypeError(
            f"state.open must be a list of pairs [id, record], got {describe(pairs)}."
        )
    ids = [as_integer("state.open", number, minimum=1) for number, _ in pairs]
    if ids != sorted(set(ids)) or (ids and ids[-1] >= next_id):
        raise InvalidValueError(
            f"state.open must list distinct ids, ascending and below next_id = {next_id}, got "
            f"{describe(ids)}."
        )
    return next_id, dict(zip(ids, (record for _, record in pairs), strict=True))
