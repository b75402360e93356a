"""Cells that are quick to run, chunks of a known size, and what it means to have the same bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.sweeps import Cell, chunking, load_cell

SEED = 3


def apsee(horizon: int = 300, trials: int = 60, key: str = "apsee") -> Cell:
    X = sb.LpBall(4)
    return Cell(
        key=key,
        label=key,
        policy=sb.APSEE(action_set=X, sparsity=2, sigma=0.5, confidence_scale=0.05),
        environment=sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube()),
        horizon=horizon,
        trials=trials,
        track_support=True,
    )


def lints(horizon: int = 200, trials: int = 60, key: str = "lints") -> Cell:
    X = sb.LpBall(4)
    return Cell(
        key=key,
        label=key,
        policy=sb.LinTS(action_set=X, sparsity=2, sigma=0.5),
        environment=sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube()),
        horizon=horizon,
        trials=trials,
    )


def impossible(key: str = "impossible") -> Cell:
    """Return a cell whose policy acts on another set than its environment: it cannot run."""
    environment = sb.LinearEnvironment(action_set=sb.LpBall(5), theta_star=sb.UniformCube())
    policy = sb.APSEE(action_set=sb.LpBall(4), sparsity=2, sigma=0.5)
    return Cell(key=key, label=key, policy=policy, environment=environment, horizon=50, trials=10)


@contextmanager
def chunks_of(*sizes: int) -> Iterator[None]:
    """Cut trials into chunks of these sizes, one cut after the other; the last size goes on."""
    following = chain(sizes, repeat(sizes[-1]))
    cost = chunking.Cost(0.0, 1e-3), len(sizes) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunking, "chunk_size", lambda *_: next(following))
        patch.setattr(chunking, "measure_cost", lambda *_: cost)
        yield


def same_bits(one: sb.Run, two: sb.Run) -> bool:
    """Compare every field but the time."""
    for name in (entry.name for entry in fields(sb.Run) if entry.name != "seconds"):
        a, b = getattr(one, name), getattr(two, name)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                return False
        elif a != b:
            return False
    return True


def whole(cell: Cell) -> sb.Run:
    """Simulate all trials in one call, without the engine."""
    return cell.simulate(SEED, 0, cell.trials)


def holds_the_same_bits(folder: Path, cell: Cell) -> bool:
    return same_bits(load_cell(folder, cell, SEED), whole(cell))
