"""What every oracle promises on every registered action set."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.oracles import ORACLES
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory
from tests.reference.slow import brute_force, brute_force_runner_up, slow_greedy, slow_value

seeds = st.integers(0, 2**32 - 1)
every_set = pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
every_method = pytest.mark.parametrize("method", ORACLES)
few = settings(max_examples=15, deadline=None)


def instance(factory: Factory, seed: int, dim: int) -> tuple[sb.ActionSet, Any, int]:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    theta = rng.uniform(-1, 1, dim) * rng.choice([0.0, 1.0, 1.0, 1.0], dim)
    if rng.uniform() < 0.3:
        mask = rng.uniform(size=dim) < 0.7
        mask[0] = True
        X = X.restrict(mask)
    return X, theta, int(rng.integers(1, dim + 1))


def applies(X: sb.ActionSet, method: str) -> bool:
    return method != "top-h" or X.sorting is not None


@every_method
@every_set
@given(seed=seeds, dim=st.integers(1, 6))
@few
def test_sparse_feasible_and_honest_about_the_optimum(
    factory: Factory, method: Any, seed: int, dim: int
) -> None:
    X, theta, sparsity = instance(factory, seed, dim)
    if not applies(X, method):
        with pytest.raises(sb.CompositionError, match="greedy"):
            sb.sparse_argmax(X, theta, sparsity, method)
        return
    best = brute_force(X, theta, sparsity)
    found = sb.sparse_argmax(X, theta, sparsity, method)
    assert X.contains(found.action)
    assert set(np.flatnonzero(found.action)) <= set(found.support)
    assert list(found.support) == sorted(set(found.support))
    assert len(found.support) <= sparsity
    assert found.value == pytest.approx(theta @ found.action, abs=1e-9)
    assert found.value == pytest.approx(slow_value(X, theta, found.support), abs=1e-8)
    assert found.value <= best + 1e-8
    assert found.upper_bound >= best - 1e-8
    assert found.gap >= 0 or np.isnan(found.gap)
    if method in ("exact", "top-h"):
        assert found.is_exact
    if found.is_exact:
        assert found.value == pytest.approx(best, abs=1e-8)
        assert found.upper_bound == found.value
    if method != "auto":
        assert found.method == method


@every_set
@given(seed=seeds, dim=st.integers(1, 6))
@few
def test_greedy_is_the_papers_greedy(factory: Factory, seed: int, dim: int) -> None:
    X, theta, sparsity = instance(factory, seed, dim)
    usable = np.flatnonzero(X.available).tolist()
    picks, gaps = slow_greedy(lambda s: slow_value(X, theta, s), usable, sparsity)
    found = sb.sparse_argmax(X, theta, sparsity, "greedy")
    if gaps and min(gaps) < 1e-7:
        return  # a tie that rounding decides
    assert found.support == tuple(sorted(picks))
    assert found.step_gaps == pytest.approx(gaps, abs=1e-7)
    if sparsity >= len(usable):
        assert found.gap == np.inf
    else:
        assert found.gap == pytest.approx(min(gaps, default=0.0), abs=1e-7)


@every_set
@given(seed=seeds, dim=st.integers(2, 6))
@few
def test_swap_is_never_worse_than_greedy(factory: Factory, seed: int, dim: int) -> None:
    X, theta, sparsity = instance(factory, seed, dim)
    values = {m: sb.sparse_argmax(X, theta, sparsity, m).value for m in ("greedy", "swap")}
    assert values["swap"] >= values["greedy"] * (1 - 1e-12)


@every_method
@every_set
@given(seed=seeds)
@few
def test_a_batch_is_its_rows(factory: Factory, method: Any, seed: int) -> None:
    X, _, sparsity = instance(factory, seed, 5)
    if not applies(X, method):
        return
    theta = np.random.default_rng(seed).uniform(-1, 1, (2, 3, 5))
    batch = sb.sparse_argmax_batch(X, theta, sparsity, method)
    assert batch.actions.shape == theta.shape
    assert batch.supports.shape == (2, 3, sparsity)
    for place in np.ndindex(2, 3):
        alone = sb.sparse_argmax(X, theta[place], sparsity, method)
        support = batch.supports[place]
        assert tuple(support[support >= 0]) == alone.support
        assert np.allclose(batch.actions[place], alone.action, atol=1e-12)
        assert batch.values[place] == pytest.approx(alone.value, rel=1e-12)
        assert batch.gaps[place] == pytest.approx(alone.gap, rel=1e-9, abs=1e-12, nan_ok=True)
        assert batch.is_exact[place] == alone.is_exact
        assert batch.upper_bounds[place] == pytest.approx(alone.upper_bound, rel=1e-12)


@every_method
@every_set
@given(seed=seeds)
@few
def test_positive_scaling_changes_nothing_but_the_value(
    factory: Factory, method: Any, seed: int
) -> None:
    X, theta, sparsity = instance(factory, seed, 5)
    if not applies(X, method):
        return
    one, ten = (sb.sparse_argmax(X, s * theta, sparsity, method) for s in (1.0, 16.0))
    assert ten.value == pytest.approx(16 * one.value, rel=1e-9)
    assert ten.support == one.support


@every_set
@given(seed=seeds, dim=st.integers(2, 6))
@few
def test_no_sparsity_constraint_is_the_dense_optimum(factory: Factory, seed: int, dim: int) -> None:
    X, theta, _ = instance(factory, seed, dim)
    dense = X.value(theta)
    found = sb.sparse_argmax(X, theta, dim, "exact")
    assert found.value == pytest.approx(dense, abs=1e-8)
    assert found.gap == np.inf


@pytest.mark.parametrize("kind", ["ellipsoid-0", "budget-0", "polytope-0", "finite-set-0"])
@given(seed=seeds, dim=st.integers(2, 6))
@few
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


@every_method
@pytest.mark.parametrize(
    "factory",
    [
        f
        for f, c in zip(FACTORIES, CASE_IDS, strict=True)
        if c in ("lp-ball-0", "lp-ball-2", "box-0", "ellipsoid-0")
    ],
)
def test_theta_zero_earns_nothing(factory: Factory, method: Any) -> None:
    X = factory(np.random.default_rng(0), 4)
    if not applies(X, method):
        return
    found = sb.sparse_argmax(X, np.zeros(4), 2, method)
    assert found.value == 0
    assert not found.action.any()
    assert found.is_exact


@every_set
def test_misuse_is_refused(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 3)
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
