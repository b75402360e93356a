"""Cells that are quick to run, and what it means that two runs have the same bits."""

from pathlib import Path

import numpy as np

import sparsebandits as sb
from sparsebandits.sweeps import Cell, load_cell

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


def same_bits(one: sb.Run, two: sb.Run) -> bool:
    names = ("steps", "regret", "locked_at", "support_correct", "theta_error", "optimum")
    for name in (*names, "optimal_share", "overlap"):
        a, b = getattr(one, name), getattr(two, name)
        if (a is None) != (b is None):
            return False
        if a is not None and (a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=True)):
            return False
    return one.label == two.label


def whole(cell: Cell) -> sb.Run:
    """Simulate all trials in one call, without the engine."""
    return cell.simulate(SEED, 0, cell.trials)


def holds_the_same_bits(folder: Path, cell: Cell) -> bool:
    return same_bits(load_cell(folder, cell, SEED), whole(cell))
