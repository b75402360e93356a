r"""The best way to spend a budget on coordinates that rules allow: a search of its own.

:math:`\max \theta \cdot x` subject to :math:`\sum x \le C`, or :math:`= C`, where x_i lies in
:math:`[m_i, u_i]` if i is on and is 0 if not, and a `Choice` says which may be on together; the
plain case has m = 0 and at most H on. For given coordinates the best spend fills them in the order
of theta, so at most one lies strictly between its ends. A price :math:`\lambda` on the budget
leaves a problem that sorting solves, so

.. math:: L(\lambda) = \lambda C + \max_S \sum_{i \in S} f_i(\lambda), \quad
    f_i(\lambda) = \max((\theta_i - \lambda) u_i, (\theta_i - \lambda) m_i)

is an upper bound for every :math:`\lambda \ge 0`; for every :math:`\lambda` where all must be
spent. It is convex and piecewise linear; where two supports meet at its minimum, each of them,
filled in the order of theta, is a good answer. Mostly one of them attains the bound. Otherwise
coordinates whose forced use (or absence) costs more than the distance to the best answer are fixed,
and the search branches on one of the rest.

The problem is NP-hard: a theta can be made up for which the tree is exponential. `NODE_LIMIT`
bounds it; beyond, the best found is given with the largest bound that is open. Searches of many
theta go side by side, and none depends on its neighbours.
"""

import time
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets.choices import FREE, IN, OUT, Choice, StateArray
from sparsebandits.validation import BoolArray, FloatArray, IntArray

NODE_LIMIT = 20_000
"""Nodes per theta; a pool of them takes at most about 10 bytes per node and coordinate."""

_TOGETHER = 64  # nodes of one theta bounded at once, the most promising first
_PRICES = 40  # prices tried for one bound; about six suffice
_ROUNDING = 1e-12  # relative; values closer than this are equal


@dataclass(frozen=True)
class BestSpend:
    """What was found for n theta.

    Attributes
    ----------
    on : (n, d) bool array
        The support; nothing where no allowed spend was found.
    spent : (n, d)
        What is spent on it.
    values, bounds : (n,)
        Its worth, minus infinity where none was found; and an upper bound on any other's.
    proven : (n,) bool array
        Whether none is better; where none was found, whether there is none.
    """

    on: BoolArray
    spent: FloatArray
    values: FloatArray
    bounds: FloatArray
    proven: BoolArray


@dataclass(frozen=True, eq=False)
class Purse:
    """What may be spent: rows of upper bounds and least doses, (n, d), and the total.

    Parameters
    ----------
    total : float
    upper : (n, d)
        0 for a coordinate that must not be used.
    doses : (n, d), optional
        What is spent at least on a coordinate that is on.
    spend_all : bool
        Whether the total must be spent.
    """

    total: float
    upper: FloatArray
    doses: FloatArray | None = None
    spend_all: bool = False


def best_spend(
    theta: FloatArray, purse: Purse, choice: Choice, *, seconds: float = np.inf
) -> BestSpend:
    """Find the best allowed spend for every theta.

    Parameters
    ----------
    theta : (n, d)
    purse : Purse
    choice : Choice
    seconds : float
        After which the search stops, for all theta together.

    Examples
    --------
    >>> purse = Purse(1.0, np.array([[0.1, 0.2, 1.0]]))
    >>> spend = best_spend(np.array([[3.0, 2.0, 1.9]]), purse, Choice(3, 1))
    >>> spend.on.tolist(), spend.proven.tolist()
    ([[False, False, True]], [True])
    """
    deadline = time.monotonic() + seconds
    unit = np.where(purse.upper > 0.0, np.abs(theta), 0.0).max(axis=1, initial=0.0)
    scaled = theta / np.where(unit > 0.0, unit, 1.0)[:, None]
    search = _Search(scaled, _Units(purse), choice)
    search.step()
    while search.lane.size and time.monotonic() < deadline:
        search.step()
    bounds = search.values.copy()
    np.maximum.at(bounds, search.lane, search.bound)
    np.maximum.at(bounds, search.given_up, search.given_up_bound)
    proven = bounds <= search.values
    scale, spent = unit * purse.total, search.spent * purse.total
    with np.errstate(invalid="ignore"):  # 0 times infinity, where nothing was found
        values, bounds = (np.where(np.isinf(a), a, a * scale) for a in (search.values, bounds))
    return BestSpend(search.supports, spent, values, bounds, proven)


class _Units:
    """The purse in units in which the total is 1."""

    def __init__(self, purse: Purse) -> None:
        self.caps = np.minimum(purse.upper / purse.total, 1.0)
        self.spend_all = purse.spend_all
        self.doses: FloatArray | None = None
        if purse.doses is not None and purse.doses.any():
            doses = np.where(purse.upper > 0.0, purse.doses / purse.total, 0.0)
            self.caps = np.where(doses > 1.0 + _ROUNDING, 0.0, self.caps)
            self.doses = np.where(self.caps > 0.0, np.minimum(doses, self.caps), 0.0)
        self.usable: BoolArray = self.caps > 0.0


class _Search:
    """Branch and bound in units in which the total and the largest abs(theta) are 1."""

    def __init__(self, worth: FloatArray, units: _Units, choice: Choice) -> None:
        n, dim = worth.shape
        self.worth, self.units, self.choice = worth, units, choice
        self.order = np.argsort(-worth, axis=1, kind="stable")
        self.values = np.full(n, -np.inf)
        self.supports = np.zeros((n, dim), dtype=np.bool_)
        self.spent = np.zeros((n, dim))
        self.visited = np.zeros(n, dtype=np.intp)
        self.given_up = np.zeros(0, dtype=np.intp)
        self.given_up_bound = np.zeros(0)
        usable = units.usable
        if not (units.spend_all or choice.at_least):
            usable = usable & (worth > 0.0)  # the others are worth nothing at any price
        self.state = choice.start(usable)
        possible = choice.propagate(self.state)
        if len(choice.always):
            possible &= units.usable[:, list(choice.always)].all(axis=1)
        if not (units.spend_all or choice.at_least or choice.always):
            self.values[:] = 0.0  # spend nothing
        self.lane: IntArray = np.flatnonzero(possible)
        self.state, self.bound = self.state[possible], np.full(self.lane.size, np.inf)

    def _floor(self, lane: IntArray, rounding: float = _ROUNDING) -> FloatArray:
        """Return what a bound must exceed to be of interest, (nodes,)."""
        values = self.values[lane]
        slack = np.where(np.isfinite(values), rounding * np.abs(values), 0.0)
        return np.asarray(values + slack)

    def step(self) -> None:
        """Bound the most promising nodes of every theta; replace them by their children."""
        order = np.lexsort((-self.bound, self.lane))
        lane = self.lane[order]
        rank = np.arange(lane.size) - np.searchsorted(lane, lane)
        taken, waiting = order[rank < _TOGETHER], order[rank >= _TOGETHER]
        lane, state = self.lane[taken], self.state[taken]
        np.add.at(self.visited, lane, 1)
        relaxed = _Relaxation(self, lane, state)
        for chosen in (relaxed.dear, relaxed.cheap):
            self._offer(lane, chosen)
        bound = np.minimum(self.bound[taken], relaxed.bound)
        self._fix(lane, state, relaxed)
        alive = self.choice.propagate(state) & (bound > self._floor(lane))
        last = alive & self._is_last(lane, state)
        self._offer(lane[last], state[last] != OUT)
        alive &= ~last
        lane, state, bound = lane[alive], state[alive], bound[alive]
        place = relaxed.undecided(state, alive)
        children = [state, state.copy()]
        for child, decision in zip(children, (IN, OUT), strict=True):
            child[np.arange(lane.size), place] = decision
        self.lane = np.concatenate([self.lane[waiting], lane, lane])
        self.bound = np.concatenate([self.bound[waiting], bound, bound])
        self.state = np.concatenate([self.state[waiting], *children])
        self._drop()

    def _is_last(self, lane: IntArray, state: StateArray) -> BoolArray:
        """Return the nodes where no choice is left, or all that is open may as well be on."""
        free = state == FREE
        if self.units.doses is None:
            last = self.choice.allows(state != OUT)
        else:
            last = ~(free & (self.units.doses[lane] > 0.0)).any(axis=1)
            last &= self.choice.allows(state != OUT)
        return np.asarray(last | ~free.any(axis=1))

    def _drop(self) -> None:
        """Leave out the nodes that cannot be better, and those of a theta that took too many."""
        over = self.visited[self.lane] > NODE_LIMIT
        self.given_up = np.concatenate([self.given_up, self.lane[over]])
        self.given_up_bound = np.concatenate([self.given_up_bound, self.bound[over]])
        kept = ~over & (self.bound > self._floor(self.lane))
        self.lane, self.bound, self.state = self.lane[kept], self.bound[kept], self.state[kept]

    def _offer(self, lane: IntArray, on: BoolArray) -> None:
        """Fill the supports, (nodes, d), in the order of theta; keep what is allowed and better."""
        allowed = self.choice.is_plain or self.choice.allows(on)
        spent, values = self._fill(lane, on)
        better = np.flatnonzero(allowed & (values > self.values[lane]))
        for row in better.tolist():
            at = lane[row]
            if values[row] > self.values[at]:
                self.values[at], self.spent[at] = values[row], spent[row]
                self.supports[at] = spent[row] > 0.0 if self.choice.is_plain else on[row]

    def _fill(self, lane: IntArray, on: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the best spend with all of these on, and its worth; minus infinity if none is."""
        worth, order = self.worth[lane], self.order[lane]
        caps = np.where(on, self.units.caps[lane], 0.0)
        room, left = caps, np.ones((lane.size, 1))
        if self.units.doses is not None:
            least = np.where(on, self.units.doses[lane], 0.0)
            room, left = caps - least, 1.0 - least.sum(axis=1, keepdims=True)
        if not self.units.spend_all:
            room = np.where(worth > 0.0, room, 0.0)
        sorted_room = np.take_along_axis(room, order, axis=1)
        before = np.cumsum(sorted_room, axis=1) - sorted_room
        filled = np.clip(np.minimum(sorted_room, left - before), 0.0, None)
        spent = np.empty_like(filled)
        np.put_along_axis(spent, order, filled, axis=1)
        if self.units.doses is not None:
            spent += least
        values = (worth * spent).sum(axis=1)
        possible = left[:, 0] >= -_ROUNDING
        if self.units.spend_all:
            possible &= caps.sum(axis=1) >= 1.0 - _ROUNDING
        return spent, np.where(possible, values, -np.inf)

    def _fix(self, lane: IntArray, state: StateArray, relaxed: "_Relaxation") -> None:
        """Decide the free coordinates whose other choice brings the bound below the best value."""
        if not self.choice.is_plain:
            return
        possible = np.where(np.isneginf(relaxed.bound), np.inf, relaxed.bound)
        slack = (self._floor(lane, -_ROUNDING) - possible)[:, None]
        level, following = relaxed.thresholds(state)
        free = state == FREE
        state[free & (following[:, None] - relaxed.score < slack)] = IN
        state[free & (relaxed.score - level[:, None] < slack)] = OUT


class _Relaxation:
    """The least L(lambda) found for each node, and what is chosen there.

    Attributes
    ----------
    bound : (nodes,)
        Minus infinity where the node has no spend at all.
    score : (nodes, d)
        f(lambda) at the least bound.
    dear, cheap : (nodes, d) bool arrays
        What is chosen at the price below, which would spend too much, and at the price above.
    """

    def __init__(self, search: _Search, lane: IntArray, state: StateArray) -> None:
        # L is minimised by the lines of two supports: one spends too much, the other does not.
        self.choice, self.state = search.choice, state
        self.worth, self.caps = search.worth[lane], search.units.caps[lane]
        self.doses = None if search.units.doses is None else search.units.doses[lane]
        nodes = lane.size
        everyone = np.arange(nodes)
        included = state == IN
        self.score, self.bound, self.dear, spend, earn = self._priced(everyone, np.zeros(nodes))
        self.cheap = self.dear.copy()
        low_spend, low_earn = np.zeros(nodes), np.zeros(nodes)
        if self.doses is not None:
            least = np.where(included, self.doses, 0.0)
            low_spend, low_earn = least.sum(axis=1), (least * self.worth).sum(axis=1)
        if search.units.spend_all:
            # The most that can be spent: the line of L where lambda is far below 0.
            self.dear = self.choice.select(self.caps, state) | included
            most = np.where(self.dear, self.caps, 0.0)
            spend, earn = most.sum(axis=1), (most * self.worth).sum(axis=1)
            self.bound = np.where(spend < 1.0 - _ROUNDING, -np.inf, self.bound)
        self.bound = np.where(low_spend > 1.0 + _ROUNDING, -np.inf, self.bound)
        lines = np.stack([spend, earn, low_spend, low_earn])  # dear, then cheap
        self._minimise(np.flatnonzero((spend > 1.0) & (self.bound > -np.inf)), lines)

    def _minimise(self, open_nodes: IntArray, lines: FloatArray) -> None:
        for _ in range(_PRICES):
            if not open_nodes.size:
                return
            high_spend, high_earn, low_spend, low_earn = lines[:, open_nodes]
            trial = (high_earn - low_earn) / (high_spend - low_spend)
            expected = trial * (1.0 - high_spend) + high_earn
            score, bound, chosen, spend, earn = self._priced(open_nodes, trial)
            better = bound < self.bound[open_nodes]
            at = open_nodes[better]
            self.bound[at], self.score[at] = bound[better], score[better]
            over = spend > 1.0
            self.dear[open_nodes[over]], self.cheap[open_nodes[~over]] = chosen[over], chosen[~over]
            lines[:2, open_nodes[over]] = spend[over], earn[over]
            lines[2:, open_nodes[~over]] = spend[~over], earn[~over]
            open_nodes = open_nodes[bound > expected + _ROUNDING * np.abs(expected)]

    def _priced(
        self, nodes: IntArray, price: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, FloatArray, FloatArray]:
        """Give the scores, L, its support, what that spends, and what it earns before the price."""
        worth, caps, state = self.worth[nodes], self.caps[nodes], self.state[nodes]
        margin = worth - price[:, None]
        amounts = np.where(margin > 0.0, caps, 0.0 if self.doses is None else self.doses[nodes])
        score = margin * amounts
        chosen = self.choice.select(score, state) | (state == IN)
        amounts = np.where(chosen, amounts, 0.0)
        spend, earn = amounts.sum(axis=1), (amounts * worth).sum(axis=1)
        return score, price * (1.0 - spend) + earn, chosen, spend, earn

    def thresholds(self, state: StateArray) -> tuple[FloatArray, FloatArray]:
        """Return the least score of the open places that are taken, and the largest not taken."""
        ranked = -np.sort(np.where(state == FREE, -self.score, np.inf), axis=1)
        places = self.choice.at_most - (state == IN).sum(axis=1)
        rows, last = np.arange(state.shape[0]), ranked.shape[1] - 1
        level = ranked[rows, np.clip(places - 1, 0, last)]
        following = np.where(places > last, -np.inf, ranked[rows, np.minimum(places, last)])
        return np.maximum(level, 0.0), np.maximum(following, 0.0)

    def undecided(self, state: StateArray, nodes: BoolArray) -> IntArray:
        """Return the open coordinate to branch on, (nodes,): one in which the supports differ."""
        differs = (self.dear != self.cheap)[nodes]
        size = self.caps[nodes] * (1.0 + differs)
        return np.asarray(np.where(state == FREE, size, -1.0).argmax(axis=1))
