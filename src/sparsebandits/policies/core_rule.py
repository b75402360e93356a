"""Lanes of SparseThompson among very many coordinates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.core import Core
from sparsebandits.policies.deck import Deck
from sparsebandits.policies.design import Design
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.slots import Slots
from sparsebandits.policies.summary import Summary, baseline_note
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
        order: IntArray | None = None,
    ) -> None:
        super().__init__(policy.action_set, policy.sparse_oracle, len(generators))
        told = 0.0 if isinstance(sigma, str) else sigma
        self.policy = policy
        self.cores = [
            Core(policy, Slots(policy, rng, recipe, design, told), Deck(rng, order))
            for rng in generators
        ]

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the action of each lane."""
        seen = [None] * self.lanes if self.contexts is None else list(self.contexts)
        plays = [core.choose(current, z) for core, z in zip(self.cores, seen, strict=True)]
        return np.array([played.action(self.dim) for played in plays])

    def play_again(self, current: ActionSet) -> Played | None:
        """Return what the only lane holds on this set."""
        return self.cores[0].go_on(current)

    def play(self, current: ActionSet, context: FloatArray | None = None) -> Played:
        """Return the choice of the only lane."""
        return self.cores[0].choose(current, context)

    def play_many(
        self, current: ActionSet, count: int, context: FloatArray | None = None
    ) -> list[Played]:
        """Return choices of the only lane that are to be tried at the same time."""
        return self.cores[0].choose_many(current, count, context)

    def take(self, played: Played, reward: float, age: int = 0) -> None:
        """Take in the reward of a choice of the only lane."""
        self.cores[0].learn(played, reward, float(age))

    def correct(self, played: Played, old: float, new: float, age: int = 0) -> None:
        """Replace a reward of the only lane by another."""
        self.cores[0].correct(played, old, new, float(age))

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        contexts, ages = self._circumstances
        for number, lane in enumerate(lanes):
            context = None if contexts is None else contexts[number]
            played = Played.of(actions[number], EXPLOIT, context)
            age = 0.0 if ages is None else float(ages[number])
            self.cores[lane].learn(played, float(rewards[number]), age)

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane."""
        core = self.cores[0]
        longest = int(np.count_nonzero(actions, axis=1).max(initial=0))
        capacity = core.slots.capacity
        if longest > capacity // 2:
            raise InvalidValueError(
                f"Logged actions must have at most {capacity // 2} non-zeros where a learner "
                f"keeps {capacity} of {self.dim} coordinates, got {longest}."
            )
        core.take_in()
        super().learn_many(actions, rewards)
        core.hold.end()

    # ------------------------------------------------------------------ what is known

    @property
    def estimate(self) -> FloatArray:
        """theta_hat of each lane; 0 where nothing was looked at."""
        centre = self.cores[0].slots.whole.centre
        estimate = np.zeros((self.lanes, self.dim))
        if centre is not None:
            estimate += centre
        for row, core in zip(estimate, self.cores, strict=True):
            row[core.slots.ids] = core.slots.design.thetas(core.believed().theta)
        return estimate

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the noise level that each lane reckons with."""
        chosen = self.everyone[lanes]
        cores = [self.cores[lane] for lane in chosen]
        return np.array([core.slots.level(core.believed()) for core in cores])

    def certificate(self, horizon: int | None, draws: int) -> PosteriorCertificate:
        """Describe the posterior of the coordinates looked at, by draws that depend on the data."""
        core, certificate = self.cores[0], super().certificate(horizon, draws)
        assert isinstance(certificate, PosteriorCertificate)  # no gap test
        model, sigma = core.believed(), certificate.sigma
        slots = core.slots
        prior = slots.prior_scale * core.recipe.unit(self.action_set)
        deviation = sigma / np.sqrt(prior)
        deviation[slots.ids] = sigma * slots.deviations(model)
        used = core.supports_drawn(model, sigma, draws)
        probability = np.nan if used is None else float((used[1:] == used[0]).all(axis=1).mean())
        return replace(
            certificate,
            cycle=int(model.counts) + 1,
            replications=int(model.counts),
            deviation=deviation,
            probability=probability,
            draws=draws if np.isfinite(probability) else 0,
            warning=core.recipe.expiry,
        )

    def summary(self, draws: int) -> Summary:
        """Return what is known of the coordinates that the only lane has looked at."""
        core = self.cores[0]
        slots, model = core.slots, core.believed()
        sigma = slots.level(model)
        used = core.supports_drawn(model, sigma, draws)
        return Summary(
            indices=slots.ids,
            names=self.names_of(slots.ids),
            estimate=np.array(slots.design.thetas(model.theta)),
            deviation=sigma * slots.deviations(model),
            inclusion=np.full(slots.ids.size, np.nan) if used is None else used[1:].mean(axis=0),
            rewards=round(model.counts),
            sigma=sigma,
            note=baseline_note(model.anchor + model.theta[0]) if slots.design.base else "",
        )

    def thetas_drawn(self, draws: int, context: FloatArray | None = None) -> FloatArray | None:
        """Return theta by the estimate, then by draws; what was not looked at is as believed."""
        core = self.cores[0]
        slots, model = core.slots, core.believed()
        parameters = slots.parameters_drawn(model, slots.level(model), draws)
        if parameters is None:
            return None
        thetas = np.zeros((1 + draws, self.dim))
        if slots.whole.centre is not None:
            thetas += slots.whole.centre
        thetas[:, slots.ids] = slots.design.thetas_at(parameters, context)
        return thetas

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return the only lane, JSON-safe."""
        return self.cores[0].state()

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned after `asked` choices; refuse what contradicts itself."""
        self.cores[0].restore(state, asked)
