"""Diagonal bases: O(d) memory and what the constructor refuses."""

import tracemalloc

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import DiagonalBasis, make_basis

_LARGE = 1_000_000


@pytest.mark.parametrize("name", ["standard", "boundary"])
@pytest.mark.parametrize(
    "action_set",
    [
        sb.LpBall(_LARGE, p=1.5, radius=0.5),
        sb.Box(np.full(_LARGE, -0.5), np.full(_LARGE, 2.0)),
        sb.Budget(total=3.0, upper=np.full(_LARGE, 2.0)),
    ],
    ids=["lp-ball", "box", "budget"],
)
def test_a_million_coordinates_fit_in_a_few_vectors(name: str, action_set: sb.ActionSet) -> None:
    tracemalloc.start()
    basis = make_basis(name, action_set, sparsity=10)
    theta = basis.estimate(np.ones(_LARGE))
    recovered = basis.predict(theta)
    bounds = (basis.h_1(1.0), basis.inverse_trace, basis.sparsity, basis.coordinate_variance[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 8 * _LARGE
    assert recovered[-1] == pytest.approx(1.0)
    assert np.isfinite(bounds).all()


def test_scales_are_read_only() -> None:
    basis = DiagonalBasis([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        basis.scales[0] = 5.0


def test_a_zero_scale_is_refused() -> None:
    with pytest.raises(sb.InvalidValueError, match=r"scales\[1\] = 0"):
        DiagonalBasis([1.0, 0.0, 2.0])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_scale_whose_square_is_lost_is_refused(scale: float) -> None:
    with pytest.raises(sb.InvalidValueError, match="too long or too short"):
        DiagonalBasis([1.0, scale])


def test_very_different_scales_are_no_reason_to_refuse() -> None:
    basis = DiagonalBasis([1e-20, 1.0])
    np.testing.assert_allclose(basis.estimate([1e-20, 3.0]), [1.0, 3.0])
