"""Random instances of every registered action set: a new set adds its line here."""

from collections.abc import Callable

import numpy as np
from scipy.stats import ortho_group

import sparsebandits as sb
from sparsebandits.validation import FloatArray

Factory = Callable[[np.random.Generator, int], sb.ActionSet]


def correlated_matrix(rng: np.random.Generator, dim: int, condition: float = 20.0) -> FloatArray:
    """A positive definite matrix with lambda_max = 1 and the given condition number."""
    if dim == 1:
        return np.ones((1, 1))
    basis = ortho_group.rvs(dim, random_state=rng)
    return np.asarray((basis * np.geomspace(1 / condition, 1, dim)) @ basis.T)


def _polytope(rng: np.random.Generator, dim: int) -> sb.Polytope:
    rows = np.vstack([rng.standard_normal((2 * dim, dim)), np.eye(dim), -np.eye(dim)])
    return sb.Polytope(rows, rng.uniform(0.3, 1.5, rows.shape[0]))


def _portfolio(rng: np.random.Generator, dim: int) -> sb.Polytope:
    """Weights that add up to 1, without 0; on one of two coordinates at least."""
    rows, sides = np.vstack([np.eye(dim), -np.eye(dim)]), np.repeat([0.8 + (dim < 3), 0.0], dim)
    return sb.Polytope(rows, sides, equalities=(np.ones((1, dim)), [1.0]))


def _dosed_polytope(rng: np.random.Generator, dim: int) -> sb.Polytope:
    plain = _polytope(rng, dim)
    reach = plain.axis_reach()[1]
    return sb.Polytope(plain.matrix, plain.bounds, min_dose=reach * rng.uniform(0, 0.7, dim))


def _finite(rng: np.random.Generator, dim: int) -> sb.FiniteSet:
    points = rng.standard_normal((6 * dim, dim)) * (rng.uniform(size=(6 * dim, dim)) < 0.5)
    return sb.FiniteSet(np.vstack([points, np.eye(dim), np.zeros((1, dim))]))


def _dosed_budget(rng: np.random.Generator, dim: int, *, spend_all: bool = False) -> sb.Budget:
    upper = rng.uniform(0.3, 1.0, dim) + (dim < 3)
    return sb.Budget(0.9, upper, np.minimum(upper, 0.9) * rng.uniform(0, 0.8, dim), spend_all)


EXAMPLES: dict[str, list[Factory]] = {
    "lp-ball": [
        lambda _, dim: sb.LpBall(dim, p=2.0),
        lambda _, dim: sb.LpBall(dim, p=1.5, radius=2.0),
        lambda _, dim: sb.LpBall(dim, p=1.0, radius=0.5),
        lambda _, dim: sb.LpBall(dim, p=3.0),
        lambda _, dim: sb.LpBall(dim, p=float("inf"), radius=1.5),
    ],
    "ellipsoid": [
        lambda rng, dim: sb.Ellipsoid(correlated_matrix(rng, dim)),
        lambda rng, dim: sb.Ellipsoid(np.diag(rng.uniform(0.2, 3.0, dim))),
    ],
    "box": [
        lambda _, dim: sb.Box(np.zeros(dim), np.ones(dim)),
        lambda rng, dim: sb.Box(-rng.uniform(0, 2, dim), rng.uniform(0, 2, dim)),
    ],
    "budget": [lambda rng, dim: sb.Budget(rng.uniform(0.5, 2.0), rng.uniform(0.1, 1.0, dim))],
    "polytope": [_polytope],
    "finite-set": [_finite],
}

EXTENDED: dict[str, list[Factory]] = {
    "budget": [
        _dosed_budget,
        lambda rng, dim: sb.Budget(0.8, rng.uniform(0.3, 1.0, dim) + (dim < 3), spend_all=True),
        lambda rng, dim: _dosed_budget(rng, dim, spend_all=True),
    ],
    "polytope": [_portfolio, _dosed_polytope],
    "finite-set": [lambda rng, dim: sb.FiniteSet(_finite(rng, dim).points[:-1])],
}
"""Sets without 0, and sets with least doses: some of their supports have no action."""


def cases(examples: dict[str, list[Factory]], suffix: str = "") -> list[tuple[str, Factory]]:
    """Every example with a name for the test's report."""
    return [
        (f"{kind}-{number}{suffix}", factory)
        for kind, factories in examples.items()
        for number, factory in enumerate(factories)
    ]


CASES = cases(EXAMPLES)
CASE_IDS = [name for name, _ in CASES]
FACTORIES = [factory for _, factory in CASES]

ALL_CASES = [*CASES, *cases(EXTENDED, "-extended")]
ALL_IDS = [name for name, _ in ALL_CASES]
ALL_FACTORIES = [factory for _, factory in ALL_CASES]
