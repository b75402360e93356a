"""Units do not matter: theta, and the sets, from 1e-300 to 1e300."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import ORACLES, choose_supports
from tests.contracts.examples import CASE_IDS, EXTENDED, FACTORIES, Factory, cases

SCALES = [2.0**power for power in (-996, -531, -530, -100, 100, 511, 512, 990)]
"""Powers of two, about 1e-300 to 1e298: scaling by them is exact, so the same bits must come."""

every_set = pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
every_method = pytest.mark.parametrize("method", ORACLES)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@every_set
@pytest.mark.parametrize("support", [None, [0, 2]])
def test_the_best_response_does_not_depend_on_the_unit_of_theta(
    factory: Factory, support: Any
) -> None:
    rng = np.random.default_rng(0)
    X = factory(rng, 4)
    theta = rng.uniform(-1, 1, (3, 4))
    response, values = X.best_response(theta, support), X.value(theta, support)
    for scale in SCALES:
        assert (X.best_response(scale * theta, support) == response).all()
        assert (X.value(scale * theta, support) == scale * values).all()


@every_method
@every_set
def test_oracles_do_not_depend_on_the_unit_of_theta(factory: Factory, method: Any) -> None:
    rng = np.random.default_rng(1)
    X = factory(rng, 5)
    if method == "top-h" and X.sorting is None:
        return
    theta = rng.uniform(0.1, 1, 5) * rng.choice([-1.0, 1.0], 5)
    theta[0] = abs(theta[0])
    known = sb.sparse_argmax(X, theta, 2, method, runner_up=True)
    assert known.action.any()
    for scale in SCALES:
        found = sb.sparse_argmax(X, scale * theta, 2, method, runner_up=True)
        assert X.contains(found.action)
        assert (found.action == known.action).all()
        assert (found.support, found.is_exact) == (known.support, known.is_exact)
        for name in ("value", "gap", "upper_bound"):
            assert getattr(found, name) == scale * getattr(known, name), name
        assert (found.step_gaps == scale * known.step_gaps).all()
        supports, gaps = choose_supports(X, scale * theta[None], 2, method)
        assert (supports[0] == choose_supports(X, theta[None], 2, method)[0][0]).all()
        assert gaps[0] == scale * choose_supports(X, theta[None], 2, method)[1][0]


@every_set
def test_gamma_does_not_depend_on_the_unit_of_theta(factory: Factory) -> None:
    rng = np.random.default_rng(2)
    X, theta = factory(rng, 4), rng.uniform(-1, 1, 4)
    gamma = sb.submodularity_ratio(X, theta)
    for scale in SCALES:
        assert sb.submodularity_ratio(X, scale * theta) == gamma


def resized(X: sb.ActionSet, scale: float) -> sb.ActionSet:
    """The set {scale x : x in X}."""
    match X:
        case sb.LpBall():
            return sb.LpBall(X.dim, p=X.p, radius=scale * X.radius)
        case sb.Ellipsoid():
            return sb.Ellipsoid(X.matrix / scale / scale)
        case sb.Box():
            return sb.Box(scale * X.lower, scale * X.upper)
        case sb.Budget():
            doses = None if X.min_dose is None else scale * X.min_dose
            return sb.Budget(scale * X.total, scale * X.upper, doses, X.spend_all)
        case sb.Polytope():
            doses = None if X.min_dose is None else scale * X.min_dose
            sides = None if X.equalities is None else (X.equalities[0], scale * X.equalities[1])
            return sb.Polytope(X.matrix, scale * X.bounds, sides, doses)
        case sb.FiniteSet():
            return sb.FiniteSet(scale * X.points)
    raise AssertionError(f"say how {X!r} is resized")


@every_set
@pytest.mark.parametrize("scale", [2.0**power for power in (-500, -40, 40, 500)])
def test_sets_of_any_size_behave_alike(factory: Factory, scale: float) -> None:
    rng = np.random.default_rng(3)
    X = factory(rng, 4)
    other, theta = resized(X, scale), rng.uniform(-1, 1, 4)
    response = other.best_response(theta)
    assert response == pytest.approx(scale * X.best_response(theta), rel=1e-9, abs=1e-9 * scale)
    for current, unit in ((X, 1.0), (other, scale)):
        assert current.contains(unit * X.best_response(theta))
        assert not current.contains(1.001 * unit * X.best_response(theta))
        half = current.restrict([0, 1])
        assert not half.contains(unit * np.eye(4)[3] * 1e-3)
        assert not current.contains(unit * np.array([0.0, 0.0, 0.0, 50.0]))
    assert other.norm_bound == pytest.approx(scale * X.norm_bound, rel=1e-9)
    assert other.sparse_norm_bound(2) == pytest.approx(scale * X.sparse_norm_bound(2), rel=1e-9)
    assert np.array(other.axis_reach()) == pytest.approx(scale * np.array(X.axis_reach()), rel=1e-9)
    for method in ("greedy", "exact"):
        known, found = (sb.sparse_argmax(Y, theta, 2, method) for Y in (X, other))
        assert found.support == known.support
        assert found.value == pytest.approx(scale * known.value, rel=1e-9)


@pytest.mark.parametrize(
    "factory",
    [factory for _, factory in cases(EXTENDED)],
    ids=[name for name, _ in cases(EXTENDED)],
)
@pytest.mark.parametrize("scale", [2.0**power for power in (-500, -40, 40, 500)])
def test_extended_sets_of_any_size_behave_alike(factory: Factory, scale: float) -> None:
    rng = np.random.default_rng(3)
    X = factory(rng, 4)
    other, theta = resized(X, scale), rng.uniform(-1, 1, 4)
    known, found = (sb.sparse_argmax(Y, theta, 3) for Y in (X, other))
    assert found.support == known.support
    assert found.action == pytest.approx(scale * known.action, rel=1e-9, abs=1e-9 * scale)
    assert found.value == pytest.approx(scale * known.value, rel=1e-9)
    assert other.contains(found.action)
    assert not other.contains(1.001 * found.action)
    assert np.array(other.axis_reach()) == pytest.approx(scale * np.array(X.axis_reach()), rel=1e-9)
    for unit in SCALES:
        again = sb.sparse_argmax(X, unit * theta, 3)
        assert (again.action == known.action).all()


@pytest.mark.parametrize("p", [1 + 1e-15, 1 + 1e-9, 1.001, 1e3, 1e9, 1e15])
def test_an_lp_ball_with_an_extreme_p_answers_inside(p: float) -> None:
    rng = np.random.default_rng(4)
    X = sb.LpBall(30, p=p, radius=3.0)
    theta = np.vstack([rng.uniform(-1, 1, (20, 30)), np.ones((1, 30)), 1 + 1e-9 * rng.random(30)])
    response = X.best_response(theta)
    assert X.contains(response).all()
    assert not X.contains(1.001 * response).any()
    dual = p / (p - 1)
    size = np.abs(theta).max(axis=1)
    value = size * ((np.abs(theta) / size[:, None]) ** dual).sum(axis=1) ** (1 / dual)
    assert X.value(theta) == pytest.approx(3.0 * value, rel=1e-6)


def test_an_ellipsoid_in_different_units_is_the_same_ellipsoid() -> None:
    """x' D A D x <= 1 is the ellipsoid of A in the coordinates Dx: diag(1, 1e14) is no worse."""
    rng = np.random.default_rng(5)
    factor = rng.standard_normal((4, 6))
    matrix, units = factor @ factor.T, np.array([1e-7, 1.0, 1e5, 1e9])
    X, other = sb.Ellipsoid(matrix), sb.Ellipsoid(units[:, None] * matrix * units)
    theta = rng.standard_normal(4)
    assert other.value(units * theta) == pytest.approx(X.value(theta), rel=1e-9)
    assert other.contains(other.best_response(units * theta))
    for method in ("greedy", "swap", "exact"):
        found = sb.sparse_argmax(other, units * theta, 2, method)
        assert found.support == sb.sparse_argmax(X, theta, 2, method).support
    inverse = np.linalg.inv(matrix) / units[:, None] / units
    assert other.norm_bound == pytest.approx(np.sqrt(np.linalg.eigvalsh(inverse)[-1]), rel=1e-9)
    stretched = sb.Ellipsoid(np.diag([1.0, 1e14]))
    assert stretched.norm_bound == pytest.approx(1.0, rel=1e-12)
    assert stretched.best_response([0.0, 1.0]) == pytest.approx([0.0, 1e-7], rel=1e-12)
    assert "half-axes 1e-07 to 1" in repr(stretched)


@pytest.mark.parametrize("width", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("policy", [sb.SparseThompson, sb.LinTS, sb.APSEE])
def test_a_learner_refuses_actions_whose_squares_it_cannot_add(width: float, policy: Any) -> None:
    box = sb.Box(np.full(3, -width), np.full(3, width))
    keywords = {"sigma": 0.5, "basis": "boundary"} if policy is sb.APSEE else {}
    with pytest.raises(sb.SparseBanditsError, match=r"[Rr]escale|change the unit"):
        policy(action_set=box, sparsity=2, **keywords)
