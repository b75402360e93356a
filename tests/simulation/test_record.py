"""What is done with a whole run is done with every field of it."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.errors import InvalidValueError
from sparsebandits.simulation.record import axes_of

BALL = sb.LpBall(4)
ENV = sb.LinearEnvironment(action_set=BALL, theta_star=sb.UniformCube())
POLICY = sb.APSEE(action_set=BALL, sparsity=2, sigma=0.5, confidence_scale=0.05)
SIZES = {"trial": 9, "coordinate": 4}


def simulated(first: int = 0, trials: int = 9, *, track_support: bool = True) -> sb.Run:
    return sb.simulate(
        POLICY, ENV, 300, trials, seed=3, track_support=track_support, first_trial=first
    )


WHOLE = simulated()


def same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=True)
    return bool(one == two)


@pytest.mark.parametrize("entry", fields(sb.Run), ids=lambda entry: entry.name)
def test_every_field_is_split_and_joined(entry: Any) -> None:
    value = getattr(WHOLE, entry.name)
    if axes := axes_of(entry):
        sizes = {**SIZES, "step": WHOLE.steps.size}
        assert value.shape == tuple(sizes[axis] for axis in axes)
    parts = [WHOLE.rows(slice(0, 4)), WHOLE.rows(np.array([4])), WHOLE.rows(np.arange(9) > 4)]
    joined = getattr(sb.Run.join(parts), entry.name)
    if entry.name == "seconds":
        assert joined == pytest.approx(value)
        assert parts[0].seconds == pytest.approx(value * 4 / 9)
        return
    assert same(joined, value)
    if "trial" in axes_of(entry):
        assert same(getattr(parts[0], entry.name), value[:4])
        assert same(getattr(WHOLE.rows(np.array([7, 1])), entry.name), value[[7, 1]])
        alone = [simulated(0, 4), simulated(4, 5)]
        assert same(getattr(sb.Run.join(alone), entry.name), value)


def test_the_label_counts_the_trials() -> None:
    assert WHOLE.trials == WHOLE.label["trials"] == 9
    assert WHOLE.rows(slice(2)).label == {**WHOLE.label, "trials": 2}
    assert WHOLE.rows(slice(0)).trials == 0


def test_the_parameters_are_those_of_the_trials() -> None:
    strongest = np.sort(np.abs(WHOLE.theta_star), axis=1)[:, -2:]
    assert pytest.approx(WHOLE.optimum) == np.linalg.norm(strongest, axis=1)


def test_what_does_not_belong_together_is_not_joined() -> None:
    with pytest.raises(InvalidValueError, match="at least one run"):
        sb.Run.join([])
    with pytest.raises(InvalidValueError, match="other recorded steps"):
        sb.Run.join([WHOLE, replace(WHOLE, steps=WHOLE.steps + 1)])
    with pytest.raises(InvalidValueError, match="overlap was recorded in some"):
        sb.Run.join([WHOLE, simulated(9, 2, track_support=False)])
