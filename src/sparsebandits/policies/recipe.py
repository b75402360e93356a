"""The constants of SparseThompson, and what they say of widths."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import FloatArray, IntArray

_TINY = 1e-300

_LESSON = 0.01
"""An action with t ||x||^2_{V^-1} below this teaches nothing next to an average reward."""


@dataclass(frozen=True)
class Recipe:
    """How much is believed, how many draws are made, how bold the index is, how long one holds.

    Parameters
    ----------
    ridge : float
        The prior of a coordinate counts as so many rewards of its longest action.
    samples : int
        Draws from the posterior per decision.
    scale : float
        Their spread, in posterior deviations.
    growth, share : float
        The index lies sqrt(growth log(e + share t ||x||^2_{V^-1})) deviations above the mean.
    hold : float
        A decision is held while it adds at most this share to what is known along it, and of t.
    """

    ridge: float = 0.1
    samples: int = 3
    scale: float = 1.0
    growth: float = 1.1
    share: float = 0.5
    hold: float = 0.003

    def bonus(self, widths: FloatArray, sigma: FloatArray, rewards: FloatArray) -> FloatArray:
        """How far the index lies above the mean, over ||x||_{V^-1}, for its squares, (lanes, k)."""
        bonus = (self.share * rewards)[:, None] * widths
        bonus += np.e
        np.log(bonus, out=bonus)
        bonus *= self.growth
        np.sqrt(bonus, out=bonus)
        bonus *= sigma[:, None]
        return bonus

    def steps(self, known: FloatArray, widths: FloatArray) -> IntArray:
        """For how many steps actions with x' V^-1 x = `widths` are played, at least 1."""
        held = np.minimum(self.hold / np.maximum(widths, _TINY), 1 + self.hold * known)
        held[known * widths < _LESSON] = 1
        return np.maximum(held, 1).astype(np.intp)
