"""`make_basis` over every name and set, and `Basis.from_dict`."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import (
    BASES,
    Basis,
    DiagonalBasis,
    MatrixBasis,
    make_basis,
)
from tests.exploration.examples import ALL_SETS, DIM, FINITE_SETS, SYMMETRIC_SETS


@pytest.mark.parametrize("kind", ALL_SETS)
@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("sparsity", [2, 3, 7])
def test_every_basis_is_sparse_inside_and_spanning(name: str, kind: str, sparsity: int) -> None:
    action_set = ALL_SETS[kind]
    if name.startswith("block") and kind not in {**SYMMETRIC_SETS, **FINITE_SETS}:
        with pytest.raises(sb.CompositionError):
            make_basis(name, action_set, sparsity, rng=0)
        return
    basis = make_basis(name, action_set, sparsity, rng=0)
    rows = basis.actions
    assert basis.name == name
    assert rows.shape == (DIM, DIM)
    assert (np.count_nonzero(rows, axis=1) <= sparsity).all()
    assert action_set.contains(rows).all()
    assert np.linalg.matrix_rank(rows) == DIM
    theta = np.linspace(-1.0, 1.0, DIM)
    np.testing.assert_allclose(basis.estimate(rows @ theta), theta, atol=1e-9)


@pytest.mark.parametrize("name", BASES)
def test_restricted_sets_cannot_be_explored(name: str) -> None:
    with pytest.raises(sb.CompositionError, match=r"coordinates 0, 3 are unavailable"):
        make_basis(name, sb.LpBall(4).restrict([1, 2]), 2, rng=0)


def test_a_basis_is_checked_and_returned_as_it_is() -> None:
    own = DiagonalBasis([0.5, 0.5])
    assert make_basis(own, sb.LpBall(2), 1) is own
    with pytest.raises(sb.InvalidValueError, match="Action k = 0"):
        make_basis(own, sb.LpBall(2, radius=0.1), 1)


def test_your_own_matrix() -> None:
    rows = [[0.5, 0.5], [0.0, 1.0]]
    basis = make_basis(rows, sb.LpBall(2), 2)
    assert isinstance(basis, MatrixBasis)
    assert basis.name == "own"
    np.testing.assert_array_equal(basis.actions, rows)
    with pytest.raises(sb.InvalidValueError, match=r"Action k = 0 .* uses 2 coordinates"):
        make_basis(rows, sb.LpBall(2), 1)


def test_your_own_diagonal_matrix_stays_cheap() -> None:
    basis = make_basis(np.diag([0.5, -1.0]), sb.LpBall(2), 1)
    assert isinstance(basis, DiagonalBasis)
    np.testing.assert_array_equal(basis.scales, [0.5, -1.0])


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        ("gaussian", "must be one of 'standard', 'boundary', .* got 'gaussian'"),
        (None, "basis must be"),
        (np.ones(3), "basis must be a non-empty array with 2 axes"),
        (np.ones((2, 3)), "must be square"),
        (np.eye(2), "The basis has 2 coordinates"),
        (np.diag([1.0, 0.0, 1.0]), "coordinate 1 would never be explored"),
    ],
)
def test_unusable_bases_are_refused(basis: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        make_basis(basis, sb.LpBall(3), 2)


@pytest.mark.parametrize("rng", ["seed", True, 1.5])
def test_rng_must_be_a_generator_or_a_seed(rng: Any) -> None:
    with pytest.raises(sb.InvalidTypeError, match=r"numpy\.random\.Generator or an int"):
        make_basis("block-gaussian", sb.LpBall(3), 2, rng=rng)


def test_sparsity_is_checked() -> None:
    with pytest.raises(sb.InvalidValueError, match="at most dim = 3, got 4"):
        make_basis("standard", sb.LpBall(3), 4)


@pytest.mark.parametrize("name", BASES)
def test_every_built_basis_survives_json(name: str) -> None:
    basis = make_basis(name, SYMMETRIC_SETS["box"], 3, rng=4)
    restored: Basis = Basis.from_dict(basis.to_dict())
    assert restored == basis
    assert restored.name == name
    restored.check(SYMMETRIC_SETS["box"], 3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "must be a table of keys"),
        ({"kind": "dense"}, "must be of kind 'diagonal', 'block', 'matrix', 'affine', got 'dense'"),
        ({"scales": [1.0]}, "got None"),
        ({"kind": "diagonal", "rows": [1.0]}, r"'diagonal' does not take the keys \['rows'\]"),
        ({"kind": "diagonal", "scales": "ab"}, "scales must be an array of numbers"),
    ],
)
def test_unreadable_descriptions_are_refused(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        Basis.from_dict(data)
