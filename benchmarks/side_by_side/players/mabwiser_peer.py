"""MABWiser: an arm for every input; the five of highest expectation are on, by UCB1."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from side_by_side.problems import SPARSITY
from sparsebandits.validation import FloatArray


class ArmsPlayer:
    """Each arm that was on is told the whole reward, for nobody knows its share.

    First every arm is tried once, five at a time, because UCB1 needs that.
    """

    starts = 0

    def __init__(self, dim: int, seed: int) -> None:
        self.dim = dim
        self.bandit = MAB(list(range(dim)), LearningPolicy.UCB1(alpha=1.0), seed=seed)
        self.untried = np.random.default_rng([seed, 1]).permutation(dim).tolist()
        self.is_fresh = True

    def suggest(self) -> FloatArray:
        if not self.untried:
            return self._on(self._leaders(self.bandit.predict_expectations()))
        first, self.untried = self.untried[:SPARSITY], self.untried[SPARSITY:]
        return self._on(first)

    def tell(self, action: FloatArray, reward: float) -> None:
        arms = np.flatnonzero(action).tolist()
        learn = self.bandit.fit if self.is_fresh else self.bandit.partial_fit
        learn(arms, [reward] * len(arms))
        self.is_fresh = False

    def best(self) -> FloatArray:
        means = self.bandit._imp.arm_to_mean  # UCB1 shows its bounds only
        return self._on(self._leaders(means))

    def _leaders(self, scores: dict[int, float]) -> list[int]:
        return sorted(scores, key=lambda arm: scores[arm])[-SPARSITY:]

    def _on(self, arms: list[int]) -> FloatArray:
        action = np.zeros(self.dim)
        action[arms] = 1.0
        return action
