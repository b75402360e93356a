"""SparseThompson among very many coordinates: a posterior on the few that it has looked at."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation.core_ridge import CoreRidge
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.candidates import Axes, Candidates, Reach, climbed, reach_of
from sparsebandits.policies.deck import Deck
from sparsebandits.policies.gate import Gate
from sparsebandits.policies.hold import Hold, check_left
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Boldness
from sparsebandits.policies.slots import Slots
from sparsebandits.validation import BoolArray, FloatArray, IntArray, read_only

_ROUNDING = 1e-9


class View(NamedTuple):
    """A set as the slots see it."""

    current: ActionSet
    ids: IntArray
    section: ActionSet
    reach: Reach
    oracle: SparseOracle


class Core:
    """One learner: the coordinates it has looked at, what it believes of them, what it plays.

    Parameters
    ----------
    policy : Policy
    slots : Slots
        For the coordinates that are looked at, and the regression.
    deck : Deck
        Where fresh ones come from.

    Attributes
    ----------
    gate : Gate
    hold : Hold
        The action decided last, and its rewards that the regression does not know yet.
    """

    def __init__(self, policy: Policy, slots: Slots, deck: Deck) -> None:
        self.policy, self.slots, self.deck = policy, slots, deck
        self.recipe = slots.recipe
        self.gate, self.hold = Gate(policy.sparsity), Hold.nothing()
        self._view: View | None = None
        self._sorts = policy.action_set.sorting is not None

    @property
    def known(self) -> float:
        """How many rewards are known."""
        return self.slots.model.counts + self.hold.told

    # ------------------------------------------------------------------ who is looked at

    def view(self, current: ActionSet) -> View:
        """Return the current set on the slots."""
        view, ids = self._view, self.slots.ids
        if view is None or view.current is not current or view.ids is not ids:
            section = current.section(ids)
            oracle = SparseOracle(min(self.policy.sparsity, section.dim), self.policy.oracle)
            view = self._view = View(current, ids, section, reach_of(section), oracle)
        return view

    def open_gate(self, current: ActionSet, sigma: float) -> None:
        """Admit fresh coordinates where they are worth it."""
        ids, H = self.slots.ids, self.policy.sparsity
        usable = ids.size
        some: BoolArray | slice = slice(None)
        if not current.is_unrestricted:
            some = current.is_available(ids)
            usable = int(np.count_nonzero(some))
        if usable:
            scores, middles = self._scores(self.view(current))
            scores = scores[some]
            # Of those that were sent away it is not known who is available: as many as of the rest.
            seen = usable + self.slots.retired * usable // ids.size
            mean = float(middles[some].sum()) / usable
            if not self.gate.opens(seen, self.known, scores, mean):
                return
            if ids.size >= self.slots.capacity:
                # Nobody is sent away who might still matter.
                weakest = float(np.partition(scores, usable - H)[usable - H]) if usable > H else 0.0
                if float(np.partition(self._promise(current, sigma), H)[:H].max()) >= weakest:
                    return
        count = H if usable >= 4 * H else 4 * H - usable
        fresh = self.deck.deal(count, current, self.slots.slot_of)
        if fresh.size:
            self.admit(fresh, keep=fresh)

    def admit(self, ids: IntArray, keep: IntArray) -> None:
        """Give a slot to each of these coordinates, which have none; `keep` are not retired."""
        room = max(0, self.slots.capacity - self.slots.ids.size)
        fresh, others = ids[:room], ids[room:]
        if fresh.size:
            self.slots.grow(fresh)
        for number in others.tolist():
            self.slots.replace(self._least_promising(keep), number)

    def _least_promising(self, keep: IntArray) -> int:
        """Return the slot of the least promising coordinate that is not needed."""
        slots = self.slots
        promise = self._promise(self.policy.action_set, slots.sigma)
        kept = {*self.hold.played.indices.tolist(), *keep.tolist()} & slots.slot_of.keys()
        promise[[slots.slot_of[i] for i in kept]] = np.inf
        return int(promise.argmin())

    def _scores(self, view: View) -> tuple[FloatArray, FloatArray]:
        """Return what each slot earns alone by its estimate, and on average of its two ends."""
        lower, upper, _ = view.reach
        theta = self.slots.design.thetas(self.slots.model.theta)
        ends = theta * upper, theta * lower
        return np.maximum(*ends), np.add(*ends)

    def _boldness(self, sigma: float) -> Boldness:
        return self.recipe.boldness(np.array([sigma]), np.array([self.slots.model.counts]))

    def _promise(self, current: ActionSet, sigma: float) -> FloatArray:
        """Return what each slot may earn alone, as the index has it, (slots,)."""
        design, belief = self.slots.design, self.slots.model.belief()
        axes = Axes.of(belief, design, self.view(current).reach, self._boldness(sigma))
        return np.asarray(axes.promise(design.thetas(belief.theta))[0])

    # ------------------------------------------------------------------ choose

    def go_on(self, current: ActionSet) -> Played | None:
        """Return the held action once more, if it is held on this set."""
        is_held = self.hold.left and current is self.policy.action_set
        if not is_held or self.slots.whole.context:
            return None
        self.slots.aged += 1
        return self.hold.go_on()

    def choose(self, current: ActionSet, context: FloatArray | None = None) -> Played:
        """Return the held action, decided anew where it is not held any more."""
        if (held := self.go_on(current)) is not None:
            return held
        may_hold = current is self.policy.action_set and context is None
        with self._undone_on_error(current):
            self.take_in()
            sigma = self.slots.sigma
            self.open_gate(current, sigma)
            played, width = self.decide(current, context, sigma)
        known, widths = np.array([self.slots.model.counts]), np.array([width])
        self.hold.start(played, int(self.recipe.steps(known, widths)[0]) if may_hold else 1)
        self.slots.aged += 1
        return played

    @contextmanager
    def _undone_on_error(self, current: ActionSet) -> Iterator[None]:
        """Put everything back as it was if what is done here raises; sorting raises nothing."""
        if self._sorts and current.whole is self.policy.action_set.whole:
            yield
            return
        before = self.slots.copy(), replace(self.hold)
        try:
            yield
        except BaseException:
            self.slots, self.hold = before
            raise

    def choose_many(
        self, current: ActionSet, count: int, context: FloatArray | None
    ) -> list[Played]:
        """Return actions each of which knows of the others but no reward."""
        plays = []
        with self._undone_on_error(current):
            self.take_in()
            known, sigma = self.slots.model, self.slots.sigma
            self.open_gate(current, sigma)
            self.slots.model = known.copy()
            try:
                for _ in range(count):
                    played, _ = self.decide(current, context, sigma)
                    plays.append(played)
                    self.slots.imagine(played)
            finally:
                self.slots.model = known
        self.hold.left = self.hold.awaited = 0
        self.slots.aged += count
        return plays

    def decide(
        self, current: ActionSet, context: FloatArray | None, level: float
    ) -> tuple[Played, float]:
        """Return the best candidate, and its variance for unit noise."""
        slots, view, bonus = self.slots, self.view(current), self._boldness(level)
        belief, design = slots.model.belief(), slots.design
        seen = None if context is None else context[None]
        axes = Axes.of(belief, design, view.reach, bonus)
        promise = axes.promise(design.thetas(belief.theta, seen))[0]
        spreads = belief.spreads(slots.rng, self._promising(promise))
        candidates = Candidates(
            belief,
            design,
            seen,
            lambda thetas: view.oracle.actions(thetas, view.section),
            bonus,
            self.recipe.scale * level * spreads,
            self.recipe.climbs,
        )
        climbed(candidates, axes)
        chosen, widths = candidates.best()
        action = chosen[0]
        used = np.flatnonzero(action)
        used = used[np.argsort(slots.ids[used])]
        entries = read_only(action[used]), EXPLOIT, context
        return Played(read_only(slots.ids[used]), *entries), float(widths[0])

    def _promising(self, promise: FloatArray) -> IntArray:
        """Return the columns where a decision is made: the baseline, the best 2 H slots."""
        base, width = self.slots.whole.base, self.slots.whole.width
        count = min(2 * self.policy.sparsity, promise.size)
        best = np.argpartition(promise, promise.size - count)[promise.size - count :]
        columns = base + (best[:, None] * width + np.arange(width)).ravel()
        return np.concatenate([np.arange(base), columns])

    # ------------------------------------------------------------------ learn

    def learn(self, played: Played, reward: float, age: float = 0.0) -> None:
        """Take in the reward of an action that was played `age` choices ago."""
        weight = self.slots.weight(age)
        reward -= self.slots.expected(played)
        if self.hold.awaits(played):
            self.hold.tell(reward, weight)
            return
        self.hold.end()
        self._add(played, reward, weight)

    def take_in(self) -> None:
        """Let the regression know what was set aside, and fade where it is time."""
        hold = self.hold
        if hold.told:
            self._add(hold.played, hold.mean, hold.told, hold.spread)
            hold.clear()
        self.slots.renew()

    def correct(self, played: Played, old: float, new: float, age: float) -> None:
        """Replace a reward by another."""
        self.take_in()
        self.slots.correct(played, old, new, age)
        self.hold.end()

    def _add(self, played: Played, reward: float, weight: float, spread: float = 0.0) -> None:
        if missing := self.slots.missing(played):
            self.admit(np.array(missing), keep=played.indices)
        self.slots.add(played, reward, weight, spread)

    # ------------------------------------------------------------------ what is known

    def believed(self) -> CoreRidge:
        """Return the regression with every reward told so far; only to be read."""
        hold = self.hold
        if not hold.told:
            return self.slots.model
        return self.slots.with_rewards(hold.played, hold.mean, hold.told, hold.spread)

    def supports_drawn(self, model: CoreRidge, sigma: float, draws: int) -> BoolArray | None:
        """Return which slots the best actions use, for the estimate and for draws."""
        parameters = self.slots.parameters_drawn(model, sigma, draws)
        if parameters is None:
            return None
        view = self.view(self.policy.action_set)
        thetas = self.slots.design.thetas(parameters)
        return np.asarray(view.oracle.actions(thetas, view.section) != 0)

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return all of it, JSON-safe."""
        slots, hold = self.slots, self.hold
        return {
            **slots.state(),
            "held": hold.played.to_list(),
            "left": hold.left,
            "awaited": hold.awaited,
            "aged": slots.aged,
            "retired": slots.retired,
            "told": hold.told,
            "mean": hold.mean,
            "spread": hold.spread,
            "prior_scale": slots.prior_scale,
            "renewal": slots.renewal,
        }

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned after `asked` choices; refuse what contradicts itself."""
        X, sparsity = self.policy.action_set, self.policy.sparsity
        self.slots.restore(state)
        hold = self.hold = Hold.read(state, X.dim)
        # What was decided since rewards faded last counts for more than 1.
        most = (asked - hold.awaited) * self.slots.weight(0.0)
        if hold.told > most * (1 + _ROUNDING):
            raise InvalidValueError(
                f"state.told and state.awaited must be together at most the {asked} decisions "
                f"made, got {hold.told:g} and {hold.awaited}."
            )
        if self.slots.missing(hold.played):
            raise InvalidValueError(
                f"state.held must be an action on state.ids, got {hold.played.indices.tolist()}."
            )
        check_left(hold.left, self.known)
        fits = hold.played.indices.size <= sparsity
        if hold.left and not (fits and X.contains(hold.played.action(X.dim))):
            raise InvalidValueError(
                f"state.held must be an action of {X!r} with at most {sparsity} non-zeros."
            )
