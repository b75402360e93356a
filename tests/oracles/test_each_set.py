"""Many sets at once have the bits of one set after the other."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import SparseOracle, choose_on_each, distinct_sets
from tests.contracts.examples import FACTORIES, correlated_matrix

DIM = 6


def sets() -> list[sb.ActionSet]:
    """Every registered set, whole and restricted, several ellipsoids, and one set twice."""
    rng = np.random.default_rng(2)
    whole = [factory(rng, DIM) for factory in FACTORIES]
    masks = [rng.permutation(DIM) < count for count in (1, 2, 4, 5)]
    parts = [X.restrict(mask) for X in whole for mask in masks[: 1 + (X.sorting is not None) * 3]]
    ellipsoids = [sb.Ellipsoid(correlated_matrix(rng, DIM)) for _ in range(3)]
    return [*whole, *parts, *ellipsoids, whole[0]]


@pytest.mark.parametrize("method", ["greedy", "exact", "auto", "swap"])
def test_actions_values_and_gaps_are_those_of_each_set(method: str) -> None:
    every = sets()
    theta = np.random.default_rng(3).uniform(-1, 1, (4, DIM))
    theta[3] = [0.5, -0.5, 0.5, 0.0, 0.0, 0.5]  # ties, and coordinates that gain nothing
    found = choose_on_each(every, theta, 2, method, measured=True)
    oracle = SparseOracle(2, method)
    for X, actions, values, gaps in zip(
        every, found.actions, found.values, found.gaps, strict=True
    ):
        np.testing.assert_array_equal(actions, oracle.actions(theta, X), err_msg=repr(X))
        np.testing.assert_array_equal(gaps, oracle.supports(theta, X)[1], err_msg=repr(X))
        np.testing.assert_allclose(values, (theta * actions).sum(axis=1), rtol=1e-12)


def test_top_h_on_restrictions_of_one_set() -> None:
    rng = np.random.default_rng(4)
    box = sb.Box(-rng.uniform(0, 2, DIM), rng.uniform(0, 2, DIM))
    every = [box.restrict(rng.permutation(DIM) < count) for count in (1, 2, 3, 4, 6)]
    theta = rng.standard_normal((5, DIM))
    found = choose_on_each(every, theta, 2, "top-h", measured=True)
    for X, actions, gaps in zip(every, found.actions, found.gaps, strict=True):
        np.testing.assert_array_equal(actions, SparseOracle(2, "top-h").actions(theta, X))
        np.testing.assert_array_equal(gaps, SparseOracle(2, "top-h").supports(theta, X)[1])
    assert np.isinf(found.gaps[:2]).all()  # nothing is left out
    assert np.isfinite(found.gaps[2:]).all()


def test_an_ellipsoid_of_high_dimension_is_not_stacked() -> None:
    """Its rows are updated one by one, with other last bits."""
    large = [sb.Ellipsoid(np.eye(300) + 0.1 * (k + np.ones((300, 300)))) for k in range(2)]
    assert sb.Ellipsoid.stack(large, 1) is None
    theta = np.random.default_rng(5).standard_normal((1, 300))
    found = choose_on_each(large, theta, 2, "greedy", measured=False)
    np.testing.assert_array_equal(
        found.actions[1], SparseOracle(2, "greedy").actions(theta, large[1])
    )


def test_the_same_set_counts_once() -> None:
    ball, twin = sb.LpBall(3), sb.LpBall(3)
    found, places = distinct_sets([ball, twin, ball, ball])
    assert found == [ball, twin]
    assert places.tolist() == [0, 1, 0, 0]
