"""Checks at the edge, each with an error that says what was given, needed and to be done."""

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sparsebandits.errors import InvalidTypeError, InvalidValueError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Support: TypeAlias = Iterable[int] | BoolArray | None

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Support",
    "as_array",
    "as_availability",
    "as_choice",
    "as_integer",
    "as_number",
    "as_sparsity",
    "as_support",
    "as_theta",
    "describe",
]


def describe(value: object) -> str:
    """Name a value in an error message: its repr, cut to one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def as_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return `value`, checked to be one of the known names."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(repr(one) for one in names)
        raise InvalidValueError(f"{name} must be one of {listed}, got {describe(value)}.")
    return value


def as_integer(name: str, value: Any, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int within bounds; booleans and floats are refused."""
    if isinstance(value, (bool, np.bool_)):
        raise InvalidTypeError(f"{name} must be an integer, got the boolean {value}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(
            f"{name} must be an integer, got {describe(value)}; pass an int such as {minimum}."
        ) from None
    if number < minimum:
        raise InvalidValueError(f"{name} must be at least {minimum}, got {number}.")
    if maximum is not None and number > maximum:
        raise InvalidValueError(f"{name} must be at most {maximum}, got {describe(number)}.")
    return number


def as_number(
    name: str, value: Any, *, positive: bool = False, allow_infinite: bool = False
) -> float:
    """Return `value` as a finite float; positive, or infinite, where asked or allowed."""
    if isinstance(value, (bool, np.bool_, str)):
        raise InvalidTypeError(f"{name} must be a number, got {describe(value)}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(f"{name} must be a number, got {describe(value)}.") from None
    if np.isnan(number) or (np.isinf(number) and not allow_infinite):
        raise InvalidValueError(f"{name} must be a finite number, got {number}.")
    if positive and number <= 0:
        raise InvalidValueError(f"{name} must be positive, got {number}.")
    return number


def as_array(name: str, value: Any, *, ndim: int, finite: bool = True) -> FloatArray:
    """Return a read-only float64 copy of `value` with `ndim` axes, none of them empty."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(
            f"{name} must be an array of numbers with {ndim} axes, got {describe(value)}."
        ) from None
    if array.ndim != ndim or array.size == 0:
        raise InvalidValueError(
            f"{name} must be a non-empty array with {ndim} axes, got shape {array.shape}."
        )
    if finite:
        _check_finite(name, array)
    array.setflags(write=False)
    return array


def _check_finite(name: str, array: FloatArray) -> None:
    # The sum is finite whenever all entries are, save for overflow: one pass without a mask.
    if np.isfinite(array.sum()) or np.isfinite(array).all():
        return
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    place = where[0] if len(where) == 1 else where
    raise InvalidValueError(
        f"{name} must be finite, got {array[where]} at index {place}; "
        "remove or replace NaN and infinite entries."
    )


def as_sparsity(sparsity: Any, dim: int) -> int:
    """Return H, checked to lie in 1..dim."""
    number = as_integer("sparsity (H)", sparsity, minimum=1)
    if number > dim:
        raise InvalidValueError(
            f"sparsity (H) must be at most dim = {dim}, got {number}; "
            f"use sparsity={dim} for no sparsity constraint."
        )
    return number


def as_theta(theta: Any, dim: int) -> FloatArray:
    """Return theta as a finite float64 array of shape (..., dim), without a copy if possible."""
    try:
        array = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(
            f"theta must be an array of numbers of shape (..., {dim}), got {describe(theta)}."
        ) from None
    if array.ndim == 0 or array.shape[-1] != dim:
        raise InvalidValueError(
            f"theta must have shape (..., {dim}), one entry per coordinate of the action set, "
            f"got shape {array.shape}."
        )
    _check_finite("theta", array)
    return array


def as_support(support: Support, dim: int) -> IntArray:
    """Return a support as ascending indices; given as indices, a boolean mask, or None for all."""
    if support is None:
        return np.arange(dim)
    if isinstance(support, np.ndarray):
        array = support
    else:
        if isinstance(support, str) or not isinstance(support, Iterable):
            raise InvalidTypeError(
                f"support must be indices in 0..{dim - 1} or a boolean mask, "
                f"got {describe(support)}."
            )
        array = np.array(list(support))
    if array.dtype == np.bool_:
        if array.shape != (dim,):
            raise InvalidValueError(
                f"A boolean support must have shape ({dim},), got {array.shape}."
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidTypeError(
            f"support must be a flat list of integer indices in 0..{dim - 1} or a boolean mask "
            f"of shape ({dim},), got {describe(support)}."
        )
    indices = np.unique(array)
    if indices[0] < 0 or indices[-1] >= dim:
        bad = indices[0] if indices[0] < 0 else indices[-1]
        raise InvalidValueError(f"support indices must lie in 0..{dim - 1}, got {bad}.")
    if indices.size != array.size:
        raise InvalidValueError(f"support indices must be distinct, got {describe(support)}.")
    return indices.astype(np.intp)


def as_availability(available: Support, dim: int) -> BoolArray:
    """Return the boolean mask of available coordinates; an empty one is refused."""
    if available is None:
        raise InvalidTypeError(
            "available must be a boolean mask or a list of indices, got None; "
            "leave the set as it is if everything is available."
        )
    mask = np.zeros(dim, dtype=np.bool_)
    mask[as_support(available, dim)] = True
    if not mask.any():
        raise InvalidValueError(
            "available leaves no coordinate: at least one must be available, "
            "otherwise the only action is 0."
        )
    return mask
