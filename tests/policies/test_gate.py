"""The gate that admits fresh coordinates."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsebandits.policies.gate import Gate


def slow_gate(sparsity: int, known: int, steps: float, scores: list[float], mean: float) -> bool:
    """What the docstring of `Gate` says."""
    if len(scores) < 4 * sparsity or known < 0.5 * sparsity * math.sqrt(steps):
        return True
    if known >= 3 * sparsity * math.sqrt(steps):
        return False
    best = sorted(scores, reverse=True)
    gap = sum(best[:sparsity]) / sparsity - best[sparsity]
    return steps * sparsity / (known + 1) * gap >= 1.5 * (best[sparsity] - mean)


@given(
    sparsity=st.integers(1, 6),
    slots=st.integers(1, 120),
    retired=st.integers(0, 50),
    steps=st.integers(0, 5000),
    seed=st.integers(0, 2**32 - 1),
    mean=st.floats(-2, 1),
)
def test_the_gate_opens_where_it_says(
    sparsity: int, slots: int, retired: int, steps: int, seed: int, mean: float
) -> None:
    scores, known = np.random.default_rng(seed).random(slots), slots + retired
    gate, before = Gate(sparsity), scores.copy()
    expected = slow_gate(sparsity, known, steps, scores.tolist(), mean)
    assert gate.opens(known, steps, scores, mean) == expected
    np.testing.assert_array_equal(scores, before)
    assert gate.opens(known, steps, scores[::-1].copy(), mean) == expected
    # Whatever unit the rewards have; 8 costs no digit.
    assert gate.opens(known, steps, 8 * scores, 8 * mean) == expected


def test_cases_of_the_gate() -> None:
    gate, many = Gate(2), 100
    flat, steep = np.full(many, 0.5), np.append(np.zeros(many - 2), [9.0, 9.0])
    assert gate.opens(7, 10**6, flat[:7], 0.0)  # fewer than 4 H
    assert gate.opens(many, 101**2, flat, 0.0)  # fewer than H sqrt(t) / 2
    assert not gate.opens(many, 16**2, steep, 0.0)  # more than 3 H sqrt(t)
    assert gate.opens(many, 20**2, steep, 0.0)  # a gap, and nothing to lose
    assert not gate.opens(many, 20**2, flat, 0.0)  # no gap
    fair = np.append(np.ones(many - 2), [1.1, 1.1])
    assert not gate.opens(many, 20**2, fair, 0.0)  # 400 · 2 / 101 · 0.1 < 1.5
    # It costs less where all are good: 0.79 is more than 1.5 · 0.5, and less than 1.5 · 0.56.
    assert gate.opens(many, 20**2, fair, 0.5)
    assert not gate.opens(many, 20**2, fair, 0.44)
    # Those that were sent away were looked at too: 0.66 is less than 1.5 · 0.5.
    assert not gate.opens(many + 20, 20**2, fair, 0.5)
