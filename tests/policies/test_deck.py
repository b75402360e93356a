"""Which coordinates are dealt: none twice, none that is taken or not available, all alike."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.deck import SMALL, Deck
from tests.policies.cores import core_of, play, thompson

DIM = 150
LARGE = SMALL + 200


def deck(order: Any = None, seed: int = 0) -> Deck:
    return Deck(np.random.default_rng(seed), order)


@pytest.mark.parametrize("available", [None, range(1, LARGE, 2), [5, 7, 8, 30, 149]])
@pytest.mark.parametrize("dim", [DIM, LARGE])
@pytest.mark.parametrize("in_order", [False, True], ids=["random", "in order"])
def test_what_is_dealt_is_fresh_and_available(dim: int, available: Any, in_order: bool) -> None:
    whole = sb.LpBall(dim)
    listed = None if available is None else [i for i in available if i < dim]
    current = whole if listed is None else whole.restrict(listed)
    cards = deck(np.arange(dim)[::-1] if in_order else None)
    taken = set(range(0, dim, 7))
    rest = sorted(set(current.available_indices().tolist()) - taken)
    for count in (1, 4, 60):
        dealt = cards.deal(count, current, taken).tolist()
        assert len(dealt) == len(set(dealt)) == min(count, len(rest))
        assert set(dealt) <= set(rest)
    assert sorted(cards.deal(dim, current, taken).tolist()) == rest


def test_when_almost_all_are_taken_the_last_ones_are_found() -> None:
    left = {3, LARGE - 1}
    taken = set(range(LARGE)) - left
    assert set(deck().deal(4, sb.LpBall(LARGE), taken).tolist()) == left


@pytest.mark.parametrize("dim", [DIM, LARGE])
def test_all_are_dealt_alike(dim: int) -> None:
    """The mean of 3,000 is 6 of its own deviations off in one of 10^9 runs."""
    cards, X, taken = deck(), sb.LpBall(dim), set(range(dim // 2))
    dealt = np.concatenate([cards.deal(3, X, taken) for _ in range(1000)])
    first, last = dim // 2, dim - 1
    deviation = (last - first) / np.sqrt(12 * dealt.size)
    assert abs(dealt.mean() - (first + last) / 2) < 6 * deviation


@pytest.mark.parametrize("available", [None, [1, 7, 8, 30, 149], sb.AllBut(range(0, 150, 3))])
def test_what_is_believed_to_earn_most_is_looked_at_first(available: Any) -> None:
    rng = np.random.default_rng(0)
    X = sb.Box(-rng.uniform(0, 2, DIM), rng.uniform(0, 1, DIM))
    mean = rng.standard_normal(DIM).round(1)  # with ties: the lowest index first
    learner = thompson(X, prior_mean=mean).start(seed=0)
    play(learner, mean, 5)
    core, current = core_of(learner), X if available is None else X.restrict(available)
    worth = np.maximum(mean * X.lower, mean * X.upper)
    fresh = [i for i in np.flatnonzero(current.available) if i not in core.slots.ids]
    fresh.sort(key=lambda i: -worth[i])
    for count in (1, 4, DIM):
        assert core.deck.deal(count, current, set(core.slots.ids)).tolist() == fresh[:count]
