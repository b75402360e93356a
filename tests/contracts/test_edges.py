"""Wherever numbers come in, only real numbers do."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import pooled_sigma
from sparsebandits.exploration import MatrixBasis
from sparsebandits.theory import cycles_in

BALL = sb.LpBall(2)
BASIS = sb.make_basis("standard", BALL, 1)


def learner() -> Any:
    return sb.LinTS(action_set=BALL, sparsity=1).start(seed=0)


def told(reward: Any) -> None:
    playing = learner()
    playing.tell(playing.ask(), reward)


VECTORS: dict[str, Callable[[Any], object]] = {
    "lower": lambda bad: sb.Box(bad, [1, 1]),
    "upper": lambda bad: sb.Box([0, 0], bad),
    "budget": lambda bad: sb.Budget(1.0, bad),
    "bounds": lambda bad: sb.Polytope([[1], [-1]], bad),
    "value": BALL.value,
    "best response": BALL.best_response,
    "contains": BALL.contains,
    "oracle": lambda bad: sb.sparse_argmax(BALL, bad, 1),
    "batch": lambda bad: sb.sparse_argmax_batch(BALL, bad, 1),
    "gamma": lambda bad: sb.submodularity_ratio(BALL, bad),
    "predict": BASIS.predict,
    "estimate": BASIS.estimate,
    "theta*": lambda bad: sb.LinearEnvironment(action_set=BALL, theta_star=bad),
    "pull": sb.LinearEnvironment(action_set=BALL, theta_star=[1, 0]).start(0, sparsity=1).pull,
    "log of actions": lambda bad: learner().warm_start([bad], [1.0]),
    "log of rewards": lambda bad: learner().warm_start([[1, 0], [0, 1]], bad),
}
MATRICES: dict[str, Callable[[Any], object]] = {
    "ellipsoid": sb.Ellipsoid,
    "polytope": lambda bad: sb.Polytope(bad, [1, 1]),
    "finite": sb.FiniteSet,
    "own basis": lambda bad: sb.make_basis(bad, BALL, 2),
    "matrix basis": lambda bad: MatrixBasis(bad, "mine"),
}
SUPPORTS: dict[str, Callable[[Any], object]] = {
    "support": lambda bad: BALL.value([1, 1], bad),
    "restrict": BALL.restrict,
    "available": lambda bad: learner().ask(available=bad),
}
NUMBERS: dict[str, Callable[[Any], object]] = {
    "radius": lambda bad: sb.LpBall(2, radius=bad),
    "sigma": sb.Gaussian,
    "reward": told,
}
WHOLE: dict[str, Callable[[Any], object]] = {
    "cycles": lambda bad: cycles_in(bad, 2),
    "degrees of freedom": lambda bad: pooled_sigma([1.0, 1.0], bad),
}

NOT_REAL: dict[str, Any] = {
    "masked": np.ma.array([1, 0], mask=[False, True]),
    "complex": [1 + 1j, 0],
    "text": ["1", "0"],
    "bytes": [b"1", b"0"],
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    "durations": np.array([1, 0], dtype="m8[D]"),
    "objects": [object(), 1],
    "missing": [None, 1],
    "ragged": [[1, 0], [1]],
    "too large": [10**400, 1],
}

every_bad = pytest.mark.parametrize("bad", NOT_REAL.values(), ids=NOT_REAL)


@every_bad
@pytest.mark.parametrize("edge", VECTORS.values(), ids=VECTORS)
def test_vectors(edge: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(sb.SparseBanditsError):
        edge(bad)


@every_bad
@pytest.mark.parametrize("edge", MATRICES.values(), ids=MATRICES)
def test_matrices(edge: Callable[[Any], object], bad: Any) -> None:
    rows = np.ma.array([bad, bad]) if np.ma.is_masked(bad) else [bad, bad]
    with pytest.raises(sb.SparseBanditsError):
        edge(rows)


@every_bad
@pytest.mark.parametrize("edge", (SUPPORTS | WHOLE).values(), ids=SUPPORTS | WHOLE)
def test_indices_and_counts(edge: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(sb.SparseBanditsError):
        edge(bad)


@every_bad
@pytest.mark.parametrize("edge", NUMBERS.values(), ids=NUMBERS)
def test_single_numbers(edge: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(sb.SparseBanditsError):
        edge(bad)
    for scalar in (bad[1] if np.ma.is_masked(bad) else bad[0], np.complex128(1 + 1j)):
        with pytest.raises(sb.SparseBanditsError):
            edge(scalar)


def test_every_way_to_write_a_real_number_is_taken() -> None:
    written: list[Any] = [
        [3, 4],
        (3.0, 4.0),
        np.array([3, 4], dtype=np.int8),
        np.array([3, 4], dtype=np.float32),
        np.ma.array([3, 4]),
        [Fraction(3), Decimal(4)],
        [np.int64(3), np.float64(4)],
    ]
    for theta in written:
        assert BALL.value(theta) == 5.0
    numbers: list[Any] = [3, Decimal(3), Fraction(3), np.int64(3), np.array(3.0), np.float32(3)]
    for number in numbers:
        assert sb.LpBall(2, radius=number).radius == 3.0
    assert sb.LpBall(2, radius=2**70).radius == 2.0**70
