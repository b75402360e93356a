"""Branch and bound for one theta on a budget: the most promising node first.

At each node the Lagrange bound (`spend_relaxation`) gives two choices, each of which, filled in the
order of theta, is an answer. Coordinates whose forced use (or absence) costs more than the distance
between bound and best answer are fixed; one of the rest is branched on.
"""

import heapq
import itertools
import time
from math import inf
from typing import NamedTuple

from sparsebandits.action_sets.spend_relaxation import (
    ROUNDING,
    Line,
    Meeting,
    Relaxation,
    SpendProblem,
)


class _Node(NamedTuple):
    """What is on, and what is open, in the order of theta; and where its parent's bound was."""

    inside: list[int]
    free: list[int]
    near: Meeting | None = None


class SpendSearch:
    """The search for one theta.

    Parameters
    ----------
    problem : SpendProblem
    order : list of int
        The coordinates that may be on, the largest theta first.
    node_limit : int
    deadline : float
        By `time.monotonic`; the first node is looked at in any case.

    Attributes
    ----------
    value : float
        Of the best answer found; minus infinity if none was.
    on : list of int
        Its support, the largest theta first.
    bound : float
        No answer is better than this: `value`, if that is proven.
    """

    def __init__(
        self, problem: SpendProblem, order: list[int], node_limit: int, deadline: float
    ) -> None:
        self.problem = problem
        self.value, self.on = -inf, list[int]()
        rules = problem.rules
        if not (problem.spend_all or rules.at_least or rules.always):
            self.value = 0.0  # spend nothing
        self._floor = self.value  # what a bound must exceed to be of interest
        self._rank = {i: place for place, i in enumerate(order)}
        self._heap: list[tuple[float, int, _Node]] = []
        self._made, self._visited = itertools.count(0, -1), 0
        always = [i for i in rules.always if i in self._rank]
        if len(always) == len(rules.always):
            inside = set(always)
            self._push(inf, always, [i for i in order if i not in inside] if inside else order)
        self._run(node_limit, deadline)
        self.bound = max(self.value, -self._heap[0][0] if self._heap else -inf)

    def _run(self, node_limit: int, deadline: float) -> None:
        while self._heap:
            if -self._heap[0][0] <= self._floor:
                self._heap.clear()
                return
            late = self._visited and time.monotonic() >= deadline
            if late or self._visited >= node_limit:
                return
            self._visited += 1
            bound, _, node = heapq.heappop(self._heap)
            self._look_at(node, -bound)

    def _push(
        self, bound: float, inside: list[int], free: list[int], near: Meeting | None = None
    ) -> None:
        if bound <= self._floor:
            return
        left = self.problem.rules.still_open(inside, free)
        if left is not None:
            node = _Node(inside, left, near)
            # Of equals the one made last: where much is equal, depth finds an answer.
            heapq.heappush(self._heap, (-bound, next(self._made), node))

    def _look_at(self, node: _Node, bound: float) -> None:
        """Bound a node, and replace it by its children unless that settles it."""
        relaxed = Relaxation(self.problem, node.inside, node.free, node.near, self._floor)
        bound = min(bound, relaxed.bound)
        if bound == -inf:
            return
        for line in relaxed.found:
            self._offer(node, line)
        if bound <= self._floor:
            return
        chosen, costs = relaxed.other_choices()
        gap = inf  # what costs more is decided
        if self.value > -inf:
            gap = relaxed.bound - (self.value - ROUNDING * abs(self.value))
        inside = node.inside + [i for i in chosen if costs[i] > gap]
        free = [i for i, cost in costs.items() if cost <= gap]
        left = self.problem.rules.still_open(inside, free)
        if left is None:
            return
        if self._is_last(inside, left):
            self._fill(inside + left)
            return
        branch = max(left, key=self.problem.caps.__getitem__)  # on it most depends
        rest = [i for i in left if i != branch]
        near, other = relaxed.meeting, min(bound, relaxed.bound - costs[branch])
        without, within = (other, bound) if branch in chosen else (bound, other)
        self._push(without, inside, rest, near)
        self._push(within, [*inside, branch], rest, near)

    def _is_last(self, inside: list[int], free: list[int]) -> bool:
        """Whether no choice is left, or all that is open may as well be on."""
        if not free:
            return True
        doses = self.problem.doses
        return not any(doses[i] for i in free) and self.problem.rules.allow(inside + free)

    # ------------------------------------------------------------------ answers

    def _offer(self, node: _Node, line: Line) -> None:
        """Fill a choice, or what of it is allowed; H is never exceeded by one."""
        rules, on = self.problem.rules, node.inside + line.chosen
        if not rules.is_plain and not rules.allow(on):
            on = node.inside + rules.those_that_fit(node.inside, line.chosen + node.free)
            if not rules.allow(on):
                return
        self._fill(on)

    def _fill(self, on: list[int]) -> None:
        """Spend on all of these, which the rules allow, in the order of theta; keep the better."""
        problem = self.problem
        worth, caps, doses = problem.worth, problem.caps, problem.doses
        on = sorted(on, key=self._rank.__getitem__)
        left = 1.0 - sum([doses[i] for i in on])
        if left < -ROUNDING:
            return
        if problem.spend_all and sum([caps[i] for i in on]) < 1.0 - ROUNDING:
            return
        value = 0.0
        for i in on:
            w, least = worth[i], doses[i]
            more = min(caps[i] - least, left) if w > 0.0 or problem.spend_all else 0.0
            if more > 0.0:
                left -= more
                least += more
            value += w * least
        if value > self.value:
            self.value, self.on = value, on
            self._floor = value + ROUNDING * abs(value)
