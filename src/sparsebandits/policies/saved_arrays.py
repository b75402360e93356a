"""Saved arrays: how they are written, and what is checked as they are read."""

import base64
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import GramLanes
from sparsebandits.validation import FloatArray, describe

_SYMMETRIC = ("gram",)
_GRAMS = ("gram", "moments")


def pack(array: Any) -> str:
    """Return the numbers of an array as text, exactly and in little room."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()


def pack_symmetric(matrix: FloatArray) -> str:
    """Return the upper triangle of a matrix that is symmetric to the bit."""
    return pack(matrix[np.triu_indices(len(matrix))])


def unpack(name: str, given: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return the array that `pack` was given, finite and of this shape."""
    try:
        numbers = np.frombuffer(base64.b64decode(given, validate=True), dtype="<f8")
        array = numbers.astype(np.float64).reshape(shape)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise InvalidValueError(
            f"state.{name} must be {' x '.join(map(str, shape))} finite numbers, packed, got "
            f"{describe(given)}."
        )
    return array


def unpack_symmetric(name: str, given: Any, size: int) -> FloatArray:
    """Return the matrix that `pack_symmetric` was given, (size, size)."""
    matrix = np.zeros((size, size))
    upper = np.triu_indices(size)
    matrix[upper] = unpack(name, given, (upper[0].size,))
    matrix.T[upper] = matrix[upper]
    return matrix


def saved_array(name: str, array: Any) -> Any:
    """Return an array of one lane, JSON-safe: a matrix as text, all else as lists."""
    if array.ndim != 2:
        return array.tolist()
    return pack_symmetric(array) if name in _SYMMETRIC else pack(array)


def read_array(name: str, given: Any, like: Any, least: float, most: float) -> FloatArray:
    """Return what `saved_array` made of an array, refused where it is none of this kind.

    Parameters
    ----------
    name : str
    given
        What was saved.
    like : array or number
        Of the shape and the type that it must have.
    least, most : float
        Between which its numbers must lie.
    """
    if isinstance(given, str) and like.ndim == 2:
        if name in _SYMMETRIC:
            given = unpack_symmetric(name, given, len(like))
        else:
            given = unpack(name, given, like.shape)
    value = _as_numbers(given)
    if value.shape != like.shape or not np.isfinite(value).all():
        raise InvalidValueError(
            f"state.{name} must be finite numbers of shape {like.shape}, got {describe(given)}."
        )
    if like.dtype.kind != "f" and (value != np.rint(value)).any():
        raise InvalidValueError(f"state.{name} must be integers, got {describe(given)}.")
    if value.min(initial=least) < least or value.max(initial=least) > most:
        raise InvalidValueError(
            f"state.{name} must lie in {least:g}..{most:g}, got {describe(given)}."
        )
    if name in _GRAMS and not _can_be_gram(value):
        raise InvalidValueError(f"state.{name} must be a sum of x x', got {describe(given)}.")
    return value


def _as_numbers(given: Any) -> FloatArray:
    """Return what was given as an array of floats; nan where it is none."""
    try:
        value = np.array(given)
    except ValueError:  # rows of different lengths
        return np.array(np.nan)
    return value.astype(np.float64) if value.dtype.kind in "biuf" else np.array(np.nan)


def check_sums(sums: GramLanes) -> None:
    """Refuse saved sums whose lost digits are more than what rounding loses."""
    moments, lost = sums.moments[0], sums.lost[0]
    lengths = np.sqrt(np.diagonal(moments))
    rounding = (1.0 + sums.counts[0]) * np.finfo(np.float64).eps
    if (np.abs(lost) > rounding * np.outer(lengths, lengths)).any() or not _can_be_gram(
        moments + lost
    ):
        raise InvalidValueError(
            f"state.lost must be what rounding lost of state.moments, got "
            f"{describe(lost.tolist())}. Load an earlier copy."
        )


def _can_be_gram(matrix: FloatArray) -> bool:
    """Whether a matrix is symmetric and has no negative eigenvalue, up to rounding."""
    rounding = 1e-9 * float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > rounding or np.diagonal(matrix).min() < 0:
        return False
    return bool(np.linalg.eigvalsh(matrix)[0] >= -rounding)
