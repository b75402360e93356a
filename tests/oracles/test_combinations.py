"""Every kind of set with every kind of rule and every method, against all supports."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.validation import FloatArray
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


@cache
def values_of(kind: str, row: int) -> dict[frozenset[int], float]:
    """What every support of a set earns."""
    return allowed_values(SETS[kind], THETA[row])


OFFERS: dict[str, Any] = {
    "mask": np.array([True, True, False, True, True, True]),
    "list": [5, 0, 4, 2],
    "all but": sb.AllBut([1, 5]),
}


def check_every_rule(
    X: sb.ActionSet, theta: FloatArray, values: dict[frozenset[int], float]
) -> int:
    """Hold every method to the best of all supports that are left; return how many rules can be."""
    possible = 0
    for name, rules in RULES.items():
        allowed = {on: value for on, value in values.items() if slow_allows(rules, on)}
        is_possible = max(allowed.values(), default=-np.inf) > -np.inf
        expected = ways(X, rules) if is_possible else set()
        assert check_against_all(X, theta, rules, allowed) == expected, name
        possible += is_possible
    return possible


@pytest.mark.parametrize("kind", SETS)
def test_exact_ways_are_best_and_others_feasible_or_refused(kind: str) -> None:
    for row, theta in enumerate(THETA):
        assert check_every_rule(SETS[kind], theta, values_of(kind, row)) == len(RULES)


@pytest.mark.parametrize("kind", SETS)
def test_the_same_with_what_is_available(kind: str) -> None:
    """On 4 of 6 coordinates what is always on may be missing: refused, as by all supports."""
    possible = {}
    for offer, available in OFFERS.items():
        X = SETS[kind].restrict(available)
        left = {
            on: value for on, value in values_of(kind, 0).items() if X.available[list(on)].all()
        }
        possible[offer] = check_every_rule(X, THETA[0], left)
    assert possible["mask"] >= 6
    assert 4 <= possible["all but"] < len(RULES)  # 5 must always be on


@pytest.mark.parametrize("policy", [sb.SparseThompson, sb.APSEEG])  # one explores by a basis
def test_a_learner_refuses_an_offer_without_what_is_always_on(policy: type[sb.Policy]) -> None:
    X = sb.LpBall(DIM, names=list("abcdef"))
    learner = policy(action_set=X, sparsity=RULES["always"]).start(seed=0)
    with pytest.raises(sb.InvalidValueError, match=r"'f'\] must always be on, and is not avail"):
        learner.ask(available=["a", "b"])
    assert set(learner.ask(available=["a", "f"]).named) <= {"a", "f"}


def test_an_offer_of_too_little_is_refused_with_what_there_is() -> None:
    X = sb.Box(-UPPER, UPPER).restrict([0, 1])
    with pytest.raises(sb.InvalidValueError, match="with 2 of 6 coordinates available"):
        sb.sparse_argmax(X, THETA[0], RULES["at_least"])
