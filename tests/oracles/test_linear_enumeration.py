"""Polytopes with few supports: a linear program for each, against the mixed-integer program."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import exact
from sparsebandits.validation import FloatArray


def random_polytope(seed: int, dim: int) -> sb.Polytope:
    rng = np.random.default_rng(seed)
    cube = np.vstack([np.eye(dim), -np.eye(dim)])
    return sb.Polytope(
        np.vstack([cube, rng.normal(size=(3, dim))]),
        np.concatenate([rng.uniform(0.2, 1, 2 * dim), rng.uniform(0.2, 1, 3)]),
    )


def random_theta(seed: int, dim: int) -> FloatArray:
    return np.random.default_rng(100 + seed).normal(size=(8, dim))


@pytest.mark.parametrize(("dim", "sparsity"), [(2, 1), (3, 2), (4, 2), (6, 3), (6, 6), (8, 2)])
def test_it_agrees_with_the_mixed_integer_program(
    dim: int, sparsity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, theta = random_polytope(dim, dim), random_theta(dim, dim)
    listed = sb.sparse_argmax_batch(X, theta, sparsity, runner_up=True)
    assert listed.method == "exact"
    monkeypatch.setattr(exact, "ENUMERABLE_PROGRAMS", 0)
    searched = sb.sparse_argmax_batch(X, theta, sparsity, "exact", runner_up=True)
    assert listed.is_exact.all()
    assert searched.is_exact.all()
    np.testing.assert_array_equal(listed.supports, searched.supports)
    np.testing.assert_allclose(listed.values, searched.values, rtol=1e-9)
    np.testing.assert_allclose(listed.gaps, searched.gaps, rtol=1e-6, atol=1e-9)


def test_a_theta_does_not_depend_on_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    X, theta = random_polytope(0, 6), random_theta(0, 6)
    together = sb.sparse_argmax_batch(X, theta, 3)
    monkeypatch.setattr(exact, "_PROGRAMS_TOGETHER", 1)
    for row in range(theta.shape[0]):
        alone = sb.sparse_argmax(X, theta[row], 3)
        np.testing.assert_array_equal(alone.action, together.actions[row])
        assert alone.gap == together.gaps[row]


def test_the_first_support_wins_a_tie_and_keeps_what_it_uses() -> None:
    cube = np.vstack([np.eye(4), -np.eye(4)])
    X = sb.Polytope(cube, np.ones(8))
    assert sb.sparse_argmax(X, [1.0, 1.0, 1.0, 1.0], 2).support == (0, 1)
    assert sb.sparse_argmax(X, [0.0, 0.0, 3.0, 0.0], 2).support == (2,)
    assert sb.sparse_argmax(X, [0.0, 0.0, 0.0, 0.0], 2).support == ()


def test_auto_leaves_many_supports_to_swap() -> None:
    assert sb.sparse_argmax(random_polytope(1, 12), random_theta(1, 12)[0], 5).method == "swap"
