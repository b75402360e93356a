"""Lanes of SparseThompson among very many coordinates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.core import Core
from sparsebandits.policies.design import Design
from sparsebandits.policies.learner import Policy
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.ridge_rule import relative_prior
from sparsebandits.policies.rule import Rule
from sparsebandits.validation import FloatArray, IntArray


class CoreRule(Rule):
    """Lanes of `Core`, one by one: each has coordinates of its own."""

    def __init__(
        self,
        policy: Policy,
        generators: Sequence[np.random.Generator],
        recipe: Recipe,
        design: Design,
        sigma: float | str,
    ) -> None:
        super().__init__(policy.action_set, policy.sparse_oracle, len(generators))
        told = 0.0 if isinstance(sigma, str) else sigma
        self.policy = policy
        self.cores = [Core(policy, rng, recipe, design, told) for rng in generators]

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the action of each lane."""
        return np.array([core.choose(current).action(self.dim) for core in self.cores])

    def play(self, current: ActionSet) -> Played:
        """Return the choice of the only lane."""
        return self.cores[0].choose(current)

    def take(self, played: Played, reward: float) -> None:
        """Take in the reward of a choice of the only lane."""
        self.cores[0].learn(played.indices, played.values, reward)

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        for action, reward, lane in zip(actions, rewards, lanes, strict=True):
            played = Played.of(action, EXPLOIT)
            self.cores[lane].learn(played.indices, played.values, float(reward))

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane."""
        core = self.cores[0]
        longest = int(np.count_nonzero(actions, axis=1).max(initial=0))
        if longest > core.capacity // 2:
            raise InvalidValueError(
                f"Logged actions must have at most {core.capacity // 2} non-zeros where a learner "
                f"keeps {core.capacity} of {self.dim} coordinates, got {longest}."
            )
        core.take_in()
        super().learn_many(actions, rewards)
        core.left = 0

    # ------------------------------------------------------------------ what is known

    @property
    def estimate(self) -> FloatArray:
        """theta_hat of each lane; 0 where nothing was looked at."""
        estimate = np.zeros((self.lanes, self.dim))
        for row, core in zip(estimate, self.cores, strict=True):
            row[core.ids] = core.design.thetas(core.believed().theta)
        return estimate

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the noise level that each lane reckons with."""
        chosen = self.everyone[lanes]
        return np.array([self.cores[lane].level(self.cores[lane].believed()) for lane in chosen])

    def certificate(self, horizon: int | None, draws: int) -> PosteriorCertificate:
        """Describe the posterior of the coordinates looked at, by draws that depend on the data."""
        core, certificate = self.cores[0], super().certificate(horizon, draws)
        assert isinstance(certificate, PosteriorCertificate)  # no gap test
        model, sigma = core.believed(), certificate.sigma
        section, count = core.section(self.action_set) if core.ids.size else None, int(model.counts)
        probability, deviation = np.nan, np.sqrt(sigma**2 / self._priors(core))
        if section is not None:
            base, width = core.design.base, core.design.width
            variances = np.diagonal(model.covariance)[base::width]
            deviation[core.ids] = sigma * np.sqrt(variances)
            if count >= model.size:
                normals = np.random.default_rng(count).standard_normal((draws, model.size))
                spreads = normals @ np.linalg.cholesky(model.covariance).T
                parameters = np.vstack([model.theta, model.theta + sigma * spreads])
                actions = core.best(section, core.design.thetas(parameters))
                probability = float(((actions[1:] != 0) == (actions[0] != 0)).all(axis=1).mean())
        return replace(
            certificate,
            cycle=count + 1,
            replications=count,
            deviation=deviation,
            probability=probability,
            draws=draws if np.isfinite(probability) else 0,
        )

    def _priors(self, core: Core) -> FloatArray:
        return relative_prior(self.action_set, core.recipe.ridge)

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return the only lane, JSON-safe."""
        return self.cores[0].state()

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned after `asked` choices; refuse what contradicts itself."""
        self.cores[0].restore(state, asked)
