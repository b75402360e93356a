"""Checks at the edge, each with an error that says what was given, needed and to be done."""

import dataclasses
import math
import numbers
import operator
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from sparsebandits.errors import InvalidTypeError, InvalidValueError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Support: TypeAlias = Iterable[int | str] | BoolArray | None

AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])
Given = TypeVar("Given")
_REAL = (float, numbers.Real, Decimal)  # float first: an abstract class takes longer to ask
_LARGEST = {"dim": 10**8, "horizon": 10**15, "trials": 10**9, "points": 10**7, "workers": 10**4}
"""What these may be at most, wherever they are checked: beyond it an array cannot be allocated, a
step is no exact float64, or the machine is brought down by processes."""

_SHOWN = 5
"""Entries of an array that a repr shows; of a longer one it gives the shape."""

LARGEST_REWARD = 1e100
"""Rewards stay below this, so that squares of sums of rewards do not overflow."""

LARGEST_SQUARES = 2.0**53 * LARGEST_REWARD**2
"""What squares of rewards can sum up to."""


def describe(value: object) -> str:
    """Name a value in an error message: its repr, cut to one line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an int of more than 4,300 digits has no repr
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= 80 else text[:77] + "..."


def brief_repr(record: Any, **instead: object) -> str:
    """Return a repr of a dataclass in which no field is long: ``__repr__ = brief_repr`` in it.

    `instead` is shown for the values of the fields of these names.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Curve:
    ...     label: str
    ...     points: FloatArray
    ...     __repr__ = brief_repr
    >>> Curve("regret", np.zeros((100, 200)))
    Curve(label='regret', points=array of shape (100, 200))
    """
    shown = (field for field in dataclasses.fields(record) if field.repr)
    values = ((field.name, instead.get(field.name, getattr(record, field.name))) for field in shown)
    return f"{type(record).__name__}({', '.join(f'{name}={_brief(one)}' for name, one in values)})"


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > _SHOWN:
        return f"array of shape {value.shape}"
    return describe(value)


def as_instance(name: str, value: Given, kind: type, needed: str) -> Given:
    """Return `value`, checked to be of a class; `needed` says which: "a noise such as ..."."""
    if not isinstance(value, kind):
        raise InvalidTypeError(f"{name} must be {needed}, got {describe(value)}.")
    return value


def as_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return `value`, checked to be one of the known names."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(repr(choice) for choice in names)
        raise InvalidValueError(f"{name} must be one of {listed}, got {describe(value)}.")
    return value


def as_integer(name: str, value: Any, *, minimum: int) -> int:
    """Return `value` as an int that is at least `minimum`; booleans and floats are refused.

    Sizes (dim, horizon, trials and the like) have a largest value too.
    """
    if isinstance(value, (bool, np.bool_)):
        raise InvalidTypeError(f"{name} must be an integer, got the boolean {value}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(
            f"{name} must be an integer, got {describe(value)}; pass an int such as {minimum}."
        ) from None
    if number < minimum:
        raise InvalidValueError(f"{name} must be at least {minimum}, got {describe(number)}.")
    largest = _LARGEST.get(name)
    if largest is not None and number > largest:
        raise InvalidValueError(f"{name} must be at most {largest:,}, got {describe(number)}.")
    return number


def as_number(
    name: str, value: Any, *, positive: bool = False, allow_infinite: bool = False
) -> float:
    """Return `value` as a finite float; positive, or infinite, where asked or allowed."""
    given = value
    if isinstance(value, np.ndarray) and value.ndim == 0 and not _is_masked(value):
        given = value[()]
    # float() would also read bytes, and the real part of NumPy's complex numbers.
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, _REAL):
        raise InvalidTypeError(f"{name} must be a number, got {describe(value)}.")
    try:
        number = float(given)
    except (TypeError, OverflowError):  # a duration, or an integer beyond all floats
        raise InvalidTypeError(f"{name} must be a number, got {describe(value)}.") from None
    if math.isnan(number) or (math.isinf(number) and not allow_infinite):
        raise InvalidValueError(f"{name} must be a finite number, got {number}.")
    if positive and number <= 0:
        raise InvalidValueError(f"{name} must be positive, got {number}.")
    return number


def as_non_negative(name: str, value: Any, *, allow_infinite: bool = False) -> float:
    """Return `value` as a float that is at least 0, and finite unless allowed."""
    number = as_number(name, value, allow_infinite=allow_infinite)
    if number < 0:
        raise InvalidValueError(f"{name} must be non-negative, got {number}.")
    return number


def as_delta(delta: Any) -> float:
    """Return the failure probability, checked to lie strictly between 0 and 1."""
    number = as_number("delta", delta)
    if not 0 < number < 1:
        raise InvalidValueError(
            f"delta must lie strictly between 0 and 1, got {number}; "
            "0.05 means right with probability 95%."
        )
    return number


def as_reward(reward: Any) -> float:
    """Return a reward that is a finite number, and small enough to be squared."""
    number = as_number("reward", reward)
    if abs(number) >= LARGEST_REWARD:
        raise InvalidValueError(
            f"reward must be smaller than {LARGEST_REWARD:g} in size, got {number}; "
            "change its unit."
        )
    return number


def as_flag(name: str, value: Any) -> bool:
    """Return a plain boolean: the text "false" would count as true."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise InvalidTypeError(f"{name} must be True or False, got {describe(value)}.")


def as_generator(rng: Any) -> np.random.Generator:
    """Return `rng`, checked to be a numpy generator: a seed would restart at every call."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidTypeError(
            f"rng must be a numpy.random.Generator, got {describe(rng)}; "
            "pass numpy.random.default_rng(seed)."
        )
    return rng


def as_floats(name: str, value: Any, shape: str) -> FloatArray:
    """Return `value` as a float64 array, without a copy if possible; only real numbers will do.

    `shape` says what was needed, for the error: "with 2 axes".
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value  # the usual case, and no need to look further
    array = _as_plain(f"{name} must be an array of numbers {shape}", value, "biuf")
    return np.asarray(array, dtype=np.float64)


def as_integers(name: str, value: Any, *, minimum: int) -> IntArray:
    """Return an integer, or an array of integers of any shape, each at least `minimum`."""
    array = _as_plain(f"{name} must be an integer or an array of integers", value, "iu")
    if array.size and array.min() < minimum:
        raise InvalidValueError(f"{name} must be at least {minimum}, got {array.min()}.")
    return array.astype(np.intp)


def _as_plain(needed: str, value: Any, kinds: str) -> npt.NDArray[Any]:
    """Return an array whose dtype is of one of the kinds.

    NumPy by itself drops a mask and an imaginary part, and reads texts and dates as numbers.
    """
    try:
        array = np.asanyarray(value)
        if array.dtype.kind == "O" and all(isinstance(x, _REAL) for x in array.flat):
            array = array.astype(np.float64)  # integers beyond 64 bits, fractions
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(f"{needed}, got {describe(value)}.") from None
    if array.dtype.kind not in kinds:
        raise InvalidTypeError(
            f"{needed}, got {describe(value)}, whose entries are of type {array.dtype}."
        )
    if _is_masked(value):
        raise InvalidTypeError(f"{needed}, got masked entries in {describe(value)}; fill them.")
    return np.asarray(array)


def _is_masked(value: Any) -> bool:
    """Whether an array, or a row in a list of rows, has masked entries."""
    if isinstance(value, (list, tuple)):
        return any(_is_masked(row) for row in value if isinstance(row, np.ma.MaskedArray))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def as_array(name: str, value: Any, *, ndim: int, finite: bool = True) -> FloatArray:
    """Return a read-only float64 copy of `value` with `ndim` axes, none of them empty."""
    array = np.array(as_floats(name, value, f"with {ndim} axes"))
    if array.ndim != ndim or array.size == 0:
        raise InvalidValueError(
            f"{name} must be a non-empty array with {ndim} axes, got shape {array.shape}."
        )
    if finite:
        _check_finite(name, array)
    return read_only(array)


def read_only(array: AnyArray) -> AnyArray:
    """Return the array itself, from now on not to be written."""
    array.setflags(write=False)
    return array


def _check_finite(name: str, array: FloatArray) -> None:
    if np.isfinite(array).all():
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


def as_rows(name: str, value: Any, dim: int) -> FloatArray:
    """Return numbers as a float64 array of shape (..., dim), without a copy if possible."""
    array = as_floats(name, value, f"of shape (..., {dim})")
    if array.ndim == 0 or array.shape[-1] != dim:
        raise InvalidValueError(
            f"{name} must have shape (..., {dim}), one entry per coordinate, got shape "
            f"{array.shape}."
        )
    return array


def as_theta(theta: Any, dim: int) -> FloatArray:
    """Return theta as a finite float64 array of shape (..., dim), without a copy if possible."""
    array = as_rows("theta", theta, dim)
    _check_finite("theta", array)
    return array


def as_cycles(cycle: Any) -> FloatArray:
    """Return cycle numbers c >= 1 as floats of the same shape; fractions are refused."""
    return as_integers("cycle", cycle, minimum=1).astype(np.float64)


def as_weights(weights: Any, dim: int) -> FloatArray:
    """Return non-negative weights, one per coordinate."""
    array = as_array("weights", weights, ndim=1)
    if array.shape != (dim,):
        raise InvalidValueError(f"weights must have shape ({dim},), got {array.shape}.")
    if array.min() < 0:
        raise InvalidValueError(f"weights must be non-negative, got {array.min()}.")
    return array


def as_support(support: Support, dim: int) -> IntArray:
    """Return a support as ascending indices; given as indices, a boolean mask, or None for all."""
    if support is None:
        return np.arange(dim)
    if isinstance(support, str) or not isinstance(support, Iterable) or _is_masked(support):
        raise _no_support(support, dim)
    try:
        array = support if isinstance(support, np.ndarray) else np.array(list(support))
    except (TypeError, ValueError, OverflowError):  # rows of different lengths, above all
        raise _no_support(support, dim) from None
    if array.dtype == np.bool_:
        if array.shape != (dim,):
            raise InvalidValueError(
                f"A boolean support must have shape ({dim},), got {array.shape}."
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _no_support(support, dim)
    indices = np.unique(array)
    if indices[0] < 0 or indices[-1] >= dim:
        bad = indices[0] if indices[0] < 0 else indices[-1]
        raise InvalidValueError(f"support indices must lie in 0..{dim - 1}, got {bad}.")
    if indices.size != array.size:
        raise InvalidValueError(f"support indices must be distinct, got {describe(support)}.")
    return indices.astype(np.intp)


def _no_support(support: object, dim: int) -> InvalidTypeError:
    return InvalidTypeError(
        f"support must be a flat list of integer indices in 0..{dim - 1}, of names, or a boolean "
        f"mask of shape ({dim},), got {describe(support)}."
    )


def as_places(name: str, value: Any, dim: int) -> IntArray:
    """Return distinct indices in 0..dim-1 in the order given, at least one; cheap for a few."""
    places = as_integers(name, list(value) if isinstance(value, Iterable) else value, minimum=0)
    if places.ndim != 1 or places.size == 0 or places.max() >= dim:
        raise InvalidValueError(
            f"{name} must be a flat, non-empty list of indices in 0..{dim - 1}, "
            f"got {describe(value)}."
        )
    if np.unique(places).size != places.size:
        raise InvalidValueError(f"{name} must be distinct, got {describe(value)}.")
    return places


def as_listed(available: Support, dim: int, may_be_empty: bool = False) -> IntArray:
    """Return the available coordinates, ascending; an empty list is refused unless it may be."""
    if available is None:
        raise InvalidTypeError(
            "available must be a boolean mask or a list of indices, got None; "
            "leave the set as it is if everything is available."
        )
    indices = as_support(available, dim)
    if not indices.size and not may_be_empty:
        raise InvalidValueError(
            "available leaves no coordinate: at least one must be available, "
            "otherwise the only action is 0."
        )
    return indices
