"""Every kind of set with every kind of rule and every method, against all supports."""

import numpy as np
import pytest

import sparsebandits as sb
from tests.contracts.examples import correlated_matrix
from tests.oracles.test_supports import check_against_all
from tests.reference.slow import allowed_values, slow_allows

DIM = 6

RULES = {
    "number": sb.Supports(at_most=3),
    "at_least": sb.Supports(at_most=4, at_least=3),
    "blocks": sb.Supports(at_most=2, blocks=[(0, 1), (2, 3, 4)]),
    "groups": sb.Supports(at_most=3, groups={(0, 1, 2): 1, (3, 4): 1}),
    "always": sb.Supports(at_most=3, always=[5]),
    "never_together": sb.Supports(at_most=3, never_together=[(0, 1), (2, 3)]),
    "mix": sb.Supports(
        at_most=3,
        at_least=2,
        blocks=[(0, 1)],
        groups={(1, 2, 3): 1},
        always=[4],
        never_together=[(3, 5)],
    ),
}

UPPER = np.array([0.9, 0.4, 0.7, 0.5, 1.0, 0.6])
DOSES = UPPER * [0.3, 0.9, 0.0, 0.5, 0.2, 0.7]
CUTS = np.random.default_rng(0).standard_normal((8, DIM))
ROWS = np.vstack([np.eye(DIM), -np.eye(DIM), CUTS])
SIDES = np.concatenate([UPPER, np.full(DIM, 0.3), np.full(8, 0.8)])
SLATES = np.random.default_rng(1).integers(-1, 2, (60, DIM))

SETS: dict[str, sb.ActionSet] = {
    "l1 ball": sb.LpBall(DIM, p=1.0, radius=0.5),
    "l1.5 ball": sb.LpBall(DIM, p=1.5, radius=2.0),
    "l2 ball": sb.LpBall(DIM),
    "cube": sb.LpBall(DIM, p=np.inf),
    "box": sb.Box(-UPPER[::-1], UPPER),
    "budget": sb.Budget(1.2, UPPER),
    "budget, min_dose": sb.Budget(1.2, UPPER, DOSES),
    "budget, spend_all": sb.Budget(0.8, UPPER, spend_all=True),
    "budget, min_dose and spend_all": sb.Budget(1.2, UPPER, DOSES, spend_all=True),
    "ellipsoid": sb.Ellipsoid(correlated_matrix(np.random.default_rng(2), DIM)),
    "polytope": sb.Polytope(ROWS, SIDES),
    "polytope, equalities": sb.Polytope(ROWS, SIDES, equalities=([[1.0] * DIM], [0.7])),
    "polytope, min_dose": sb.Polytope(ROWS, SIDES, min_dose=0.6 * DOSES),
    "finite set": sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM), SLATES])),
}

THETA = np.array([[0.8, -1.1, 0.3, 1.2, -0.4, 0.7], [-0.2, 0.0, -0.9, 0.5, 0.0, -1.3]])


def ways(X: sb.ActionSet, rules: sb.Supports) -> set[str]:
    """The methods that can answer: sorting needs a matroid, greedy a start and nothing to undo."""
    able = {"auto", "exact"}
    if X.sorting is not None and rules is not RULES["mix"]:
        able.add("top-h")
    starts = X.contains_zero or any(X.value(THETA[0], [i]) > -np.inf for i in range(DIM))
    forced = rules.always or rules.at_least
    return able | ({"greedy", "swap"} if starts and (X.is_convex or not forced) else set())


@pytest.mark.parametrize("kind", SETS)
def test_exact_ways_are_best_and_others_feasible_or_refused(kind: str) -> None:
    X = SETS[kind]
    for theta in THETA:
        values = allowed_values(X, theta)
        for name, rules in RULES.items():
            allowed = {on: value for on, value in values.items() if slow_allows(rules, on)}
            assert max(allowed.values()) > -np.inf, name  # else there would be nothing to find
            assert check_against_all(X, theta, rules, allowed) == ways(X, rules), name
