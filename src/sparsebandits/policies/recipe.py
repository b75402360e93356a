"""The constants of SparseThompson, and what they say of widths."""

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.estimation.ridge import FIRST_LAMBDA
from sparsebandits.policies.ridge_rule import relative_prior
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_TINY = 1e-300

Lanewise: TypeAlias = FloatArray | float
"""A number of each lane, or one of all."""

YOUNG = 100.0
"""A learner that knows fewer rewards is young, however few coordinates there are."""

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
    young_growth, home_growth : float
        The growth of the young, and after that of actions that use no coordinate that the best
        action for the estimate does not.
    apart, telling : float
        On round sets the growth of those that are not young rises with the `dispersion` of their
        coordinates, from that of the young, and is reached at `apart`: between equals nothing is
        found. An action that tells the winner from the best known one at less cost is looked for
        where it is at least `telling`.
    told_samples, told_hold, told_growth : int, float, float
        What takes the place of `samples`, `hold` and `growth` where T was told.
    told_young_growth, told_rise : float
        There the growth of the young for T = 2,000, and how much more it is for every factor of 10,
        from `young_growth` up to 1.4: the longer one plays, the more an unlucky start costs.
    patience : float
        t counts as t (1000 / t)^patience; on round sets only for the mature.
    mature : float
        At how many rewards a learner is no longer young. Until then its noise level is the one that
        goes with the prior, where that is learned.
    climbs : int
        From how many of the proposals one climbs.
    is_round : bool
        Whether the set is strongly convex.
    evidence : bool
        Whether the scale of the prior is learned from the rewards.
    hold : float
        A decision is held while it adds at most this share to what is known along it, and of t.
    half_life : float, optional
        After so many decisions a reward counts half.
    horizon : int, optional
        T, where it was told: then the steps that are left count in the index, not those made.
    prior_scale : (dim,) array, optional
        The deviation of theta_i before any reward, where it was told.
    """

    ridge: float = 0.1
    samples: int = 3
    scale: float = 1.0
    growth: float = 1.1
    young_growth: float = 1.1
    home_growth: float | None = None
    apart: float = 0.1
    telling: float = 0.03
    told_samples: int = 3
    told_hold: float = 0.02
    told_growth: float = 1.1
    told_young_growth: float = 1.1
    told_rise: float = 0.0
    patience: float = 0.0
    mature: float = YOUNG
    climbs: int = 2
    is_round: bool = False
    evidence: bool = False
    share: float = 0.5
    hold: float = 0.02
    half_life: float | None = None
    horizon: int | None = None
    prior_scale: FloatArray | None = None

    @classmethod
    def on(cls, action_set: ActionSet, sparsity: int) -> "Recipe":
        """Return what was found best on sets of this kind; see `docs/regret.md`.

        Where responses have a single coordinate nothing is gained by more boldness, or by a prior
        that is learned; on round sets (strongly convex) not by the latter. On flat ones the young
        are less bold the more coordinates there are: they have tried each but a few times.
        """
        sorting = action_set.sorting
        if sparsity == 1 or (sorting is not None and np.isinf(sorting.exponent)):
            return cls()
        if action_set.is_strongly_convex:
            mature = max(YOUNG, action_set.dim**2 / 4)
            return cls(
                growth=1.6,
                home_growth=1.1,
                told_growth=1.4,
                patience=0.35,
                mature=mature,
                is_round=True,
            )
        return cls(
            growth=1.8,
            young_growth=0.8 * min(1.0, max(0.5, math.sqrt(20 / action_set.dim))),
            told_samples=6,
            told_hold=0.005,
            told_young_growth=1.0,
            told_rise=0.4,
            patience=0.35,
            mature=max(YOUNG, 4 * action_set.dim),
            evidence=True,
        )

    @classmethod
    def among_many(cls, action_set: ActionSet, sparsity: int) -> "Recipe":
        """Return what was found best where not all coordinates are looked at; see `scale.py`.

        The firmer the prior, the sooner a fresh coordinate is given up: on flat sets that pays.
        """
        return cls(ridge=0.6 if cls.on(action_set, sparsity).evidence else 0.3)

    def told(self, horizon: int | None) -> "Recipe":
        """Return what is done by who was told T, or was not."""
        if horizon is None:
            return self
        bold = self.told_young_growth + self.told_rise * math.log10(horizon / 2000.0)
        return replace(
            self,
            horizon=horizon,
            samples=self.told_samples,
            hold=self.told_hold,
            growth=self.told_growth,
            young_growth=max(self.young_growth, min(bold, 1.4)),
            home_growth=None,
        )

    def asks_dispersion(self, rewards: FloatArray) -> bool:
        """Whether what one of such lanes does depends on how much coordinates differ."""
        return self.is_round and bool((rewards >= self.mature).any())

    def boldness(
        self, sigma: FloatArray, rewards: FloatArray, dispersion: FloatArray | None = None
    ) -> "Boldness":
        """Return how far the index lies above the mean in lanes that know so many rewards.

        `dispersion` is that of their coordinates, where it is asked for.
        """
        young = rewards < self.mature
        count, squares, home = int(np.count_nonzero(young)), sigma * sigma, None
        seeks: BoolArray | None = None
        grown: Lanewise = self.growth
        if dispersion is not None:
            seeks = ~young & (dispersion >= self.telling)
            apart = np.minimum(dispersion * (1 / self.apart), 1.0)
            grown = self.young_growth + (grown - self.young_growth) * apart
        if self.horizon is not None:
            steps = np.maximum(self.horizon - rewards, 1.0)
        else:
            steps = rewards + 1.0
            if self.patience and not (self.is_round and count == young.size):
                fewer = steps * (1000.0 / steps) ** self.patience
                steps = np.where(young, steps, fewer) if self.is_round else fewer
        growth = _of_young(young, count, self.young_growth, grown)
        if self.home_growth is not None and count < young.size:
            home = _of_young(young, count, self.young_growth, self.home_growth)
        return Boldness(
            (self.share * steps)[:, None],
            (growth * squares)[:, None],
            None if home is None else (home * squares)[:, None],
            seeks,
        )

    def weights(self, ages: FloatArray | float) -> FloatArray:
        """How much rewards count whose decisions were made so many decisions ago."""
        if self.half_life is None:
            return np.ones_like(ages)
        return np.asarray(0.5 ** (ages / self.half_life))

    def is_aged(self, ages: IntArray | int) -> BoolArray:
        """Whether so many decisions since the last fading are worth another: about 1% of weight."""
        if self.half_life is None:
            return np.zeros(np.shape(ages), dtype=np.bool_)
        return np.asarray(ages >= max(1.0, self.half_life / 64))

    def unit(self, action_set: ActionSet, ids: IntArray | None = None) -> FloatArray:
        """Return the precisions of coordinates of which the prior is a multiple, (dim,) or (k,).

        Those of a prior that was told, which is sigma^2 times these; or those of `relative_prior`.
        """
        if self.prior_scale is not None:
            told = self.prior_scale if ids is None else self.prior_scale[ids]
            return np.asarray(told**-2.0)
        if ids is None:
            return relative_prior(action_set, 1.0)
        # Each on its own, available or not: it must not depend on who is asked about beside it.
        lower, upper = action_set.whole.section(ids).axis_reach()
        squares = np.maximum(-lower, upper) ** 2
        return np.asarray(np.where(squares > 0, squares, 1.0))

    def first_scale(self, action_set: ActionSet, sigma: float | str) -> float:
        """Return the multiple of it before any reward."""
        ridge = FIRST_LAMBDA if self.evidence else self.ridge
        if self.prior_scale is None:
            return ridge
        if not isinstance(sigma, str) and sigma > 0:
            return sigma**2
        ids = np.flatnonzero(action_set.available)[:100]
        reach = relative_prior(action_set.section(ids), ridge)
        return float(reach.mean() / self.unit(action_set, ids).mean())

    @property
    def expiry(self) -> str | None:
        """What a certificate warns of where rewards fade."""
        if self.half_life is None:
            return None
        return (
            f"Rewards fade with a half-life of {self.half_life:g} decisions: this is said of now, "
            "and expires as theta* may change."
        )

    def steps(self, known: FloatArray, widths: FloatArray) -> IntArray:
        """For how many steps actions with x' V^-1 x = `widths` are played, at least 1."""
        held = np.minimum(self.hold / np.maximum(widths, _TINY), 1 + self.hold * known)
        held[known * widths < _LESSON] = 1
        return np.maximum(held, 1).astype(np.intp)


def _of_young(young: BoolArray, count: int, theirs: Lanewise, others: Lanewise) -> Lanewise:
    """Return what is `theirs` where lanes are young, as `count` are, and what is the `others'`."""
    if count in (0, young.size):
        return theirs if count else others
    return np.where(young, theirs, others)


def dispersion(earnings: FloatArray, doubts: FloatArray, count: int) -> FloatArray:
    """Return how much coordinates differ in what each earns alone, (lanes,), from 0 to below 1.

    That is the variance of |theta_hat_i| reach_i, `earnings`, (lanes, k), of which `count` may be
    other than 0, beyond what their own uncertainty makes of it, relative to their mean square: 0
    where all are alike, 1/4 where theta is uniform on an interval around 0. `doubts`, (lanes,), are
    the sums of their variances.
    """
    squares = np.einsum("nk,nk->n", earnings, earnings)
    sums = np.einsum("nk->n", earnings)
    alike = sums * sums / count + doubts
    return np.asarray(1.0 - alike / np.maximum(np.maximum(squares, alike), _TINY))


class Boldness:
    """sigma sqrt(growth log(e + share t ||x||^2)): what the index adds to the mean, over ||x||.

    Attributes
    ----------
    seeks : (lanes,) bool array, optional
        Where an action is sought that tells the winner from the best known one at less cost.
    """

    def __init__(
        self,
        steps: FloatArray,
        factor: FloatArray,
        home: FloatArray | None,
        seeks: BoolArray | None = None,
    ) -> None:
        self._steps, self._factor, self._home, self.seeks = steps, factor, home, seeks

    def __call__(self, widths: FloatArray, away: BoolArray | None = None) -> FloatArray:
        """Return it for ||x||^2 = `widths`, (lanes, k), of actions that are away from home or not.

        Those that are not said to be at home are away.
        """
        bonus = self._steps * widths
        bonus += np.e
        np.log(bonus, out=bonus)
        if self._home is None or away is None:
            bonus *= self._factor
        else:
            bonus *= np.where(away, self._factor, self._home)
        return np.sqrt(bonus, out=bonus)

    @property
    def knows_home(self) -> bool:
        """Whether it matters where an action is."""
        return self._home is not None
