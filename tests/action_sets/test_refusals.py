"""Illegal sets are refused at construction, and the message says what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb

nan, inf = float("nan"), float("inf")
Z3, I3 = np.zeros(3), np.eye(3)

REFUSED: dict[str, tuple[Callable[..., object], dict[str, Any], type[Exception], str]] = {
    "dim 0": (sb.LpBall, {"dim": 0}, ValueError, "dim must be at least 1, got 0"),
    "dim float": (sb.LpBall, {"dim": 2.5}, TypeError, "dim must be an integer"),
    "dim bool": (sb.LpBall, {"dim": True}, TypeError, "dim must be an integer"),
    "p below 1": (sb.LpBall, {"dim": 2, "p": 0.5}, ValueError, "p must be at least 1.*p=1"),
    "p nan": (sb.LpBall, {"dim": 2, "p": nan}, ValueError, "p must be a finite number, got nan"),
    "p text": (sb.LpBall, {"dim": 2, "p": "two"}, TypeError, "p must be a number, got 'two'"),
    "radius 0": (sb.LpBall, {"dim": 2, "radius": 0}, ValueError, "radius must be positive"),
    "radius inf": (sb.LpBall, {"dim": 2, "radius": inf}, ValueError, "radius.*finite.*inf"),
    "not square": (sb.Ellipsoid, {"matrix": np.ones((2, 3))}, ValueError, r"square.*\(2, 3\)"),
    "not symmetric": (sb.Ellipsoid, {"matrix": [[1, 0.5], [0, 1]]}, ValueError, "symmetric.*0.5"),
    "indefinite": (sb.Ellipsoid, {"matrix": [[1, 2], [2, 1]]}, ValueError, "definite.*-1"),
    "semidefinite": (sb.Ellipsoid, {"matrix": np.ones((2, 2))}, ValueError, "definite.*identity"),
    "negative": (sb.Ellipsoid, {"matrix": -I3}, ValueError, "positive definite"),
    "matrix nan": (sb.Ellipsoid, {"matrix": [[1, nan], [nan, 1]]}, ValueError, r"nan at.*\(0, 1\)"),
    "matrix flat": (sb.Ellipsoid, {"matrix": [1, 2]}, ValueError, "2 axes"),
    "matrix ragged": (sb.Ellipsoid, {"matrix": [[1], [1, 2]]}, TypeError, "array of numbers"),
    "crossed": (sb.Box, {"lower": [0, 0], "upper": [1, -1]}, ValueError, r"lower\[1\].*swap"),
    "0 outside": (sb.Box, {"lower": [1, 0], "upper": [2, 1]}, ValueError, "0 must be inside"),
    "lengths": (sb.Box, {"lower": [0], "upper": [1, 1]}, ValueError, "same length, got 1 and 2"),
    "box inf": (sb.Box, {"lower": Z3, "upper": [1, inf, 1]}, ValueError, "inf at index 1"),
    "box empty": (sb.Box, {"lower": [], "upper": []}, ValueError, "non-empty"),
    "total 0": (sb.Budget, {"total": 0, "upper": [1]}, ValueError, "total must be positive"),
    "total nan": (sb.Budget, {"total": nan, "upper": [1]}, ValueError, "total.*finite"),
    "upper < 0": (sb.Budget, {"total": 1, "upper": [1, -1]}, ValueError, r"upper\[1\] = -1"),
    "unbounded": (sb.Polytope, {"matrix": I3, "bounds": Z3 + 1}, ValueError, "unbounded.*Add"),
    "empty": (
        sb.Polytope,
        {"matrix": [[1.0], [-1.0]], "bounds": [-1, -1]},
        ValueError,
        "empty.*Relax",
    ),
    "equalities": (
        sb.Polytope,
        {"matrix": I3, "bounds": Z3 + 1, "equalities": ([[1, 1]], [1])},
        ValueError,
        "3 entries per right-hand side",
    ),
    "equalities text": (
        sb.Polytope,
        {"matrix": I3, "bounds": Z3 + 1, "equalities": 3},
        TypeError,
        r"pair \(A, b\)",
    ),
    "contradiction": (
        sb.Polytope,
        {
            "matrix": np.vstack([I3, -I3]),
            "bounds": np.ones(6),
            "equalities": ([[1, 1, 1]], [4.0]),
        },
        ValueError,
        "empty.*Relax",
    ),
    "doses above the total": (
        sb.Budget,
        {"total": 1.0, "upper": [3, 3], "min_dose": 2, "spend_all": True},
        ValueError,
        "must be spent, and the least dose of every coordinate that can be used is more",
    ),
    "doses leave gaps": (
        sb.Polytope,
        {
            "matrix": np.vstack([I3, -I3]),
            "bounds": np.ones(6),
            "equalities": ([[1, 1, 1]], [1.5]),
            "min_dose": 0.8,
        },
        ValueError,
        "least doses leave gaps",
    ),
    "too little to spend": (
        sb.Budget,
        {"total": 3, "upper": [1, 1], "spend_all": True},
        ValueError,
        "upper bounds of all coordinates add up to 2",
    ),
    "doses that never add up": (
        sb.Budget,
        {"total": 3, "upper": [2, 2], "min_dose": 2, "spend_all": True},
        ValueError,
        "least doses leave gaps",
    ),
    "dose above upper": (
        sb.Budget,
        {"total": 3, "upper": [2, 1], "min_dose": [1, 2]},
        ValueError,
        r"min_dose\[1\] = 2.0 with upper\[1\] = 1.0",
    ),
    "dose below 0": (
        sb.Budget,
        {"total": 3, "upper": [2, 1], "min_dose": -1.0},
        ValueError,
        "between 0 and upper",
    ),
    "doses": (
        sb.Budget,
        {"total": 3, "upper": [2, 1], "min_dose": [1, 1, 1]},
        ValueError,
        "each of the 2 coordinates",
    ),
    "rows": (sb.Polytope, {"matrix": I3, "bounds": [1, 1]}, ValueError, "3 rows and 2 bounds"),
    "polytope nan": (sb.Polytope, {"matrix": I3 * nan, "bounds": Z3}, ValueError, "finite"),
    "no points": (sb.FiniteSet, {"points": np.zeros((0, 3))}, ValueError, "non-empty"),
    "points inf": (sb.FiniteSet, {"points": [[0, 0], [inf, 0]]}, ValueError, "finite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_reason(case: str) -> None:
    build, arguments, standard, message = REFUSED[case]
    with pytest.raises(sb.SparseBanditsError, match=message) as caught:
        build(**arguments)
    assert isinstance(caught.value, standard)


def test_every_error_is_ours_and_standard() -> None:
    errors = [e for e in vars(sb).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert len(errors) >= 5
    for error in errors:
        assert issubclass(error, sb.SparseBanditsError)
        if error is not sb.SparseBanditsError:
            assert issubclass(error, (ValueError, TypeError))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "sphere", "dim": 3}, "must be of kind 'lp-ball'"),
        ({"dim": 3}, "must be of kind"),
        ({"kind": "lp-ball", "dim": 3, "r": 1}, "does not take the keys"),
        ({"kind": "box", "lower": [0]}, "does not take the keys"),
        ({"kind": "lp-ball", "dim": 3, "available": []}, "no coordinate"),
        ([1, 2], "table of keys"),
    ],
)
def test_descriptions_are_checked(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        sb.ActionSet.from_dict(data)


def test_sets_keep_their_own_copy() -> None:
    upper = np.ones(2)
    box = sb.Box(np.zeros(2), upper)
    upper[0] = 7
    assert box.upper[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        box.upper[0] = 3
