"""Rules as arrays, and the search for the best spend under them, against all supports."""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from sparsebandits.action_sets.choices import IN, Choice
from sparsebandits.action_sets.forms import Spending
from sparsebandits.action_sets.knapsack import best_spend
from sparsebandits.validation import BoolArray, FloatArray


def random_choice(rng: np.random.Generator, dim: int) -> Choice:
    """H alone, or rules of every kind."""
    blocks, groups, at_least = [], [], 0
    always: tuple[int, ...] = ()
    at_most = int(rng.integers(1, dim + 1))
    if dim > 2 and rng.random() < 0.6:
        if rng.random() < 0.4:
            blocks = [rng.permutation(dim)[: int(rng.integers(2, dim + 1))]]
        for _ in range(int(rng.integers(0, 3))):
            members = rng.permutation(dim)[: int(rng.integers(2, dim + 1))]
            groups.append((members, int(rng.integers(1, 3))))
        if rng.random() < 0.3:
            always = (int(rng.integers(dim)),)
        if rng.random() < 0.3:
            at_least = int(rng.integers(1, at_most + 1))
    return Choice(dim, at_most, at_least, blocks, groups, always)


def allowed(choice: Choice) -> BoolArray:
    """Every support that is allowed, (n, dim)."""
    masks = np.array(list(itertools.product([False, True], repeat=choice.dim)))
    return masks[choice.allows(masks)]


def slow_fill(
    theta: FloatArray, upper: FloatArray, doses: FloatArray, spending: Spending, on: Iterable[int]
) -> float:
    """Spend the doses, then the rest in the order of theta, coin by coin."""
    chosen = sorted(on, key=lambda i: -theta[i])
    left = spending.total - doses[chosen].sum()
    if left < -1e-12 or (spending.spend_all and upper[chosen].sum() < spending.total - 1e-12):
        return -np.inf
    value = float(doses[chosen] @ theta[chosen])
    for i in chosen:
        if theta[i] > 0 or spending.spend_all:
            spent = max(min(left, upper[i] - doses[i]), 0.0)
            left, value = left - spent, value + spent * theta[i]
    return value


@pytest.mark.parametrize("seed", range(10))
def test_the_best_spend_is_the_best_of_all_supports(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        dim = int(rng.integers(1, 7))
        choice = random_choice(rng, dim)
        upper = rng.uniform(0, 1, dim)
        if rng.random() < 0.3:
            upper = rng.integers(0, 4, dim) / 4
        doses = upper * rng.uniform(0, 1, dim) * (rng.random(dim) < 0.7)
        doses = upper if rng.random() < 0.2 else doses
        theta = rng.standard_normal((3, dim))
        theta = theta.round() if rng.random() < 0.3 else theta
        total = max(0.05, upper.sum() * rng.uniform(0.1, 1.0))
        spending = Spending(total, upper, doses, bool(rng.random() < 0.5))
        best = best_spend(theta, spending, choice)
        assert best.proven.all()
        # What can take nothing cannot be on, where that matters.
        supports = [s for s in allowed(choice) if choice.is_plain or (upper[s] > 0).all()]
        for row in range(3):
            values = [
                slow_fill(theta[row], upper, doses, spending, np.flatnonzero(s)) for s in supports
            ]
            expected = max(values, default=-np.inf)
            assert best.values[row] == pytest.approx(expected, abs=1e-9)
            if np.isfinite(expected):
                assert theta[row] @ best.spent[row] == pytest.approx(expected, abs=1e-9)
                strictly = (best.spent[row] > doses + 1e-9) & (best.spent[row] < upper - 1e-9)
                assert strictly.sum() <= 1  # at most one fractional coordinate


@pytest.mark.parametrize("seed", range(5))
def test_selecting_is_exact_where_the_rules_are_a_matroid_and_a_bound_elsewhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = set()
    for _ in range(40):
        dim = int(rng.integers(1, 7))
        choice = random_choice(rng, dim)
        supports = allowed(choice)
        if not len(supports):
            continue
        scores = rng.uniform(0, 1, (1, dim))
        state = choice.start(np.ones((1, dim), dtype=np.bool_))
        assert choice.propagate(state)[0]
        chosen = choice.select(scores, state) | (state == IN)
        best = max(float(scores[0, s].sum()) for s in supports)
        assert float(scores[chosen].sum()) >= best - 1e-12
        if choice.is_matroid:
            assert float(scores[chosen].sum()) == pytest.approx(best)
        assert chosen.sum() <= choice.width
        seen.add(choice.is_matroid)
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(5))
def test_a_support_is_completed_if_it_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        dim = int(rng.integers(2, 7))
        choice = random_choice(rng, dim)
        on, usable = rng.random(dim) < 0.3, rng.random(dim) < 0.9
        supports = [s for s in allowed(choice) if (s >= on).all() and (s <= usable).all()]
        found = choice.complete(on, usable)
        assert (found is not None) == bool(supports)
        if found is not None:
            assert any((found == s).all() for s in supports)
