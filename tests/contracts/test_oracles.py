"""What oracles promise beyond the contract that ships with the package."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory
from tests.reference.slow import brute_force_runner_up


def instance(factory: Factory, seed: int, dim: int) -> tuple[sb.ActionSet, Any, int]:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    theta = rng.uniform(-1, 1, dim) * rng.choice([0.0, 1.0, 1.0, 1.0], dim)
    if rng.uniform() < 0.3:
        mask = rng.uniform(size=dim) < 0.7
        mask[0] = True
        X = X.restrict(mask)
    return X, theta, int(rng.integers(1, dim + 1))


@pytest.mark.parametrize("kind", ["ellipsoid-0", "budget-0", "polytope-0", "finite-set-0"])
@given(seed=st.integers(0, 2**32 - 1), dim=st.integers(2, 6))
@settings(max_examples=15, deadline=None)
def test_exact_gap_is_the_distance_to_the_runner_up(kind: str, seed: int, dim: int) -> None:
    X, theta, sparsity = instance(FACTORIES[CASE_IDS.index(kind)], seed, dim)
    if sparsity >= X.available.sum() or not theta[X.available].any():
        return
    found = sb.sparse_argmax(X, theta, sparsity, "exact", runner_up=True)
    if not found.support:
        return
    # The theorem of the gap: no support that lacks a member of the best one does better.
    if len(found.support) == sparsity:
        runner = brute_force_runner_up(X, theta, sparsity, found.support)
        assert found.gap == pytest.approx(found.value - runner, abs=1e-7)


@pytest.mark.parametrize("kind", ["ellipsoid-0", "budget-0", "polytope-0", "finite-set-0"])
def test_sorting_is_refused_where_it_is_not_exact(kind: str) -> None:
    X = FACTORIES[CASE_IDS.index(kind)](np.random.default_rng(0), 4)
    with pytest.raises(sb.CompositionError, match="greedy"):
        sb.sparse_argmax(X, np.ones(4), 2, "top-h")


@pytest.mark.parametrize("kind", ["lp-ball-1", "ellipsoid-1", "box-1"])
def test_auto_sorts_where_that_is_exact(kind: str) -> None:
    X = FACTORIES[CASE_IDS.index(kind)](np.random.default_rng(0), 4)
    assert sb.sparse_argmax(X, np.ones(4), 2).method == "top-h"


def test_misuse_is_refused() -> None:
    X = sb.LpBall(3)
    good = np.ones(3)
    wrong: list[Any] = [0, 4, -1, 1.5, True, "2", None]
    for sparsity in wrong:
        with pytest.raises(sb.SparseBanditsError, match="sparsity"):
            sb.sparse_argmax(X, good, sparsity)
    for theta in ([1, 2], [np.nan, 1, 1], [[1, 2, 3]], "abc"):
        with pytest.raises(sb.SparseBanditsError, match="theta"):
            sb.sparse_argmax(X, theta, 1)
    bad: Any = "fastest"
    with pytest.raises(ValueError, match="'auto', 'top-h', 'greedy', 'swap', 'exact'"):
        sb.sparse_argmax(X, good, 1, bad)
    with pytest.raises(ValueError, match="time_limit"):
        sb.sparse_argmax(X, good, 1, "exact", time_limit=0)
    nothing: Any = "ball"
    with pytest.raises(TypeError, match="action_set"):
        sb.sparse_argmax(nothing, good, 1)
