"""The largest contrast variance against all pairs of a dense inverse, and its memory."""

import itertools
import tracemalloc

import numpy as np
import pytest

from sparsebandits.estimation import contrasts
from sparsebandits.estimation.contrasts import largest_contrast_variance, sum_of_two_largest
from sparsebandits.exploration import AffineBasis, Basis, BlockBasis, DiagonalBasis, MatrixBasis
from sparsebandits.validation import FloatArray
from tests.estimation.simulation import BASES
from tests.exploration.examples import example_bases


def slow(basis: Basis, weights: FloatArray) -> float:
    inverse = np.linalg.inv(basis.gram)
    best = 0.0
    for i, j in itertools.combinations(range(basis.dim), 2):
        for sign in (-1, 1):
            contrast = np.zeros(basis.dim)
            contrast[i], contrast[j] = weights[i], sign * weights[j]
            best = max(best, float(contrast @ inverse @ contrast))
    return best


@pytest.mark.parametrize("basis", [*example_bases(), *BASES.values()], ids=lambda b: b.kind)
@pytest.mark.parametrize("seed", range(6))
def test_all_representations_agree_with_all_pairs(basis: Basis, seed: int) -> None:
    weights = np.random.default_rng(seed).uniform(0.0, 2.0, basis.dim) ** 3
    expected = slow(basis, weights)
    assert largest_contrast_variance(basis, weights) == pytest.approx(expected, rel=1e-8)
    dense = MatrixBasis(np.linalg.cholesky(basis.gram).T)  # of the same B
    assert largest_contrast_variance(dense, weights) == pytest.approx(expected, rel=1e-8)


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = example_bases()[2]
    weights = np.linspace(0.5, 2.0, basis.dim)
    monkeypatch.setattr(contrasts, "_CHUNK_ENTRIES", 2 * basis.dim)
    assert largest_contrast_variance(basis, weights) == pytest.approx(slow(basis, weights))


def test_with_a_baseline_many_coordinates_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few as these are not; on axes the bound is what it bounds."""
    on_axes, skew = example_bases()[3:5]
    monkeypatch.setattr(contrasts, "EXACT_DIM", 1)
    monkeypatch.setattr("sparsebandits.exploration.affine.EXACT_DIM", 1)
    weights = np.linspace(0.5, 2.0, on_axes.dim)
    assert largest_contrast_variance(on_axes, weights) == pytest.approx(slow(on_axes, weights))
    assert largest_contrast_variance(skew, weights) >= slow(skew, weights)
    for basis in (on_axes, skew):
        assert isinstance(basis, AffineBasis)
        bounded = AffineBasis(basis.differences, basis.origin).lambda_0
        assert 0 < bounded <= basis.lambda_0
    even = DiagonalBasis(np.full(5, 2.0))
    assert AffineBasis(even, np.zeros(5)).lambda_0 == pytest.approx(4 / 6)


def test_one_coordinate_has_no_pair() -> None:
    for basis in (DiagonalBasis([2.0]), BlockBasis([([0], [[2.0]])]), MatrixBasis([[2.0]])):
        assert largest_contrast_variance(basis, np.ones(1)) == 0.0
    assert sum_of_two_largest(np.array([3.0])) == 0.0
    assert sum_of_two_largest(np.array([3.0, 1.0, 2.0])) == 5.0


@pytest.mark.parametrize("kind", ["diagonal", "block"])
def test_many_coordinates_need_no_square_matrix(kind: str) -> None:
    dim = 1_000_000 if kind == "diagonal" else 20_000
    pairs = ([[2 * i, 2 * i + 1], [[1.0, 0.5], [0.0, 1.0]]] for i in range(dim // 2))
    basis = DiagonalBasis(np.ones(dim)) if kind == "diagonal" else BlockBasis(list(pairs))
    tracemalloc.start()
    largest = largest_contrast_variance(basis, np.ones(dim))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest == pytest.approx(2.0 if kind == "diagonal" else 1.25 + 1.0 + 2 * 0.5)
    assert peak < (40 if kind == "diagonal" else 2000) * dim
