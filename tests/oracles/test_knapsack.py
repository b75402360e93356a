"""The search over budgets, against every support, and where it has to give up."""

from itertools import combinations, product

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.action_sets import knapsack
from sparsebandits.validation import FloatArray, IntArray

KINDS = ("random", "ties", "nearly all alike", "subset sum", "scales")


def random_budget(
    rng: np.random.Generator, kind: str, count: int
) -> tuple[sb.Budget, FloatArray, int]:
    """A budget, rows of theta and H; the last kinds but one make bounds and answers differ."""
    dim = int(rng.integers(1, 10))
    upper, theta = rng.uniform(0, 1, dim), rng.normal(size=(count, dim))
    if kind == "ties":
        upper, theta = rng.integers(0, 4, dim).astype(np.float64), theta.round(0)
    elif kind == "nearly all alike":
        theta = 0.3 + 0.7 / np.maximum(upper, 0.01) + 1e-3 * theta
    elif kind == "subset sum":
        upper = rng.integers(1, 20, dim).astype(np.float64)
        theta = np.tile(1 + 5 / upper, (count, 1))
    elif kind == "scales":
        theta = theta * 10.0 ** rng.uniform(-200, 200, (count, 1))
    total = max(upper.sum(), 0.1) * rng.uniform(0.1, 1.1)
    if kind in ("ties", "subset sum"):
        total = max(1.0, round(total))
    return sb.Budget(total, upper), theta, int(rng.integers(1, dim + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_against_every_support(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(40):
        X, theta, sparsity = random_budget(rng, kind, 10)
        found = sb.sparse_argmax_batch(X, theta, sparsity, runner_up=True)
        assert found.method == "exact"
        assert found.is_exact.all()
        supports = list(combinations(range(X.dim), sparsity))
        values = np.array([X.value(theta, support) for support in supports])
        np.testing.assert_allclose(found.values, values.max(axis=0), rtol=1e-11)
        responses = X.respond_on(theta, found.supports)[0]  # what was found is the set's response
        np.testing.assert_array_equal(found.actions, responses)
        for row in range(10 if sparsity < X.dim else 0):
            used = set(found.supports[row][found.supports[row] >= 0].tolist())
            if used:
                others = [i for i, support in enumerate(supports) if not used <= set(support)]
                gap = found.values[row] - values[others, row].max()
                assert found.gaps[row] == pytest.approx(gap, abs=1e-10 * found.values[row])


def best_of_all(X: sb.Budget, theta: FloatArray, supports: IntArray) -> float:
    """Fill every support, a row padded with dim, in the order of theta; return the best value."""
    doses = np.zeros(X.dim) if X.min_dose is None else X.min_dose
    ends = np.column_stack([theta, X.upper, doses])
    order = np.argsort(np.append(-theta, np.inf)[supports], axis=1)
    filled = np.vstack([ends, np.zeros(3)])[np.take_along_axis(supports, order, axis=1)]
    worth, upper, spent = np.moveaxis(filled, 2, 0).copy()
    left = X.total - spent.sum(axis=1)
    possible = left >= 0
    for column in range(supports.shape[1]):
        more = np.minimum(upper[:, column] - spent[:, column], np.maximum(left, 0.0))
        spent[:, column] += more
        left = left - more
    if X.spend_all:
        possible &= left < 1e-12
    return float((worth * spent).sum(axis=1)[possible].max())


def test_where_very_many_supports_are_nearly_best() -> None:
    """Hundreds of nodes each: a bound that is a little too low misses the best."""
    dim, sparsity = 20, 5
    sizes = [list(combinations(range(dim), size)) for size in range(1, sparsity + 1)]
    supports = np.array([(*s, *[dim] * (sparsity - len(s))) for some in sizes for s in some])
    for seed in range(5, 13):
        rng = np.random.default_rng([seed, dim])
        upper = rng.uniform(0.2, 1.0, dim)
        theta = 0.3 + 0.2 * np.minimum(1 / upper, 5.0) + 1e-3 * rng.standard_normal(dim)
        doses = upper * rng.uniform(0.2, 0.6, dim)
        total = rng.uniform(0.3, 0.9) * np.sort(upper)[-sparsity:].sum()
        for min_dose, spend_all in product((None, doses), (False, True)):
            X = sb.Budget(total, upper, min_dose, spend_all)
            found = sb.sparse_argmax(X, theta, sparsity, "exact")
            assert found.is_exact
            assert found.value == pytest.approx(best_of_all(X, theta, supports), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_theta_does_not_depend_on_its_neighbours(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(5):
        X, theta, sparsity = random_budget(rng, kind, 30)
        together = sb.sparse_argmax_batch(X, theta, sparsity, runner_up=True)
        for row in range(30):
            alone = sb.sparse_argmax(X, theta[row], sparsity, runner_up=True)
            np.testing.assert_array_equal(alone.action, together.actions[row])
            np.testing.assert_array_equal(alone.gap, together.gaps[row])


@pytest.mark.parametrize(("dim", "sparsity"), [(20, 5), (24, 12), (60, 10)])
def test_auto_is_exact_on_large_budgets(dim: int, sparsity: int) -> None:
    rng = np.random.default_rng(dim)
    upper = rng.uniform(0, 1, dim)
    X = sb.Budget(0.6 * np.sort(upper)[-sparsity:].sum(), upper)
    theta = rng.uniform(-1, 1, (50, dim))
    found = sb.sparse_argmax_batch(X, theta, sparsity)
    assert found.is_exact.all()
    assert (found.values >= sb.sparse_argmax_batch(X, theta, sparsity, "swap").values - 1e-12).all()


def hard_problem() -> tuple[sb.Budget, FloatArray]:
    """Every support of H that fills the budget would be best, and none fills it: subset sum."""
    upper = np.random.default_rng(0).integers(100, 1000, 24).astype(np.float64)
    return sb.Budget(np.floor(upper.sum() / 2) + 0.5, upper), 1 + 500 / upper


def test_a_search_that_gives_up_says_so_and_bounds_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, theta = hard_problem()
    monkeypatch.setattr(knapsack, "NODE_LIMIT", 200)
    found = sb.sparse_argmax(X, theta, 12)
    assert not found.is_exact
    assert found.value < found.upper_bound <= (X.total + 500 * 12) * (1 + 1e-12)
    assert X.contains(found.action)
    assert np.isnan(sb.sparse_argmax(X, theta, 12, runner_up=True).gap)


def test_a_time_limit_is_kept() -> None:
    X, theta = hard_problem()
    found = sb.sparse_argmax(X, theta, 12, "exact", time_limit=1e-6)
    assert not found.is_exact
    assert found.value < found.upper_bound < np.inf


def test_unavailable_coordinates_are_not_used() -> None:
    X = sb.Budget(1.0, [0.5, 0.5, 0.5, 0.5]).restrict([1, 3])
    assert sb.sparse_argmax(X, [9.0, 1.0, 8.0, 2.0], 2).support == (1, 3)
    assert sb.sparse_argmax(X, [9.0, -1.0, 8.0, -2.0], 2).support == ()


@pytest.mark.parametrize("count", [9, 20, 50])
@pytest.mark.parametrize("spend_all", [True, False])
def test_least_doses_may_be_all_of_the_budget_but_for_rounding(count: int, spend_all: bool) -> None:
    """Added up, 9 ninths, 20 twentieths and 50 fiftieths are a little more than 1."""
    dose = 1.0 / count
    assert sum([dose] * count) > 1.0
    X = sb.Budget(1.0, [0.4] * count, min_dose=dose, spend_all=spend_all)
    theta = np.arange(1.0, count + 1.0)
    all_on = sb.sparse_argmax(X, theta, sb.Supports(at_most=count, at_least=count))
    assert all_on.is_exact
    np.testing.assert_allclose(all_on.action, dose, rtol=1e-12)
    best = sb.sparse_argmax(X, theta, count)
    assert best.value == pytest.approx(theta[-3:] @ [0.2, 0.4, 0.4])
