"""Mean and spread of many rows, block after block, without keeping them."""

import numpy as np
from scipy import stats

from sparsebandits.validation import FloatArray, IntArray

CONFIDENCE = 0.95


class Moments:
    """Count, mean and sum of squared deviations of each column; blocks are merged stably.

    The merge is the one of Chan, Golub and LeVeque: no large sums are subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments(2)
    >>> moments.add(np.array([[1.0, 5.0], [2.0, np.nan]]))
    >>> moments.add(np.array([[3.0, 7.0]]))
    >>> moments.count.tolist(), moments.mean.tolist(), moments.standard_error.round(3).tolist()
    ([3, 2], [2.0, 6.0], [0.577, 1.0])
    """

    def __init__(self, size: int) -> None:
        self.count: IntArray = np.zeros(size, dtype=np.intp)
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)

    def add(self, values: FloatArray, *, complete: bool = False) -> None:
        """Take in rows, (n, size); nan is left out, and `complete` promises that there is none."""
        if complete:
            count: IntArray = np.full(values.shape[1], values.shape[0])
            mean = values.mean(axis=0)
            deviations = values - mean
        else:
            there = ~np.isnan(values)
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
        """The mean of each column; nan where nothing was seen."""
        return np.where(self.count > 0, self._mean, np.nan)

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of each mean; nan where fewer than two values were seen."""
        few = self.count < 2
        spread = self._squares / np.where(few, 1, self.count - 1)
        return np.where(few, np.nan, np.sqrt(spread / np.maximum(self.count, 1)))

    @property
    def half_width(self) -> FloatArray:
        """Half of Student's 95% interval of each mean."""
        return student((self.count - 1).astype(np.float64)) * self.standard_error


def student(degrees: FloatArray) -> FloatArray:
    """Return the factor of a 95% interval with so many degrees of freedom; nan below 1."""
    # Each number once: the quantile costs more than all the rest.
    distinct, places = np.unique(degrees, return_inverse=True)
    safe = np.where(distinct > 0, distinct, 1.0)
    factors = np.where(distinct > 0, stats.t.ppf((1 + CONFIDENCE) / 2, safe), np.nan)
    return np.asarray(factors[places])
