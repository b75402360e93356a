"""SparseThompson among many coordinates, for tests: learners, and quick ways to fill a core."""

from typing import Any

import numpy as np

import sparsebandits as sb
from sparsebandits.policies import Decision, Learner
from sparsebandits.policies.core import Core
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.validation import FloatArray


def thompson(action_set: sb.ActionSet, sparsity: int = 3, **keywords: Any) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=action_set, sparsity=sparsity, **keywords)


class Dense(sb.SparseThompson):
    """The same policy with all coordinates in one regression."""

    is_gated = False


def cube(dim: int) -> sb.Box:
    return sb.Box(np.zeros(dim), np.ones(dim))


def core_of(learner: Learner) -> Core:
    rule = learner._rule
    assert isinstance(rule, CoreRule)
    return rule.cores[0]


def told(learner: Learner, indices: list[int], reward: float, value: float = 1.0) -> None:
    """Tell the reward of an action that was played long ago, by its non-zeros."""
    places = np.array(indices, dtype=np.intp)
    learner._rule.take(Played(places, np.full(places.size, value), EXPLOIT), reward)


def fill(learner: Learner, seed: int = 0) -> None:
    """Tell rewards of so many different actions that every slot is taken."""
    core, rng = core_of(learner), np.random.default_rng(seed)
    while core.slots.ids.size < core.slots.capacity:
        some = np.sort(rng.choice(learner.policy.action_set.dim, 8, replace=False))
        told(learner, some.tolist(), float(rng.standard_normal()), 0.3)


def reward_of(decision: Decision, theta: FloatArray, noise: float = 0.0) -> float:
    return float(theta[decision.indices] @ decision.values) + noise


def play(learner: Learner, theta: FloatArray, steps: int, seed: int = 0) -> list[Decision]:
    """Ask and tell in turn, with noise of 0.3."""
    noise, decisions = 0.3 * np.random.default_rng(seed).standard_normal(steps), []
    for off in noise:
        decision = learner.ask()
        learner.tell(decision, reward_of(decision, theta, float(off)))
        decisions.append(decision)
    return decisions
