"""The few of very many coordinates that a learner has looked at, and what it knows of them."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation.core_ridge import DEVIATES, FRESH, CoreRidge
from sparsebandits.policies.design import Design
from sparsebandits.policies.played import Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.saved_arrays import pack, pack_symmetric, unpack, unpack_symmetric
from sparsebandits.policies.saved_state import read_indices
from sparsebandits.validation import (
    LARGEST_SQUARES,
    FloatArray,
    IntArray,
    as_integer,
    as_non_negative,
    as_number,
)

CAPACITY = 512
"""How many coordinates are kept at most, or 4 H if that is more."""

_MATRICES = ("covariance", "gram")
_VECTORS = ("theta", "response", "prior")


class Slots:
    """Coordinates, each in a slot, and ridge least squares on the columns of these alone.

    Parameters
    ----------
    policy : Policy
    rng : numpy.random.Generator
    recipe : Recipe
    design : Design
        The columns of all coordinates, with a slot or without.
    told : float
        The noise level that was told; 0 where none was.

    Attributes
    ----------
    capacity : int
        How many there may be.
    ids : (slots,) int array
        The coordinate in each slot, never written to.
    slot_of : dict
        The slot of each of these coordinates.
    model : CoreRidge
        Its columns are the baseline's, and then those of each slot.
    retired : int
        How often a coordinate was sent away for another.
    aged : int
        Decisions since the regression was last let fade, where it fades.
    prior_scale, renewal : float
        The scale of the prior, and at how many rewards it is learned anew, where it is.
    """

    def __init__(
        self,
        policy: Policy,
        rng: np.random.Generator,
        recipe: Recipe,
        design: Design,
        told: float,
    ) -> None:
        self.action_set, self.recipe, self.whole = policy.action_set, recipe, design
        self.rng, self._told_sigma = rng, told
        self.capacity = max(CAPACITY, 4 * policy.sparsity)
        self.model = CoreRidge(design.prior(np.ones(1))[: design.base])
        self.retired = self.aged = 0
        self.prior_scale = recipe.first_scale(policy.action_set, told if told else "estimate")
        self.renewal = 0.0
        self._set_ids(np.zeros(0, dtype=np.intp))
        self.slot_of: dict[int, int] = {}

    def _set_ids(self, ids: IntArray) -> None:
        centre = self.whole.centre
        own = None if centre is None else centre[ids]
        self.ids, self.design = ids, replace(self.whole, dim=ids.size, centre=own)

    def copy(self) -> Self:
        """Return a twin with the same generator, to go back to."""
        twin = copy.copy(self)
        twin.model, twin.slot_of = self.model.copy(), dict(self.slot_of)
        return twin

    # ------------------------------------------------------------------ who has a slot

    def grow(self, fresh: IntArray) -> None:
        """Add a slot for each of these coordinates."""
        slots, columns = self.ids.size, self.model.size
        self.model.grow(np.repeat(self._prior(fresh), self.whole.width))
        self._draw_deviates(np.arange(columns, self.model.size))
        self.slot_of.update((number, slots + new) for new, number in enumerate(fresh.tolist()))
        self._set_ids(np.concatenate([self.ids, fresh]))

    def replace(self, slot: int, number: int) -> None:
        """Give a slot to another coordinate: what is known of the one that had it is set aside."""
        prior = float(self._prior(np.array([number]))[0])
        width = self.whole.width
        places = self.whole.base + slot * width + np.arange(width)
        for place in places:
            self.model.replace(int(place), prior)
        self._draw_deviates(places)
        self.retired += 1
        del self.slot_of[int(self.ids[slot])]
        self.slot_of[number] = slot
        ids = self.ids.copy()
        ids[slot] = number
        self._set_ids(ids)

    def missing(self, played: Played) -> list[int]:
        """Return the coordinates of an action that have no slot."""
        return [i for i in played.indices.tolist() if i not in self.slot_of]

    def _prior(self, ids: IntArray) -> FloatArray:
        return self.prior_scale * self.recipe.unit(self.action_set, ids)

    def _draw_deviates(self, places: IntArray) -> None:
        """Draw what is kept of new columns; of all of them when they begin to be kept."""
        before = self.model.size - places.size
        if self.model.size > FRESH:
            if before <= FRESH and places[-1] == self.model.size - 1:
                self.model.draw_all(self.rng)
            else:
                shape = (DEVIATES, places.size)
                self.model.start_deviates(places, self.rng.standard_normal(shape))

    def _normals(self) -> FloatArray | None:
        """Draw what keeps the deviates exact, where they are kept."""
        return self.rng.standard_normal(DEVIATES) if self.model.size > FRESH else None

    # ------------------------------------------------------------------ learn; all have a slot

    def weight(self, age: float) -> float:
        """Return what a reward counts whose decision was made so many choices ago.

        What is known counts as it did when it last faded: so does a reward, by its decision.
        """
        if self.recipe.half_life is None:
            return 1.0
        return float(self.recipe.weights(age - self.aged))

    def expected(self, played: Played) -> float:
        """Return what an action was believed to earn before any reward."""
        centre = self.whole.centre
        return 0.0 if centre is None else float(centre[played.indices] @ played.values)

    def add(self, played: Played, reward: float, weight: float, spread: float = 0.0) -> None:
        """Take in `weight` rewards of an action, above what was expected, and their spread."""
        self.model.add(*self._columns(played), reward, weight, spread, self._normals())

    def imagine(self, played: Played) -> None:
        """Know of an action that was played, and nothing of its reward."""
        self.model.imagine(*self._columns(played), self._normals())

    def correct(self, played: Played, old: float, new: float, age: float) -> None:
        """Replace a reward by another."""
        if missing := self.missing(played):
            raise InvalidValueError(
                f"The reward cannot be corrected: coordinates {missing} of its action were set "
                "aside for others since. Tell all rewards to a new learner."
            )
        offset = self.expected(played)
        columns = self._columns(played)
        self.model.correct(*columns, old - offset, new - offset, self.weight(age))

    def renew(self) -> None:
        """Learn the scale of the prior, and fade, where it is time."""
        if self.recipe.prior_scale is not None and self.model.counts >= max(self.renewal, 1.0):
            scale = self.sigma**2
            if self.model.scale_prior(scale / self.prior_scale, self.whole.base, self.rng):
                self.prior_scale = scale
            self.renewal = 2 * self.model.counts
        if self.recipe.is_aged(self.aged):
            self.model.fade(float(self.recipe.weights(self.aged)), self.rng)
            self.aged = 0

    def _columns(self, played: Played) -> tuple[IntArray, FloatArray]:
        """Return the non-zero columns of an action, and their entries."""
        slots = np.array([self.slot_of[i] for i in played.indices.tolist()], dtype=np.intp)
        whole = self.whole
        if not whole.base and whole.width == 1:
            return slots, played.values
        given = np.ones(whole.width)
        if played.context is not None:
            given[1:] = played.context
        columns = whole.base + slots[:, None] * whole.width + np.arange(whole.width)
        entries = played.values[:, None] * given
        places = np.concatenate([np.arange(whole.base), columns.ravel()])
        return places, np.concatenate([given[: whole.base], entries.ravel()])

    # ------------------------------------------------------------------ what is known

    @property
    def sigma(self) -> float:
        """The noise level that is reckoned with."""
        return self.level(self.model)

    def level(self, model: CoreRidge) -> float:
        """Return the noise level that such a model has."""
        level = max(model.noise_scale(), self._told_sigma)
        return level if level > 0 else 1.0

    def with_rewards(self, played: Played, mean: float, count: float, spread: float) -> CoreRidge:
        """Return the regression as it would be with so many rewards of an action."""
        model = self.model.copy()
        model.add(*self._columns(played), mean, count, spread)
        return model

    def deviations(self, model: CoreRidge) -> FloatArray:
        """Return the deviations of the slots for unit noise, (slots,)."""
        variances = np.diagonal(model.covariance)[self.whole.base :: self.whole.width]
        return np.asarray(np.sqrt(variances))

    def parameters_drawn(self, model: CoreRidge, sigma: float, draws: int) -> FloatArray | None:
        """Return the estimate of all columns, and draws; None with fewer rewards than columns."""
        if not self.ids.size or model.counts < model.size:
            return None
        rng = np.random.default_rng(int(model.counts))
        spreads = rng.standard_normal((draws, model.size)) @ np.linalg.cholesky(model.covariance).T
        return np.vstack([model.theta, model.theta + sigma * spreads])

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return who has a slot, and the regression, JSON-safe."""
        model = {
            name: pack_symmetric(value) if name in _MATRICES else pack(value)
            for name, value in self.model.state().items()
        }
        return {"ids": self.ids.tolist(), **model}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what was saved; refuse what contradicts itself, or the policy."""
        ids = read_indices("ids", state["ids"], self.action_set.dim)
        if ids.size > self.capacity:
            raise InvalidValueError(f"state.ids must be at most {self.capacity}, got {ids.size}.")
        self._set_ids(ids)
        self.slot_of = {number: slot for slot, number in enumerate(ids.tolist())}
        self.model = _read_model(state, self.design.size)
        self.prior_scale = as_number("state.prior_scale", state["prior_scale"], positive=True)
        self.renewal = as_non_negative("state.renewal", state["renewal"])
        self.aged = as_integer("state.aged", state["aged"], minimum=0)
        self.retired = as_integer("state.retired", state["retired"], minimum=0)
        expected = self.whole.prior(np.ones(1))[: self.whole.base]
        if ids.size:
            expected = np.append(expected, np.repeat(self._prior(ids), self.whole.width))
        if not np.allclose(self.model.prior, expected, rtol=1e-9, atol=0):
            raise InvalidValueError("state.prior contradicts the policy. Load an earlier copy.")
        if (
            min(self.model.counts, self.model.squares, self.model.spent) < 0
            or self.model.squares > LARGEST_SQUARES
            or not self.model.agrees()
        ):
            raise InvalidValueError(
                "state.theta and state.covariance contradict the sums in state.gram and "
                "state.response. Load an earlier copy."
            )


def _read_model(state: Mapping[str, Any], size: int) -> CoreRidge:
    """Return the regression on so many columns that was saved."""
    model = CoreRidge(np.ones(size))
    saved: dict[str, Any] = {}
    for name in model.state():
        if name in _MATRICES:
            saved[name] = unpack_symmetric(name, state[name], size)
        elif name == "deviates":
            saved[name] = unpack(name, state[name], (DEVIATES, size if size > FRESH else 0))
        else:
            saved[name] = unpack(name, state[name], (size,) if name in _VECTORS else ())
    model.restore(saved)
    return model
