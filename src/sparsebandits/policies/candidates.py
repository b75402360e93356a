"""Actions proposed for one decision, and how promising each of them is."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.design import Design
from sparsebandits.policies.recipe import Boldness
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_TINY = 1e-300

_TIE = 1e-9
"""The share of a draw that parts coordinates of which the same is known."""


class Belief(Protocol):
    """N(theta, sigma^2 C) of some lanes, over the columns of a design."""

    theta: FloatArray
    """(lanes, size)."""

    @property
    def variances(self) -> FloatArray:
        """The diagonal of C, (lanes, size)."""

    def gains(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C x, (lanes, k, size), and x' C x, (lanes, k), for columns (lanes, k, size)."""

    def widths(self, columns: FloatArray) -> FloatArray:
        """Return x' C x alone."""

    def column(self, places: IntArray) -> FloatArray:
        """Return one column of C in each lane, (lanes, size)."""

    def some(self, rows: IntArray) -> "Belief":
        """Return the belief of some of the lanes."""


Reach = tuple[FloatArray, FloatArray, FloatArray]
"""How far the axes go down and up, and the square of the longer way, each (dim,)."""


def reach_of(action_set: ActionSet) -> Reach:
    """Return how far the axes of a set go."""
    lower, upper = action_set.axis_reach()
    return lower, upper, np.maximum(-lower, upper) ** 2


class Axes(NamedTuple):
    """How uncertain each coordinate is, to say what it may earn alone; arrays are (lanes, dim)."""

    reach: Reach
    variances: FloatArray
    spread: FloatArray
    """How far the index lies above the mean."""

    @classmethod
    def of(cls, belief: Belief, design: Design, reach: Reach, bonus: Boldness) -> "Axes":
        """Return the axes of a set that reaches so far."""
        variances = belief.variances[:, design.base :: design.width]
        spread = bonus(variances * reach[2])
        spread *= np.sqrt(variances)
        return cls(reach, variances, spread)

    def ends(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the upper and the lower end of each may earn, by the index."""
        lower, upper, _ = self.reach
        return upper * (theta + self.spread), lower * (theta - self.spread)

    def promise(self, theta: FloatArray) -> FloatArray:
        """Return what the better of its two ends may earn."""
        return np.maximum(*self.ends(theta))


FACTORS = np.array([1.0, 1.3, 1.7, 2.2, 3.0, 4.0])
"""By how much what is doubtful is stressed, in search of an action that settles it."""


class Candidates:
    """The proposals for the decisions of some lanes; arrays are (lanes, proposals, ...).

    Parameters
    ----------
    belief : Belief
    design : Design
    contexts : (lanes, z) array or None
    best : function
        From thetas, (n, dim), to the oracle's actions, (n, dim).
    bonus : Boldness
    spreads : (lanes, k, size) array
        Draws from the belief, less its mean.
    climbs : int
        From how many of the first proposals one climbs.

    Attributes
    ----------
    theta : (lanes, size) array
        The estimate, moved by next to nothing of a draw. Between actions of which the same is known
        the rounding of a reward would choose otherwise, and a constant in every reward would change
        decisions.
    """

    def __init__(
        self,
        belief: Belief,
        design: Design,
        contexts: FloatArray | None,
        best: Callable[[FloatArray], FloatArray],
        bonus: Boldness,
        spreads: FloatArray,
        climbs: int,
    ) -> None:
        self.belief, self.design, self.contexts = belief, design, contexts
        self.spreads, self.climbs = spreads, climbs
        self.theta: FloatArray = belief.theta + _TIE * spreads[:, 0]
        self._best, self.bonus = best, bonus
        self.rows = np.arange(len(belief.theta))
        # Room for all proposals: for the estimate, each draw, an axis left out, each climb.
        room = len(belief.theta), spreads.shape[1] + 2 + climbs
        self._made = 0
        self.thetas, self.actions = np.empty((2, *room, design.dim))
        self.widths, self.means, self.index = np.empty((3, *room))
        self._home: BoolArray = np.empty((0, 1, design.dim), dtype=np.bool_)
        self._gains = self._slopes = self.index

    def _means(self, theta: FloatArray, actions: FloatArray, columns: FloatArray) -> FloatArray:
        """Return what actions, (lanes, k, dim), are expected to earn by theta, (lanes, size)."""
        means = np.matmul(columns, theta[:, :, None])[:, :, 0]
        if self.design.centre is not None:
            means = means + np.einsum("nkd,d->nk", actions, self.design.centre)
        return np.asarray(means)

    def propose(self, parameters: FloatArray) -> None:
        """Add the best actions for these parameters, (lanes, k, size)."""
        is_first, start = not self._made, self._made
        self._made += parameters.shape[1]
        part = np.s_[:, start : self._made]
        thetas = self.design.thetas(parameters, self.contexts)
        actions = self._best(thetas.reshape(-1, self.design.dim)).reshape(thetas.shape)
        columns, used = self.design.columns(actions, self.contexts), actions != 0
        if is_first:
            self._gains, widths = self.belief.gains(columns)
            self._home = used[:, :1]
        else:
            widths = self.belief.widths(columns)
        means = self._means(self.theta, actions, columns)
        away = (used > self._home).any(axis=2) if self.bonus.knows_home else None
        bonus = self.bonus(widths, away)
        roots = np.sqrt(widths)
        if is_first:
            # Where x is 0 so is C x, and a small length would overflow.
            self._slopes = np.divide(bonus, roots, out=np.zeros_like(roots), where=roots > 0)
        bonus *= roots
        np.add(bonus, means, out=self.index[part])
        self.thetas[part], self.actions[part] = thetas, actions
        self.widths[part], self.means[part] = widths, means

    def directed(self, axes: Axes) -> FloatArray:
        """Return parameters optimistic about the most promising coordinate left out, (lanes, size).

        What is left out is not used by the first proposal.
        """
        above, below = axes.ends(self.design.thetas(self.theta, self.contexts))
        promise = np.maximum(above, below)
        promise[self._home[:, 0]] = -np.inf
        axis = promise.argmax(axis=1)
        places = (self.rows, axis)
        side = np.where(above[places] >= below[places], 1.0, -1.0)
        step = side * axes.spread[places] / axes.variances[places]
        column = self.belief.column(self.design.base + self.design.width * axis)
        column = step[:, None] * column
        column += self.theta
        return np.asarray(column)

    def uphill(self, count: int) -> FloatArray:
        """Return theta' = theta_hat + beta C x / ||x||_C for the `count` best first proposals.

        Its best action has no smaller theta_hat·x + beta ||x||_C: beta ||x||_C is the largest
        (theta - theta_hat)·x in the ellipsoid, and theta' is where it is taken.
        """
        first = self.index[:, : self._slopes.shape[1]]
        best = self.rows[:, None], first.argpartition(-count, axis=1)[:, -count:]
        climb = self._slopes[best][:, :, None] * self._gains[best]
        climb += self.theta[:, None]
        return np.asarray(climb)

    def best(self) -> tuple[FloatArray, FloatArray]:
        """Return the action with the best index in each lane, and its x' C x."""
        winner = self.rows, self.index.argmax(axis=1)
        return self.actions[winner], self.widths[winner]

    def efficient(self, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same, or what settles at less cost whether the best is better than the known.

        The known one, at home, is the best for the estimate. Where the winner uses coordinates
        that it does not, actions are sought that stress these: the largest
        (x_f' C (x - x_home))^2 / (1 + x_f' C x_f), what a reward of x_f tells of the difference,
        over max(0, m_home - m_f) + sigma ||x_home||_C, what it costs; in lanes that seek them.
        """
        rows, first = self.rows, self.index.argmax(axis=1)
        actions, widths = self.actions[rows, first], self.widths[rows, first]
        seeks = self.bonus.seeks
        if seeks is None or not np.count_nonzero(seeks):
            return actions, widths
        outside = (actions != 0) > self._home[:, 0]
        lanes = (outside.any(axis=1) & seeks).nonzero()[0]
        if not lanes.size:
            return actions, widths
        # The whole arrays are faster than all of their rows.
        leaving: Any = slice(None) if lanes.size == rows.size else lanes
        contexts = None if self.contexts is None else self.contexts[leaving]
        belief = self.belief if lanes.size == rows.size else self.belief.some(lanes)
        winner, home = (lanes, first[leaving]), self.actions[:, 0]
        stress = np.where(outside[leaving][:, None], FACTORS[:, None], 1.0)
        thetas = self.thetas[winner][:, None] * stress
        tried = self._best(thetas.reshape(-1, self.design.dim)).reshape(thetas.shape)
        trial = self.design.columns(tried, contexts)
        gains, spans = belief.gains(trial)
        means = self._means(self.theta[leaving], tried, trial)
        columns = self.design.columns(actions[leaving], contexts)
        columns = columns - self.design.columns(home[leaving], contexts)
        told = np.matmul(gains, columns[:, :, None])[:, :, 0] ** 2 / (1 + spans)
        cost = np.maximum(self.means[leaving, :1] - means, 0.0)
        cost += (sigma[leaving] * np.sqrt(self.widths[leaving, 0]))[:, None]
        best = rows[: lanes.size], (told / np.maximum(cost, _TINY)).argmax(axis=1)
        actions[leaving], widths[leaving] = tried[best], spans[best]
        return actions, widths


def climbed(candidates: Candidates, axes: Axes) -> Candidates:
    """Fill in the candidates of a decision.

    The best actions for the estimate and for it moved by each draw; for the parameters most
    optimistic about a coordinate left out; and what the most promising of the former climb to.
    """
    theta, spreads = candidates.theta[:, None], candidates.spreads
    parameters = np.empty((len(spreads), 1 + spreads.shape[1], spreads.shape[2]))
    parameters[:, :1] = theta
    np.add(theta, spreads, out=parameters[:, 1:])
    candidates.propose(parameters)
    directed = candidates.directed(axes)[:, None]
    uphill = candidates.uphill(candidates.climbs)
    candidates.propose(np.concatenate([directed, uphill], axis=1))
    return candidates
