r"""The Lagrange bound of a budget where some coordinates are on, some open, and the rest are off.

With a price :math:`\lambda` on the budget, an open coordinate is worth
:math:`(\theta_i - \lambda) u_i` if that is positive, and the best allowed choice of the open ones
is found by sorting. :math:`L(\lambda)`, the price of the whole budget and the worth of that choice,
is an upper bound; it is convex, and every choice is a line below it. The minimum is where the line
of a choice that spends too much meets that of one that does not.
"""

from bisect import bisect_left
from math import inf
from operator import neg
from typing import NamedTuple

from sparsebandits.action_sets.listed_rules import ListedRules

_PRICES = 40  # prices tried for one bound; about five suffice
_LOW = -4.0  # a price at which what spends more is mostly worth more; nothing is rounded by it
ROUNDING = 1e-12
"""Relative; values closer than this are equal."""


class SpendProblem(NamedTuple):
    """One theta and its budget, in units in which the total and the largest abs(theta) are 1.

    Parameters
    ----------
    worth, caps, doses : lists of float
        theta, the most that can be spent on each coordinate, and the least on one that is on.
    rules : ListedRules
    spend_all : bool
    """

    worth: list[float]
    caps: list[float]
    doses: list[float]
    rules: ListedRules
    spend_all: bool


class Line(NamedTuple):
    """A choice of open coordinates, and what it spends and earns with those that are on."""

    spend: float
    earn: float
    chosen: list[int]

    def at(self, price: float) -> float:
        """Return its worth and the price of the budget."""
        return price * (1.0 - self.spend) + self.earn


class Meeting(NamedTuple):
    """A price, and the lines of a choice that spends too much and of one that does not."""

    price: float
    dear: Line
    cheap: Line


class Relaxation:
    """The least L found, and what is chosen there.

    Parameters
    ----------
    problem : SpendProblem
    inside : list of int
        The coordinates that are on.
    free : list of int
        The open ones, in the order of theta.
    near : Meeting or None
        Where the minimum was with one decision less: it is likely to be near.
    floor : float
        It need not be found out how far below this the bound is.

    Attributes
    ----------
    bound : float
        Minus infinity where there is no spend at all.
    price : float
        Where it was found.
    dear, cheap : Line
        The lines that meet there.
    """

    def __init__(
        self,
        problem: SpendProblem,
        inside: list[int],
        free: list[int],
        near: Meeting | None = None,
        floor: float = -inf,
    ) -> None:
        self.problem, self.inside, self.free = problem, inside, free
        worth, caps, doses = problem.worth, problem.caps, problem.doses
        self._ends = [(worth[i], caps[i], doses[i]) for i in inside]
        self._worth, self._caps = [worth[i] for i in free], [caps[i] for i in free]
        rules = problem.rules
        self._opened = rules.touched(inside) if rules.blocks else set[int]()
        self._room, self._group_of = list[int](), list[int]()
        if rules.nested_of:
            self._room = rules.room(inside)
            self._group_of = [rules.nested_of.get(i, -1) for i in free]
        self._places = rules.at_most - len(self._opened if rules.blocks else inside)
        self.bound, self.price = inf, 0.0
        least = earn = 0.0
        for w, _, dose in self._ends:
            least += dose
            earn += w * dose
        # Least doses that are all of the budget may add up to a little more by rounding; then the
        # line of a choice that spends too much must still be another one.
        self.cheap = self.dear = Line(min(least, 1.0), earn, [])
        self._known: tuple[Line, ...] = (self.cheap,)
        if near is not None:
            self._begin_near(near)
            self._known = self.dear, self.cheap
        if least > 1.0 + ROUNDING or not self._minimise(floor):
            self.bound = -inf

    # ------------------------------------------------------------------ the price

    @property
    def found(self) -> list[Line]:
        """The lines that meet there, but for those of an earlier bound."""
        lines = [self.dear] if self.cheap is self.dear else [self.dear, self.cheap]
        return [line for line in lines if line not in self._known]

    @property
    def meeting(self) -> Meeting:
        """Where the minimum was found."""
        return Meeting(self.price, self.dear, self.cheap)

    def _begin_near(self, meeting: Meeting) -> None:
        """Take two choices as far as they are still open.

        Where what is left of them is against the rules, their lines may lie above L: the prices to
        try are then worse ones, and L is an upper bound at any price.
        """
        still_open = set(self.free)
        for line in (meeting.dear, meeting.cheap):
            kept = [i for i in line.chosen if i in still_open]
            near = self._line(meeting.price, kept[: self._places])
            if near.spend > 1.0:
                self.dear = near
            elif near.spend > self.cheap.spend:
                self.cheap = near

    def _minimise(self, floor: float) -> bool:
        """Find the price; return whether the budget can be spent as it must be."""
        if self.dear.spend <= 1.0:
            if self.problem.spend_all:
                self.dear = self._most()
                if self.dear.spend <= 1.0:  # just enough: the lower the price, the less L
                    most = self.dear
                    self._try(_LOW)
                    self.dear = most
                    return most.spend >= 1.0 - ROUNDING
            else:
                self._try(0.0)
                if self.dear.spend <= 1.0:
                    self.dear = self.cheap
                    return True
        trial = inf
        for _ in range(_PRICES):
            dear, cheap, last = self.dear, self.cheap, trial
            trial = (dear.earn - cheap.earn) / (dear.spend - cheap.spend)
            if trial < 0.0 and not self.problem.spend_all:
                trial = 0.0
            expected = dear.at(trial) + ROUNDING * abs(dear.earn)
            if trial == last or self._try(trial) <= expected or self.bound <= floor:
                break
        return True

    def _try(self, price: float) -> float:
        """Return L there, and keep its line."""
        line = self._choose(price)
        bound = line.at(price)
        if bound < self.bound:
            self.bound, self.price = bound, price
        if line.spend > 1.0:
            self.dear = line
        else:
            self.cheap = line
        return bound

    def _choose(self, price: float) -> Line:
        """Return the best choice at a price."""
        count = bisect_left(self._worth, -price, key=neg)  # these are worth more
        scores = [(w - price) * c for w, c in zip(self._worth[:count], self._caps, strict=False)]
        return self._line(price, [self.free[place] for place in self._select(scores)])

    def _line(self, price: float, chosen: list[int]) -> Line:
        """Return the line of some open coordinates, and of what is on at a price."""
        spend = earn = 0.0
        for w, most, least in self._ends:
            amount = most if w > price else least
            spend += amount
            earn += w * amount
        worth, caps = self.problem.worth, self.problem.caps
        for i in chosen:
            amount = caps[i]
            spend += amount
            earn += worth[i] * amount
        return Line(spend, earn, chosen)

    def _most(self) -> Line:
        """Return the line of the most that can be spent, which is L far below 0."""
        return self._line(-inf, [self.free[place] for place in self._select(self._caps)])

    # ------------------------------------------------------------------ the choice

    def _select(self, scores: list[float]) -> list[int]:
        """Return the open places whose positive scores add up to most, as far as scores are given.

        Groups that overlap, and `at_least`, are left out of account.
        """
        ranked = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        if self._room:
            ranked = self._best_of_groups(ranked)
        if self.problem.rules.blocks is None:
            return ranked[: self._places]
        blocks = self.problem.rules.blocks
        sums = self._block_sums(scores, ranked)
        closed = sorted(sums, key=sums.__getitem__, reverse=True)[: self._places]
        taken = self._opened.union(closed)
        return [place for place in ranked if blocks[self.free[place]] in taken]

    def _best_of_groups(self, ranked: list[int]) -> list[int]:
        """Leave of each nested group the first that it has room for."""
        left, kept, group_of = self._room.copy(), [], self._group_of
        for place in ranked:
            group = group_of[place]
            if group >= 0:
                if left[group] <= 0:
                    continue
                left[group] -= 1
            kept.append(place)
        return kept

    def _block_sums(self, scores: list[float], places: list[int]) -> dict[int, float]:
        """Return what the places of each block that is not open yet add up to."""
        blocks = self.problem.rules.blocks
        assert blocks is not None
        sums: dict[int, float] = {}
        for place in places:
            block = blocks[self.free[place]]
            if block not in self._opened:
                sums[block] = sums.get(block, 0.0) + scores[place]
        return sums

    # ------------------------------------------------------------------ what follows

    def other_choices(self) -> tuple[list[int], dict[int, float]]:
        """Return what is chosen, and what the other choice costs at least for each open one.

        That much `bound` falls, at its own price, if the other choice is forced.
        """
        price, doses = self.price, self.problem.doses
        scores = [
            (w - price) * (c if w > price else doses[i])
            for w, c, i in zip(self._worth, self._caps, self.free, strict=True)
        ]
        count = bisect_left(self._worth, -price, key=neg)
        chosen = self._select(scores[:count])
        selected = set(chosen)
        if self.problem.rules.blocks is not None:
            gains, losses = self._block_exchanges(scores, chosen, selected, count)
        elif self._room:
            gains, losses = self._group_exchanges(scores, chosen, selected)
        else:
            gains, losses = self._exchanges(scores, chosen, selected)
        for place in chosen:
            gains[place] = losses[place]
        return [self.free[place] for place in chosen], dict(zip(self.free, gains, strict=True))

    def _least(self, scores: list[float], chosen: list[int]) -> float:
        """Return the score of what has to go for one that comes in: of the last, if all is full."""
        return scores[chosen[-1]] if chosen and len(chosen) >= self._places else 0.0

    def _exchanges(
        self, scores: list[float], chosen: list[int], selected: set[int]
    ) -> tuple[list[float], list[float]]:
        """Return what it costs at least to have a place on that is not chosen, and one off that is.

        One that comes in takes the place of the least where all are taken. One that goes is
        replaced by the best that is left.
        """
        least = self._least(scores, chosen)
        left = [s for place, s in enumerate(scores) if place not in selected]
        following = max(0.0, max(left, default=0.0))
        return [least - s for s in scores], [s - following for s in scores]

    def _group_exchanges(
        self, scores: list[float], chosen: list[int], selected: set[int]
    ) -> tuple[list[float], list[float]]:
        """Return the same under groups.

        One that comes in takes the least of its group's place where that is full, else the least of
        all where all are taken. One that goes is replaced by the best that then fits.
        """
        least = self._least(scores, chosen)
        others = [place for place in range(len(scores)) if place not in selected]
        group_of, left, worst = self._group_of, self._room.copy(), {-1: least}
        for place in chosen:  # the best first
            group = group_of[place]
            if group >= 0:
                left[group] -= 1
                worst[group] = scores[place]
        for group in worst:
            if group >= 0 and left[group] > 0:
                worst[group] = least
        following, best = 0.0, dict[int, float]()
        for place in others:
            group = group_of[place]
            if group < 0 or left[group] > 0:
                following = max(following, scores[place])
            else:
                best[group] = max(best.get(group, 0.0), scores[place])
        gains = [worst.get(g, least) - s for s, g in zip(scores, group_of, strict=True)]
        losses = [
            s - max(following, best.get(g, 0.0)) for s, g in zip(scores, group_of, strict=True)
        ]
        return gains, losses

    def _block_exchanges(
        self, scores: list[float], chosen: list[int], selected: set[int], count: int
    ) -> tuple[list[float], list[float]]:
        """Return the same where blocks are counted: what is on may close or open one."""
        blocks = self.problem.rules.blocks
        assert blocks is not None
        ranked = sorted(range(count), key=scores.__getitem__, reverse=True)
        sums = self._block_sums(scores, self._best_of_groups(ranked) if self._room else ranked)
        taken = {blocks[self.free[place]] for place in chosen}
        closed = [value for block, value in sums.items() if block not in taken]
        open_sums = [value for block, value in sums.items() if block in taken]
        following = max([0.0, *closed])
        least = min(open_sums, default=0.0) if len(open_sums) >= self._places else 0.0
        gains, losses = [], []
        for place, score in enumerate(scores):
            block = blocks[self.free[place]]
            if block in taken or block in self._opened:
                gains.append(-score if score < 0.0 else 0.0)
            else:
                gains.append(least - sums.get(block, 0.0) - min(score, 0.0))
            loss = score
            if self._room:
                loss -= self._best_left_out(scores, selected, place)
            losses.append(
                loss if block in self._opened else min(loss, sums.get(block, 0.0) - following)
            )
        return gains, losses

    def _best_left_out(self, scores: list[float], selected: set[int], place: int) -> float:
        """Return the best score of a place's group that is not chosen, at least 0."""
        group = self._group_of[place]
        if group < 0:
            return 0.0
        rivals = (
            scores[other]
            for other, others_group in enumerate(self._group_of)
            if others_group == group and other not in selected
        )
        return max(0.0, max(rivals, default=0.0))
