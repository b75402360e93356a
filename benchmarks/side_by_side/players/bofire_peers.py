"""BoFire: `SoboStrategy` with `NChooseKConstraint`, and the same with its `LinearSurrogate`."""

import numpy as np
import pandas as pd
import torch
from bofire.data_models.acquisition_functions.api import qSR
from bofire.data_models.constraints.api import NChooseKConstraint
from bofire.data_models.domain.api import Constraints, Domain, Inputs, Outputs
from bofire.data_models.features.api import ContinuousInput, ContinuousOutput
from bofire.data_models.objectives.api import MaximizeObjective
from bofire.data_models.strategies.api import SoboStrategy
from bofire.data_models.surrogates.api import BotorchSurrogates, LinearSurrogate
from bofire.strategies.api import map as strategy_of

from side_by_side.problems import SPARSITY, STARTS
from sparsebandits.validation import FloatArray


class BofirePlayer:
    """Its defaults: qLogNEI; the best is what maximises the posterior mean, by qSR."""

    starts = STARTS

    def __init__(self, dim: int, seed: int, *, linear: bool) -> None:
        torch.set_num_threads(1)
        self.keys = [f"x{i}" for i in range(dim)]
        inputs = Inputs(features=[ContinuousInput(key=key, bounds=(0, 1)) for key in self.keys])
        output = ContinuousOutput(key="y", objective=MaximizeObjective(w=1.0))
        outputs = Outputs(features=[output])
        few = NChooseKConstraint(
            features=self.keys, min_count=0, max_count=SPARSITY, none_also_valid=True
        )
        domain = Domain(inputs=inputs, outputs=outputs, constraints=Constraints(constraints=[few]))
        self.settings = {"domain": domain, "seed": seed}
        if linear:
            surrogate = LinearSurrogate(inputs=inputs, outputs=outputs)
            self.settings["surrogate_specs"] = BotorchSurrogates(surrogates=[surrogate])
        self.strategy = strategy_of(SoboStrategy(**self.settings))
        self.told: list[pd.DataFrame] = []

    def suggest(self) -> FloatArray:
        self._hand_over()
        return self._action(self.strategy.ask(1))

    def tell(self, action: FloatArray, reward: float) -> None:
        row = pd.DataFrame([action], columns=self.keys)
        self.told.append(row.assign(y=reward, valid_y=1))

    def best(self) -> FloatArray:
        self._hand_over()
        greedy = strategy_of(SoboStrategy(**self.settings, acquisition_function=qSR()))
        greedy.tell(self.strategy.experiments)
        return self._action(greedy.ask(1))

    def _hand_over(self) -> None:
        """Tell rewards when a suggestion is wanted, so that the ten starts cost one fit."""
        if self.told:
            self.strategy.tell(pd.concat(self.told, ignore_index=True))
            self.told = []

    def _action(self, candidates: pd.DataFrame) -> FloatArray:
        return np.asarray(candidates[self.keys].to_numpy(dtype=float)[0])


def default(dim: int, seed: int) -> BofirePlayer:
    return BofirePlayer(dim, seed, linear=False)


def linear_surrogate(dim: int, seed: int) -> BofirePlayer:
    return BofirePlayer(dim, seed, linear=True)
