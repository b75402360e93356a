r"""The best way to spend a budget on at most H coordinates: a search of its own.

:math:`\max \theta \cdot x` subject to :math:`0 \le x \le u`, :math:`\sum x \le C` and at most H
non-zeros. A price :math:`\lambda` on the budget leaves a problem that sorting solves, so

.. math:: L(\lambda) = \lambda C + \text{the sum of the H largest } (\theta_i - \lambda)^+ u_i

is an upper bound for every :math:`\lambda \ge 0`. It is convex and piecewise linear; where two
supports meet at its minimum, each of them, filled in the order of theta, is a good answer. Mostly
one of them attains the bound. Otherwise coordinates whose forced use (or absence) costs more than
the distance to the best answer are fixed, and the search branches on one of the rest.

The problem is NP-hard: a theta can be made up for which the tree is exponential. `NODE_LIMIT`
bounds it; beyond, the best found is given with the largest bound that is open. Searches of many
theta go side by side, and none depends on its neighbours.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sparsebandits.validation import BoolArray, FloatArray, IntArray

NODE_LIMIT = 20_000
"""Nodes per theta; a pool of them takes at most about 10 bytes per node and coordinate."""

_TOGETHER = 64  # nodes of one theta bounded at once, the most promising first
_PRICES = 40  # prices tried for one bound; about six suffice
_ROUNDING = 1e-12  # relative; values closer than this are equal
_FREE, _IN, _OUT = 0, 1, 2

StateArray = npt.NDArray[np.int8]


@dataclass(frozen=True)
class BestSpend:
    """What was found for n theta: the supports (n, d), the bounds (n,), and which are proven."""

    supports: BoolArray
    bounds: FloatArray
    proven: BoolArray


def best_spend(
    theta: FloatArray, upper: FloatArray, total: float, sparsity: int, *, seconds: float = np.inf
) -> BestSpend:
    """Find the support of the best H-sparse spend for every theta.

    Parameters
    ----------
    theta : (n, d)
    upper : (d,)
        0 for a coordinate that must not be used.
    total : float
    sparsity : int
    seconds : float
        After which the search stops, for all theta together.

    Examples
    --------
    >>> spend = best_spend(np.array([[3.0, 2.0, 1.9]]), np.array([0.1, 0.2, 1.0]), 1.0, 1)
    >>> spend.supports.tolist(), spend.proven.tolist()
    ([[False, False, True]], [True])
    """
    deadline = time.monotonic() + seconds
    caps = np.minimum(upper / total, 1.0)
    worth = np.where(caps > 0.0, np.clip(theta, 0.0, None), 0.0)
    unit = worth.max(axis=1, initial=0.0)
    search = _Search(worth / np.where(unit > 0.0, unit, 1.0)[:, None], caps, sparsity)
    search.step()
    while search.lane.size and time.monotonic() < deadline:
        search.step()
    open_bounds = search.values.copy()
    np.maximum.at(open_bounds, search.lane, search.bound)
    np.maximum.at(open_bounds, search.given_up, search.given_up_bound)
    proven = open_bounds <= search.values
    return BestSpend(search.supports, open_bounds * unit * total, proven)


class _Search:
    """Branch and bound in units in which the total and the largest theta are 1.

    Parameters
    ----------
    worth : (n, d)
        theta where it is positive, else 0.
    caps : (d,)
    """

    def __init__(self, worth: FloatArray, caps: FloatArray, sparsity: int) -> None:
        n, dim = worth.shape
        self.worth, self.caps, self.sparsity = worth, caps, sparsity
        self.values = np.zeros(n)
        self.supports = np.zeros((n, dim), dtype=np.bool_)
        self.visited = np.zeros(n, dtype=np.intp)
        self.given_up = np.zeros(0, dtype=np.intp)
        self.given_up_bound = np.zeros(0)
        self.lane: IntArray = np.arange(n)
        self.bound = np.full(n, np.inf)
        self.state: StateArray = np.where((worth > 0.0) & (caps > 0.0), _FREE, _OUT).astype(np.int8)

    def step(self) -> None:
        """Bound the most promising nodes of every theta; replace them by their children."""
        order = np.lexsort((-self.bound, self.lane))
        lane = self.lane[order]
        rank = np.arange(lane.size) - np.searchsorted(lane, lane)
        taken, waiting = order[rank < _TOGETHER], order[rank >= _TOGETHER]
        lane, state = self.lane[taken], self.state[taken]
        relaxed = _relax(self.worth[lane], self.caps, state, self.sparsity)
        for chosen in (relaxed.dear, relaxed.cheap):
            self._offer(lane, state, chosen)
        bound = np.minimum(self.bound[taken], relaxed.bound)
        state = self._fix(lane, state, relaxed)
        included, free = (state == _IN).sum(axis=1), (state == _FREE).sum(axis=1)
        alive = (bound > self.values[lane] * (1.0 + _ROUNDING)) & (included <= self.sparsity)
        single = alive & ((included == self.sparsity) | (included + free <= self.sparsity))
        self._offer(lane[single], state[single], self._only_support(state[single]))
        alive &= ~single
        lane, state, bound = lane[alive], state[alive], bound[alive]
        distance = np.abs(relaxed.score - relaxed.level[:, None])[alive]
        place = np.where(state == _FREE, distance, np.inf).argmin(axis=1)
        children = [state, state.copy()]
        for child, decision in zip(children, (_IN, _OUT), strict=True):
            child[np.arange(lane.size), place] = decision
        np.add.at(self.visited, self.lane[taken], 1)
        self.lane = np.concatenate([self.lane[waiting], lane, lane])
        self.bound = np.concatenate([self.bound[waiting], bound, bound])
        self.state = np.concatenate([self.state[waiting], *children])
        self._drop()

    def _drop(self) -> None:
        """Leave out the nodes that cannot be better, and those of a theta that took too many."""
        over = self.visited[self.lane] > NODE_LIMIT
        self.given_up = np.concatenate([self.given_up, self.lane[over]])
        self.given_up_bound = np.concatenate([self.given_up_bound, self.bound[over]])
        kept = ~over & (self.bound > self.values[self.lane] * (1.0 + _ROUNDING))
        self.lane, self.bound, self.state = self.lane[kept], self.bound[kept], self.state[kept]

    def _offer(self, lane: IntArray, state: StateArray, chosen: IntArray) -> None:
        """Fill the chosen coordinates, (nodes, H), in the order of theta; keep what is better."""
        rows = np.arange(lane.size)[:, None]
        worth = np.where(state[rows, chosen] == _OUT, 0.0, self.worth[lane[:, None], chosen])
        order = np.argsort(-worth, axis=1, kind="stable")
        worth, chosen = worth[rows, order], chosen[rows, order]
        caps = np.where(worth > 0.0, self.caps[chosen], 0.0)
        spent = np.clip(np.minimum(caps, 1.0 - (np.cumsum(caps, axis=1) - caps)), 0.0, None)
        values = (worth * spent).sum(axis=1)
        for row in np.flatnonzero(values > self.values[lane]).tolist():
            if values[row] > self.values[lane[row]]:
                self.values[lane[row]] = values[row]
                self.supports[lane[row]] = False
                self.supports[lane[row], chosen[row, spent[row] > 0.0]] = True

    def _only_support(self, state: StateArray) -> IntArray:
        """List the coordinates in use, (nodes, H), where no choice is left; others fill up."""
        preference = np.where(state == _IN, 0, np.where(state == _FREE, 1, 2))
        return np.argsort(preference, axis=1, kind="stable")[:, : self.sparsity]

    def _fix(self, lane: IntArray, state: StateArray, relaxed: "_Relaxation") -> StateArray:
        """Decide the free coordinates whose other choice brings the bound below the best value."""
        slack = (self.values[lane] * (1.0 - _ROUNDING) - relaxed.bound)[:, None]
        out = relaxed.score - relaxed.level[:, None] < slack
        inside = relaxed.following[:, None] - relaxed.score < slack
        free = state == _FREE
        return np.where(free & out, _OUT, np.where(free & inside, _IN, state)).astype(np.int8)


@dataclass(frozen=True)
class _Relaxation:
    """The least L(lambda) found for each node, and the scores (theta_i - lambda)^+ u_i there."""

    bound: FloatArray
    score: FloatArray
    level: FloatArray
    """The least score of a free coordinate among the chosen, (nodes,)."""
    following: FloatArray
    """The largest score of a free coordinate that was not chosen, (nodes,)."""
    dear: IntArray
    """The coordinates chosen at the lower price, (nodes, H): they would spend too much."""
    cheap: IntArray
    """Those chosen at the higher price: they leave something."""


def _relax(worth: FloatArray, caps: FloatArray, state: StateArray, sparsity: int) -> _Relaxation:
    """Minimise L by the lines of two supports, one that spends too much and one that does not."""
    nodes = worth.shape[0]
    price = np.zeros(nodes)
    score, bound, chosen, spend, earn = _priced(worth, caps, state, sparsity, price)
    dear, cheap = chosen, chosen.copy()
    lines = np.stack([spend, earn, np.zeros(nodes), np.zeros(nodes)])  # dear, then cheap
    open_nodes = np.flatnonzero(spend > 1.0)
    for _ in range(_PRICES):
        if not open_nodes.size:
            break
        high_spend, high_earn, low_spend, low_earn = lines[:, open_nodes]
        trial = (high_earn - low_earn) / (high_spend - low_spend)
        expected = trial * (1.0 - high_spend) + high_earn
        priced = _priced(worth[open_nodes], caps, state[open_nodes], sparsity, trial)
        better = priced[1] < bound[open_nodes]
        at = open_nodes[better]
        price[at], bound[at], score[at] = trial[better], priced[1][better], priced[0][better]
        over = priced[3] > 1.0
        dear[open_nodes[over]], cheap[open_nodes[~over]] = priced[2][over], priced[2][~over]
        lines[:2, open_nodes[over]] = priced[3][over], priced[4][over]
        lines[2:, open_nodes[~over]] = priced[3][~over], priced[4][~over]
        open_nodes = open_nodes[priced[1] > expected * (1.0 + _ROUNDING)]
    free = np.where(state == _FREE, score, -np.inf)
    places = sparsity - (state == _IN).sum(axis=1)
    ranked = np.sort(free, axis=1)[:, ::-1]
    rows = np.arange(nodes)
    return _Relaxation(
        bound=bound,
        score=score,
        level=ranked[rows, np.maximum(places - 1, 0)],
        following=np.maximum(ranked[rows, np.minimum(places, caps.size - 1)], 0.0),
        dear=dear,
        cheap=cheap,
    )


def _priced(
    worth: FloatArray, caps: FloatArray, state: StateArray, sparsity: int, price: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray]:
    """Give the scores, L, its support, what that spends, and what it earns before the price."""
    score = np.clip(worth - price[:, None], 0.0, None) * caps
    # What is in comes first, what is out last; scores are at most 1.
    keys = np.where(state == _IN, 2.0 + score, np.where(state == _OUT, -1.0, score))
    chosen = np.argpartition(keys, caps.size - sparsity, axis=1)[:, caps.size - sparsity :]
    rows = np.arange(worth.shape[0])[:, None]
    used = (state[rows, chosen] != _OUT) & (worth[rows, chosen] > price[:, None])
    spent = np.where(used, caps[chosen], 0.0)
    spend, earn = spent.sum(axis=1), (spent * worth[rows, chosen]).sum(axis=1)
    bound = price * (1.0 - spend) + earn
    return score, bound, chosen, spend, earn
