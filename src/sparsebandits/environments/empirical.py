"""Noise that is resampled from measured numbers, with the smallest sigma that bounds it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebandits.environments.noise import Noise
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import FloatArray, as_array, as_integer, describe

# Draws are looked up this many at a time, so that a long buffer needs no second one beside it.
_LOOKED_UP = 4096

# The grid of lambda: from _FIRST in steps of _RATIO; both cost sigma about 5e-5 of itself.
_FIRST = 1e-4
_RATIO = 1.02
_LARGEST_EXPONENT = 500.0
_ROUNDING = 1e-9

_LARGEST_VALUE = 1e100


@dataclass(frozen=True, repr=False)
class Empirical(Noise):
    """One of the given values, drawn with replacement, minus their mean.

    `sigma` is the square root of the optimal proxy variance, the supremum over lambda of
    2 log E exp(lambda eta) / lambda^2, computed so that it never lies below (see
    `proxy_variance`) and at most 1e-4 of itself above. Often it is far below the half range of
    Hoeffding's lemma, which it never exceeds.

    Parameters
    ----------
    values : sequence of float
        What is resampled. The mean is subtracted, so that the noise has none.
    counts : sequence of int, optional
        How often each value occurs, at least once; every value once unless given.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import Empirical
    >>> noise = Empirical([0.0, 1.0, 4.0], counts=[2, 1, 1])
    >>> noise.draw(np.random.default_rng(0), 5)
    array([-0.25, -1.25, -1.25, -1.25,  2.75])
    >>> round(noise.sigma, 3), round(noise.standard_deviation, 3)
    (1.767, 1.639)
    """

    kind = "empirical"
    sigma: float = field(init=False)
    values: Sequence[float]
    counts: Sequence[int] | None = None

    _centred: FloatArray = field(init=False, compare=False)
    _ladder: FloatArray = field(init=False, compare=False)
    """The share of draws up to each value; the last is 1."""

    def __post_init__(self) -> None:
        values = as_array("values", self.values, ndim=1)
        if np.abs(values).max() > _LARGEST_VALUE:
            raise InvalidValueError(
                f"values must lie within {_LARGEST_VALUE:g} of 0, got "
                f"{values[np.abs(values).argmax()]:g}; rescale the reward."
            )
        counts = _as_counts(self.counts, values.size)
        totals = np.cumsum(counts)
        shares = counts / totals[-1]
        centred = values - shares @ values
        self._set_plain(
            values=tuple(values.tolist()),
            counts=None if self.counts is None else tuple(int(count) for count in counts),
            sigma=math.sqrt(proxy_variance(centred, shares)),
            _centred=centred,
            _ladder=totals / totals[-1],
        )

    @property
    def standard_deviation(self) -> float:
        """That of the given values, each as often as it occurs."""
        shares = np.diff(self._ladder, prepend=0.0)
        return math.sqrt(float(shares @ self._centred**2))

    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        # One uniform number per draw: random integers would be cut from buffered words.
        rng.random(out=out)
        flat = out.reshape(-1)
        for start in range(0, flat.size, _LOOKED_UP):
            piece = flat[start : start + _LOOKED_UP]
            rows = np.searchsorted(self._ladder, piece, side="right")
            np.take(self._centred, rows, out=piece, mode="clip")

    def _parameters(self) -> dict[str, Any]:
        counts = None if self.counts is None else list(self.counts)
        return {"values": list(self.values), "counts": counts}

    def __repr__(self) -> str:
        return f"Empirical({len(self.values)} values, sigma={self.sigma:.4g})"


def proxy_variance(centred: FloatArray, shares: FloatArray) -> float:
    """Return sup over lambda of 2 K(lambda) / lambda^2, K(lambda) = log E exp(lambda eta).

    An upper bound, by three facts, for lambda > 0 and eta in [-m, m] with mean 0; for lambda < 0
    the same holds of -eta.

    1. e^x <= 1 + x + x^2 e^|x| / 2, so 2 K(lambda) / lambda^2 <= E eta^2 exp(lambda m): this is the
       bound below the first point of a grid.
    2. K is convex, so between two points it lies below its chord: `_largest_on_chords`.
    3. K(lambda) <= lambda m, so 2 K(lambda) / lambda^2 <= 2 m / lambda, which is at most E eta^2
       beyond the last point, 2 m / E eta^2.

    Parameters
    ----------
    centred, shares : arrays of shape (values,)
        The values of eta, with mean 0, and their probabilities.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from sparsebandits.environments.empirical import proxy_variance
    >>> coin = proxy_variance(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> rare = proxy_variance(np.array([-0.01, 0.99]), np.array([0.99, 0.01]))
    >>> round(coin, 3), round(rare, 4), round(0.98 / (2 * math.log(0.99 / 0.01)), 4)
    (1.0, 0.1066, 0.1066)
    """
    m = float(np.abs(centred).max())
    if m == 0:
        return 0.0
    unit = centred / m
    variance = float(shares @ unit**2)
    points = math.ceil(math.log(2.0 / (variance * _FIRST)) / math.log(_RATIO))
    grid: FloatArray = _FIRST * np.float64(_RATIO) ** np.arange(points + 1)
    bounds = [_largest_on_chords(grid, _cumulant(grid, side, shares)) for side in (unit, -unit)]
    bound = max(variance * math.exp(_FIRST), *bounds) * (1 + _ROUNDING)
    hoeffding = ((unit.max() - unit.min()) / 2) ** 2
    return float(m**2 * min(bound, hoeffding))


def _cumulant(grid: FloatArray, unit: FloatArray, shares: FloatArray) -> FloatArray:
    """Return K at every point of the grid, without overflow or cancellation."""
    cumulant = np.empty_like(grid)
    for row, slope in enumerate(grid):
        exponents = slope * unit
        top = float(exponents.max())
        if top > _LARGEST_EXPONENT:
            cumulant[row] = top + math.log(float(shares @ np.exp(exponents - top)))
        else:
            # The mean is 0, so x may be subtracted; what is left has no negative terms.
            cumulant[row] = math.log1p(float(shares @ (np.expm1(exponents) - exponents)))
    return cumulant


def _largest_on_chords(grid: FloatArray, cumulant: FloatArray) -> float:
    """Return the largest 2 (a + b x) / x^2 over all chords a + b x of K between grid points.

    K(0) = 0 and K is convex, so a <= 0 < b: the quotient rises up to x = -2 a / b and then falls;
    on its piece it is largest at the point nearest to that.
    """
    b = np.diff(cumulant) / np.diff(grid)
    a = cumulant[:-1] - b * grid[:-1]
    peak = np.clip(-2 * a / b, grid[:-1], grid[1:])
    return float((2 * (a + b * peak) / peak**2).max())


def _as_counts(counts: Any, size: int) -> FloatArray:
    if counts is None:
        return np.ones(size)
    if isinstance(counts, str) or not isinstance(counts, (Sequence, np.ndarray)):
        raise InvalidTypeError(
            f"counts must be a list of integers, one for each of the {size} values, "
            f"got {describe(counts)}."
        )
    if len(counts) != size:
        raise InvalidValueError(
            f"counts must have one entry for each of the {size} values, got {len(counts)}."
        )
    checked = [as_integer(f"counts[{row}]", count, minimum=1) for row, count in enumerate(counts)]
    return np.array(checked, dtype=np.float64)
