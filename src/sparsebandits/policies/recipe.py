"""The constants of SparseThompson, and what they say of widths."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.validation import BoolArray, FloatArray, IntArray

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
    young_growth, young : float
        The growth before so many rewards are known.
    climbs : int
        From how many of the proposals one climbs.
    is_round : bool
        Whether to look for an action that tells the winner from the best known one at less cost.
    evidence : bool
        Whether the scale of the prior is learned from the rewards.
    hold : float
        A decision is held while it adds at most this share to what is known along it, and of t.
    half_life : float, optional
        After so many decisions a reward counts half.
    """

    ridge: float = 0.1
    samples: int = 3
    scale: float = 1.0
    growth: float = 1.1
    young_growth: float = 1.1
    young: float = 200.0
    climbs: int = 2
    is_round: bool = False
    evidence: bool = False
    share: float = 0.5
    hold: float = 0.003
    half_life: float | None = None

    @classmethod
    def on(cls, action_set: ActionSet, sparsity: int, half_life: float | None) -> "Recipe":
        """Return what was found best on sets of this kind; see `docs/regret.md`.

        Where responses have a single coordinate nothing is gained by more boldness, or by a prior
        that is learned; on round sets (strongly convex) not by the latter.
        """
        sorting = action_set.sorting
        if sparsity == 1 or (sorting is not None and np.isinf(sorting.exponent)):
            return cls(half_life=half_life)
        if action_set.is_strongly_convex:
            return cls(growth=1.4, young_growth=1.4, is_round=True, half_life=half_life)
        return cls(growth=1.4, evidence=True, half_life=half_life)

    def bonus(self, widths: FloatArray, sigma: FloatArray, rewards: FloatArray) -> FloatArray:
        """How far the index lies above the mean, over ||x||_{V^-1}, for its squares, (lanes, k)."""
        bonus = (self.share * rewards)[:, None] * widths
        bonus += np.e
        np.log(bonus, out=bonus)
        bonus *= np.where(rewards <= self.young, self.young_growth, self.growth)[:, None]
        np.sqrt(bonus, out=bonus)
        bonus *= sigma[:, None]
        return bonus

    def weights(self, ages: FloatArray) -> FloatArray:
        """How much rewards count whose decisions were made so many decisions ago."""
        if self.half_life is None:
            return np.ones_like(ages)
        return np.asarray(0.5 ** (ages / self.half_life))

    def is_aged(self, ages: IntArray) -> BoolArray:
        """Whether so many decisions since the last fading are worth another: about 1% of weight."""
        if self.half_life is None:
            return np.zeros(ages.shape, dtype=np.bool_)
        return np.asarray(ages >= max(1.0, self.half_life / 64))

    def steps(self, known: FloatArray, widths: FloatArray) -> IntArray:
        """For how many steps actions with x' V^-1 x = `widths` are played, at least 1."""
        held = np.minimum(self.hold / np.maximum(widths, _TINY), 1 + self.hold * known)
        held[known * widths < _LESSON] = 1
        return np.maximum(held, 1).astype(np.intp)
