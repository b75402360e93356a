"""SparseThompson among very many coordinates: a posterior on the few that it has looked at."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation.core_ridge import DEVIATES, FRESH, CoreRidge
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.candidates import Axes, Candidates, Reach, climbed, reach_of
from sparsebandits.policies.deck import Deck
from sparsebandits.policies.design import Design
from sparsebandits.policies.gate import Gate
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Boldness, Recipe
from sparsebandits.policies.saved_state import (
    pack,
    pack_symmetric,
    read_indices,
    read_played,
    unpack,
    unpack_symmetric,
)
from sparsebandits.validation import (
    LARGEST_REWARD,
    LARGEST_SQUARES,
    BoolArray,
    FloatArray,
    IntArray,
    as_integer,
    as_number,
    read_only,
)

CAPACITY = 512
"""How many coordinates are kept at most, or 4 H if that is more."""

_ROUNDING = 1e-9

_COUNTS = ("left", "awaited", "aged", "retired")
_TOLD = ("told", "mean", "spread", "prior_scale", "renewal")


class View(NamedTuple):
    """A set as the slots see it."""

    current: ActionSet
    section: ActionSet
    reach: Reach
    oracle: SparseOracle


class Core:
    """One learner: the coordinates it has looked at, each in a slot, and what it believes of them.

    Where an `order` of all coordinates is given, fresh ones are dealt in it.

    Attributes
    ----------
    ids : (slots,) int array
        The coordinate in each slot.
    model : CoreRidge
        Its columns are the baseline's, and then those of each slot.
    retired : int
        How often a coordinate was sent away for another.
    held, left, awaited, told, mean, spread
        As in `ThompsonRule`, of this lane alone.
    """

    def __init__(
        self,
        policy: Policy,
        rng: np.random.Generator,
        recipe: Recipe,
        design: Design,
        told: float,
        order: IntArray | None = None,
    ) -> None:
        self.policy, self.rng, self.recipe = policy, rng, recipe
        self.whole, self._told_sigma = design, told
        self.gate, self.deck = Gate(policy.sparsity), Deck(rng, order)
        self.capacity = max(CAPACITY, 4 * policy.sparsity)
        self.ids: IntArray = np.zeros(0, dtype=np.intp)
        self._slots: dict[int, int] = {}
        self.model = CoreRidge(design.prior(np.ones(1))[: design.base])
        self.held = Played(np.zeros(0, dtype=np.intp), np.zeros(0), EXPLOIT)
        self.left = self.awaited = self.aged = self.retired = 0
        self.told = self.mean = self.spread = self.renewal = 0.0
        self.prior_scale = recipe.first_scale(policy.action_set, told if told else "estimate")
        self._view: View | None = None
        self._design: Design | None = None
        self._sorts = policy.action_set.sorting is not None

    @property
    def design(self) -> Design:
        """The columns of the slots."""
        if self._design is None:
            centre = self.whole.centre
            own = None if centre is None else centre[self.ids]
            self._design = replace(self.whole, dim=self.ids.size, centre=own)
        return self._design

    @property
    def known(self) -> float:
        """How many rewards are known."""
        return self.model.counts + self.told

    # ------------------------------------------------------------------ slots

    def view(self, current: ActionSet) -> View:
        """Return the current set on the slots."""
        if self._view is None or self._view.current is not current:
            section = current.section(self.ids)
            oracle = SparseOracle(min(self.policy.sparsity, section.dim), self.policy.oracle)
            self._view = View(current, section, reach_of(section), oracle)
        return self._view

    def _set_ids(self, ids: IntArray) -> None:
        self.ids, self._view, self._design = ids, None, None

    def admit(self, ids: IntArray, keep: IntArray) -> None:
        """Give a slot to each of these coordinates, which have none; `keep` are not retired."""
        room = max(0, self.capacity - self.ids.size)
        fresh, others = ids[:room], ids[room:]
        width = self.whole.width
        if fresh.size:
            prior = np.repeat(self._prior(fresh), width)
            first = self.model.size
            self.model.grow(prior)
            self._draw_deviates(np.arange(first, self.model.size))
            self._slots.update(
                zip(fresh.tolist(), range(self.ids.size, self.capacity), strict=False)
            )
            self._set_ids(np.concatenate([self.ids, fresh]))
        for number in others:
            self._replace(int(number), keep)

    def _prior(self, ids: IntArray) -> FloatArray:
        return self.prior_scale * self.recipe.unit(self.policy.action_set, ids)

    def _replace(self, number: int, keep: IntArray) -> None:
        """Retire the least promising coordinate that is not needed for another one."""
        promise = self._promise(self.policy.action_set, self.sigma)
        kept = {*self.held.indices.tolist(), *keep.tolist()} & self._slots.keys()
        promise[[self._slots[i] for i in kept]] = np.inf
        slot = int(promise.argmin())
        prior = float(self._prior(np.array([number]))[0])
        width, base = self.whole.width, self.whole.base
        places = np.arange(base + slot * width, base + (slot + 1) * width)
        for place in places:
            self.model.replace(int(place), prior)
        self._draw_deviates(places)
        self.retired += 1
        del self._slots[int(self.ids[slot])]
        self._slots[number] = slot
        ids = self.ids.copy()
        ids[slot] = number
        self._set_ids(ids)

    def _draw_deviates(self, places: IntArray) -> None:
        """Draw what is kept of new columns; of all of them when they begin to be kept."""
        before = self.model.size - places.size
        if self.model.size > FRESH:
            if before <= FRESH and places[-1] == self.model.size - 1:
                self.model.draw_all(self.rng)
            else:
                shape = (DEVIATES, places.size)
                self.model.start_deviates(places, self.rng.standard_normal(shape))

    def _scores(self, view: View) -> tuple[FloatArray, FloatArray]:
        """Return what each slot earns alone by its estimate, and on average of its two ends."""
        lower, upper, _ = view.reach
        theta = self.design.thetas(self.model.theta)
        ends = theta * upper, theta * lower
        return np.maximum(*ends), np.add(*ends)

    def _boldness(self, sigma: float) -> Boldness:
        return self.recipe.boldness(np.array([sigma]), np.array([self.model.counts]))

    def _promise(self, current: ActionSet, sigma: float) -> FloatArray:
        """Return what each slot may earn alone, as the index has it, (slots,)."""
        belief, reach = self.model.belief(), self.view(current).reach
        axes = Axes.of(belief, self.design, reach, self._boldness(sigma))
        return np.asarray(axes.promise(self.design.thetas(belief.theta))[0])

    def open_gate(self, current: ActionSet, sigma: float) -> None:
        """Admit fresh coordinates where they are worth it."""
        usable, H = self.ids.size, self.policy.sparsity
        some: BoolArray | slice = slice(None)
        if not current.is_unrestricted:
            some = current.is_available(self.ids)
            usable = int(np.count_nonzero(some))
        if usable:
            view = self.view(current)
            scores, middles = self._scores(view)
            scores = scores[some]
            # Of those that were sent away it is not known who is available: as many as of the rest.
            seen = usable + self.retired * usable // self.ids.size
            mean = float(middles[some].sum()) / usable
            if not self.gate.opens(seen, self.known, scores, mean):
                return
            if self.ids.size >= self.capacity:
                # Nobody is sent away who might still matter.
                weakest = float(np.partition(scores, usable - H)[usable - H]) if usable > H else 0.0
                if float(np.partition(self._promise(current, sigma), H)[:H].max()) >= weakest:
                    return
        count = H if usable >= 4 * H else 4 * H - usable
        fresh = self.deck.deal(count, current, self._slots)
        if fresh.size:
            self.admit(fresh, keep=fresh)

    # ------------------------------------------------------------------ choose and learn

    @property
    def sigma(self) -> float:
        """The noise level that is reckoned with."""
        return self.level(self.model)

    def level(self, model: CoreRidge) -> float:
        """Return the noise level that such a model has."""
        level = max(model.noise_scale(), self._told_sigma)
        return level if level > 0 else 1.0

    def believed(self) -> CoreRidge:
        """Return the regression with every reward told so far; only to be read."""
        if not self.told:
            return self.model
        model = self.model.copy()
        places, entries = self._columns(self.held)
        model.add(places, entries, self.mean, self.told, self.spread)
        return model

    def go_on(self, current: ActionSet) -> Played | None:
        """Return the held action once more, if it is held on this set."""
        if not self.left or self.whole.context or current is not self.policy.action_set:
            return None
        self.aged += 1
        self.left -= 1
        self.awaited += 1
        return self.held

    def choose(self, current: ActionSet, context: FloatArray | None = None) -> Played:
        """Return the held action, decided anew where it is not held any more."""
        if (held := self.go_on(current)) is not None:
            return held
        may_hold = current is self.policy.action_set and context is None
        with self._undone_on_error(current):
            self.take_in()
            sigma = self.sigma
            self.open_gate(current, sigma)
            held, width = self.decide(current, context, sigma)
        self.held = held
        steps = int(self.recipe.steps(np.array([self.model.counts]), np.array([width]))[0])
        self.left, self.awaited = (steps - 1 if may_hold else 0), 1
        self.aged += 1
        return self.held

    @contextmanager
    def _undone_on_error(self, current: ActionSet) -> Iterator[None]:
        """Put everything back as it was if what is done here raises; sorting raises nothing."""
        if self._sorts and current.whole is self.policy.action_set.whole:
            yield
            return
        before = {**vars(self), "model": self.model.copy(), "_slots": dict(self._slots)}
        try:
            yield
        except BaseException:
            vars(self).update(before)
            raise

    def choose_many(
        self, current: ActionSet, count: int, context: FloatArray | None
    ) -> list[Played]:
        """Return actions each of which knows of the others but no reward."""
        plays = []
        with self._undone_on_error(current):
            self.take_in()
            known, sigma = self.model, self.sigma
            self.open_gate(current, sigma)
            self.model = known.copy()
            try:
                for _ in range(count):
                    played, _ = self.decide(current, context, sigma)
                    plays.append(played)
                    self.model.imagine(*self._columns(played), self._normals())
            finally:
                self.model = known
        self.left = self.awaited = 0
        self.aged += count
        return plays

    def decide(
        self, current: ActionSet, context: FloatArray | None, level: float
    ) -> tuple[Played, float]:
        """Return the best candidate, and its variance for unit noise."""
        view, belief, bonus = self.view(current), self.model.belief(), self._boldness(level)
        seen = None if context is None else context[None]
        axes = Axes.of(belief, self.design, view.reach, bonus)
        promise = axes.promise(self.design.thetas(belief.theta, seen))[0]
        spreads = belief.spreads(self.rng, self._promising(promise))
        candidates = Candidates(
            belief,
            self.design,
            seen,
            lambda thetas: view.oracle.actions(thetas, view.section),
            bonus,
            self.recipe.scale * level * spreads,
            self.recipe.climbs,
        )
        climbed(candidates, axes)
        chosen, widths = candidates.best()
        action = chosen[0]
        slots = np.flatnonzero(action)
        order = np.argsort(self.ids[slots])
        slots = slots[order]
        entries = read_only(action[slots]), EXPLOIT, context
        played = Played(read_only(self.ids[slots]), *entries)
        return played, float(widths[0])

    def _promising(self, promise: FloatArray) -> IntArray:
        """Return the columns where a decision is made: the baseline, the best 2 H slots."""
        base, width = self.whole.base, self.whole.width
        count = min(2 * self.policy.sparsity, promise.size)
        slots = np.argpartition(promise, promise.size - count)[promise.size - count :]
        columns = base + (slots[:, None] * width + np.arange(width)).ravel()
        return np.concatenate([np.arange(base), columns])

    def learn(self, played: Played, reward: float, age: float = 0.0) -> None:
        """Take in the reward of an action that was played `age` choices ago."""
        # What is known counts as it did when it last faded: so does a reward, by its decision.
        fades = self.recipe.half_life is not None
        weight = float(self.recipe.weights(age - self.aged)) if fades else 1.0
        reward -= self._offset(played)
        held = self.held
        own = self.awaited > 0 and held.context is None and played.context is None
        if own and (played is held or _is_same(played, held)):
            self.awaited -= 1
            self.told += weight
            off = reward - self.mean
            self.mean += off * (weight / self.told)
            self.spread += weight * off * (reward - self.mean)
            return
        self.left = 0
        self._add(played, reward, weight, 0.0)

    def take_in(self) -> None:
        """Let the regression know what was set aside, and fade where it is time."""
        if self.told:
            self._add(self.held, self.mean, self.told, self.spread)
            self.told = self.mean = self.spread = 0.0
        if self.recipe.prior_scale is not None and self.model.counts >= max(self.renewal, 1.0):
            scale = self.sigma**2
            if self.model.scale_prior(scale / self.prior_scale, self.design.base, self.rng):
                self.prior_scale = scale
            self.renewal = 2 * self.model.counts
        if self.recipe.is_aged(self.aged):
            self.model.fade(float(self.recipe.weights(self.aged)), self.rng)
            self.aged = 0

    def correct(self, played: Played, old: float, new: float, age: float) -> None:
        """Replace a reward by another."""
        self.take_in()
        missing = [i for i in played.indices.tolist() if i not in self._slots]
        if missing:
            raise InvalidValueError(
                f"The reward cannot be corrected: coordinates {missing} of its action were set "
                "aside for others since. Tell all rewards to a new learner."
            )
        weight = float(self.recipe.weights(age - self.aged))
        offset = self._offset(played)
        self.model.correct(*self._columns(played), old - offset, new - offset, weight)
        self.left = 0

    def _offset(self, played: Played) -> float:
        """Return what the action was believed to earn before any reward."""
        centre = self.whole.centre
        return 0.0 if centre is None else float(centre[played.indices] @ played.values)

    def _add(self, played: Played, reward: float, weight: float, spread: float) -> None:
        missing = [i for i in played.indices.tolist() if i not in self._slots]
        if missing:
            self.admit(np.array(missing), keep=played.indices)
        places, entries = self._columns(played)
        self.model.add(places, entries, reward, weight, spread, self._normals())

    def _normals(self) -> FloatArray | None:
        """Draw what keeps the deviates exact, where they are kept."""
        return self.rng.standard_normal(DEVIATES) if self.model.size > FRESH else None

    def _columns(self, played: Played) -> tuple[IntArray, FloatArray]:
        """Return the non-zero columns of an action, and their entries."""
        slots = np.array([self._slots[i] for i in played.indices.tolist()], dtype=np.intp)
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

    def deviations(self, model: CoreRidge) -> FloatArray:
        """Return the deviations of the slots for unit noise, (slots,)."""
        variances = np.diagonal(model.covariance)[self.whole.base :: self.whole.width]
        return np.asarray(np.sqrt(variances))

    def supports_drawn(self, model: CoreRidge, sigma: float, draws: int) -> BoolArray | None:
        """Return which slots the best actions use, for the estimate and for draws."""
        parameters = self.parameters_drawn(model, sigma, draws)
        if parameters is None:
            return None
        view = self.view(self.policy.action_set)
        return np.asarray(view.oracle.actions(self.design.thetas(parameters), view.section) != 0)

    def parameters_drawn(self, model: CoreRidge, sigma: float, draws: int) -> FloatArray | None:
        """Return the estimate of all columns, and draws; None with fewer rewards than columns."""
        if not self.ids.size or model.counts < model.size:
            return None
        rng = np.random.default_rng(int(model.counts))
        spreads = rng.standard_normal((draws, model.size)) @ np.linalg.cholesky(model.covariance).T
        return np.vstack([model.theta, model.theta + sigma * spreads])

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return all of it, JSON-safe."""
        matrices = ("covariance", "gram")
        model = {
            name: pack_symmetric(value) if name in matrices else pack(value)
            for name, value in self.model.state().items()
        }
        return {
            "ids": self.ids.tolist(),
            **model,
            "held": self.held.to_list(),
            **{name: getattr(self, name) for name in (*_COUNTS, *_TOLD)},
        }

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned after `asked` choices; refuse what contradicts itself."""
        dim = self.policy.action_set.dim
        ids = read_indices("ids", state["ids"], dim)
        if ids.size > self.capacity:
            raise InvalidValueError(f"state.ids must be at most {self.capacity}, got {ids.size}.")
        self._set_ids(ids)
        self._slots = {int(number): slot for slot, number in enumerate(ids)}
        size = self.design.size
        self.model = CoreRidge(np.ones(size))
        vectors = {"theta", "response", "prior"}
        model: dict[str, Any] = {}
        for name in self.model.state():
            if name in ("covariance", "gram"):
                model[name] = unpack_symmetric(name, state[name], size)
            elif name == "deviates":
                model[name] = unpack(name, state[name], (DEVIATES, size if size > FRESH else 0))
            else:
                model[name] = unpack(name, state[name], (size,) if name in vectors else ())
        self.model.restore(model)
        self.prior_scale = as_number("state.prior_scale", state["prior_scale"], positive=True)
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
        self._restore_hold(state, asked)

    def _restore_hold(self, state: dict[str, Any], asked: int) -> None:
        X = self.policy.action_set
        self.held = read_played("held", state["held"], X.dim)
        for name in _COUNTS:
            setattr(self, name, as_integer(f"state.{name}", state[name], minimum=0))
        for name in _TOLD:
            setattr(self, name, as_number(f"state.{name}", state[name]))
        possible = min(self.told, self.spread, self.renewal) >= 0
        possible &= abs(self.mean) < LARGEST_REWARD and self.spread <= LARGEST_SQUARES
        if not possible or (self.told == 0 and (self.mean or self.spread)):
            raise InvalidValueError(
                f"state.told, state.mean and state.spread must be a number of rewards, their mean "
                f"and spread, got {[self.told, self.mean, self.spread]}."
            )
        # What was decided since rewards faded last counts for more than 1.
        most = (asked - self.awaited) * float(self.recipe.weights(-float(self.aged)))
        if self.told > most * (1 + _ROUNDING):
            raise InvalidValueError(
                f"state.told and state.awaited must be together at most the {asked} decisions "
                f"made, got {self.told:g} and {self.awaited}."
            )
        if not self._slots.keys() >= set(self.held.indices.tolist()):
            raise InvalidValueError(
                f"state.held must be an action on state.ids, got {self.held.indices.tolist()}."
            )
        longest = self.recipe.hold * self.known
        if self.left > longest:
            raise InvalidValueError(
                f"state.left must be at most {longest:g}, a share of {self.recipe.hold:g} of the "
                f"rewards known, got {self.left}."
            )
        fits = self.held.indices.size <= self.policy.sparsity
        if self.left and not (fits and X.contains(self.held.action(X.dim))):
            raise InvalidValueError(
                f"state.held must be an action of {X!r} with at most {self.policy.sparsity} "
                "non-zeros."
            )


def _is_same(one: Played, other: Played) -> bool:
    """Whether two actions are the same."""
    return np.array_equal(one.indices, other.indices) and np.array_equal(one.values, other.values)
