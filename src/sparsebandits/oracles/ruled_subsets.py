r"""Best subset under rules: maximise :math:`\theta_S^\top A_S^{-1} \theta_S` over allowed S.

The branch and bound of `subset_search`, with the rules taken in: what a decision rules out is
decided with it, and the bound of a node (`perspective`) takes, for the sum of the largest scores,
the largest sum of scores that the rules allow. One node at a time, best bound first.
"""

import heapq
import itertools
import math
import time
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets.choices import FREE, IN, OUT, Choice, StateArray
from sparsebandits.oracles.perspective import condition, evaluate, starting_point, tighten
from sparsebandits.oracles.subset_search import rescale, subset_values
from sparsebandits.validation import BoolArray, FloatArray

_STEPS = 2
_TOLERANCE = 1e-9  # supports better by less than this factor need not be found


@dataclass(frozen=True)
class RuledSubset:
    """The best allowed support, (d,), its squared value, a bound on others, and whether proven."""

    on: BoolArray
    squared_value: float
    squared_bound: float
    proven: bool


def best_ruled_subset(
    matrix: FloatArray,
    theta: FloatArray,
    choice: Choice,
    usable: BoolArray,
    *,
    seconds: float = math.inf,
) -> RuledSubset:
    """Prove the best allowed support, or stop with the best found and an upper bound.

    Parameters
    ----------
    matrix : (d, d)
        A, symmetric positive definite.
    theta : (d,)
    choice : Choice
    usable : (d,) bool array
    seconds : float
        After which the search stops.

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> never = Choice(3, 2, groups=[(np.array([0, 2]), 1)])
    >>> everything = np.ones(3, dtype=bool)
    >>> best_ruled_subset(matrix, np.array([1.0, 0.8, 0.5]), never, everything).on.tolist()
    [True, True, False]
    """
    scaled, target, unit = rescale(matrix, theta)
    search = _Search(scaled, target, choice, usable)
    bound = search.run(time.monotonic() + seconds)
    value = search.value * unit
    return RuledSubset(search.on, value, max(value, bound * unit), bound <= search.value)


@dataclass(frozen=True)
class _Node:
    state: StateArray
    diagonal: FloatArray
    point: FloatArray


class _Search:
    """Branch and bound on a problem with unit diagonal."""

    def __init__(
        self, matrix: FloatArray, theta: FloatArray, choice: Choice, usable: BoolArray
    ) -> None:
        self.matrix, self.theta, self.choice, self.usable = matrix, theta, choice, usable
        self.value, self.on = -math.inf, np.zeros(theta.size, dtype=np.bool_)
        least = float(np.linalg.eigvalsh(matrix)[0])
        self.margin = 16.0 * theta.size**2 * np.finfo(np.float64).eps / least
        self.heap: list[tuple[float, int, _Node]] = []
        self.number = itertools.count()
        size = min(choice.width, theta.size)
        diagonal = np.full(theta.size, 0.7 * least)
        point = np.zeros(theta.size)
        if theta.any():
            diagonal, point = starting_point(matrix, theta, size, least)
        self._push(math.inf, _Node(choice.start(usable[None]), diagonal, point))

    def run(self, deadline: float) -> float:
        """Search; return the largest bound that is left open."""
        while self.heap and -self.heap[0][0] > self._cutoff():
            if time.monotonic() > deadline:
                return -self.heap[0][0]
            self._branch(heapq.heappop(self.heap)[2])
        return self.value

    def _cutoff(self) -> float:
        return self.value * (1.0 + _TOLERANCE - self.margin) if self.value > -math.inf else -1.0

    def _push(self, bound: float, node: _Node) -> None:
        """Decide what follows; offer what is left if nothing is open, else keep the node."""
        possible = self.choice.propagate(node.state)[0]
        if not possible or not self.usable[node.state[0] == IN].all():
            return
        everything = node.state[0] != OUT
        if self.choice.allows(everything[None])[0]:
            self._offer(everything)
        elif (node.state[0] == FREE).any() and bound > self._cutoff():
            heapq.heappush(self.heap, (-bound, next(self.number), node))

    def _offer(self, on: BoolArray) -> None:
        """Evaluate a support, completed if more must be on; keep it if it is better."""
        support: BoolArray | None = on
        if not self.choice.allows(on[None])[0]:
            support = self.choice.complete(on, self.usable)
        if support is None:
            return
        indices = np.flatnonzero(support)[None]
        value = 0.0
        if indices.size:
            value = float(subset_values(self.matrix, self.theta[indices], indices)[0])
        if value > self.value:
            self.value, self.on = value, support

    def _branch(self, node: _Node) -> None:
        """Bound a node by the rules' own sum of scores, and decide its largest score both ways."""
        state = node.state[0]
        free, included = np.flatnonzero(state == FREE), np.flatnonzero(state == IN)
        matrices, thetas, values = condition(self.matrix, self.theta, included[None], free[None])
        places = int(self.choice.select(np.ones((1, state.size)), node.state).sum())
        diagonal, point = node.diagonal[free][None], node.point[free][None]
        cutoff = np.array([self._cutoff()]) - values
        out = kept = np.zeros(free.size, dtype=np.bool_)
        if 0 < places < free.size:
            relaxed = tighten(matrices, thetas, diagonal, point, places, cutoff, _STEPS)
            diagonal, point = relaxed.diagonal, relaxed.point
            out, kept = relaxed.exclude[0], relaxed.include[0]
        else:
            point = np.asarray(np.linalg.solve(matrices, thetas[:, :, None])[:, :, 0], np.float64)
        products = (matrices @ point[:, :, None])[:, :, 0] - diagonal * point
        score = evaluate(matrices, thetas, diagonal, point, max(1, min(places, free.size)))[2]
        scores = np.zeros((1, state.size))
        scores[0, free] = score[0]
        chosen = self.choice.select(scores, node.state)[0]
        bound = float(values[0] + (point * products).sum() + scores[0, chosen].sum())
        self._offer(chosen | (state == IN))
        if bound <= self._cutoff():
            return
        decided = node.state.copy()
        decided[0, free[out]], decided[0, free[kept & ~out]] = OUT, IN
        full, start = node.diagonal.copy(), node.point.copy()
        full[free], start[free] = diagonal[0], point[0]
        still = np.where(decided[0] == FREE, scores[0], -1.0)
        if still.max() < 0.0:
            self._push(bound, _Node(decided, full, start))
            return
        for decision in (IN, OUT):
            child = decided.copy()
            child[0, int(still.argmax())] = decision
            self._push(bound, _Node(child, full, start))
