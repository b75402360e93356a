"""What a result shows at the prompt is short, however large it is."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits import sweeps
from sparsebandits.descriptions import Described

LONGEST = 1_000
LARGE = np.linspace(0.0, 1.0, 900)  # NumPy cuts from 1,000 entries on

RECORDS: dict[str, Any] = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in (sb, sweeps)
    for name in room.__all__
    if dataclasses.is_dataclass(getattr(room, name))
    # What has a kind is a part, not a result: see below.
    and not issubclass(getattr(room, name), Described)
    and getattr(room, name) is not sb.LinearEnvironment
}


def large(annotation: object) -> Any:
    """Return something long for a field, whatever the field is for."""
    text = str(annotation)
    if "ndarray" in text:
        return LARGE
    if "dict" in text or "Mapping" in text:
        return {f"key {i}": LARGE for i in range(20)}
    if "tuple" in text or "Sequence" in text:
        return tuple(range(1_000))
    if "Path" in text:
        return Path("/folder" * 40)
    return 1.0 / 3.0 if "float" in text else "a long text " * 8 if "str" in text else 10**6


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_repr_of_a_large_result_is_short(record: Any) -> None:
    result = object.__new__(record)
    for field in dataclasses.fields(record):
        object.__setattr__(result, field.name, large(field.type))
    shown = repr(result)
    assert shown.startswith(f"{record.__name__}(")
    assert len(shown) < (2 * LONGEST if record is sb.Plan else LONGEST)  # 31 fields


def test_parts_of_many_coordinates_are_short_too() -> None:
    rng = np.random.default_rng(0)
    dim = 900
    wide = sb.Box(-LARGE - 1, LARGE + 1)
    sets = [
        wide,
        wide.restrict(range(0, dim, 2)),
        sb.LpBall(dim),
        sb.Budget(1.0, LARGE + 1),
        sb.Ellipsoid(np.eye(dim)),
        sb.FiniteSet(np.vstack([rng.standard_normal((10, dim)), np.zeros(dim)])),
    ]
    noise = sb.Empirical(list(LARGE))
    environment = sb.LinearEnvironment(action_set=wide, theta_star=LARGE, noise=noise)
    policy = sb.SparseThompson(action_set=sb.Box([-1] * 9, [1] * 9), sparsity=2)
    learner = policy.start(seed=0)
    parts = [*sets, noise, environment, policy, learner, learner.ask(), learner.certificate()]
    run = sb.simulate(
        sb.RandomSparse(action_set=wide, sparsity=2), environment, horizon=50, trials=3
    )
    for part in [
        *parts,
        run,
        sb.sparse_argmax(wide, LARGE, 800),
        sb.plan(sb.LpBall(20), 5, 0.5, 0.05, 2_000),
    ]:
        assert len(repr(part)) < LONGEST, repr(part)[:200]


def test_the_names_of_a_result_are_in_its_repr() -> None:
    shown = repr(sb.sparse_argmax(sb.LpBall(3), [3.0, -4.0, 1.0], sparsity=2))
    assert "support=(0, 1)" in shown
    assert "value=5.0" in shown
    assert "action=array([ 0.6, -0.8, 0. ])" in shown
