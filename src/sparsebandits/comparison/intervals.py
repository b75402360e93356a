"""95% intervals, each once: Student's, Welch's, Clopper and Pearson's, and one by the bootstrap."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sparsebandits.comparison.text_table import number
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import FloatArray, IntArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over trials with its 95% interval; the ends are nan where there is one trial only.

    `count` is the number of values behind it.
    """

    mean: float
    low: float
    high: float
    standard_error: float = math.nan
    count: int = 0

    @classmethod
    def of(cls, values: FloatArray) -> "Interval":
        """Return the mean of independent values, (n,), and Student's interval for it.

        Examples
        --------
        >>> import numpy as np
        >>> Interval.of(np.array([1.0, 2.0, 3.0])).text()
        '2 ± 2.5'
        """
        return Means.of(np.zeros(1, dtype=np.intp), values[:, np.newaxis])[0]

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def text(self, *, signed: bool = False) -> str:
        """Write the mean and half the width of its interval, such as ``1,234 ± 56``."""
        width = "" if math.isnan(self.half) else f" ± {number(self.half, digits=2)}"
        sign = "+" if signed and self.mean > 0 else ""
        return f"{sign}{number(self.mean)}{width}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe record; ends that do not exist are null."""
        return {
            name: finite(value) if isinstance(value, float) else value
            for name, value in vars(self).items()
        }


class Means:
    """The mean of a measure over trials after each recorded step, with Student's interval.

    Trials come in blocks that are not kept: count, mean and sum of squared deviations suffice. They
    are merged as Chan, Golub and LeVeque do, who subtract no large sums. Every array is (points,).

    Examples
    --------
    >>> import numpy as np
    >>> means = Means(np.array([10, 100]))
    >>> means.add(np.array([[1.0, 5.0], [2.0, np.nan]]))
    >>> means.add(np.array([[3.0, 7.0]]))
    >>> means.count.tolist(), means.mean.tolist(), means.standard_error.round(3).tolist()
    ([3, 2], [2.0, 6.0], [0.577, 1.0])
    >>> means[10].text()
    '2 ± 2.5'
    """

    def __init__(self, steps: IntArray) -> None:
        self.steps = steps
        self.count: IntArray = np.zeros(steps.size, dtype=np.intp)
        self._mean = np.zeros(steps.size)
        self._squares = np.zeros(steps.size)

    @classmethod
    def of(cls, steps: IntArray, values: FloatArray) -> "Means":
        """Return the means of one block, (trials, points)."""
        means = cls(steps)
        means.add(values)
        return means

    def add(self, values: FloatArray) -> None:
        """Take in trials, (n, points); nan is left out."""
        there = ~np.isnan(values)
        if values.size and there.all():  # the usual case, and the faster way
            count: IntArray = np.full(values.shape[1], values.shape[0])
            mean = values.mean(axis=0)
            deviations = values - mean
        else:
            count = there.sum(axis=0)
            mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
            deviations = np.where(there, values - mean, 0.0)
        squares = np.einsum("np,np->p", deviations, deviations)
        whole = np.maximum(self.count + count, 1)
        shift = mean - self._mean
        self._squares += squares + shift**2 * (self.count * (count / whole))
        self._mean += shift * (count / whole)
        self.count = self.count + count

    @property
    def mean(self) -> FloatArray:
        """The mean after each step; nan where nothing was seen."""
        return np.where(self.count > 0, self._mean, np.nan)

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of each mean; nan where fewer than two values were seen."""
        few = self.count < 2
        spread = self._squares / np.where(few, 1, self.count - 1)
        return np.where(few, np.nan, np.sqrt(spread / np.maximum(self.count, 1)))

    @property
    def low(self) -> FloatArray:
        """The lower end of each interval."""
        return self.mean - self._half

    @property
    def high(self) -> FloatArray:
        """The upper end of each interval."""
        return self.mean + self._half

    @property
    def _half(self) -> FloatArray:
        return student((self.count - 1).astype(np.float64)) * self.standard_error

    def __getitem__(self, step: int) -> Interval:
        place = int(np.searchsorted(self.steps, step))
        if place == self.steps.size or self.steps[place] != step:
            near = np.sort(self.steps[np.argsort(np.abs(self.steps - step), kind="stable")[:3]])
            raise InvalidValueError(
                f"Step {step} was not recorded; the nearest are {', '.join(map(str, near))}. To "
                "have it, name it in checkpoints."
            )
        columns = (self.mean, self.low, self.high, self.standard_error)
        mean, low, high, error = (float(column[place]) for column in columns)
        return Interval(mean, low, high, error, int(self.count[place]))


def student(degrees: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """Return what a standard error is multiplied by, for so many degrees of freedom; nan below 1.

    Not SciPy's `ttest_1samp`, which wants all values at once, and warns where they are equal.
    """
    # Each number once: the quantile costs more than all the rest.
    distinct, places = np.unique(degrees, return_inverse=True)
    safe = np.where(distinct > 0, distinct, 1.0)
    factors = np.where(distinct > 0, stats.t.ppf((1 + confidence) / 2, safe), np.nan)
    return np.asarray(factors[places])


def welch(first: Interval, second: Interval) -> Interval:
    """Return first minus second, means over independent trials, with Welch's interval.

    SciPy's `ttest_ind` has it for samples; its `ttest_ind_from_stats` gives no interval.

    Examples
    --------
    >>> welch(Interval.of(np.array([3.0, 5.0, 4.0])), Interval.of(np.array([1.0, 2.0]))).text()
    '2.5 ± 2.5'
    """
    errors = np.array([first.standard_error, second.standard_error])
    error = float(np.linalg.norm(errors))
    parts = errors**4 / np.maximum([first.count - 1, second.count - 1], 1)
    degrees = error**4 / parts.sum() if error > 0 else math.inf  # Welch and Satterthwaite
    mean, half = first.mean - second.mean, float(student(np.array([degrees]))[0]) * error
    return Interval(mean, mean - half, mean + half, error, first.count + second.count)


def share_interval(count: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return how often something happened, with its exact (Clopper and Pearson's) interval.

    Examples
    --------
    >>> share = share_interval(0, 10)
    >>> share.low, round(share.high, 3)
    (0.0, 0.308)
    """
    if trials == 0:
        return Interval(0.0, 0.0, 1.0)
    ends = stats.binomtest(count, trials).proportion_ci(confidence)
    return Interval(count / trials, float(ends.low), float(ends.high), count=trials)


def ratio_interval(
    top: FloatArray,
    bottom: FloatArray,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the ratio of two means over the same trials, with a bootstrap interval over trials.

    Beyond 95% the draws have no such percentiles: then it is Student's, with their deviation.

    Examples
    --------
    >>> import numpy as np
    >>> ratio_interval(np.array([2.0, 4.0]), np.array([1.0, 2.0])).text()
    '2 ± 0'
    """
    ratio = float(top.mean() / bottom.mean())
    if top.size < 2:
        return Interval(ratio, math.nan, math.nan, count=top.size)
    chosen = np.random.default_rng(seed).integers(top.size, size=(resamples, top.size))
    ratios = top[chosen].mean(axis=1) / bottom[chosen].mean(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    error = float(ratios.std(ddof=1))
    if confidence > CONFIDENCE:
        half = float(student(np.array([top.size - 1.0]), confidence)[0]) * error
        low, high = ratio - half, ratio + half
    return Interval(ratio, float(low), float(high), error, top.size)


def finite(value: float) -> float | None:
    """Return None for what JSON cannot say: nan and infinity."""
    return float(value) if math.isfinite(value) else None
