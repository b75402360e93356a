import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory, correlated_matrix
from tests.reference.slow import slow_gamma

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_gamma_is_the_definition(factory: Factory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, theta = factory(rng, 4), rng.standard_normal(4)
    assert sb.submodularity_ratio(X, theta) == pytest.approx(slow_gamma(X, theta), abs=1e-6)


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_greedy_keeps_its_promise(seed: int) -> None:
    """`lemma:approximation ratio expression`: greedy >= (1 - exp(-gamma)) * optimum."""
    rng = np.random.default_rng(seed)
    X, theta = sb.Ellipsoid(correlated_matrix(rng, 6, 100.0)), rng.standard_normal(6)
    alpha = sb.approximation_ratio(sb.submodularity_ratio(X, theta))
    for sparsity in range(1, 7):
        ratio = sb.certified_ratio(X, theta, sparsity)
        assert alpha - 1e-9 <= ratio <= 1


def test_certified_ratio_of_a_known_mistake() -> None:
    matrix = np.array([[1.0, 0.7, 0.7], [0.7, 1.0, 0.0], [0.7, 0.0, 1.0]])
    X, theta = sb.Ellipsoid(matrix), [1.05, 1.0, 1.0]
    greedy = sb.sparse_argmax(X, theta, 2, "greedy").value
    assert sb.certified_ratio(X, theta, 2) == pytest.approx(greedy / np.sqrt(2))
    assert sb.certified_ratio(X, np.zeros(3), 2) == 1


def test_gamma_bound_does_not_change_with_the_units() -> None:
    rng = np.random.default_rng(0)
    matrix = correlated_matrix(rng, 5)
    units = rng.uniform(0.1, 10, 5)
    bounds = [
        sb.Ellipsoid(m).gamma_bound for m in (matrix, 7 * matrix, matrix * units[:, None] * units)
    ]
    assert bounds == pytest.approx([bounds[0]] * 3)


def test_limits() -> None:
    with pytest.raises(ValueError, match="at most 14"):
        sb.submodularity_ratio(sb.LpBall(15), np.ones(15))
    assert sb.submodularity_ratio(sb.LpBall(15).restrict([1, 2]), np.ones(15)) == 1.0
    assert sb.approximation_ratio(1.0) == pytest.approx(1 - np.exp(-1))
    assert sb.approximation_ratio(0.0) == 0
    for gamma in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="gamma"):
            sb.approximation_ratio(gamma)
