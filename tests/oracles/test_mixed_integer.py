"""The mixed-integer oracle, against brute force over all supports and against known answers."""

from itertools import combinations

import numpy as np
import pytest

from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.linear_program import LinearProgram
from sparsebandits.action_sets.mixed_integer import MixedIntegerSolution, sparse_mixed_integer
from sparsebandits.validation import BoolArray, FloatArray

Values = dict[frozenset[int], float]


def cube(dim: int) -> FloatArray:
    return np.vstack([np.eye(dim), -np.eye(dim)])


def solve(
    matrix: FloatArray,
    bounds: FloatArray,
    theta: FloatArray,
    sparsity: int,
    *,
    available: BoolArray | None = None,
    time_limit: float | None = None,
    incumbent: FloatArray | None = None,
    runner_up: bool = False,
) -> MixedIntegerSolution:
    program = LinearProgram(matrix, bounds)
    return sparse_mixed_integer(
        program,
        theta,
        Choice(theta.size, sparsity),
        *program.coordinate_bounds(),
        available=np.ones(theta.size, dtype=np.bool_) if available is None else available,
        time_limit=time_limit,
        incumbent=incumbent,
        runner_up=runner_up,
    )


def brute_force(
    matrix: FloatArray, bounds: FloatArray, theta: FloatArray, sparsity: int, available: BoolArray
) -> Values:
    """Return the value of every support of at most H available coordinates."""
    program = LinearProgram(matrix, bounds)
    values = {}
    for size in range(sparsity + 1):
        for support in combinations(np.flatnonzero(available).tolist(), size):
            index = np.array(support, dtype=np.intp)
            values[frozenset(support)] = float(theta[index] @ program.maximize(theta[index], index))
    return values


def random_problem(seed: int) -> tuple[FloatArray, FloatArray, FloatArray, int, BoolArray]:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(3, 8))
    matrix = np.vstack([rng.standard_normal((2 * dim, dim)), cube(dim)])
    bounds = rng.uniform(0.2, 1.0, 4 * dim)
    theta = rng.standard_normal(dim)
    theta[rng.random(dim) < 0.2] = 0.0
    available = rng.random(dim) < 0.85
    return matrix, bounds, theta, int(rng.integers(1, dim)), available


def check_consistent(
    solution: MixedIntegerSolution,
    matrix: FloatArray,
    bounds: FloatArray,
    theta: FloatArray,
    sparsity: int,
) -> None:
    assert solution.support == tuple(np.flatnonzero(solution.action).tolist())
    assert len(solution.support) <= sparsity
    assert np.all(matrix @ solution.action <= bounds + 1e-9)
    assert solution.value == theta @ solution.action
    assert solution.upper_bound >= solution.value
    if solution.proven:
        assert solution.upper_bound == solution.value


@pytest.mark.parametrize("seed", range(30))
def test_optimum_and_runner_up_agree_with_brute_force(seed: int) -> None:
    matrix, bounds, theta, sparsity, available = random_problem(seed)
    values = brute_force(matrix, bounds, theta, sparsity, available)
    solution = solve(matrix, bounds, theta, sparsity, available=available, runner_up=True)
    check_consistent(solution, matrix, bounds, theta, sparsity)
    assert solution.proven
    assert np.all(available[list(solution.support)])
    assert solution.value == pytest.approx(max(values.values()), abs=1e-9)
    chosen = frozenset(solution.support)
    others = [value for support, value in values.items() if not chosen <= support]
    assert solution.runner_up == pytest.approx(max(others, default=-np.inf), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e6])
def test_small_gains_are_not_lost_in_the_gap_tolerance(scale: float) -> None:
    matrix, bounds, theta, sparsity, available = random_problem(3)
    expected = solve(matrix, bounds, theta, sparsity, available=available)
    for factor, side in ((scale, 1.0), (1.0, scale)):
        found = solve(matrix, bounds * side, theta * factor, sparsity, available=available)
        assert found.support == expected.support
        assert found.value == pytest.approx(expected.value * scale, rel=1e-9)


def test_a_box_takes_the_largest_gains() -> None:
    rng = np.random.default_rng(1)
    low, high = -rng.uniform(0.0, 2.0, 12), rng.uniform(0.0, 2.0, 12)
    theta = rng.standard_normal(12)
    gains = np.maximum(theta * low, theta * high)
    solution = solve(cube(12), np.concatenate([high, -low]), theta, 4)
    best = np.argsort(-gains)[:4]
    assert solution.proven
    assert set(solution.support) == set(best.tolist())
    assert solution.value == pytest.approx(gains[best].sum(), abs=1e-12)


def test_a_budget_is_spent_on_the_best_coordinates() -> None:
    # 0 <= x <= 1, sum x <= 1.5: one coordinate in full, half of the next, and H = 1 only one.
    matrix = np.vstack([cube(4), np.ones((1, 4))])
    bounds = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.5])
    theta = np.array([0.5, 2.0, -1.0, 3.0])
    two = solve(matrix, bounds, theta, 2)
    np.testing.assert_allclose(two.action, [0.0, 0.5, 0.0, 1.0], atol=1e-9)
    assert two.value == pytest.approx(4.0, abs=1e-9)
    one = solve(matrix, bounds, theta, 1, runner_up=True)
    assert one.support == (3,)
    assert one.runner_up == pytest.approx(2.0, abs=1e-9)


def test_a_pair_may_gain_where_no_single_coordinate_does() -> None:
    # {(s, s, t)}: moving one of the first two alone is impossible.
    matrix = np.vstack([cube(3), [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]])
    bounds = np.concatenate([np.ones(6), np.zeros(2)])
    theta = np.array([1.0, 1.0, 0.5])
    pair = solve(matrix, bounds, theta, 2, runner_up=True)
    assert pair.support == (0, 1)
    assert pair.value == pytest.approx(2.0, abs=1e-9)
    assert pair.runner_up == pytest.approx(0.5, abs=1e-9)
    assert solve(matrix, bounds, theta, 1).support == (2,)


def test_a_worthless_coordinate_may_make_room() -> None:
    # x_0 <= x_1 with theta_1 = 0: x_1 must be switched on for x_0 to gain.
    matrix = np.vstack([cube(3), [[1.0, -1.0, 0.0]]])
    bounds = np.concatenate([np.ones(6), np.zeros(1)])
    solution = solve(matrix, bounds, np.array([1.0, 0.0, 0.4]), 2)
    assert solution.support == (0, 1)
    assert solution.value == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_rounding_errors_do_not_count_as_coordinates(seed: int) -> None:
    # The best vertex has a zero, which the nearly parallel rows through it give up to rounding.
    rows = 1.0 + 0.01 * np.random.default_rng(seed).standard_normal((3, 3))
    vertex = np.array([1.0 / 3.0, 0.0, 2.0 / 7.0])
    bounds = np.concatenate([rows @ vertex, np.ones(6)])
    solution = solve(np.vstack([rows, cube(3)]), bounds, rows.sum(axis=0), 3)
    assert solution.support == (0, 2)
    np.testing.assert_allclose(solution.action, vertex, atol=1e-12)


def test_nothing_to_gain() -> None:
    solution = solve(np.vstack([-np.eye(3), np.eye(3)]), np.repeat([0.0, 1.0], 3), -np.ones(3), 2)
    assert solution.support == ()
    assert (solution.value, solution.upper_bound, solution.proven) == (0.0, 0.0, True)
    nothing = solve(cube(3), np.ones(6), np.zeros(3), 2, runner_up=True)
    assert (nothing.support, nothing.runner_up) == ((), -np.inf)


def test_runner_up_is_nan_unless_asked_for() -> None:
    assert np.isnan(solve(cube(3), np.ones(6), np.arange(3.0), 1).runner_up)


def hard_problem() -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    matrix = np.vstack([rng.standard_normal((60, 20)), cube(20)])
    return matrix, rng.uniform(0.5, 1.5, 100), rng.standard_normal(20)


def test_time_limit_gives_a_bracket() -> None:
    matrix, bounds, theta = hard_problem()
    optimum = solve(matrix, bounds, theta, 5)
    assert optimum.proven
    start = np.zeros(20)
    start[[0, 1]] = LinearProgram(matrix, bounds).maximize(theta[:2], np.arange(2))
    assert theta @ start > 0.0
    for limit in (0.0, 0.01, 0.05):
        for incumbent in (None, start):
            found = solve(
                matrix, bounds, theta, 5, time_limit=limit, incumbent=incumbent, runner_up=True
            )
            check_consistent(found, matrix, bounds, theta, 5)
            floor = 0.0 if incumbent is None else float(theta @ incumbent)
            assert floor - 1e-9 <= found.value <= optimum.value + 1e-9
            assert optimum.value - 1e-9 <= found.upper_bound < np.inf
    cut_off = solve(matrix, bounds, theta, 5, time_limit=0.0, runner_up=True)
    assert not cut_off.proven
    assert np.isnan(cut_off.runner_up)
    assert cut_off.upper_bound > cut_off.value


def test_answers_are_reproducible_and_the_incumbent_does_not_mislead() -> None:
    matrix, bounds, theta = hard_problem()
    first = solve(matrix, bounds, theta, 5)
    solve(matrix, bounds, -theta, 4)
    again = solve(matrix, bounds, theta, 5)
    assert again.action.tobytes() == first.action.tobytes()
    start = np.zeros(20)
    start[[3, 4]] = LinearProgram(matrix, bounds).maximize(theta[3:5], np.array([3, 4]))
    assert solve(matrix, bounds, theta, 5, incumbent=start).support == first.support
    assert solve(matrix, bounds, theta, 5, incumbent=first.action).value == first.value
