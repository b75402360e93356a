"""What SparseThompson keeps: the held action, its rewards, the regression of all others."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import RidgeLanes
from sparsebandits.estimation.ridge import LAMBDAS
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.design import Design
from sparsebandits.policies.hold import check_left, set_aside
from sparsebandits.policies.joining_rule import JoiningRule
from sparsebandits.policies.played import Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe
from sparsebandits.validation import FloatArray, IntArray

_RENEWED = ("told", "mean", "spread", "aged", "prior_scale", "sigma_young", "renewal")
"""What changes before a decision, beside the regression."""

_LEAST_SCALE = 0.1 * LAMBDAS[0]


class ThompsonMemory(JoiningRule):
    """The held action of each lane and what is set aside of its rewards, prior and noise level.

    The rewards of the held action are summed up and taken in together, when the next decision
    needs them.

    Attributes
    ----------
    held : (lanes, dim) array
        The action decided last.
    left : (lanes,) int array
        For how many steps more it is held.
    awaited : (lanes,) int array
        How often it was played without its reward having come.
    offered : (lanes, dim) bool array
        What was available when it was decided.
    told, mean, spread : (lanes,) arrays
        Of its rewards that the regression does not know yet: how many, their mean, and the sum of
        their squared differences from it.
    aged : (lanes,) int array
        Decisions since the regression was last let fade, where it fades.
    prior_scale, sigma_young, renewal : (lanes,) arrays
        The scale of the prior, the noise level that goes with it while few rewards are known, and
        at how many rewards both are learned anew, where they are.
    """

    saved: ClassVar[tuple[str, ...]] = (
        "held",
        "left",
        "awaited",
        "offered",
        "told",
        "mean",
        "spread",
        "aged",
        "prior_scale",
        "sigma_young",
        "renewal",
    )
    least: ClassVar[Mapping[str, float]] = {
        "squares": 0.0,
        "spread": 0.0,
        "told": 0.0,
        "counts": 0.0,
        "prior_scale": 0.0,
        "sigma_young": 0.0,
        "renewal": 0.0,
    }

    def __init__(
        self, policy: Policy, lanes: int, recipe: Recipe, design: Design, sigma: float | str
    ) -> None:
        self.recipe = recipe
        scale, unit = recipe.first_scale(policy.action_set, sigma), recipe.unit(policy.action_set)
        super().__init__(policy, lanes, scale * unit, sigma, design)
        self._unit = design.prior(unit)
        self.held = np.zeros((lanes, self.dim))
        self.left = np.zeros(lanes, dtype=np.intp)
        self.awaited = np.zeros(lanes, dtype=np.intp)
        self.offered = np.tile(policy.action_set.available, (lanes, 1))
        self.told, self.mean, self.spread = np.zeros((3, lanes))
        self.aged = np.zeros(lanes, dtype=np.intp)
        self.prior_scale = np.full(lanes, scale)
        self.sigma_young, self.renewal = np.zeros((2, lanes))
        self._played: Played | None = None  # what the only lane holds, as it was given out

    def _rows(self, lanes: IntArray) -> Any:
        """Return what takes these lanes of an array; the whole is faster than all of its rows."""
        return slice(None) if lanes.size == self.lanes else lanes

    # ------------------------------------------------------------------ learn

    def _takes_alone(self, played: Played) -> bool:
        """Whether a reward of this is one of the held action's, and is set aside as it is."""
        plain = self.design.centre is None and self.recipe.half_life is None
        is_held = played is self._played and played.context is None
        return plain and is_held and bool(self.awaited[0])

    def take(self, played: Played, reward: float, age: int = 0) -> None:
        """Take in the reward of a choice of the only lane."""
        if not self._takes_alone(played):
            super().take(played, reward, age)
            return
        # What `_learn` does with the reward of the held action, without arrays of one number.
        self.awaited[0] -= 1
        told, mean, spread = float(self.told[0]), float(self.mean[0]), float(self.spread[0])
        aside = set_aside(told, mean, spread, reward, 1.0)
        self.told[0], self.mean[0], self.spread[0] = aside

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        contexts, ages = self._circumstances
        if self.design.centre is not None:
            rewards = rewards - np.einsum("nd,d->n", actions, self.design.centre)
        # What is known counts as it did when it last faded: so does a reward, by its decision.
        weights = self.recipe.weights((0.0 if ages is None else ages) - self.aged[lanes])
        awaited = self.awaited[lanes]
        own = (awaited > 0) & (not self.design.context)
        if actions is not self.held:
            own &= (actions == self.held[lanes]).all(axis=1)
        if own.all():
            self.awaited[lanes] = awaited - 1
            self._set_aside(rewards, weights, lanes)
            return
        # Rewards that are none of the held action's end its hold.
        self.awaited[lanes] = awaited - own
        self.left[lanes] *= own
        if own.any():
            self._set_aside(rewards[own], weights[own], lanes[own])
        other = ~own
        columns = self.design.columns(actions[other], None if contexts is None else contexts[other])
        self.posterior.add(columns, rewards[other], lanes[other], weights[other])

    def _set_aside(self, rewards: FloatArray, weights: FloatArray, lanes: IntArray) -> None:
        """Count rewards of the held action."""
        told, mean, spread = self.told[lanes], self.mean[lanes], self.spread[lanes]
        aside = set_aside(told, mean, spread, rewards, weights)
        self.told[lanes], self.mean[lanes], self.spread[lanes] = aside

    @contextmanager
    def _known_again_on_error(self) -> Iterator[None]:
        """Know what was known before if what is done here raises."""
        before = self.posterior.copy()
        try:
            with self._undone_on_error(_RENEWED):
                yield
        except BaseException:
            self.posterior = before
            raise

    def _take_in(self, lanes: IntArray) -> None:
        """Let the regression know what was set aside in these lanes, and fade where it is time."""
        self._add_told(lanes)
        if self.recipe.evidence or self.recipe.prior_scale is not None:
            where = self._rows(lanes)
            known = self.posterior.counts[where]
            self._learn_prior(lanes[(known > 0) & (known >= self.renewal[where])])
        if self.recipe.half_life is not None:
            aged = lanes[self.recipe.is_aged(self.aged[lanes])]
            if aged.size:
                self._fade(aged)

    def _fade(self, lanes: IntArray) -> None:
        """Let what is known in these lanes count as little as it does now."""
        factor = self.recipe.weights(self.aged[lanes].astype(np.float64))
        self.posterior.fade(lanes, factor)
        self.renewal[lanes] *= factor  # or a count that fades would never reach it again
        self.aged[lanes] = 0

    def _add_told(self, lanes: IntArray) -> None:
        lanes = lanes[self.told[self._rows(lanes)] > 0]
        if lanes.size:
            where = self._rows(lanes)
            self._add_aside(self.posterior, lanes, None if lanes.size == self.lanes else lanes)
            self.told[where] = self.mean[where] = self.spread[where] = 0.0

    def _add_aside(self, posterior: RidgeLanes, lanes: IntArray, where: IntArray | None) -> None:
        rows: Any = slice(None) if where is None else where
        columns = self.design.columns(self.held[rows])
        posterior.add(columns, self.mean[rows], where, self.told[rows], self.spread[rows])

    def _learn_prior(self, lanes: IntArray) -> None:
        """Learn the scale of the prior anew: at every reward first, and later when t is 5% more."""
        if not lanes.size:
            return
        if self.recipe.evidence:
            learned = self.posterior.likely_prior(lanes, self._unit, self.design.base)
            scale, self.sigma_young[lanes] = learned
        else:
            scale = self._level(self.posterior, lanes) ** 2
        taken = self.posterior.set_prior(lanes, scale, self._unit, self.design.base)
        self.prior_scale[lanes[taken]] = scale[taken]
        known = self.posterior.counts[lanes]
        self.renewal[lanes] = np.maximum(known + 1, np.ceil(1.05 * known))

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once: where rewards fade, as told now."""
        self._take_in(self.everyone)
        if self.recipe.half_life is not None:
            self._fade(self.everyone)
        if self.design.centre is not None:
            rewards = rewards - np.einsum("nd,d->n", actions, self.design.centre)
        super().learn_many(actions, rewards)
        self.left[0] = 0

    def correct(self, played: Played, old: float, new: float, age: int = 0) -> None:
        """Replace a reward of the only lane by another."""
        self._add_told(self.everyone)
        action = played.action(self.dim)[None]
        context = None if played.context is None else played.context[None]
        weight = float(self.recipe.weights(age - self.aged.astype(np.float64))[0])
        offset = 0.0 if self.design.centre is None else float(action[0] @ self.design.centre)
        column = self.design.columns(action, context)[0]
        self.posterior.correct(column, old - offset, new - offset, weight)
        if self.renewal.any():  # the scale of the prior was learned from the wrong one
            self._learn_prior(self.everyone)
        self.left[:] = 0

    # ------------------------------------------------------------------ what is known

    @property
    def known(self) -> RidgeLanes:
        """The regression with every reward told so far."""
        waiting = np.flatnonzero(self.told)
        if not waiting.size:
            return self.posterior
        known = self.posterior.copy()
        self._add_aside(known, waiting, waiting)
        return known

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return sigma in each lane: its estimate, and no less than the one given.

        The width of the posterior is a multiple of it, before any data too: told of little noise,
        or of none, it would take theta for as little. The estimate counts what the prior does not
        explain, and comes down to sigma with the data.
        """
        return self._level(self.known, lanes)

    def _level(
        self, model: RidgeLanes, lanes: Any, variances: FloatArray | None = None
    ) -> FloatArray:
        level = model.noise_scale(lanes, variances)
        if self.recipe.evidence:
            young = (model.counts[lanes] < self.recipe.mature) & (self.renewal[lanes] > 0)
            level = np.where(young, self.sigma_young[lanes], level)
        if not isinstance(self.sigma, str):
            level = np.maximum(level, self.sigma)
        level[level <= 0] = 1.0
        return level

    def certificate(self, horizon: int | None, draws: int) -> PosteriorCertificate:
        """Describe the posterior behind the next decision, and say where it expires."""
        return replace(super().certificate(horizon, draws), warning=self.recipe.expiry)

    # ------------------------------------------------------------------ saved

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; what is still to be played must be an action."""
        scale = self._read("prior_scale", state["prior_scale"], self.prior_scale)
        if self.recipe.prior_scale is None and not _LEAST_SCALE <= scale <= LAMBDAS[-1]:
            raise InvalidValueError(
                f"state.prior_scale must lie in {_LEAST_SCALE:g}..{LAMBDAS[-1]:g}, got {scale:g}."
            )
        base = self.design.base
        self.posterior.prior[0, base:] = scale * self._unit[base:]
        super().restore(state, asked)
        left = int(self.left[0])
        check_left(left, float(self.posterior.counts[0] + self.told[0]))
        held, offered = self.held[0], self.offered[0] & self.policy.action_set.available
        fits = not held[~offered].any() and self.oracle.obeyed_by(held, self.policy.action_set)
        if left and not (fits and self.policy.action_set.contains(held)):
            raise InvalidValueError(
                f"state.held must be an action of {self.policy.action_set!r} on what is offered, "
                f"with at most {self.policy.sparsity} non-zeros."
            )
