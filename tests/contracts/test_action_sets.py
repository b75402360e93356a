"""What every registered action set promises."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.action_sets import ACTION_SETS
from tests.contracts.examples import CASE_IDS, EXAMPLES, FACTORIES, Factory
from tests.reference.slow import slow_value

seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 6)
every_set = pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
few = settings(max_examples=25, deadline=None)


def random_support(rng: np.random.Generator, dim: int) -> list[int]:
    return np.flatnonzero(rng.uniform(size=dim) < 0.6).tolist()


def test_every_registered_set_has_examples() -> None:
    assert set(EXAMPLES) == set(ACTION_SETS)


@every_set
@given(seed=seeds, dim=dims)
@few
def test_value_and_response_against_the_definition(factory: Factory, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    theta = rng.standard_normal(dim) * rng.choice([0.0, 1e-3, 1.0], dim)
    support = random_support(rng, dim)
    response = X.best_response(theta, support)
    assert X.contains(response)
    assert set(np.flatnonzero(response)) <= set(support)
    assert X.value(theta, support) == pytest.approx(theta @ response, abs=1e-12)
    assert X.value(theta, support) == pytest.approx(slow_value(X, theta, support), abs=1e-8)


@every_set
@given(seed=seeds, dim=dims)
@few
def test_nothing_feasible_earns_more(factory: Factory, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    theta = rng.standard_normal(dim)
    best = X.value(theta)
    for _ in range(20):
        assert theta @ X.sample(rng, dim) <= best + 1e-9


@every_set
@given(seed=seeds, dim=dims)
@few
def test_value_is_convex_homogeneous_lipschitz_and_monotone(
    factory: Factory, seed: int, dim: int
) -> None:
    """`prop:lipschitz_h`, with the bound over H-sparse actions instead of L_X."""
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    first, second = rng.standard_normal((2, dim))
    support = random_support(rng, dim) or [0]
    h = [X.value(theta, support) for theta in (first, second)]
    weight = rng.uniform()
    mixed = X.value(weight * first + (1 - weight) * second, support)
    assert mixed <= weight * h[0] + (1 - weight) * h[1] + 1e-9
    scale = rng.uniform(0, 10)
    assert X.value(scale * first, support) == pytest.approx(scale * h[0], abs=1e-8)
    bound = X.sparse_norm_bound(len(support))
    assert bound <= X.norm_bound * (1 + 1e-12)
    assert abs(h[0] - h[1]) <= bound * np.linalg.norm(first - second) + 1e-9
    assert h[0] <= X.value(first) + 1e-9
    assert h[0] >= -1e-12


@every_set
@given(seed=seeds)
@few
def test_batches_equal_single_calls(factory: Factory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, 4)
    theta = rng.standard_normal((2, 3, 4))
    values, responses = X.value(theta, [0, 2]), X.best_response(theta, [0, 2])
    assert values.shape == (2, 3)
    assert responses.shape == theta.shape
    for place in np.ndindex(2, 3):
        assert values[place] == pytest.approx(X.value(theta[place], [0, 2]), rel=1e-12)
        assert np.allclose(responses[place], X.best_response(theta[place], [0, 2]), atol=1e-12)


@every_set
@given(seed=seeds)
@few
def test_rows_with_their_own_supports(factory: Factory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, 5)
    theta = rng.standard_normal((4, 5))
    supports = np.array([[0, 1, 4], [2, -1, -1], [4, 3, -1], [-1, -1, -1]])
    actions, values = X.respond_on(theta, supports)
    for row, support in enumerate(supports):
        alone = X.best_response(theta[row], support[support >= 0])
        assert (X.respond_on(theta[[row]], supports[[row]])[0][0] == actions[row]).all()
        assert np.allclose(actions[row], alone, atol=1e-12)
        assert values[row] == pytest.approx(theta[row] @ alone, abs=1e-12)


@every_set
@given(seed=seeds, dim=st.integers(2, 6))
@few
def test_samples_are_sparse_feasible_and_reproducible(
    factory: Factory, seed: int, dim: int
) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim).restrict(np.arange(dim) != 1)
    drawn = np.array([X.sample(np.random.default_rng(seed), 2) for _ in range(2)])
    assert (drawn[0] == drawn[1]).all()
    many = np.array([X.sample(rng, 2) for _ in range(30)])
    assert X.contains(many).all()
    assert (np.count_nonzero(many, axis=1) <= 2).all()
    assert not many[:, 1].any()
    assert (np.linalg.norm(many, axis=1) <= X.sparse_norm_bound(2) * (1 + 1e-9)).all()
    assert np.unique(many, axis=0).shape[0] > 1


@every_set
def test_norm_bound_is_attained_or_above(factory: Factory) -> None:
    rng = np.random.default_rng(0)
    X = factory(rng, 4)
    directions = rng.standard_normal((2000, 4))
    largest = np.linalg.norm(X.best_response(directions), axis=1).max()
    assert largest <= X.norm_bound * (1 + 1e-9)
    if not isinstance(X, sb.Polytope):
        assert largest >= 0.9 * X.norm_bound


@every_set
@given(seed=seeds, dim=st.integers(2, 6))
@few
def test_restriction_keeps_the_rest_at_zero(factory: Factory, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = factory(rng, dim)
    mask = rng.uniform(size=dim) < 0.5
    mask[int(rng.integers(dim))] = True
    restricted = X.restrict(mask)
    theta = rng.standard_normal(dim)
    assert not restricted.best_response(theta)[~mask].any()
    assert restricted.value(theta) == pytest.approx(X.value(theta, mask), abs=1e-12)
    assert restricted.norm_bound <= X.norm_bound * (1 + 1e-9)
    assert restricted == X.restrict(np.flatnonzero(mask).tolist())
    if not mask.all():
        outside = np.flatnonzero(~mask)[0]
        lower, upper = X.axis_reach()
        axis = np.zeros(dim)
        axis[outside] = upper[outside] if upper[outside] > 0 else lower[outside]
        assert X.contains(axis)
        assert not axis.any() or not restricted.contains(axis)
        assert restricted.axis_reach()[1][outside] == 0


@every_set
@given(seed=seeds, dim=dims)
@few
def test_axis_reach_is_on_the_boundary(factory: Factory, seed: int, dim: int) -> None:
    X = factory(np.random.default_rng(seed), dim)
    lower, upper = X.axis_reach()
    for k in range(dim):
        axis = np.eye(dim)[k]
        assert X.best_response(axis, [k])[k] == pytest.approx(upper[k], abs=1e-9)
        assert X.best_response(-axis, [k])[k] == pytest.approx(lower[k], abs=1e-9)
        if upper[k] > 0:
            assert X.contains(upper[k] * axis)
            assert not X.contains(1.01 * upper[k] * axis)


@every_set
@given(seed=seeds, dim=st.integers(2, 6))
@few
def test_round_trips(factory: Factory, seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    for X in (factory(rng, dim), factory(rng, dim).restrict([1])):
        theta = rng.standard_normal(dim)
        copies = (
            sb.ActionSet.from_dict(json.loads(json.dumps(X.to_dict()))),
            pickle.loads(pickle.dumps(X)),
        )
        for copy in copies:
            assert copy == X
            assert hash(copy) == hash(X)
            assert (copy.best_response(theta) == X.best_response(theta)).all()


@every_set
def test_a_person_can_read_the_repr(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 20)
    assert repr(X).startswith(type(X).__name__ + "(")
    assert len(repr(X)) < 100
    assert "20" in repr(X)
    assert "3 of 20" in repr(X.restrict([1, 2, 3]))


@every_set
def test_edges_refuse_what_is_wrong(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 3)
    good = np.ones(3)
    for theta in ([1, 2], [1, 2, np.nan], [1, 2, np.inf], 1.0, ["a", "b", "c"], [[1, 2]]):
        with pytest.raises(sb.SparseBanditsError, match="theta"):
            X.value(theta)
    wrong: list[Any] = [[3], [-1], [0, 0], [0.5], [True, False], "01", [[0]], 1]
    for support in wrong:
        with pytest.raises(sb.SparseBanditsError, match="support"):
            X.value(good, support)
    for available in ([], [False] * 3, [5], None):
        with pytest.raises(sb.SparseBanditsError):
            X.restrict(available)
    with pytest.raises(ValueError, match="restricted before"):
        X.restrict([0]).restrict([1])
    with pytest.raises(ValueError, match="shape"):
        X.contains([1, 2])
    assert not X.contains([np.nan, 0, 0])
    for sparsity in (0, 4, -1):
        with pytest.raises(ValueError, match="sparsity"):
            X.sample(np.random.default_rng(0), sparsity)
    assert X.value(good, []) == 0
    assert not X.best_response(good, []).any()
    assert X.contains(np.zeros(3))
