"""Every representation against the plain dense formulas, and what `check` refuses."""

import json
import re
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import (
    Basis,
    BlockBasis,
    DiagonalBasis,
    MatrixBasis,
)
from sparsebandits.validation import FloatArray
from tests.exploration.examples import example_bases

each_basis = pytest.mark.parametrize("basis", example_bases(), ids=lambda basis: basis.kind)


def used(basis: Basis) -> FloatArray:
    """The actions of least squares: about their mean where one is there for a baseline."""
    rows = basis.actions
    return np.asarray(rows - rows.mean(axis=0)) if basis.count > basis.dim else rows


@each_basis
def test_b_and_its_bounds_are_the_dense_ones(basis: Basis) -> None:
    rows = np.stack([basis.action(k) for k in range(basis.count)])
    gram = sum((np.outer(row, row) for row in used(basis)), np.zeros((basis.dim, basis.dim)))
    eigenvalues = np.linalg.eigvalsh(gram)
    np.testing.assert_array_equal(basis.actions, rows)
    np.testing.assert_allclose(basis.gram, gram, atol=1e-12)
    assert basis.trace == pytest.approx(np.trace(gram))
    assert basis.lambda_0 == pytest.approx(eigenvalues[0])
    assert basis.inverse_trace == pytest.approx((1 / eigenvalues).sum())
    expected = 2 * 0.3**2 * np.trace(gram) / eigenvalues[0] ** 2
    assert basis.h_1(0.3) == pytest.approx(expected)


@each_basis
def test_least_squares_is_the_papers_formula(basis: Basis) -> None:
    rng = np.random.default_rng(5)
    means = rng.standard_normal((3, 2, basis.count))
    inverse = np.linalg.inv(basis.gram)
    expected = np.einsum("ij,kj,...k->...i", inverse, used(basis), means)
    np.testing.assert_allclose(basis.estimate(means), expected, atol=1e-9)
    np.testing.assert_allclose(basis.estimate(means[1, 1]), expected[1, 1], atol=1e-9)
    np.testing.assert_allclose(basis.coordinate_variance, np.diag(inverse), rtol=1e-9)
    wanted = [3, 0, 6]
    np.testing.assert_allclose(
        basis.inverse_gram_columns(wanted), inverse[:, wanted], rtol=1e-8, atol=1e-9
    )


@each_basis
def test_noise_free_means_give_theta_back(basis: Basis) -> None:
    theta = np.random.default_rng(6).standard_normal((2, 4, basis.dim))
    means = basis.predict(theta)
    assert means.shape == (2, 4, basis.count)
    np.testing.assert_allclose(means[0, 1], [theta[0, 1] @ b for b in basis.actions], atol=1e-12)
    np.testing.assert_allclose(basis.estimate(means), theta, atol=1e-11)
    np.testing.assert_allclose(basis.estimate(basis.predict(theta[0, 0])), theta[0, 0], atol=1e-11)


@each_basis
def test_supports_are_the_non_zeros(basis: Basis) -> None:
    for k in range(basis.count):
        np.testing.assert_array_equal(basis.support(k), np.flatnonzero(basis.action(k)))
    assert basis.sparsity == np.count_nonzero(basis.actions, axis=1).max()


@each_basis
def test_json_keeps_every_bit(basis: Basis) -> None:
    restored = Basis.from_dict(json.loads(json.dumps(basis.to_dict())))
    means = np.random.default_rng(7).standard_normal(basis.count)
    assert type(restored) is type(basis)
    assert restored == basis
    assert hash(restored) == hash(basis)
    assert restored.actions.tobytes() == basis.actions.tobytes()
    assert restored.estimate(means).tobytes() == basis.estimate(means).tobytes()
    assert restored.lambda_0 == basis.lambda_0
    assert restored.to_dict() == basis.to_dict()


def test_bases_differ_by_name_and_by_actions() -> None:
    assert DiagonalBasis([1.0, 2.0]) != DiagonalBasis([1.0, 2.0], name="mine")
    assert DiagonalBasis([1.0, 2.0]) != DiagonalBasis([1.0, -2.0])
    assert DiagonalBasis([1.0, 2.0]) != "diagonal"


def test_a_support_lists_only_what_is_used() -> None:
    basis = BlockBasis([([2, 0], [[1.0, 0.0], [1.0, 1.0]]), ([1], [[1.0]])])
    np.testing.assert_array_equal(basis.support(2), [2])
    np.testing.assert_array_equal(basis.support(0), [0, 2])


def test_repr_reads_well() -> None:
    assert repr(DiagonalBasis([2.0, 3.0], name="mine")) == (
        "DiagonalBasis('mine', dim=2, sparsity=1, lambda_0=4)"
    )


@each_basis
@pytest.mark.parametrize("bad", [np.zeros(3), 1.0, np.zeros((9, 1))])
def test_vectors_of_the_wrong_shape_are_refused(basis: Basis, bad: Any) -> None:
    with pytest.raises(
        sb.InvalidValueError, match=rf"means must have shape \(..., {basis.count}\)"
    ):
        basis.estimate(bad)
    with pytest.raises(sb.InvalidValueError, match=r"theta must have shape \(..., 7\)"):
        basis.predict(bad)


def test_arguments_are_checked() -> None:
    basis = DiagonalBasis([1.0, 2.0])
    with pytest.raises(sb.InvalidTypeError, match="means must be an array of numbers"):
        basis.estimate("ab")
    with pytest.raises(sb.InvalidValueError, match=r"k must lie in 0..1, got 2"):
        basis.action(2)
    with pytest.raises(sb.InvalidValueError, match="k must be at least 0"):
        basis.support(-1)
    with pytest.raises(sb.InvalidValueError, match="sigma must be non-negative, got -1"):
        basis.h_1(-1.0)
    with pytest.raises(sb.InvalidValueError, match=r"indices must lie in 0..1, got 5"):
        basis.inverse_gram_columns([0, 5])
    with pytest.raises(sb.InvalidTypeError, match="flat list of integers"):
        basis.inverse_gram_columns([0.5])
    number: Any = 3
    with pytest.raises(sb.InvalidTypeError, match="name must be a string, got 3"):
        DiagonalBasis([1.0], name=number)
    assert basis.inverse_gram_columns([]).shape == (2, 0)


def test_check_names_the_action_that_is_not_sparse() -> None:
    basis = BlockBasis([([0, 1, 2], [[1, 0, 0], [0.1, 0.2, 0], [0.1, 0.1, 0.3]])])
    basis.check(sb.LpBall(3), 3)
    with pytest.raises(sb.InvalidValueError, match=r"k = 2 .* uses 3 coordinates .* allows 2"):
        basis.check(sb.LpBall(3), 2)


@pytest.mark.parametrize(
    "basis",
    [
        DiagonalBasis([1.0, 1.0, -1.2]),
        BlockBasis([([0], [[1]]), ([1, 2], [[0.3, 0.3], [0, -1.2]])]),
        MatrixBasis([[1, 0, 0], [0.3, 0.3, 0], [0, 0, -1.2]]),
    ],
    ids=lambda basis: basis.kind,
)
def test_check_names_the_action_that_is_outside(basis: Basis) -> None:
    basis.check(sb.LpBall(3, radius=1.2), 2)
    with pytest.raises(sb.InvalidValueError, match=r"Action k = 2 .*-1.2 at 2, is outside LpBall"):
        basis.check(sb.LpBall(3), 2)
    with pytest.raises(sb.InvalidValueError, match=r"Action k = 2 .* is outside Box"):
        basis.check(sb.Box([0, 0, 0], [2, 2, 2]), 2)


def test_between_two_points_of_a_finite_set_is_outside() -> None:
    points = sb.FiniteSet([[0, 0], [2, 0], [0, 2]])
    DiagonalBasis([2.0, 2.0]).check(points, 1)
    with pytest.raises(sb.InvalidValueError, match="Action k = 1"):
        DiagonalBasis([2.0, 1.0]).check(points, 1)


def test_outside_is_found_in_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsebandits.exploration.base._CHUNK_ENTRIES", 21)
    rows = np.eye(7)
    rows[5, 4] = 0.5
    with pytest.raises(sb.InvalidValueError, match="Action k = 5"):
        MatrixBasis(rows).check(sb.LpBall(7), 7)


@each_basis
def test_check_refuses_unavailable_coordinates(basis: Basis) -> None:
    restricted = sb.LpBall(7, radius=100.0).restrict([0, 2, 3, 4, 5])
    with pytest.raises(sb.CompositionError, match="coordinates 1, 6 are unavailable") as caught:
        basis.check(restricted, 7)
    named = re.search(r"Action k = (\d+) uses 1", str(caught.value))
    assert named is not None
    assert 1 in basis.support(int(named[1]))


def test_check_refuses_another_dimension() -> None:
    with pytest.raises(sb.CompositionError, match="basis has 2 coordinates and LpBall"):
        DiagonalBasis([1.0, 1.0]).check(sb.LpBall(3), 1)
