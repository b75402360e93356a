"""Exchange: the closed-form line search against brute force, and monotone progress."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration.exchange import _Design, _line_search, improve, inverse_traces
from sparsebandits.validation import FloatArray
from tests.exploration.examples import CONVEX_SETS, DIM


def plain_trace(rows: FloatArray) -> float:
    return float(np.trace(np.linalg.inv(rows.T @ rows)))


def test_inverse_traces() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 3, 3))
    rows[2, 1] = rows[2, 0]
    expected = [plain_trace(block) if i != 2 else np.inf for i, block in enumerate(rows)]
    np.testing.assert_allclose(inverse_traces(rows), expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_finds_the_best_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, response = rng.standard_normal((1, 3, 3)), rng.standard_normal((1, 3))
    inverse: FloatArray = np.asarray(np.linalg.inv(rows), dtype=np.float64)
    design = _Design(rows, inverse, (inverse**2).sum(axis=(1, 2)))
    products = np.einsum("nij,ni->nj", inverse, inverse[:, :, 1])
    steps, traces = _line_search(design, 1, products, response)

    def trace_at(step: float) -> float:
        moved = rows[0].copy()
        moved[1] += step * (response[0] - moved[1])
        return plain_trace(moved)

    assert 0 < steps[0] <= 1
    assert trace_at(steps[0]) == pytest.approx(traces[0], rel=1e-8)
    # Either an inner optimum or the end; a move that beats standing still is all that is needed.
    grid = [trace_at(step) for step in np.linspace(0.001, 1.0, 400)]
    if min(grid) < design.traces[0]:
        assert traces[0] <= min(grid) * (1 + 1e-9)


@pytest.mark.parametrize("kind", CONVEX_SETS)
@pytest.mark.parametrize("sweeps", [1, 5])
def test_improving_never_hurts_and_stays_inside(kind: str, sweeps: int) -> None:
    action_set = CONVEX_SETS[kind]
    rng = np.random.default_rng(3)
    indices = np.array([[0, 1, 2], [6, 3, 4]])
    start = np.stack([_random_rows(action_set, block, rng) for block in indices])
    improved = improve(action_set, indices, start, sweeps)
    assert (inverse_traces(improved) <= inverse_traces(start)).all()
    for block, rows in zip(indices, improved, strict=True):
        dense = np.zeros((3, DIM))
        dense[:, block] = rows
        assert action_set.contains(dense).all()


def test_improving_leaves_the_start_alone() -> None:
    start = np.array([[[0.5, 0.1], [0.1, 0.5]]])
    kept = start.copy()
    improved = improve(sb.LpBall(2), np.array([[0, 1]]), start, 10)
    np.testing.assert_array_equal(start, kept)
    assert plain_trace(improved[0]) == pytest.approx(2.0, rel=1e-3)


def test_an_action_can_cross_to_the_far_side() -> None:
    box = sb.Box([-2.0, -2.0], [0.5, 0.5])
    improved = improve(box, np.array([[0, 1]]), np.array([np.eye(2) / 2]), 5)
    assert plain_trace(improved[0]) <= 0.5 * (1 + 1e-9)


def _random_rows(
    action_set: sb.ActionSet, block: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Mix the axes with best responses to random directions: inside, and spanning."""
    lower, upper = action_set.axis_reach()
    rows = np.diag(np.where(upper > 0, upper, lower)[block]) * 0.6
    for row in rows:
        direction = np.zeros(action_set.dim)
        direction[block] = rng.standard_normal(3)
        row += action_set.best_response(direction, block)[block] * 0.4
    return rows
