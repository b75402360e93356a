"""Every bound: its formulas, the derived quantities, the table and what it refuses."""

import dataclasses
import itertools
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import (
    CONFIDENCE,
    ConfidenceBound,
    MixtureBound,
    PairwiseBound,
    PaperBound,
    UnionBound,
    make_confidence,
)
from sparsebandits.estimation.anytime import best_rho, mixture_width
from sparsebandits.exploration import DiagonalBasis, make_basis
from sparsebandits.validation import FloatArray
from tests.estimation.simulation import BASES
from tests.exploration.examples import example_bases

each_bound = pytest.mark.parametrize("name", list(CONFIDENCE))
PAPER_BASIS = make_basis("standard", sb.LpBall(dim=20), sparsity=5)
CYCLES = np.array([[1, 2, 10], [100, 10_000, 10**9]])


def test_the_papers_numbers() -> None:
    """d = 20, sigma = 0.5: h_1 = 10, and 2 epsilon_c is 2.5 after 100 cycles."""
    bound = PaperBound(PAPER_BASIS, delta=0.05)
    assert PAPER_BASIS.h_1(0.5) == 10.0
    assert 0.5 * bound.top_h_threshold(100) == pytest.approx(2.5215, abs=1e-4)
    for c in (1, 7, 100):
        epsilon_c = math.sqrt(10.0 * math.log(2 * 20 * c**2 / 0.05) / c)
        assert 0.5 * bound.radius(c, 5) == pytest.approx(epsilon_c)
        assert 0.5 * bound.top_h_threshold(c) == pytest.approx(2 * epsilon_c)
        np.testing.assert_allclose(0.5 * bound.coordinate_radius(c), np.full(20, epsilon_c))


@pytest.mark.parametrize("basis", example_bases(), ids=lambda basis: basis.kind)
def test_the_paper_uses_h_1_of_the_basis(basis: Any) -> None:
    values = np.linalg.eigvalsh(basis.gram)
    expected = 2 * values.sum() / values[0] ** 2 * math.log(2 * 7 * 9 / 0.1) / 3
    assert PaperBound(basis, 0.1).radius(3, 1) ** 2 == pytest.approx(expected)


def test_sharper_bounds_lock_far_earlier_than_the_paper() -> None:
    cycles = np.array([10, 100, 1000, 10_000])
    paper = PaperBound(PAPER_BASIS, 0.05).top_h_threshold(cycles)
    ratios = {n: made.top_h_threshold(cycles) / paper for n, made in all_at(PAPER_BASIS).items()}
    for name, ratio in ratios.items():
        print(name, ratio.round(3))
    assert (ratios["coordinate"] < 0.24).all()
    assert (ratios["stitched"][1:] < ratios["coordinate"][1:]).all()
    assert (ratios["mixture"][1:] < ratios["stitched"][1:]).all()
    assert (ratios["pairwise"] < 0.9 * ratios["mixture"]).all()
    assert (ratios["pairwise"][1:] < 0.14).all()


def all_at(basis: Any) -> dict[str, ConfidenceBound]:
    return {name: make_confidence(name, basis, 0.05) for name in CONFIDENCE}


def test_coordinate_radii_use_the_true_variances() -> None:
    basis = BASES["correlated"]
    deviation = np.sqrt(np.diag(np.linalg.inv(basis.gram)))
    for c in (1, 50):
        share = 6 * 0.1 / (math.pi**2 * c**2 * basis.dim)
        expected = deviation * math.sqrt(2 * math.log(2 / share) / c)
        np.testing.assert_allclose(UnionBound(basis, 0.1).coordinate_radius(c), expected)


@pytest.mark.parametrize("name", ["coordinate", "stitched", "mixture", "pairwise"])
def test_radius_is_the_worst_support(name: str) -> None:
    bound = make_confidence(name, BASES["correlated"], 0.1)
    widths = bound.coordinate_radius(9)
    for size in (1, 3, 6):
        worst = max(
            math.sqrt((widths[list(support)] ** 2).sum())
            for support in itertools.combinations(range(6), size)
        )
        assert bound.radius(9, size) == pytest.approx(worst)


@pytest.mark.parametrize("name", ["coordinate", "stitched", "mixture"])
def test_the_threshold_is_the_worst_pair(name: str) -> None:
    bound = make_confidence(name, BASES["correlated"], 0.1)
    weights = np.array([0.5, 1.0, 2.0, 0.0, 1.0, 3.0])
    for w in (np.ones(6), weights):
        widths = w * bound.coordinate_radius(9)
        worst = max(widths[i] + widths[j] for i, j in itertools.combinations(range(6), 2))
        assert bound.top_h_threshold(9, w) == pytest.approx(worst)
    assert bound.top_h_threshold(9) == bound.top_h_threshold(9, np.ones(6))


def test_the_pairwise_threshold_is_the_worst_contrast() -> None:
    basis = BASES["correlated"]
    bound = PairwiseBound(basis, 0.1)
    inverse = np.linalg.inv(basis.gram)
    alpha = 0.9 * 0.1 / 30
    log_level = -math.log(alpha)
    width = float(mixture_width(np.array(9.0), log_level, best_rho(log_level, 100)))
    for w in (np.ones(6), np.array([0.5, 1.0, 2.0, 0.0, 1.0, 3.0])):
        scaled = inverse * w * w[:, None]
        worst = max(
            scaled[i, i] + scaled[j, j] + 2 * abs(scaled[i, j])
            for i, j in itertools.combinations(range(6), 2)
        )
        assert bound.top_h_threshold(9, w) == pytest.approx(width * math.sqrt(worst))
    assert bound.top_h_threshold(9) == bound.top_h_threshold(9, np.ones(6))


def test_pairwise_spends_delta_once() -> None:
    """Nine tenths on d (d - 1) contrasts and one tenth on d coordinates."""
    basis = PAPER_BASIS
    bound = PairwiseBound(basis, 0.05)
    twin = MixtureBound(basis, 0.1 * 0.05)
    np.testing.assert_allclose(bound.coordinate_radius(30), twin.coordinate_radius(30))
    one = MixtureBound(DiagonalBasis([1.0]), 0.9 * 0.05 / (20 * 19))
    threshold = math.sqrt(2) * float(one.radius(30, 1))
    assert bound.top_h_threshold(30) == pytest.approx(threshold)


def test_the_papers_weights() -> None:
    bound = PaperBound(DiagonalBasis([1.0] * 3), 0.1)
    assert bound.top_h_threshold(4, [1.0, 3.0, 2.0]) == pytest.approx(5 * bound.radius(4, 1))


def test_the_mixture_is_narrowest_where_it_was_asked_to_be() -> None:
    early, late = (MixtureBound(PAPER_BASIS, 0.05, best_cycle=c) for c in (10, 10_000))
    assert early.radius(10, 1) < late.radius(10, 1)
    assert late.radius(10_000, 1) < early.radius(10_000, 1)
    default = MixtureBound(PAPER_BASIS, 0.05)
    for c in (10, 30, 100, 1000, 10_000):
        best = MixtureBound(PAPER_BASIS, 0.05, best_cycle=c).radius(c, 1)
        assert best <= default.radius(c, 1) < 1.2 * best


@each_bound
def test_arrays_of_cycles_give_arrays(name: str) -> None:
    bound = make_confidence(name, BASES["correlated"], 0.1)
    methods: list[Callable[[Any], FloatArray]] = [
        bound.top_h_threshold,
        bound.coordinate_radius,
        lambda cycle: bound.radius(cycle, 2),
    ]
    for method in methods:
        widths = method(CYCLES)
        trailing = widths.shape[CYCLES.ndim :]
        assert widths.shape == CYCLES.shape + trailing
        for where, c in np.ndenumerate(CYCLES):
            single = method(int(c))
            assert isinstance(single, np.ndarray)
            assert single.shape == trailing
            np.testing.assert_allclose(widths[where], single, rtol=1e-14)
    assert bound.coordinate_radius(CYCLES).shape == (2, 3, 6)


@each_bound
def test_smaller_delta_is_wider_and_one_coordinate_works(name: str) -> None:
    basis = DiagonalBasis([2.0])
    loose, tight = make_confidence(name, basis, 0.5), make_confidence(name, basis, 1e-300)
    assert 0 < loose.radius(5, 1) < tight.radius(5, 1) < math.inf
    assert np.isfinite(tight.top_h_threshold(5))


@each_bound
def test_a_million_coordinates_fit_in_a_few_vectors(name: str) -> None:
    basis = DiagonalBasis(np.ones(1_000_000))
    tracemalloc.start()
    bound = make_confidence(name, basis, 0.05)
    widths = bound.top_h_threshold(3), bound.radius(3, 10), bound.coordinate_radius(3)[-1]
    weighted = bound.top_h_threshold(3, np.ones(1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert weighted == pytest.approx(widths[0])
    assert peak < 10 * 8 * 1_000_000


@each_bound
def test_bounds_are_frozen_and_compare_by_value(name: str) -> None:
    bound = make_confidence(name, PAPER_BASIS, 0.05)
    assert bound.name == name
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.__setattr__("delta", 0.5)
    again = type(bound)(PAPER_BASIS, 0.05)
    assert again == bound
    assert hash(again) == hash(bound)
    assert again.top_h_threshold(17) == bound.top_h_threshold(17)


def test_own_bounds_are_taken() -> None:
    own = MixtureBound(PAPER_BASIS, 0.05, best_cycle=1000)
    assert make_confidence(own, PAPER_BASIS, 0.05) is own
    assert make_confidence(MixtureBound, PAPER_BASIS, 0.05) == MixtureBound(PAPER_BASIS, 0.05)
    with pytest.raises(sb.CompositionError, match=r"delta = 0.05 and is used with delta = 0.1"):
        make_confidence(own, PAPER_BASIS, 0.1)
    with pytest.raises(sb.CompositionError, match="build it with the same basis"):
        make_confidence(own, DiagonalBasis([1.0] * 20), 0.05)


def test_unknown_names_list_the_known_ones() -> None:
    known = "'paper', 'coordinate', 'stitched', 'mixture', 'pairwise', 'support'"
    with pytest.raises(sb.InvalidValueError, match=f"one of {known}, got 'hoeffding'"):
        make_confidence("hoeffding", PAPER_BASIS, 0.05)
    with pytest.raises(sb.InvalidTypeError, match="a name, a ConfidenceBound or a class"):
        make_confidence(3, PAPER_BASIS, 0.05)


@each_bound
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, math.inf, "0.1", None, True])
def test_delta_must_be_a_probability(name: str, delta: Any) -> None:
    with pytest.raises(sb.SparseBanditsError, match="delta must"):
        make_confidence(name, PAPER_BASIS, delta)


@each_bound
def test_arguments_are_checked(name: str) -> None:
    bound = make_confidence(name, PAPER_BASIS, 0.05)
    with pytest.raises(sb.InvalidValueError, match="cycle must be at least 1, got 0"):
        bound.radius(np.array([1, 0]), 1)
    with pytest.raises(sb.InvalidTypeError, match=r"cycle must be an integer .* got 1.5"):
        bound.coordinate_radius(1.5)
    for size in (0, 21):
        with pytest.raises(sb.InvalidValueError, match="must be at"):
            bound.radius(1, size)
    with pytest.raises(sb.InvalidValueError, match=r"weights must have shape \(20,\)"):
        bound.top_h_threshold(1, [1.0])
    with pytest.raises(sb.InvalidValueError, match="weights must be non-negative, got -1"):
        bound.top_h_threshold(1, [-1.0] * 20)
    with pytest.raises(sb.InvalidValueError, match="weights must be finite"):
        bound.top_h_threshold(1, [math.nan] * 20)
    basis: Any = np.eye(3)
    with pytest.raises(sb.InvalidTypeError, match="basis must be a Basis"):
        CONFIDENCE[name](basis, 0.05)


def test_best_cycle_is_checked() -> None:
    with pytest.raises(sb.InvalidValueError, match="best_cycle must be at least 1"):
        MixtureBound(PAPER_BASIS, 0.05, best_cycle=0)
