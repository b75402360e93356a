"""The best-subset search against trying every support, one at a time."""

import itertools
import math

import numpy as np
import pytest

from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import completions
from sparsebandits.oracles import subset_search as module
from sparsebandits.oracles.perspective import condition, evaluate, pad, solve_positive, tighten
from sparsebandits.oracles.subset_search import BestSubset, best_subset, enumerate_subsets
from sparsebandits.validation import FloatArray


def value(matrix: FloatArray, theta: FloatArray, support: tuple[int, ...]) -> float:
    chosen = list(support)
    return float(theta[chosen] @ np.linalg.solve(matrix[np.ix_(chosen, chosen)], theta[chosen]))


def ranked(matrix: FloatArray, theta: FloatArray, sparsity: int) -> list[float]:
    supports = itertools.combinations(range(theta.size), sparsity)
    return sorted((value(matrix, theta, support) for support in supports), reverse=True)


def rotated(
    rng: np.random.Generator, dim: int, condition_number: float
) -> tuple[FloatArray, FloatArray]:
    basis, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    matrix = basis @ np.diag(np.geomspace(1.0 / condition_number, 1.0, dim)) @ basis.T
    return (matrix + matrix.T) / 2.0, rng.uniform(-1.0, 1.0, dim)


def instance(kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    dim = int(rng.integers(3, 10))
    matrix, theta = rotated(rng, dim, 50.0)
    if kind == "badly scaled":
        scale = 10.0 ** rng.uniform(-4.0, 4.0, dim)
        return scale[:, None] * matrix * scale, theta * scale * 1e-3
    if kind == "correlated":
        common = rng.uniform(0.9, 0.99)
        return np.full((dim, dim), common) + (1.0 - common) * np.eye(dim), theta
    if kind == "zeros":
        return matrix, np.where(rng.random(dim) < 0.5, 0.0, theta)
    if kind == "repeated":
        return matrix, np.full(dim, 0.3)
    if kind == "one direction":
        return matrix, np.eye(dim)[0]
    return matrix, theta


KINDS = ["plain", "badly scaled", "correlated", "zeros", "repeated", "one direction"]


@pytest.fixture(params=["tree", "small leaves", "enumeration"])
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force each way to an answer; "tree" enumerates only the last two coordinates."""
    if request.param != "enumeration":
        monkeypatch.setattr(module, "_ENUMERATE_ALL", 0)
        monkeypatch.setattr(module, "_ENUMERATE_NODE", 0 if request.param == "tree" else 12)
    for place in (module, completions):  # reach the splitting of enumerations too
        monkeypatch.setattr(place, "STORED_ENTRIES", 500)
    return str(request.param)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("kind", KINDS)
def test_value_and_runner_up_equal_brute_force(kind: str) -> None:
    rng = np.random.default_rng([7, KINDS.index(kind)])
    for _ in range(8):
        matrix, theta = instance(kind, rng)
        for sparsity in range(1, theta.size + 1):
            values = ranked(matrix, theta, sparsity)
            found = best_subset(matrix, theta, sparsity, runner_up=True)
            assert found.proven
            assert found.squared_value == pytest.approx(values[0], rel=1e-8, abs=1e-12)
            assert found.squared_bound == found.squared_value
            assert len(set(found.support)) == sparsity
            assert list(found.support) == sorted(found.support)
            assert value(matrix, theta, found.support) == pytest.approx(
                found.squared_value, rel=1e-9, abs=1e-12
            )
            if len(values) == 1:
                assert math.isnan(found.runner_up_squared_value)
            else:
                second = found.runner_up_squared_value
                assert second == pytest.approx(values[1], rel=1e-8, abs=1e-12)
            alone = best_subset(matrix, theta, sparsity)
            assert alone.squared_value == pytest.approx(values[0], rel=1e-8, abs=1e-12)
            assert math.isnan(alone.runner_up_squared_value)


@pytest.mark.usefixtures("search")
def test_no_signal_is_worth_nothing() -> None:
    matrix, _ = rotated(np.random.default_rng(0), 6, 5.0)
    found = best_subset(matrix, np.zeros(6), 3, runner_up=True)
    assert found == BestSubset((0, 1, 2), 0.0, 0.0, True, found.nodes, 0.0)


@pytest.mark.usefixtures("search")
def test_all_coordinates_give_the_dense_optimum() -> None:
    matrix, theta = rotated(np.random.default_rng(1), 12, 20.0)
    found = best_subset(matrix, theta, 12)
    assert found.support == tuple(range(12))
    assert found.squared_value == pytest.approx(theta @ np.linalg.solve(matrix, theta), rel=1e-10)


def test_a_diagonal_matrix_is_solved_by_sorting() -> None:
    rng = np.random.default_rng(2)
    diagonal, theta = rng.uniform(0.1, 10.0, 60), rng.normal(size=60)
    gains = theta**2 / diagonal
    found = best_subset(np.diag(diagonal), theta, 8, runner_up=True)
    order = np.argsort(-gains)
    assert found.support == tuple(sorted(order[:8].tolist()))
    assert found.squared_value == pytest.approx(gains[order[:8]].sum(), rel=1e-10)
    second = gains[order[:8]].sum() - gains[order[7]] + gains[order[8]]
    assert found.runner_up_squared_value == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize(("dim", "sparsity", "condition_number"), [(26, 8, 50.0), (30, 7, 5.0)])
def test_tree_and_enumeration_agree_beyond_brute_force(
    dim: int, sparsity: int, condition_number: float
) -> None:
    matrix, theta = rotated(np.random.default_rng([3, dim]), dim, condition_number)
    found = best_subset(matrix, theta, sparsity, runner_up=True)
    everything = enumerate_subsets(matrix, theta, sparsity, runner_up=True)
    assert found.nodes < everything.nodes == math.comb(dim, sparsity)
    assert found.support == everything.support
    assert found.squared_value == pytest.approx(everything.squared_value, rel=1e-10)
    assert found.runner_up_squared_value == pytest.approx(
        everything.runner_up_squared_value, rel=1e-9
    )


def test_value_does_not_depend_on_order_or_units() -> None:
    rng = np.random.default_rng(4)
    matrix, theta = rotated(rng, 40, 20.0)
    order, scale = rng.permutation(40), 10.0 ** rng.uniform(-3.0, 3.0, 40)
    found = best_subset(matrix, theta, 7)
    moved = best_subset(matrix[np.ix_(order, order)], theta[order], 7)
    rescaled = best_subset(scale[:, None] * matrix * scale, theta * scale, 7)
    assert moved.squared_value == pytest.approx(found.squared_value, rel=1e-9)
    assert tuple(sorted(order[list(moved.support)].tolist())) == found.support
    assert rescaled.support == found.support
    assert best_subset(matrix, theta, 7) == found


def test_a_time_limit_leaves_a_valid_interval() -> None:
    for seed in range(3):
        matrix, theta = rotated(np.random.default_rng([5, seed]), 40, 100.0)
        optimum = best_subset(matrix, theta, 8)
        assert optimum.proven
        for limit in (0.0, 1e-6, 0.02):
            stopped = best_subset(matrix, theta, 8, time_limit=limit)
            assert not stopped.proven
            assert stopped.squared_value <= optimum.squared_value * (1.0 + 1e-12)
            assert optimum.squared_value <= stopped.squared_bound < math.inf
            assert stopped.squared_bound > stopped.squared_value


class Ticks:
    """A clock that advances by one whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


def test_stopping_anywhere_loses_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 1)  # one node between two looks at the clock
    monkeypatch.setattr(module, "_ENUMERATE_NODE", 0)
    for heuristic in ("_greedy", "_improve"):  # the tree has to find the optimum by itself
        monkeypatch.setattr(module._Search, heuristic, lambda self: None)
    clock = Ticks()
    monkeypatch.setattr(module, "time", clock)
    matrix, theta = rotated(np.random.default_rng(13), 16, 100.0)
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    matrix, theta = scale[:, None] * matrix * scale, theta * scale
    optimum = ranked(matrix, theta, 6)[0]
    for ticks in itertools.count():
        search = module._Search(matrix, theta, 6, False)
        search.incumbents.offer(np.argsort(np.abs(theta))[None, :6])
        bound = search.run(clock.now + ticks)
        if bound is None:
            break
        assert bound >= optimum
        assert search.run(math.inf) is None
        assert search.incumbents.best[0][0] == pytest.approx(optimum, rel=1e-9)
    assert ticks > 20


def test_nodes_with_one_support_are_evaluated_and_padding_is_never_chosen() -> None:
    theta = np.array([5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    search = module._Search(np.eye(8), theta, 3, True)
    nodes = np.zeros(2, dtype=search.pool.rows.dtype)
    nodes["state"] = module._OUT
    nodes["state"][0, :3] = nodes["state"][1, 1:] = module._FREE
    search._enumerate(nodes, np.array([3, 7]), 3)
    assert [value for value, _ in search.incumbents.best] == [25.0, 1.0]
    assert search.incumbents.best[0][1] == (0, 1, 2)

    search = module._Search(np.eye(8), theta, 3, True)
    nodes["state"][0] = [1, 1, 1, 0, 0, 0, 0, 0]
    nodes["state"][1] = [2, 2, 2, 1, 0, 0, 2, 2]
    search._push(nodes)
    assert search.incumbents.best == [(25.0, (0, 1, 2)), (1.0, (3, 4, 5))]


def test_bound_holds_for_any_point_and_any_node() -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        matrix, theta = rotated(rng, 8, 30.0)
        shuffled = rng.permutation(8)
        count, excluded, remaining = int(rng.integers(0, 4)), int(rng.integers(0, 2)), 2
        included, free = shuffled[:count], np.sort(shuffled[count : 8 - excluded])
        left, target, base = condition(matrix, theta, included[None], free[None])
        best = max(
            value(matrix, theta, (*included.tolist(), *added))
            for added in itertools.combinations(free.tolist(), remaining)
        )
        diagonal = np.full((1, free.size), np.linalg.eigvalsh(left[0])[0] * rng.uniform(0.1, 0.99))
        point = rng.normal(size=(1, free.size)) * 10.0 ** rng.uniform(-2.0, 1.0)
        bound, _, _ = evaluate(left, target, diagonal, point, remaining)
        assert base[0] + bound[0] >= best * (1.0 - 1e-10)

        cutoff = np.array([best * (1.0 - 1e-9)]) - base
        relaxed = tighten(left, target, diagonal, point, remaining, cutoff, 12)
        assert base[0] + relaxed.bound[0] >= best * (1.0 - 1e-10)
        assert relaxed.bound[0] <= bound[0]
        assert np.linalg.eigvalsh(left[0] - np.diag(relaxed.diagonal[0]))[0] > 0.0
        again, _, _ = evaluate(left, target, relaxed.diagonal, relaxed.point, remaining)
        assert again[0] == pytest.approx(relaxed.bound[0])
        # No support above the cutoff is fixed away.
        optimal = max(
            itertools.combinations(range(free.size), remaining),
            key=lambda added: value(matrix, theta, (*included.tolist(), *free[list(added)])),
        )
        assert not relaxed.exclude[0, list(optimal)].any()
        assert set(np.flatnonzero(relaxed.include[0]).tolist()) <= set(optimal)


def test_fixing_compares_the_best_bound_with_and_without_a_coordinate() -> None:
    rng = np.random.default_rng(12)
    fixed = 0
    for _ in range(40):
        matrix, theta = rotated(rng, 8, 5.0)
        diagonal = np.full((1, 8), 0.9 * np.linalg.eigvalsh(matrix)[0])
        point = np.where(rng.random(8) < 0.5, theta, 0.0)[None]
        bound, products, scores = evaluate(matrix[None], theta[None], diagonal, point, 3)
        cutoff = bound[0] - rng.uniform(0.0, 0.5) * scores[0].max()
        relaxed = tighten(matrix[None], theta[None], diagonal, point, 3, np.array([cutoff]), 0)
        constant = float(np.sum(point * products))
        for i in range(8):
            others = np.sort(np.delete(scores[0], i))
            with_it = constant + scores[0, i] + others[-2:].sum()
            without = constant + others[-3:].sum()
            assert relaxed.exclude[0, i] == (with_it <= cutoff)
            assert relaxed.include[0, i] == (without <= cutoff)
            fixed += int(relaxed.exclude[0, i]) + int(relaxed.include[0, i])
    assert fixed > 40


def test_newton_steps_close_most_of_the_gap() -> None:
    matrix, theta = rotated(np.random.default_rng(8), 30, 5.0)
    best = best_subset(matrix, theta, 5).squared_value
    diagonal = np.full((1, 30), 0.7 * np.linalg.eigvalsh(matrix)[0])
    start = np.linalg.solve(matrix, theta)[None].astype(np.float64)
    first, last = (
        tighten(matrix[None], theta[None], diagonal, start, 5, np.array([best]), steps).bound[0]
        for steps in (0, 15)
    )
    assert last - best < 0.15 * (first - best)


def test_padding_does_not_change_a_relaxation() -> None:
    rng = np.random.default_rng(9)
    matrix, theta = rotated(rng, 7, 10.0)
    diagonal, point = np.full((1, 7), 0.05), rng.normal(size=(1, 7))
    wide = np.full((1, 9, 9), 0.4)
    wide[0, :7, :7] = matrix
    wide_theta = np.append(theta, [2.0, 3.0])[None]
    pad(wide, wide_theta, np.arange(9)[None] >= 7, 1.0, 0.0)
    narrow_bound, _, _ = evaluate(matrix[None], theta[None], diagonal, point, 3)
    wide_bound, _, scores = evaluate(
        wide, wide_theta, np.append(diagonal, [[0.5, 0.5]], 1), np.append(point, [[0.0, 0.0]], 1), 3
    )
    assert wide_bound == pytest.approx(narrow_bound)
    assert (scores[0, 7:] == 0.0).all()


def test_an_indefinite_matrix_is_refused() -> None:
    matrix, theta = rotated(np.random.default_rng(10), 40, 5.0)
    shifted = matrix - 0.3 * np.eye(40)
    np.fill_diagonal(shifted, np.abs(np.diagonal(shifted)) + 0.01)
    assert np.linalg.eigvalsh(shifted)[0] < 0.0
    with pytest.raises(InvalidValueError, match="positive definite"):
        best_subset(shifted, theta, 8)
    with pytest.raises(InvalidValueError, match="diagonal"):
        best_subset(-matrix, theta, 2)


@pytest.mark.parametrize("size", [5, 64, 65, 150])
def test_systems_solved_in_halves_equal_systems_solved_whole(size: int) -> None:
    rng = np.random.default_rng(11)
    matrices = np.stack([rotated(rng, size, 100.0)[0] for _ in range(2)])
    right = rng.normal(size=(2, size, size + 3))
    solved = solve_positive(matrices, right)
    np.testing.assert_allclose(matrices @ solved, right, atol=1e-10)
