"""Gram lanes against plain least squares, and over ten million updates."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from sparsebandits.estimation import GramLanes
from sparsebandits.validation import FloatArray


def example(seed: int, n: int = 40, dim: int = 5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, dim)), rng.standard_normal(n) + 2.0


def filled(actions: FloatArray, rewards: FloatArray) -> GramLanes:
    data = GramLanes(1, actions.shape[1])
    for x, reward in zip(actions, rewards, strict=True):
        data.add(x[None], np.array([reward]))
    return data


def test_estimate_is_least_squares_and_follows_the_data() -> None:
    actions, rewards = example(1)
    data = GramLanes(1, 5)
    for n in range(1, 41):
        data.add(actions[n - 1 : n], rewards[n - 1 : n])
        assert data.known[0] == (n >= 5)
        if n >= 5:
            expected = np.linalg.lstsq(actions[:n], rewards[:n], rcond=None)[0]
            np.testing.assert_allclose(data.estimate()[0], expected, rtol=1e-7)
    np.testing.assert_allclose(data.gram()[0], actions.T @ actions)
    np.testing.assert_allclose(data.response()[0], actions.T @ rewards)
    assert data.reward_squares()[0] == pytest.approx((rewards**2).sum())
    assert data.counts[0] == 40


def test_sparse_actions_and_blocks_give_the_same_sums() -> None:
    actions, rewards = example(3, n=60, dim=12)
    actions[np.random.default_rng(3).random(actions.shape) < 0.8] = 0.0
    one_by_one, in_blocks = filled(actions, rewards), GramLanes(1, 12)
    in_blocks.add_many(actions[:13], rewards[:13])
    in_blocks.add_many(actions[13:], rewards[13:])
    assert in_blocks.counts[0] == one_by_one.counts[0] == 60
    np.testing.assert_allclose(one_by_one.gram()[0], actions.T @ actions, atol=1e-12)
    np.testing.assert_allclose(in_blocks.gram(), one_by_one.gram(), atol=1e-12)
    np.testing.assert_allclose(in_blocks.estimate(), one_by_one.estimate(), rtol=1e-9)
    np.testing.assert_allclose(in_blocks.reward_squares(), one_by_one.reward_squares())


def test_actions_that_do_not_span_are_not_known() -> None:
    data = GramLanes(1, 3)
    data.add_many(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0], [2, 1, 0]]), np.arange(4.0))
    assert not data.known[0]
    data.add(np.array([[0.0, 0.0, 1e-20]]), np.array([1.0]))
    assert data.known[0]


def test_very_different_units_are_solved() -> None:
    actions, rewards = example(5)
    units = np.array([1e-12, 1.0, 1e9, 1e3, 1e-3])
    expected = np.linalg.lstsq(actions, rewards, rcond=None)[0]
    solved = filled(actions * units, rewards).estimate()[0]
    np.testing.assert_allclose(solved * units, expected, rtol=1e-9)


def test_ten_million_updates_keep_nine_digits_and_more() -> None:
    """Against extended precision; ill-conditioned on purpose (condition number about 400)."""
    rng = np.random.default_rng(6)
    data = GramLanes(1, 3)
    exact = np.zeros((4, 4), dtype=np.longdouble)
    theta = np.array([1.0, -2.0, 0.5])
    for _ in range(50):
        actions = rng.random((200_000, 3)) * 0.1 + 1.0
        rewards = actions @ theta + 0.5 * rng.standard_normal(200_000)
        data.add_many(actions, rewards)
        z = np.column_stack([actions, rewards])
        for i in range(4):
            for j in range(i + 1):
                exact[i, j] += (z[:, i].astype(np.longdouble) * z[:, j]).sum()
    exact = np.tril(exact) + np.tril(exact, -1).T
    expected = solved_exactly(exact[:3, :3], exact[:3, 3])
    assert data.counts[0] == 10_000_000
    error = np.abs(data.estimate()[0] - expected).max() / np.abs(expected).max()
    assert error < 1e-9


def solved_exactly(matrix: Any, vector: Any) -> FloatArray:
    """Gaussian elimination in fractions."""
    size = len(vector)
    rows = [[Fraction(*x.as_integer_ratio()) for x in [*matrix[i], vector[i]]] for i in range(size)]
    for i in range(size):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])


def test_single_updates_do_not_drift() -> None:
    """The same addition 30,000 times: a plain sum is off by 4e-13 here and by 1.4e-10 at 10^7.

    The error of the compensated sum is 1e-16 and does not grow, so 10^7 is like 30,000.
    """
    data, plain = GramLanes(1, 2), 0.0
    action, reward = np.array([[0.1, 0.0]]), np.array([0.3])
    for _ in range(30_000):
        data.add(action, reward)
        plain += 0.1 * 0.1
    exact = [float(30_000 * Fraction(term)) for term in (0.1 * 0.1, 0.1 * 0.3, 0.3 * 0.3)]
    assert abs(plain / exact[0] - 1) > 1e-13
    found = [data.gram()[0, 0, 0], data.response()[0, 0], data.reward_squares()[0]]
    assert found == pytest.approx(exact, rel=4e-16)


@pytest.mark.parametrize("units", [np.ones(5), 10.0 ** np.arange(-6, 4, 2)])
def test_least_information_is_the_largest_c_with_v_at_least_c_b(units: FloatArray) -> None:
    """c is the smallest generalised eigenvalue of (V, B), by scipy.linalg.eigh."""
    actions, rewards = example(7)
    basis = example(8, n=5)[0] + 3 * np.eye(5)
    data = GramLanes(2, 5)
    data.add_many(actions * units, rewards, lane=1)
    gram, basis_gram = actions.T @ actions, (basis * units).T @ (basis * units)
    expected = scipy.linalg.eigh(gram, basis.T @ basis, eigvals_only=True)[0]
    np.testing.assert_allclose(data.least_information(basis_gram), [0.0, expected], rtol=1e-9)
    if units.max() == 1:
        smallest = np.linalg.eigvalsh(gram)[0]
        np.testing.assert_allclose(data.least_information(), [0.0, smallest], rtol=1e-9)


def test_a_lane_does_not_depend_on_the_lanes_beside_it() -> None:
    rng = np.random.default_rng(9)
    alone, beside = [GramLanes(1, 3) for _ in range(4)], GramLanes(4, 3)
    for _ in range(30):
        lanes = np.flatnonzero(rng.random(4) < 0.8)
        actions = rng.standard_normal((lanes.size, 3)) * (rng.random((lanes.size, 3)) < 0.5)
        rewards = rng.standard_normal(lanes.size)
        beside.add(actions, rewards, lanes)
        for place, lane in enumerate(lanes.tolist()):
            alone[lane].add(actions[place : place + 1], rewards[place : place + 1])
    assert beside.known.all()
    for lane, single in enumerate(alone):
        assert single.counts[0] == beside.counts[lane]
        assert single.moments[0].tobytes() == beside.moments[lane].tobytes()
        assert single.lost[0].tobytes() == beside.lost[lane].tobytes()
        assert single.estimate()[0].tobytes() == beside.estimate()[lane].tobytes()


def test_what_is_known_beside_a_baseline_is_worth_fewer_cycles() -> None:
    """The largest c with V - (sum x)(sum x)' / n >= c B, by generalised eigenvalues."""
    rng = np.random.default_rng(8)
    actions = rng.standard_normal((30, 4)) + 2.0
    data = GramLanes(1, 5)
    data.add_many(np.column_stack([np.ones(30), actions]), rng.standard_normal(30))
    centred = actions - actions.mean(axis=0)
    basis = np.diag([1.0, 4.0, 0.25, 2.0])
    for gram in (None, basis):
        given = np.eye(4) if gram is None else gram
        least = scipy.linalg.eigh(centred.T @ centred, given, eigvals_only=True)[0]
        assert data.least_information(gram, free=1)[0] == pytest.approx(least, rel=1e-9)
        assert scipy.linalg.eigh(actions.T @ actions, given, eigvals_only=True)[0] > least
