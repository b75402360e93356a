"""Actions proposed for one decision, and how promising each of them is."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sparsebandits.policies.design import Design
from sparsebandits.validation import FloatArray, IntArray


class Belief(Protocol):
    """N(theta, sigma^2 C) of some lanes, over the columns of a design."""

    theta: FloatArray
    """(lanes, size)."""
    variances: FloatArray
    """The diagonal of C, (lanes, size)."""

    def gains(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C x, (lanes, k, size), and x' C x, (lanes, k), for columns (lanes, k, size)."""

    def column(self, places: IntArray) -> FloatArray:
        """Return one column of C in each lane, (lanes, size)."""


class Candidates:
    """The proposals for the decisions of some lanes; arrays are (lanes, proposals, ...).

    Parameters
    ----------
    belief : Belief
    design : Design
    contexts : (lanes, z) array or None
    best : function
        From thetas, (n, dim), to the oracle's actions, (n, dim).
    bonus : function
        From x' C x, (lanes, k), to the deviations by which the index lies above the mean.
    """

    def __init__(
        self,
        belief: Belief,
        design: Design,
        contexts: FloatArray | None,
        best: Callable[[FloatArray], FloatArray],
        bonus: Callable[[FloatArray], FloatArray],
    ) -> None:
        self.belief, self.design, self.contexts = belief, design, contexts
        self._best, self._bonus = best, bonus
        self.rows = np.arange(len(belief.theta))
        empty = np.empty((len(belief.theta), 0))
        self.actions: FloatArray = np.empty((*empty.shape, design.dim))
        self.gains: FloatArray = np.empty((*empty.shape, design.size))
        self.widths: FloatArray = empty
        self.means: FloatArray = empty
        self.index: FloatArray = empty

    def propose(self, parameters: FloatArray) -> None:
        """Add the best actions for these parameters, (lanes, k, size)."""
        thetas = self.design.thetas(parameters, self.contexts)
        actions = self._best(thetas.reshape(-1, self.design.dim)).reshape(thetas.shape)
        columns = self.design.columns(actions, self.contexts)
        gains, widths = self.belief.gains(columns)
        means = np.matmul(columns, self.belief.theta[:, :, None])[:, :, 0]
        index = self._bonus(widths)
        index *= np.sqrt(widths)
        index += means
        if self.index.size:
            actions = np.concatenate([self.actions, actions], axis=1)
            gains = np.concatenate([self.gains, gains], axis=1)
            widths = np.concatenate([self.widths, widths], axis=1)
            means = np.concatenate([self.means, means], axis=1)
            index = np.concatenate([self.index, index], axis=1)
        self.actions, self.gains, self.widths = actions, gains, widths
        self.means, self.index = means, index

    def directed(self, reach: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return parameters optimistic about the most promising coordinate left out, (lanes, size).

        `reach` is how far the axes go down and up, each (dim,); what is left out is not used by the
        first proposal.
        """
        lower, upper = reach
        base, width = self.design.base, self.design.width
        theta = self.design.thetas(self.belief.theta, self.contexts)
        variances = self.belief.variances[:, base::width]
        spread = self._bonus(variances * np.maximum(-lower, upper) ** 2)
        spread *= np.sqrt(variances)
        above, below = upper * (theta + spread), -lower * (spread - theta)
        promise = np.maximum(above, below)
        promise[self.actions[:, 0] != 0] = -np.inf
        axis = promise.argmax(axis=1)
        places = (self.rows, axis)
        side = np.where(above[places] >= below[places], 1.0, -1.0)
        step = side * spread[places] / variances[places]
        column = self.belief.column(base + width * axis)
        return np.asarray(self.belief.theta + step[:, None] * column)

    def uphill(self) -> FloatArray:
        """Return theta' = theta_hat + beta C x / ||x||_C for every action so far.

        Its best action has no smaller theta_hat·x + beta ||x||_C: beta ||x||_C is the largest
        (theta - theta_hat)·x in the ellipsoid, and theta' is where it is taken.
        """
        lengths = np.sqrt(self.widths)
        # Where x is 0 so is C x, and a small length would overflow.
        scale = self._bonus(self.widths) / np.where(lengths > 0, lengths, np.inf)
        return np.asarray(self.belief.theta[:, None] + scale[:, :, None] * self.gains)


def climbed(
    candidates: Candidates, spreads: FloatArray, reach: tuple[FloatArray, FloatArray]
) -> Candidates:
    """Fill in the candidates of a decision.

    The best actions for the estimate and for it moved by each of `spreads`, (lanes, k, size); for
    the parameters most optimistic about a coordinate left out; and what the former climb to.
    """
    theta = candidates.belief.theta[:, None]
    parameters = np.empty((len(spreads), 1 + spreads.shape[1], spreads.shape[2]))
    parameters[:, :1] = theta
    np.add(theta, spreads, out=parameters[:, 1:])
    candidates.propose(parameters)
    directed = candidates.directed(reach)
    candidates.propose(np.concatenate([directed[:, None], candidates.uphill()], axis=1))
    return candidates
