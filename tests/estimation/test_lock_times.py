"""Cycles to lock against a plain scan, and the paper's C_0."""

import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import CONFIDENCE, cycles_to_lock, make_confidence, warmup_cycles
from sparsebandits.exploration import DiagonalBasis
from sparsebandits.validation import FloatArray

EVERY = np.arange(1, 3001)


@pytest.mark.parametrize("name", list(CONFIDENCE))
@pytest.mark.parametrize(("dim", "delta"), [(1, 0.99), (2, 0.9), (20, 0.05)])
def test_the_first_cycle_that_passes(name: str, dim: int, delta: float) -> None:
    bound = make_confidence(name, DiagonalBasis([1.0] * dim), delta)
    widths = bound.radius(EVERY, dim)
    for gap in np.geomspace(widths[-1] * 0.7, widths.max() * 1.1, 60):
        passing = np.flatnonzero(gap > 0.5 * 0.8 * widths)
        found = cycles_to_lock(gap, lambda c: bound.radius(c, dim), sigma=0.5, scale=0.8)
        assert found == passing[0] + 1


def test_the_edges() -> None:
    threshold = make_confidence("mixture", DiagonalBasis([1.0, 1.0]), 0.1).top_h_threshold
    assert cycles_to_lock(0.0, threshold) == math.inf
    assert cycles_to_lock(-1.0, threshold) == math.inf
    assert cycles_to_lock(1e-9, threshold) == math.inf
    assert cycles_to_lock(math.inf, threshold) == 1
    assert cycles_to_lock(math.inf, threshold, sigma=math.inf) == 1
    assert cycles_to_lock(1e-3, threshold, sigma=0.0) == 1
    assert cycles_to_lock(1.0, threshold, sigma=math.inf) == math.inf
    near = float(threshold(10**12)) * (1 + 1e-9)
    assert 0.99e12 < cycles_to_lock(near, threshold) <= 1e12
    for c in (64, 65, 128, 129):
        assert cycles_to_lock(float(threshold(c)) * (1 + 1e-12), threshold) == c


def test_thresholds_need_not_fall_from_the_start() -> None:
    def bumpy(cycle: Any) -> FloatArray:
        c = np.asarray(cycle)
        return np.where(c == 3, 1.0, np.where(c < 15, 3.0, 30.0 / c))

    assert cycles_to_lock(2.0, bumpy) == 3
    assert cycles_to_lock(0.9, bumpy) == 34


def test_c_0_is_the_printed_formula() -> None:
    gap, h_1, dim, delta = 0.3, 10.0, 20, 0.05
    Gamma = 16 * h_1 / gap**2
    expected = 2 * Gamma * math.log(2 * dim / delta) + 8 * Gamma * math.log(4 * Gamma)
    assert warmup_cycles(gap, h_1, dim, delta) == pytest.approx(expected)
    assert warmup_cycles(gap, 0.0, dim, delta) == 0.0


@pytest.mark.parametrize("gap", [0.03, 0.3, 3.0])
@pytest.mark.parametrize("dim", [2, 20, 500])
def test_c_0_is_enough(gap: float, dim: int) -> None:
    """After C_0 cycles 4 epsilon_c is below the gap, so the test must have passed."""
    basis = DiagonalBasis([1.0] * dim)
    bound = make_confidence("paper", basis, 0.05)
    needed = cycles_to_lock(gap / 2, bound.top_h_threshold, sigma=0.5)
    assert needed <= warmup_cycles(gap, basis.h_1(0.5), dim, 0.05) < 20 * needed


def test_arguments_are_checked() -> None:
    bound: Any = make_confidence("paper", DiagonalBasis([1.0, 1.0]), 0.1).top_h_threshold
    with pytest.raises(sb.InvalidValueError, match="gap must be a finite number, got nan"):
        cycles_to_lock(math.nan, bound)
    with pytest.raises(sb.InvalidValueError, match="sigma must be non-negative"):
        cycles_to_lock(1.0, bound, sigma=-1.0)
    with pytest.raises(sb.InvalidValueError, match="scale must be non-negative"):
        cycles_to_lock(1.0, bound, scale=-1.0)
    with pytest.raises(sb.InvalidValueError, match="their product means nothing"):
        cycles_to_lock(1.0, bound, sigma=math.inf, scale=0.0)
    with pytest.raises(sb.InvalidValueError, match="gap must be positive"):
        warmup_cycles(0.0, 1.0, 2, 0.1)
    with pytest.raises(sb.InvalidValueError, match="h_1 must be non-negative"):
        warmup_cycles(1.0, -1.0, 2, 0.1)
    with pytest.raises(sb.InvalidValueError, match="delta must lie strictly between 0 and 1"):
        warmup_cycles(1.0, 1.0, 2, 1.0)
