"""Learners of this project; and on a response of unknown shape, the same over levels."""

import numpy as np

import sparsebandits as sb
from side_by_side.problems import SIGMA, SPARSITY
from sparsebandits.validation import FloatArray


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
    """Each input is a block of levels, such as 1/3, 2/3 and 1, of which at most one is on.

    The reward is linear in which levels are on, whatever the shape of the response; H counts
    blocks. The price is as many unknowns for each input as it has levels.
    """

    def __init__(self, dim: int, seed: int, levels: int) -> None:
        self.amounts = np.arange(1, levels + 1) / levels
        blocks = np.arange(dim * levels).reshape(dim, levels).tolist()
        rules = sb.Supports(
            at_most=SPARSITY, blocks=blocks, groups={tuple(block): 1 for block in blocks}
        )
        super().__init__(sb.SparseThompson(action_set=cube(dim * levels), sparsity=rules), seed)

    def suggest(self) -> FloatArray:
        return self._amounts(super().suggest())

    def best(self) -> FloatArray:
        return self._amounts(super().best())

    def _amounts(self, switches: FloatArray) -> FloatArray:
        """Return the amount of each input, from which of its levels is on."""
        return np.asarray(switches.reshape(-1, self.amounts.size) @ self.amounts)


def two_levels(dim: int, seed: int) -> LevelLearner:
    return LevelLearner(dim, seed, levels=2)


def three_levels(dim: int, seed: int) -> LevelLearner:
    return LevelLearner(dim, seed, levels=3)
