"""The best allowed support of a set on which sorting is exact: matroid greedy, or a small search.

With scores s and exponent q, h(S) = scale * ||s_S||_q grows with the sum of the weights s_i^q. To
take the best coordinate, or block, that still fits is best where groups and blocks are disjoint:
what may be on is then a matroid. Rules that overlap make it a search, each node of which leaves
those rules out and is done when its answer meets them all the same.
"""

import heapq
import itertools

import numpy as np

from sparsebandits.action_sets import Sorting
from sparsebandits.action_sets.choices import FREE, IN, OUT, Choice, StateArray
from sparsebandits.validation import BoolArray, FloatArray


def best_by_sorting(
    sorting: Sorting, theta: FloatArray, choice: Choice, usable: BoolArray
) -> BoolArray:
    """Return the best allowed support of every row, (n, dim): all False where there is none.

    Parameters
    ----------
    theta, usable : (n, dim)

    Examples
    --------
    >>> pick = Choice(3, 2, groups=[(np.array([0, 1]), 1)])
    >>> everything = np.ones((1, 3), dtype=bool)
    >>> best_by_sorting(Sorting(2.0), np.array([[3.0, -2.0, 1.0]]), pick, everything).tolist()
    [[True, False, True]]
    """
    scores = sorting.scores(theta)
    if np.isinf(sorting.exponent):
        return np.array(
            [_best_single(row, choice, can) for row, can in zip(scores, usable, strict=True)]
        ).reshape(theta.shape)
    largest = scores.max(axis=1, keepdims=True)
    weights = np.divide(scores, largest, out=np.zeros_like(scores), where=largest > 0)
    weights **= sorting.exponent
    state = choice.start(usable)
    choice.propagate(state)
    on = choice.select(weights, state) | (state == IN)
    for row in np.flatnonzero(~choice.allows(on)).tolist():
        on[row] = _search(weights[row], choice, usable[row])
    return np.asarray(on)


def _best_single(scores: FloatArray, choice: Choice, usable: BoolArray) -> BoolArray:
    """Return a support with the largest score that can be on at all: only that one counts."""
    for coordinate in np.argsort(-scores, kind="stable").tolist():
        alone = np.zeros(scores.size, dtype=np.bool_)
        alone[coordinate] = True
        support = choice.complete(alone, usable)
        if support is not None:
            return support
    return np.zeros(scores.size, dtype=np.bool_)


def _search(weights: FloatArray, choice: Choice, usable: BoolArray) -> BoolArray:
    """Find the support of the largest weight by branch and bound."""
    number = itertools.count()  # among equal bounds the first node counts
    best, found = -np.inf, np.zeros(weights.size, dtype=np.bool_)
    heap: list[tuple[float, int, StateArray]] = []

    def push(state: StateArray) -> None:
        if choice.propagate(state)[0] and usable[state[0] == IN].all():
            on = choice.select(weights[None], state)[0] | (state[0] == IN)
            if (bound := float(weights[on].sum())) > best:
                heapq.heappush(heap, (-bound, next(number), state))

    push(choice.start(usable[None]))
    while heap and -heap[0][0] > best:
        bound, _, state = heapq.heappop(heap)
        on = choice.select(weights[None], state)[0] | (state[0] == IN)
        answer = on if choice.allows(on[None])[0] else _extended(on, choice, usable, state)
        if answer is not None:
            best, found = -bound, answer
            continue
        # Of what the rules left out make impossible, the heaviest is decided.
        place = int(np.where(state[0] == FREE, np.where(on, 1.0 + weights, 0.0), -1.0).argmax())
        for decision in (IN, OUT):
            child = state.copy()
            child[0, place] = decision
            push(child)
    return found


def _extended(
    on: BoolArray, choice: Choice, usable: BoolArray, state: StateArray
) -> BoolArray | None:
    """Add coordinates that weigh nothing until enough are on; None if the rules forbid it."""
    for members, limit in choice.groups:
        if on[members].sum() > limit:
            return None
    return choice.complete(on, usable & (state[0] != OUT))
