"""One player on one problem: regret and CPU seconds."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from side_by_side.players.base import Player
from side_by_side.problems import SPARSITY, Problem
from sparsebandits.validation import FloatArray

CHECKPOINTS = (20, 50, 100, 200)
DUST = 1e-6
"""Optimisers leave that much on inputs that are off."""


def play(player: Player, problem: Problem, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the outcome at each checkpoint and at the end: what is cut short has said something.

    Lists have an entry for each checkpoint. CPU seconds are those of a suggestion and of telling
    its reward, the mean up to there; random starts do not count, nor does naming the best.
    """
    total, spent = 0.0, 0.0
    regret: list[float] = []
    simple: list[float] = []
    seconds: list[float] = []
    for trial in range(trials):
        began = time.process_time()
        is_start = trial < player.starts
        action = legal(problem.starts[trial] if is_start else player.suggest())
        player.tell(action, problem.value(action) + float(problem.noise[trial]))
        spent += 0.0 if is_start else time.process_time() - began
        total += problem.optimum - problem.value(action)
        done = trial + 1
        if done in CHECKPOINTS:
            regret.append(round(total, 4))
            simple.append(round(problem.optimum - problem.value(legal(player.best())), 4))
            seconds.append(float(f"{spent / (done - player.starts):.3g}"))
        if done in CHECKPOINTS or done == trials:
            outcome = {"regret": [*regret], "simple": [*simple], "seconds": [*seconds]}
            yield {"trials": done, **outcome}


def legal(action: FloatArray) -> FloatArray:
    """Return the action without dust, or say what is wrong with it."""
    clean = np.where(np.abs(action) < DUST, 0.0, action)
    on = np.count_nonzero(clean)
    if on > SPARSITY or clean.min() < 0.0 or clean.max() > 1.0 + DUST:
        raise ValueError(
            f"An action has at most {SPARSITY} inputs on, each in [0, 1]; this one has {on}, "
            f"from {clean.min():g} to {clean.max():g}. Look at the player's suggest()."
        )
    return np.minimum(clean, 1.0)
