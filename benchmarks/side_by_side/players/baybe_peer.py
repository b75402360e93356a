"""BayBE: `BotorchRecommender` with `ContinuousCardinalityConstraint`."""

import numpy as np
import pandas as pd
import torch
from baybe.acquisition import PosteriorMean
from baybe.constraints import ContinuousCardinalityConstraint
from baybe.objectives import SingleTargetObjective
from baybe.parameters import NumericalContinuousParameter
from baybe.recommenders import BotorchRecommender
from baybe.searchspace import SearchSpace
from baybe.settings import Settings
from baybe.targets import NumericalTarget

from side_by_side.problems import SPARSITY, STARTS
from sparsebandits.validation import FloatArray


class BaybePlayer:
    """Its defaults: a Gaussian process and qLogEI; the best maximises the posterior mean."""

    starts = STARTS

    def __init__(self, dim: int, seed: int) -> None:
        torch.set_num_threads(1)
        Settings(random_seed=seed).activate()
        self.keys = [f"x{i}" for i in range(dim)]
        few = ContinuousCardinalityConstraint(parameters=self.keys, max_cardinality=SPARSITY)
        inputs = [NumericalContinuousParameter(name=key, bounds=(0, 1)) for key in self.keys]
        self.space = SearchSpace.from_product(parameters=inputs, constraints=[few])
        self.objective = SingleTargetObjective(NumericalTarget(name="y"))
        self.recommender = BotorchRecommender()
        self.told = pd.DataFrame()

    def suggest(self) -> FloatArray:
        return self._recommend(self.recommender)

    def tell(self, action: FloatArray, reward: float) -> None:
        row = pd.DataFrame([action], columns=self.keys).assign(y=reward)
        self.told = pd.concat([self.told, row], ignore_index=True)

    def best(self) -> FloatArray:
        return self._recommend(BotorchRecommender(acquisition_function=PosteriorMean()))

    def _recommend(self, recommender: BotorchRecommender) -> FloatArray:
        chosen = recommender.recommend(1, self.space, self.objective, self.told)
        return np.asarray(chosen[self.keys].to_numpy(dtype=float)[0])
