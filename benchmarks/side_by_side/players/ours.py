"""Learners of this project; and on a response of unknown shape, the same over levels."""

import numpy as np

import sparsebandits as sb
from side_by_side.problems import SIGMA, SPARSITY
from sparsebandits.validation import FloatArray

LEVELS = 3


class OurLearner:
    """A policy on the box [0, 1]^d."""

    starts = 0

    def __init__(self, policy: sb.Policy, seed: int) -> None:
        self.policy = policy
        self.learner = policy.start(seed=seed)

    def suggest(self) -> FloatArray:
        self.asked = self.learner.ask()
        return np.asarray(self.asked.action)

    def tell(self, action: FloatArray, reward: float) -> None:
        self.learner.tell(self.asked, reward)

    def best(self) -> FloatArray:
        return self.policy.best_actions(self.learner.theta_hat[None], self.policy.action_set)[0]


def cube(dim: int) -> sb.Box:
    return sb.Box(np.zeros(dim), np.ones(dim))


def sparse_thompson(dim: int, seed: int) -> OurLearner:
    """Make the recommended policy, told nothing but the box and H."""
    return OurLearner(sb.SparseThompson(action_set=cube(dim), sparsity=SPARSITY), seed)


def lin_ts(dim: int, seed: int) -> OurLearner:
    """Make linear Thompson sampling, told sigma and that rewards have a baseline."""
    policy = sb.LinTS(action_set=cube(dim), sparsity=SPARSITY, sigma=SIGMA, intercept=True)
    return OurLearner(policy, seed)


class LevelLearner(OurLearner):
    """Each input is a block of levels, 1/3, 2/3 and 1, of which at most one is on.

    The reward is linear in which levels are on, whatever the shape of the response; H counts
    blocks. The price is three unknowns for one.
    """

    def __init__(self, dim: int, seed: int) -> None:
        blocks = np.arange(dim * LEVELS).reshape(dim, LEVELS).tolist()
        rules = sb.Supports(
            at_most=SPARSITY, blocks=blocks, groups={tuple(block): 1 for block in blocks}
        )
        super().__init__(sb.SparseThompson(action_set=cube(dim * LEVELS), sparsity=rules), seed)

    def suggest(self) -> FloatArray:
        return amounts(super().suggest())

    def best(self) -> FloatArray:
        return amounts(super().best())


def amounts(switches: FloatArray) -> FloatArray:
    """Return the amount of each input, from which of its levels is on."""
    levels = np.arange(1, LEVELS + 1) / LEVELS
    return np.asarray(switches.reshape(-1, LEVELS) @ levels)
