"""Every registered action set keeps the contract that ships with the package."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.action_sets import ACTION_SETS
from tests.contracts.examples import ALL_FACTORIES, ALL_IDS, CASE_IDS, EXAMPLES, FACTORIES, Factory
from tests.reference.slow import slow_value

every_set = pytest.mark.parametrize("factory", ALL_FACTORIES, ids=ALL_IDS)
plain_set = pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)


def test_every_registered_set_has_examples() -> None:
    assert set(EXAMPLES) == set(ACTION_SETS)


def least_sparsity(X: sb.ActionSet, sparsity: int) -> int:
    """H, or the least above it with which there is an action: too few are refused."""
    try:
        sb.sparse_argmax(X, np.ones(X.dim), sparsity)
    except sb.InvalidValueError:
        return least_sparsity(X, sparsity + 1)
    return sparsity


@pytest.mark.each_value
@every_set
@pytest.mark.parametrize(("dim", "sparsity"), [(1, 1), (3, 1), (5, 3), (6, 6)])
def test_the_contract(factory: Factory, dim: int, sparsity: int) -> None:
    X = factory(np.random.default_rng(dim), dim)
    sb.testing.check_action_set(X, sparsity=least_sparsity(X, sparsity), seed=dim)


@every_set
@given(seed=st.integers(0, 2**32 - 1), dim=st.integers(1, 6))
def test_the_value_is_its_definition(factory: Factory, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    theta = rng.standard_normal(dim) * rng.choice([0.0, 1e-3, 1.0], dim)
    support = np.flatnonzero(rng.uniform(size=dim) < 0.6).tolist()
    assert X.value(theta, support) == pytest.approx(slow_value(X, theta, support), abs=1e-8)


@plain_set
def test_norm_bound_is_attained(factory: Factory) -> None:
    rng = np.random.default_rng(0)
    X = factory(rng, 4)
    largest = np.linalg.norm(X.best_response(rng.standard_normal((2000, 4))), axis=1).max()
    assert largest <= X.norm_bound * (1 + 1e-9)
    if not isinstance(X, sb.Polytope):
        assert largest >= 0.9 * X.norm_bound


@every_set
def test_a_person_can_read_the_repr(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 20)
    assert len(repr(X)) < 100
    assert "20" in repr(X)
    assert "3 of 20" in repr(X.restrict([1, 2, 3]))


def test_a_refusal_names_what_is_wrong() -> None:
    X = sb.LpBall(3)
    for theta in ([1, 2], [1, 2, np.nan], 1.0, ["a", "b", "c"], [[1, 2]]):
        with pytest.raises(sb.SparseBanditsError, match="theta"):
            X.value(theta)
    wrong: list[Any] = [[3], [0, 0], [True, False], [[0]], 1]
    for support in wrong:
        with pytest.raises(sb.SparseBanditsError, match="support"):
            X.value(np.ones(3), support)
    for available in ([False] * 3, [5], None):
        with pytest.raises(sb.SparseBanditsError):
            X.restrict(available)
    with pytest.raises(ValueError, match="restricted before"):
        X.restrict([0]).restrict([1])
    with pytest.raises(ValueError, match="shape"):
        X.contains([1, 2])
    for sparsity in (0, 4, -1):
        with pytest.raises(ValueError, match="sparsity"):
            X.sample(np.random.default_rng(0), sparsity)
