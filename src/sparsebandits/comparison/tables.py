"""A table as plain text cells: the command line and the page only lay it out."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sparsebandits.validation import FloatArray

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Table:
    """Headings and rows of text.

    Attributes
    ----------
    notes : tuple of str
        Printed below.
    folded : bool
        On the page such a table opens on a click.
    words : int
        How many columns from the left hold words; numbers in the others are set to the right.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    folded: bool = False
    words: int = 2


@dataclass(frozen=True)
class Interval:
    """A mean over trials with its 95% interval; the ends are nan where there is one trial only."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> "Interval":
        """Return the mean of independent values and Student's interval for it.

        Examples
        --------
        >>> import numpy as np
        >>> Interval.of(np.array([1.0, 2.0, 3.0])).text()
        '2 ± 2.5'
        """
        count = values.size
        mean = float(values.mean())
        if count < 2:
            return cls(mean, math.nan, math.nan)
        error = float(values.std(ddof=1)) / math.sqrt(count)
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * error
        return cls(mean, mean - half, mean + half)

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def text(self, *, signed: bool = False) -> str:
        """Write the mean and half the width of its interval, such as ``1,234 ± 56``."""
        width = "" if math.isnan(self.half) else f" ± {number(self.half, digits=2)}"
        sign = "+" if signed and self.mean > 0 else ""
        return f"{sign}{number(self.mean)}{width}"

    def to_dict(self) -> dict[str, float | None]:
        """Return a JSON-safe record; ends that do not exist are null."""
        return {name: finite(value) for name, value in vars(self).items()}


def finite(value: float) -> float | None:
    """Return None for what JSON cannot say: nan and infinity."""
    return float(value) if math.isfinite(value) else None


def number(value: float, digits: int = 3) -> str:
    """Write a number with three digits, or all digits before the point; never ``-0``.

    Examples
    --------
    >>> [number(x) for x in (12345.6, 123.4, 12.34, 0.1234, -1e-13, float("nan"))]
    ['12,346', '123', '12.3', '0.123', '0', 'nan']
    """
    if abs(value) < 1e-9:
        return "0"
    small = abs(value) < 10 ** (digits - 1) * 9.995 / 10
    return f"{value:.{digits}g}" if small else f"{value:,.0f}"


def ratio_interval(
    top: FloatArray, bottom: FloatArray, seed: int = 0, resamples: int = 2000
) -> Interval:
    """Return the ratio of two means over the same trials, with a bootstrap interval over trials.

    Examples
    --------
    >>> import numpy as np
    >>> ratio_interval(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    Interval(mean=2.0, low=2.0, high=2.0)
    """
    ratio = float(top.mean() / bottom.mean())
    if top.size < 2:
        return Interval(ratio, math.nan, math.nan)
    chosen = np.random.default_rng(seed).integers(top.size, size=(resamples, top.size))
    ratios = top[chosen].mean(axis=1) / bottom[chosen].mean(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Interval(ratio, float(low), float(high))
