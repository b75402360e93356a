"""Vowpal Wabbit's slates: five slots, each offered every input fully on, and "nothing"."""

import numpy as np
from vowpalwabbit import Workspace

from side_by_side.problems import SPARSITY
from sparsebandits.validation import FloatArray


class SlatesPlayer:
    """Epsilon-greedy with one cost for the whole slate; an input in two slots counts once."""

    starts = 0

    def __init__(self, dim: int, seed: int) -> None:
        self.dim = dim
        self.workspace = Workspace(f"--slates --epsilon 0.1 --quiet --random_seed {seed + 1}")
        # The last choice of a slot is "nothing". All choices of a slot have to stand together.
        self.choices = [
            f"slates action {s} |a i{j}" for s in range(SPARSITY) for j in range(dim + 1)
        ]
        self.chosen: list[tuple[int, float]] = []

    def suggest(self) -> FloatArray:
        self.chosen = [slot[0] for slot in self._scores()]
        return self._action([choice for choice, _ in self.chosen])

    def tell(self, action: FloatArray, reward: float) -> None:
        slots = [f"slates slot {c}:{p} |z k{s}" for s, (c, p) in enumerate(self.chosen)]
        self.workspace.learn([f"slates shared {-reward} |s c", *self.choices, *slots])

    def best(self) -> FloatArray:
        likeliest = [max(slot, key=lambda choice: choice[1])[0] for slot in self._scores()]
        return self._action(likeliest)

    def _scores(self) -> list[list[tuple[int, float]]]:
        slots = [f"slates slot |z k{s}" for s in range(SPARSITY)]
        scores: list[list[tuple[int, float]]] = self.workspace.predict(
            ["slates shared |s c", *self.choices, *slots]
        )
        return scores

    def _action(self, chosen: list[int]) -> FloatArray:
        action = np.zeros(self.dim + 1)
        action[chosen] = 1.0
        return action[:-1]
