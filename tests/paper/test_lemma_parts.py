"""What single lemma checks rest on, against slow and obvious versions."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import sparsebandits as sb
from sparsebandits.environments.paper_setting import random_matrix
from sparsebandits.paper.figures.case4 import ALPHA, GEOMETRY, alpha_regret
from sparsebandits.paper.figures.dimensions import per_length
from sparsebandits.paper.lemmas.ball_intersections import (
    TILTED,
    TWO_BALLS,
    gamma_of_values,
    value_on,
    values_on_all,
)
from sparsebandits.paper.lemmas.estimation import chi_square_union
from sparsebandits.paper.lemmas.support_tests import worst_greedy_errors
from sparsebandits.paper.synthetic import made_run
from sparsebandits.validation import FloatArray

# ---------------------------------------------------------------------- two balls


def by_slsqp(centres: FloatArray, radius: float, theta: FloatArray, support: list[int]) -> float:
    """Maximise theta·x over the intersection, by a general solver from several starts."""

    def spread(y: FloatArray) -> FloatArray:
        x = np.zeros(theta.size)
        x[support] = y
        return np.asarray(radius**2 - ((x - centres) ** 2).sum(axis=1))

    solve: Any = minimize  # whose types do not know of lambdas
    found = [
        solve(
            lambda y: -(theta[support] @ y),
            np.full(len(support), start),
            constraints={"type": "ineq", "fun": spread},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        for start in (0.0, 0.1, -0.1)
    ]
    return max(float(-each.fun) for each in found if each.success)


def by_points(
    centres: FloatArray, radius: float, theta: FloatArray, rng: np.random.Generator
) -> float:
    """The best of many feasible points on rays from 0."""
    rays = rng.standard_normal((20_000, theta.size))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    reach = np.full(len(rays), np.inf)
    for centre in centres:  # |s r - c| = radius
        along = rays @ centre
        reach = np.minimum(reach, along + np.sqrt(along**2 + radius**2 - centre @ centre))
    return float(((rays * reach[:, None]) @ theta).max())


def test_the_counter_example_of_two_balls() -> None:
    values = values_on_all(TWO_BALLS, 10.0, TILTED)
    assert values[[0b001, 0b011, 0b101]] == pytest.approx([1.0, 1.0, 1.0], abs=1e-9)
    assert values[0b111] == pytest.approx(1.498, abs=5e-4)
    assert gamma_of_values(values) == 0
    # e_1 is on both spheres, 0 is inside both.
    assert np.linalg.norm(np.eye(3)[0] - TWO_BALLS, axis=1) == pytest.approx([10.0, 10.0])
    assert (np.linalg.norm(TWO_BALLS, axis=1) < 10).all()


@pytest.mark.parametrize("support", [[0], [0, 1], [0, 2], [1, 2], [0, 1, 2]])
def test_the_dual_of_two_balls_agrees_with_a_general_solver(support: list[int]) -> None:
    found = value_on(TWO_BALLS, 10.0, TILTED, support)
    assert found == pytest.approx(by_slsqp(TWO_BALLS, 10.0, TILTED, support), abs=1e-6)


def test_the_dual_of_two_balls_agrees_on_random_ones_and_no_point_beats_it() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        centres, theta = 0.5 * rng.standard_normal((2, 3)), rng.standard_normal(3)
        radius = 1.1 * np.linalg.norm(centres, axis=1).max()
        found = value_on(centres, radius, theta, [0, 1, 2])
        assert found == pytest.approx(by_slsqp(centres, radius, theta, [0, 1, 2]), abs=1e-5)
        best = by_points(centres, radius, theta, rng)
        assert best <= found + 1e-9
        assert best >= 0.97 * found


def test_gamma_of_values_is_the_definition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        X, theta = sb.Ellipsoid(random_matrix(rng, 4, 20.0)), rng.uniform(-1, 1, 4)
        supports = [[i for i in range(4) if code >> i & 1] for code in range(16)]
        values = np.array([X.value(theta, support) for support in supports])
        assert gamma_of_values(values) == pytest.approx(sb.submodularity_ratio(X, theta), rel=1e-6)
    one = np.array([[0.3, -0.2, 0.1]])  # a ball about another point, in closed form
    theta = np.array([1.0, -2.0, 0.5])
    assert value_on(one, 1.0, theta, [0, 1, 2]) == pytest.approx(
        theta @ one[0] + np.linalg.norm(theta)
    )


# ---------------------------------------------------------------------- the lemma as printed


@pytest.mark.parametrize("dim", [2, 3, 20])
@pytest.mark.parametrize("delta", [0.01, 0.3, 0.99])
def test_the_union_of_chi_square_tails_is_at_most_delta(dim: int, delta: float) -> None:
    """Chernoff's sum is above the exact one, and below the bound of note 4, 0.557 delta."""
    c = np.arange(1, 10**5)
    exact = chi2.sf(2 * dim * np.log(2 * dim * c**2 / delta), dim).sum() / delta
    assert exact <= chi_square_union(dim, delta) <= 0.557


def test_the_proof_in_note_4_term_by_term() -> None:
    """For d = 2 the sum is (2e delta / 16) sum (ln(4/delta) + 2 ln c) / c^4; it rises in delta."""
    c = np.arange(1, 10**5, dtype=float)
    for delta in (0.01, 0.5, 1.0):
        terms = 2 * np.e * delta / 16 * (np.log(4 / delta) + 2 * np.log(c)) / c**4
        assert chi_square_union(2, min(delta, 1 - 1e-12)) == pytest.approx(terms.sum(), rel=1e-6)
    # More coordinates only help: sqrt(2 e L) e^-L is below 1, and falls in L.
    L = np.linspace(np.log(4), 40, 1000)
    base = np.sqrt(2 * np.e * L) * np.exp(-L)
    assert base[0] < 1
    assert (np.diff(base) < 0).all()


def test_the_error_of_theta_hat_is_below_its_two_bounds() -> None:
    """||error||^2 <= ||n||^2 / (c^2 lambda_0), and tr(B) / lambda_0^2 >= d / lambda_0."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, n, c = rng.standard_normal((4, 4)), rng.standard_normal(4), 3.0
        gram = A.T @ A
        smallest = np.linalg.eigvalsh(gram)[0]
        error = np.linalg.solve(c * gram, A.T @ n)
        assert error @ error <= n @ n / (c**2 * smallest) * (1 + 1e-9)
        assert np.trace(gram) / smallest**2 >= 4 / smallest


# ---------------------------------------------------------------------- the worst errors


def test_the_steepest_error_against_greedy_closes_its_smallest_gap() -> None:
    rng = np.random.default_rng(0)
    X = sb.Ellipsoid(random_matrix(rng, 5, 30.0))
    theta = rng.uniform(-1, 1, (20, 5))
    directions = worst_greedy_errors(X, theta, 3)
    for row, direction in zip(theta, directions, strict=True):
        before = sb.sparse_argmax(X, row, 3, "greedy")
        assert before.step_gaps is not None
        place = int(np.argmin(before.step_gaps))
        unit = direction / np.linalg.norm(direction)
        step = 1e-3 * before.gap
        after = sb.sparse_argmax(X, row + step * unit, 3, "greedy")
        assert after.step_gaps is not None
        slope = (before.step_gaps[place] - after.step_gaps[place]) / step
        # The gradient is the steepest: its slope is its length, and no other direction has more.
        assert slope == pytest.approx(np.linalg.norm(direction), rel=1e-2)


def test_half_as_much_of_the_worst_error_flips_greedy() -> None:
    """What the old check lacked: errors that change the support as soon as they can."""
    rng = np.random.default_rng(1)
    X = sb.Ellipsoid(random_matrix(rng, 5, 3.0))
    theta = rng.uniform(-1, 1, (50, 5))
    found = sb.sparse_argmax_batch(X, theta, 2, "greedy")
    direction = worst_greedy_errors(X, theta, 2)
    length = np.linalg.norm(direction, axis=1)
    enough = 1.3 * found.gaps / length**2
    moved = sb.sparse_argmax_batch(X, theta + enough[:, None] * direction, 2, "greedy")
    same = [set(a) == set(b) for a, b in zip(found.supports, moved.supports, strict=True)]
    assert np.mean(same) < 0.6


# ---------------------------------------------------------------------- figures


def test_the_alpha_regret_is_what_the_simulator_measures() -> None:
    cell = next(cell for cell in GEOMETRY.cells("quick") if cell.key == "literal-short")
    run = cell.simulate(0, 0, 2)
    theta = run.theta_star[0]
    best = max(
        GEOMETRY.action_set.value(theta, list(support))
        for support in itertools.islice(itertools.combinations(range(20), 5), 2000)
    )
    shifted = alpha_regret(run)
    per_step = (shifted.regret - run.regret)[0] / run.steps
    assert per_step == pytest.approx(per_step[0] * np.ones(run.steps.size))
    assert per_step[0] + run.optimum[0] >= ALPHA * best - 1e-9
    exact = sb.simulate(cell.policy, cell.environment, cell.horizon, 2, 0, "exact", alpha=ALPHA)
    assert shifted.regret[:, -1] == pytest.approx(exact.regret[:, -1])


def test_the_literal_alpha_regret_is_positive_at_the_papers_horizon() -> None:
    """Note 18 said that it would be negative; over 20 trials it is +1,834 at T = 2,000."""
    cell = next(cell for cell in GEOMETRY.cells("paper") if cell.key == "literal-short")
    at_the_end = alpha_regret(cell.simulate(0, 0, cell.trials)).regret[:, -1]
    assert at_the_end.mean() == pytest.approx(1834, abs=1)


def test_regret_is_divided_by_the_length_that_is_meant() -> None:
    run = made_run(0.5, trials=2, dim=3)
    norms = (np.sqrt(4 + 2.25 + 1), np.sqrt(4 + 2.25))
    for sparsity, norm in zip((None, 2), norms, strict=True):
        expected = run.regret[:, -1] / norm / np.sqrt(run.steps[-1])
        assert per_length(run, sparsity) == pytest.approx(expected)
