"""The table of supports against the enumeration that it stands in for: the same bits."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import choose_supports, completions
from sparsebandits.oracles import subset_table as module
from sparsebandits.oracles.subset_search import best_subset, enumerate_subsets, subset_values
from sparsebandits.oracles.subset_table import SubsetTable, best_subsets, tabulate
from sparsebandits.validation import FloatArray
from tests.contracts.examples import correlated_matrix
from tests.oracles.test_subset_search import KINDS, instance

FIELDS = ("supports", "actions", "values", "gaps", "is_exact", "upper_bounds")


def built(matrix: FloatArray, sparsity: int) -> SubsetTable:
    table = tabulate(matrix, sparsity)
    assert table is not None
    return table


def assert_same_bits(
    one: sb.BatchSolution, other: sb.BatchSolution, rows: slice = slice(None)
) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field)[rows])


@pytest.fixture(scope="module")
def matrix() -> FloatArray:
    return correlated_matrix(np.random.default_rng(0), 20)


@pytest.mark.parametrize("runner_up", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_the_enumeration(kind: str, runner_up: bool) -> None:
    rng = np.random.default_rng([1, KINDS.index(kind)])
    for _ in range(12):
        matrix, theta = instance(kind, rng)
        thetas = np.stack([theta, 1e-3 * rng.permutation(theta), np.zeros(theta.size)])
        for sparsity in range(1, theta.size + 1):
            table = tabulate(matrix, sparsity)
            found = best_subsets(matrix, thetas, sparsity, table, runner_up=runner_up)
            alone = [best_subset(matrix, row, sparsity, runner_up=runner_up) for row in thetas]
            assert repr(found) == repr(alone)  # floats to the last digit, and nan equals nan


@pytest.mark.parametrize("runner_up", [False, True])
def test_random_rows_are_answered_by_the_table(matrix: FloatArray, runner_up: bool) -> None:
    thetas = np.random.default_rng(2).standard_normal((40, 20))
    found = built(matrix, 5).solve(thetas, runner_up=runner_up)
    alone = [enumerate_subsets(matrix, theta, 5, runner_up=runner_up) for theta in thetas]
    assert repr(found) == repr(alone)


def test_equal_values_are_left_to_the_enumeration() -> None:
    matrix = 0.9 * np.eye(6) + 0.1
    table = built(matrix, 3)
    tie_at_the_top = [2.0, 2.0, 1.0, 1.0, 0.3, 0.2]
    tie_below = [4.0, 3.0, 2.0, 1.0, 1.0, 0.5]
    thetas = np.array([tie_at_the_top, tie_below, np.zeros(6), np.ones(6)])
    assert [answer is None for answer in table.solve(thetas)] == [True, False, True, True]
    assert table.solve(thetas, runner_up=True) == [None] * 4
    X = sb.Ellipsoid(matrix)
    for theta in thetas:
        expected = enumerate_subsets(matrix, theta, 3).support
        assert sb.sparse_argmax(X, theta, 3, "exact").support == expected


def test_differences_below_the_tolerance_are_not_decided_by_the_table(matrix: FloatArray) -> None:
    table = built(matrix, 5)
    theta = np.random.default_rng(3).standard_normal((1, 20))
    best = enumerate_subsets(matrix, theta[0], 5, runner_up=True)
    distance = 1 - best.runner_up_squared_value / best.squared_value
    table.tolerance = 0.9 * distance
    assert table.solve(theta) != [None]
    table.tolerance = 1.1 * distance
    assert table.solve(theta) == [None]


@pytest.mark.parametrize("condition", [1.5, 20.0, 300.0, 2000.0])
def test_the_error_of_the_table_is_far_below_its_tolerance(condition: float) -> None:
    """Against the values that `subset_values` finds for every support."""
    rng = np.random.default_rng(4)
    matrix = correlated_matrix(rng, 11, condition)
    table = built(matrix, 4)
    supports = table._supports(np.arange(math.comb(11, 4)))
    assert len(set(map(tuple, supports.tolist()))) == math.comb(11, 4)
    assert (np.diff(supports, axis=1) > 0).all()
    for target in rng.uniform(-1, 1, (20, 11)):
        target /= np.abs(target).max()
        expected = subset_values(table._matrix, target[supports], supports)
        products, values = target[None], target[None] ** 2
        for step in table._steps:
            grown, spare = np.empty((2, 1, step.before.size))
            step.apply(products, grown, spare)
            products, values = grown, values[:, step.before] + grown**2
        error = np.abs(values[0] - expected).max() / expected.max()
        assert error < 0.05 * table.tolerance


def test_bits_depend_neither_on_the_batch_nor_on_what_was_asked_before(matrix: FloatArray) -> None:
    thetas = np.random.default_rng(5).standard_normal((300, 20))
    thetas[3], thetas[11, 4:] = 0.0, 0.0  # one row of ties, one with few entries
    warm = sb.Ellipsoid(matrix)
    for runner_up in (False, True):
        whole = sb.sparse_argmax_batch(warm, thetas, 5, "auto", runner_up=runner_up)
        assert whole.is_exact.all()
        for size in (1, 2, 7):
            for first in range(0, 21, size):
                rows = slice(first, first + size)
                for X in (warm, sb.Ellipsoid(matrix)):
                    part = sb.sparse_argmax_batch(X, thetas[rows], 5, "auto", runner_up=runner_up)
                    assert_same_bits(part, whole, rows)
    supports, gaps = choose_supports(warm, thetas, 5, "auto")
    np.testing.assert_array_equal(supports, whole.supports)
    np.testing.assert_array_equal(gaps, whole.gaps)


def test_bits_are_those_without_a_table(
    matrix: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    thetas = np.random.default_rng(6).standard_normal((20, 20))
    mask = np.arange(20) % 3 > 0
    whole = sb.Ellipsoid(matrix)
    sets = [whole, whole.restrict(mask)]
    with_table = [sb.sparse_argmax_batch(X, thetas, 5, runner_up=True) for X in sets]
    monkeypatch.setattr("sparsebandits.oracles.exact.tabulate", lambda matrix, sparsity: None)
    fresh = sb.Ellipsoid(matrix)
    for X, answer in zip([fresh, fresh.restrict(mask)], with_table, strict=True):
        assert_same_bits(sb.sparse_argmax_batch(X, thetas, 5, runner_up=True), answer)
        assert X.available[answer.supports].all()


def test_no_rows_have_no_answers(matrix: FloatArray) -> None:
    supports, gaps = choose_supports(sb.Ellipsoid(matrix), np.empty((0, 20)), 5, "auto")
    assert supports.shape == (0, 5)
    assert gaps.shape == (0,)


def test_the_table_is_no_part_of_the_set(matrix: FloatArray) -> None:
    used, fresh = sb.Ellipsoid(matrix), sb.Ellipsoid(matrix)
    sb.sparse_argmax(used, np.arange(20.0), 5)
    assert used == fresh
    assert hash(used) == hash(fresh)
    assert used.to_dict() == fresh.to_dict()
    assert len(pickle.dumps(used)) == len(pickle.dumps(fresh))
    for twin in (pickle.loads(pickle.dumps(used)), copy.copy(used), copy.deepcopy(used)):
        assert not twin._cache
        assert twin == used
    assert ("subset table", 5) in used._cache


def test_a_table_is_built_once_per_set_and_sparsity(
    matrix: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def counting(matrix: FloatArray, sparsity: int) -> SubsetTable | None:
        asked.append((matrix.shape[0], sparsity))
        return tabulate(matrix, sparsity)

    monkeypatch.setattr("sparsebandits.oracles.exact.tabulate", counting)
    X, theta = sb.Ellipsoid(matrix), np.random.default_rng(8).standard_normal(20)
    few = X.restrict(range(9))
    for _ in range(3):
        for Y, sparsity in ((X, 5), (X, 4), (few, 4)):
            sb.sparse_argmax(Y, theta, sparsity)
    assert asked == [(20, 5), (20, 4), (9, 4)]


def test_threads_may_share_a_set(matrix: FloatArray) -> None:
    thetas = np.random.default_rng(9).standard_normal((8, 20))
    X, start = sb.Ellipsoid(matrix), threading.Barrier(4)
    answers: list[sb.BatchSolution] = []

    def ask() -> None:
        start.wait()
        answers.append(sb.sparse_argmax_batch(X, thetas, 5, runner_up=True))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sb.sparse_argmax_batch(sb.Ellipsoid(matrix), thetas, 5, runner_up=True)
    assert len(answers) == 4
    for answer in answers:
        assert_same_bits(answer, expected)


def test_where_a_table_is_of_no_use_there_is_none(matrix: FloatArray) -> None:
    rng = np.random.default_rng(10)
    assert tabulate(matrix, 20) is None  # one support
    assert tabulate(matrix[:2, :2], 2) is None  # one
    assert tabulate(matrix, 17) is None  # far more smaller supports than supports
    assert tabulate(correlated_matrix(rng, 40), 8) is None  # a tree, no enumeration
    assert tabulate(correlated_matrix(rng, 6, 1e9), 3) is None  # rounding would decide
    nearly_singular = sb.Ellipsoid(correlated_matrix(rng, 6, 1e9))
    assert sb.sparse_argmax(nearly_singular, np.ones(6), 3, "exact").is_exact


@pytest.mark.parametrize(("dim", "sparsity"), [(3, 1), (3, 2), (8, 5), (9, 1), (13, 7)])
def test_sizes_at_the_edge(dim: int, sparsity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where smaller supports are more in number, and where one row fills a chunk."""
    rng = np.random.default_rng([11, dim, sparsity])
    matrix, thetas = correlated_matrix(rng, dim), rng.standard_normal((5, dim))
    table = built(matrix, sparsity)
    alone = [best_subset(matrix, theta, sparsity, runner_up=True) for theta in thetas]
    for chunk in (1, 2**16):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        assert repr(table.solve(thetas, runner_up=True)) == repr(alone)
    monkeypatch.setattr(completions, "STORED_ENTRIES", 500)  # the enumeration split differently
    found = best_subsets(matrix, thetas, sparsity, table, runner_up=True)
    again = [best_subset(matrix, theta, sparsity, runner_up=True) for theta in thetas]
    assert repr(found) == repr(again)
