"""Random actions, and ridge regression with a baseline on what came back."""

import numpy as np

from side_by_side.problems import SPARSITY
from sparsebandits.validation import FloatArray


class RandomRidge:
    """Five random inputs fully on at every trial; what it names as best is by ridge regression."""

    starts = 0

    def __init__(self, dim: int, seed: int, ridge: float = 0.75) -> None:
        # 0.75 is sigma^2 over the variance of an entry of theta: the best there is.
        self.rng = np.random.default_rng([seed, 1])
        self.ridge, self.dim = ridge, dim
        self.actions: list[FloatArray] = []
        self.rewards: list[float] = []

    def suggest(self) -> FloatArray:
        action = np.zeros(self.dim)
        action[self.rng.choice(self.dim, SPARSITY, replace=False)] = 1.0
        return action

    def tell(self, action: FloatArray, reward: float) -> None:
        self.actions.append(action)
        self.rewards.append(reward)

    def best(self) -> FloatArray:
        x, y = np.array(self.actions), np.array(self.rewards)
        off, level = x - x.mean(axis=0), y.mean()
        theta = np.linalg.solve(off.T @ off + self.ridge * np.eye(self.dim), off.T @ (y - level))
        action = np.zeros(self.dim)
        largest = theta.argsort()[-SPARSITY:]
        action[largest[theta[largest] > 0]] = 1.0
        return action
