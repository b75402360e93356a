"""Linear programs over polytopes, against scipy.optimize.linprog and by hand."""

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from sparsebandits.action_sets.linear_program import LinearProgram, feasibility, is_bounded
from sparsebandits.errors import SolverError
from sparsebandits.validation import FloatArray, IntArray

Query = tuple[FloatArray, IntArray]
Maker = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]


def cube(dim: int) -> FloatArray:
    return np.vstack([np.eye(dim), -np.eye(dim)])


def random_polytope(rng: np.random.Generator, dim: int) -> tuple[FloatArray, FloatArray]:
    matrix = np.vstack([rng.standard_normal((3 * dim, dim)), cube(dim)])
    return matrix, rng.uniform(0.3, 2.0, 5 * dim)


def degenerate_polytope(rng: np.random.Generator, dim: int) -> tuple[FloatArray, FloatArray]:
    """Small integers, many rows through one point: optima are rarely unique."""
    matrix = np.vstack([rng.integers(-1, 2, (4 * dim, dim)).astype(np.float64), cube(dim)])
    bounds = np.concatenate([rng.integers(0, 3, 4 * dim), np.ones(2 * dim)])
    return matrix, bounds.astype(np.float64)


def queries(rng: np.random.Generator, dim: int, number: int, integer: bool) -> list[Query]:
    result = []
    for _ in range(number):
        size = int(rng.integers(1, dim + 1))
        theta = rng.standard_normal(size)
        if integer:
            theta = rng.integers(-2, 3, size).astype(np.float64)
        result.append((theta, rng.permutation(dim)[:size]))
    return result


def reference(matrix: FloatArray, bounds: FloatArray, theta: FloatArray) -> float:
    result = linprog(-theta, A_ub=matrix, b_ub=bounds, bounds=(None, None))
    assert result.fun is not None
    return -float(result.fun)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [random_polytope, degenerate_polytope])
def test_maximiser_is_feasible_and_as_good_as_linprog(make: Maker, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 12))
    matrix, bounds = make(rng, dim)
    program = LinearProgram(matrix, bounds)
    for theta, support in queries(rng, dim, 15, integer=seed % 2 == 0):
        x = program.maximize(theta, support)
        assert x.shape == support.shape
        assert np.all(matrix[:, support] @ x <= bounds + 1e-9)
        expected = reference(matrix[:, support], bounds, theta)
        assert theta @ x == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("make", [random_polytope, degenerate_polytope])
def test_answer_does_not_depend_on_history(make: Maker) -> None:
    rng = np.random.default_rng(7)
    dim = 10
    matrix, bounds = make(rng, dim)
    used = LinearProgram(matrix, bounds)
    for theta, support in queries(rng, dim, 10, integer=True):
        for other in queries(rng, dim, 50, integer=True):
            used.maximize(*other)
            used.maximize(rng.integers(-2, 3, support.size).astype(np.float64), support)
        fresh = LinearProgram(matrix, bounds)
        expected = fresh.maximize(theta, support).tobytes()
        assert used.maximize(theta, support).tobytes() == expected
        used.coordinate_bounds(support)
        assert used.maximize(theta, support).tobytes() == expected
        for one, two in zip(fresh.coordinate_bounds(), used.coordinate_bounds(), strict=True):
            assert one.tobytes() == two.tobytes()


def test_failure_leaves_no_trace() -> None:
    rng = np.random.default_rng(2)
    dim, support = 10, np.arange(10)
    matrix = np.vstack([rng.integers(0, 2, (3 * dim, dim)), np.eye(dim)]).astype(np.float64)
    cone = LinearProgram(matrix, np.ones(4 * dim))
    asked = [matrix[rng.permutation(4 * dim)[:4]].sum(axis=0) for _ in range(20)]
    before = [cone.maximize(theta, support).tobytes() for theta in asked]
    with pytest.raises(SolverError, match=r"Infeasible.*unbounded"):
        cone.maximize(-np.ones(dim), support)
    assert [cone.maximize(theta, support).tobytes() for theta in asked] == before


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e4, 1e9])
def test_tolerances_are_relative(scale: float) -> None:
    rng = np.random.default_rng(3)
    matrix, bounds = random_polytope(rng, 6)
    theta, support = rng.standard_normal(4), np.array([0, 2, 3, 5])
    expected = LinearProgram(matrix, bounds).maximize(theta, support)
    shrunk = LinearProgram(matrix, bounds * scale).maximize(theta, support)
    np.testing.assert_allclose(shrunk, expected * scale, rtol=1e-9)
    np.testing.assert_allclose(
        LinearProgram(matrix, bounds).maximize(theta * scale, support), expected, rtol=1e-9
    )
    rows = np.where(rng.random(bounds.size) < 0.5, scale, 1.0)
    rescaled = LinearProgram(matrix * rows[:, None], bounds * rows).maximize(theta, support)
    np.testing.assert_allclose(rescaled, expected, rtol=1e-9)
    units = np.where(np.arange(6) % 2 == 0, scale, 1.0)
    other_units = LinearProgram(matrix / units, bounds)
    np.testing.assert_allclose(
        other_units.maximize(theta / units[support], support), expected * units[support], rtol=1e-9
    )


def test_zero_objective_and_empty_support() -> None:
    program = LinearProgram(cube(3), np.ones(6))
    np.testing.assert_array_equal(program.maximize(np.zeros(2), np.array([0, 2])), np.zeros(2))
    assert program.maximize(np.zeros(0), np.zeros(0, dtype=np.intp)).shape == (0,)


def test_rejects_what_it_cannot_solve() -> None:
    # x_1 <= -1 leaves no point on the first axis, where that row is 0.
    shifted = LinearProgram(cube(2), np.array([1.0, -1.0, 1.0, 2.0]))
    with pytest.raises(SolverError, match="empty"):
        shifted.maximize(np.ones(1), np.array([0]))
    np.testing.assert_array_equal(shifted.maximize(np.ones(2), np.arange(2)), [1.0, -1.0])


@pytest.mark.parametrize("make", [random_polytope, degenerate_polytope])
def test_coordinate_bounds_agree_with_linprog(make: Maker) -> None:
    rng = np.random.default_rng(5)
    matrix, bounds = make(rng, 6)
    program = LinearProgram(matrix, bounds)
    for support in (np.arange(6), np.array([1, 2, 5])):
        lower, upper = program.coordinate_bounds(None if support.size == 6 else support)
        off = np.setdiff1d(np.arange(6), support)
        np.testing.assert_array_equal(lower[off], 0.0)
        np.testing.assert_array_equal(upper[off], 0.0)
        for position, coordinate in enumerate(support):
            unit = np.eye(support.size)[position]
            inside = matrix[:, support]
            assert upper[coordinate] == pytest.approx(reference(inside, bounds, unit), abs=1e-9)
            assert lower[coordinate] == pytest.approx(-reference(inside, bounds, -unit), abs=1e-9)


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda program: pickle.loads(pickle.dumps(program))]
)
def test_copies_answer_with_the_same_bits(clone: Callable[[LinearProgram], LinearProgram]) -> None:
    rng = np.random.default_rng(11)
    program = LinearProgram(*degenerate_polytope(rng, 8))
    asked = queries(rng, 8, 20, integer=True)
    answers = [program.maximize(*query) for query in asked]
    twin = clone(program)
    for query, answer in zip(asked, answers, strict=True):
        assert twin.maximize(*query).tobytes() == answer.tobytes()


def test_threads_may_share_a_program() -> None:
    rng = np.random.default_rng(13)
    program = LinearProgram(*random_polytope(rng, 15))
    asked = queries(rng, 15, 300, integer=False)
    expected = [program.maximize(*query).tobytes() for query in asked]
    barrier = threading.Barrier(3)
    found: dict[int, list[bytes]] = {}

    def work(name: int) -> None:
        barrier.wait()
        order = asked if name % 2 == 0 else asked[::-1]
        answers = [program.maximize(*query).tobytes() for query in order]
        found[name] = answers if name % 2 == 0 else answers[::-1]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(3), expected)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_does_not_load_highs() -> None:
    code = "import sys, sparsebandits.action_sets.linear_program; print('highspy' in sys.modules)"
    assert run_python(code) == "False"


def test_works_beside_a_multithreaded_highs() -> None:
    # HiGHS refuses to run with another number of threads than its process-wide scheduler has.
    code = """
import highspy
import numpy as np
from sparsebandits.action_sets.linear_program import LinearProgram
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 2)
other.maximize(other.addBinary())
square = LinearProgram(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))
print(square.maximize(np.array([1.0, -2.0]), np.arange(2)).tolist())
"""
    assert run_python(code) == "[1.0, -1.0]"


SIMPLEX = np.vstack([-np.eye(3), np.ones((1, 3))])
BOUNDED = {
    "cube": (cube(3), True),
    "simplex": (SIMPLEX, True),
    "redundant rows": (np.vstack([cube(3), cube(3), np.ones((2, 3)), np.zeros((1, 3))]), True),
    "badly scaled rows": (SIMPLEX * np.array([[1e-7], [1.0], [1e8], [1e-3]]), True),
    "badly scaled columns": (SIMPLEX * np.array([1e-7, 1.0, 1e8]), True),
    "long box": (np.vstack([cube(2), [[1.0, -1.0 + 1e-5], [-1.0, 1.0]]]), True),
    "half-space": (np.array([[1.0, 0.0]]), False),
    "slab": (np.array([[1.0, 0.0], [-1.0, 0.0]]), False),
    "orthant": (-np.eye(3), False),
    "narrow cone": (np.array([[1.0, -1e-4], [-1.0, -1e-4]]), False),
    "cone with redundant rows": (np.vstack([-np.eye(2), -np.eye(2), -np.ones((1, 2))]), False),
    "badly scaled cone": (-np.eye(3) * np.array([[1e8], [1.0], [1e-8]]), False),
    "ray": (np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 0.0]]), False),
    "rank deficient": (np.hstack([cube(2), cube(2)]), False),
    "rank deficient, badly scaled": (np.hstack([cube(2), 1e-9 * cube(2)]), False),
    "zero column": (np.hstack([cube(2), np.zeros((4, 1))]), False),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_boundedness(name: str) -> None:
    matrix, expected = BOUNDED[name]
    assert is_bounded(matrix) is expected


@pytest.mark.parametrize("seed", range(20))
def test_boundedness_of_random_cones_agrees_with_linprog(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 5))
    matrix = rng.standard_normal((int(rng.integers(dim, 3 * dim)), dim))
    widest = 0.0
    for direction in cube(dim):
        result = linprog(-direction, A_ub=matrix, b_ub=np.zeros(len(matrix)), bounds=(-1, 1))
        assert result.fun is not None
        widest = max(widest, -float(result.fun))
    assert is_bounded(matrix) is (widest < 1e-7)


def test_feasibility() -> None:
    assert feasibility(cube(2), np.ones(4))
    assert feasibility(np.array([[1.0], [-1.0]]), np.array([2.0, -1.0]))
    assert feasibility(np.array([[1.0, 0.0]]), np.array([-5.0]))
    assert feasibility(np.array([[1.0], [-1.0]]) * 1e-7, np.array([2e-7, -2e-7]))
    assert not feasibility(np.array([[1.0], [-1.0]]), np.array([1.0, -2.0]))
    assert not feasibility(np.array([[1.0], [-1.0]]) * 1e-7, np.array([1e-7, -2e-7]))
    assert not feasibility(np.zeros((1, 2)), np.array([-1.0]))
