"""Optuna's TPE, which has no limit on non-zeros: five slots, each an input and its amount."""

import numpy as np
import optuna

from side_by_side.problems import SPARSITY, STARTS
from sparsebandits.validation import FloatArray


class TpePlayer:
    """An input that stands in two slots takes the larger amount; best is the best trial seen."""

    starts = STARTS

    def __init__(self, dim: int, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.dim = dim
        self.slots = [f"slot {i}" for i in range(SPARSITY)]
        self.amounts = [f"amount {i}" for i in range(SPARSITY)]
        # The random starts are the problem's.
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTS)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        choices = optuna.distributions.CategoricalDistribution(tuple(range(dim)))
        amount = optuna.distributions.FloatDistribution(0.0, 1.0)
        self.space = dict.fromkeys(self.slots, choices) | dict.fromkeys(self.amounts, amount)
        self.asked: optuna.trial.Trial | None = None

    def suggest(self) -> FloatArray:
        self.asked = self.study.ask(self.space)
        return self._action(self.asked.params)

    def tell(self, action: FloatArray, reward: float) -> None:
        if self.asked is not None:
            self.study.tell(self.asked, reward)
            return
        on = np.flatnonzero(action)
        params = dict(zip(self.slots, on.tolist(), strict=True))
        params |= dict(zip(self.amounts, action[on].tolist(), strict=True))
        self.study.add_trial(
            optuna.trial.create_trial(params=params, distributions=self.space, value=reward)
        )

    def best(self) -> FloatArray:
        return self._action(self.study.best_params)

    def _action(self, params: dict[str, float]) -> FloatArray:
        action = np.zeros(self.dim)
        for slot, amount in zip(self.slots, self.amounts, strict=True):
            place = int(params[slot])
            action[place] = max(action[place], params[amount])
        return action
