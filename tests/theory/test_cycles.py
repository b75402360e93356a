import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.theory import cycles_in

SCHEDULES: dict[str, Callable[[int], int]] = {"linear": lambda c: c, "sqrt": math.isqrt}


def counted(horizon: int, dim: int, schedule: Callable[[int], int], c_0: float) -> int:
    """Play the steps one by one and return the cycle of the last."""
    step, cycle = 0, 0
    while True:
        cycle += 1
        for _ in range(dim + (schedule(cycle) if cycle >= c_0 else 0)):
            step += 1
            if step == horizon:
                return cycle


@given(
    st.integers(1, 3000),
    st.integers(1, 30),
    st.one_of(st.floats(-2, 300), st.just(math.inf)),
    st.sampled_from(sorted(SCHEDULES)),
)
def test_cycles_are_counted_exactly(horizon: int, dim: int, c_0: float, name: str) -> None:
    wanted = counted(horizon, dim, SCHEDULES[name], c_0)
    assert cycles_in(horizon, dim, name, c_0) == wanted
    assert cycles_in(horizon, dim, SCHEDULES[name], c_0) == wanted


def test_arrays_keep_their_shape_and_order() -> None:
    horizons = np.array([[500, 3], [40, 7000]])
    found = cycles_in(horizons, 3, "sqrt", 10)
    assert found.shape == (2, 2)
    for horizon, cycles in zip(horizons.flat, found.flat, strict=True):
        assert cycles == counted(int(horizon), 3, math.isqrt, 10)
    assert cycles_in(np.zeros(0, dtype=int), 3).shape == (0,)


def test_the_papers_rates() -> None:
    """K grows as sqrt(2 T), and as (1.5 T)^(2/3) with the sqrt schedule."""
    horizon = 10**15
    assert cycles_in(horizon, 20) == pytest.approx(math.sqrt(2 * horizon), rel=1e-5)
    assert cycles_in(horizon, 20, "sqrt") == pytest.approx((1.5 * horizon) ** (2 / 3), rel=1e-3)


def test_a_longer_warm_up_holds_more_cycles() -> None:
    counts = [int(cycles_in(5000, 7, "linear", c_0)) for c_0 in (0, 1, 5, 50, 400, math.inf)]
    assert counts == sorted(counts)
    assert counts[0] == counts[1]
    assert counts[-1] == math.ceil(5000 / 7)


def test_a_learner_is_in_that_cycle() -> None:
    learner = sb.CompactAPSEEG(action_set=sb.Box(np.zeros(3), np.ones(3)), sparsity=1).start(0)
    for step in range(1, 200):
        decision = learner.ask()
        learner.tell(decision, 0.5)
        assert decision.cycle == cycles_in(step, 3, "sqrt")


@pytest.mark.parametrize("horizon", [0, -3, [5, 0], 2.5, "many", None])
def test_horizons_are_checked(horizon: object) -> None:
    with pytest.raises(sb.SparseBanditsError, match="horizon must be"):
        cycles_in(horizon, 3)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(sb.SparseBanditsError, match="dim must be at least 1"):
        cycles_in(10, 0)
    with pytest.raises(sb.SparseBanditsError, match="schedule must be one of"):
        cycles_in(10, 3, "cubic")
    with pytest.raises(sb.SparseBanditsError, match="warmup_cycles must be a finite number"):
        cycles_in(10, 3, "linear", math.nan)
