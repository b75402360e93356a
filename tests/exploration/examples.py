"""One example of every action set, and plain dense formulas to compare with."""

import numpy as np

import sparsebandits as sb
from sparsebandits.exploration import AffineBasis, Basis, BlockBasis, DiagonalBasis, MatrixBasis
from sparsebandits.validation import FloatArray

DIM = 7


def ellipsoid(dim: int, seed: int = 0) -> sb.Ellipsoid:
    factor = np.random.default_rng(seed).standard_normal((dim, dim + 2))
    return sb.Ellipsoid(factor @ factor.T / dim)


def polytope(dim: int, seed: int = 0) -> sb.Polytope:
    rng = np.random.default_rng(seed)
    cuts = rng.standard_normal((dim, dim))
    matrix = np.vstack([cuts, np.eye(dim), -np.eye(dim)])
    return sb.Polytope(matrix, rng.uniform(0.3, 2.0, 3 * dim))


def finite_set(dim: int, seed: int = 0) -> sb.FiniteSet:
    rng = np.random.default_rng(seed)
    points = np.zeros((20 * dim, dim))
    for row in points[1:]:
        row[rng.choice(dim, size=int(rng.integers(1, 4)), replace=False)] = rng.uniform(0.2, 2.0)
    return sb.FiniteSet(points * rng.choice([-1.0, 1.0], points.shape))


SYMMETRIC_SETS: dict[str, sb.ActionSet] = {
    **{f"lp-{p}": sb.LpBall(DIM, p=p, radius=0.7) for p in (1.0, 1.5, 2.0, 3.0, np.inf)},
    "lp-wide": sb.LpBall(DIM, p=2.0, radius=3.0),
    "ellipsoid": ellipsoid(DIM),
    "box": sb.Box(-np.linspace(0.1, 2.0, DIM), np.linspace(1.5, 0.2, DIM)),
    "polytope": polytope(DIM),
}
"""Sets with 0 in the interior: every direction can be followed a little way."""

ONE_SIDED_SETS: dict[str, sb.ActionSet] = {
    "unit-box": sb.Box(np.zeros(DIM), np.ones(DIM)),
    "budget": sb.Budget(total=1.5, upper=np.linspace(0.4, 2.0, DIM)),
}
CONVEX_SETS = {**SYMMETRIC_SETS, **ONE_SIDED_SETS}
FINITE_SETS: dict[str, sb.ActionSet] = {"finite": finite_set(DIM)}
ALL_SETS = {**CONVEX_SETS, **FINITE_SETS}


def spanning_matrix(dim: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((dim, dim)) + 2 * np.eye(dim)


def example_bases() -> list[Basis]:
    blocks = [
        ([4, 1], spanning_matrix(2, 1)),
        ([0, 3, 6], spanning_matrix(3, 2)),
        ([5, 2], spanning_matrix(2, 3)),
    ]
    return [
        DiagonalBasis([1.0, -2.0, 0.5, 3.0, -0.1, 1.0, 1.5]),
        BlockBasis(blocks),
        MatrixBasis(spanning_matrix(DIM, 4)),
        AffineBasis(DiagonalBasis([1.0, -2.0, 0.5, 3.0, -0.1, 1.0, 1.5]), np.zeros(DIM)),
        AffineBasis(MatrixBasis(spanning_matrix(DIM, 6)), np.linspace(-1.0, 2.0, DIM)),
    ]
