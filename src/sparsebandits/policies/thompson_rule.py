"""How SparseThompson decides, for many lanes at once."""

from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.estimation.ridge import RootBelief
from sparsebandits.policies.candidates import Axes, Candidates, climbed, reach_of
from sparsebandits.policies.design import Design, check_contexts
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe, dispersion
from sparsebandits.policies.rule import PerSet
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.policies.thompson_memory import ThompsonMemory
from sparsebandits.validation import FloatArray, IntArray


class ThompsonRule(ThompsonMemory):
    """Propose, climb, take the best index, hold.

    A decision is held for the steps that add `hold` to what is known along it, which is at most
    that share of the rewards known, and only while nothing else changes. It is made anew where its
    action teaches nothing; where the set of the step is another one, by content; and where a reward
    came that is none of its own: of another action, out of logs, or more than it was played. All of
    that is read off the arrays that are saved. The constants were chosen in `benchmarks/ideas.py`.
    """

    _tape: Tape

    def __init__(
        self,
        policy: Policy,
        generators: Sequence[np.random.Generator],
        block: int,
        recipe: Recipe,
        design: Design,
        sigma: float | str,
    ) -> None:
        super().__init__(policy, len(generators), recipe, design, sigma)
        self.explorations = self.dim
        self._tape = Tape(generators, recipe.samples * design.size, block, normals)
        self._served: ActionSet | None = None
        self._is_own = PerSet(partial(_is_part, whole=policy.action_set))
        self._reach = PerSet(reach_of)
        squares = reach_of(policy.action_set)[2]
        self._lengths = np.sqrt(squares), squares, max(1, int(np.count_nonzero(squares)))

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the held action of each lane, decided anew where it is not held any more."""
        is_own = self._is_own(current)
        is_same, due = is_own and current is self._served, self.everyone
        if is_same:
            due = (self.left == 0).nonzero()[0]
        elif is_own:
            same = (self.offered == current.available).all(axis=1)
            due, is_same = np.flatnonzero((self.left == 0) | ~same), bool(same.all())
        held, left, awaited = self.held, self.left - 1, self.awaited + 1
        if self.design.context:
            check_contexts(self.contexts, (self.lanes, self.design.context))
        if due.size:
            chosen, widths = self._decide_anew(due, current)
            where = self._rows(due)
            if due.size == self.lanes:
                held = chosen
            else:
                held = held.copy()
                held[due] = chosen
            awaited[where] = 1
            # A set that is not the policy's is not saved with it, and a context is seen but once.
            may_hold = is_own and not self.design.context
            steps = self.recipe.steps(self.posterior.counts[where], widths)
            left[where] = steps - 1 if may_hold else 0
        if not is_same:
            self.offered = np.tile(current.available, (self.lanes, 1))
        self.held, self.left, self.awaited, self._served = held, left, awaited, current
        self.aged += 1
        return held

    def play_again(self, current: ActionSet) -> Played | None:
        """Return what the only lane holds on this set."""
        if self._played is None or not self._goes_on(current):
            return None
        # What `choose` does where nothing is due, without arrays of one number.
        self.left[0] -= 1
        self.awaited[0] += 1
        self.aged[0] += 1
        return self._played

    def play(self, current: ActionSet, context: FloatArray | None = None) -> Played:
        """Return the choice of the only lane; the very same while it is held."""
        before, self.contexts = self.held, None if context is None else context[None]
        actions = self.choose(current)
        if actions is before and self._played is not None:
            return self._played
        played = Played.of(actions[0], int(self.pulls[0]), context)
        self._played = played if actions is self.held else None
        return played

    def _goes_on(self, current: ActionSet) -> bool:
        """Whether the only lane holds its action on this set."""
        is_held = current is self._served and bool(self.left[0]) and not self.design.context
        return is_held and self._is_own(current)

    def play_together(
        self, rules: Sequence[Self], current: ActionSet, contexts: Sequence[FloatArray | None]
    ) -> list[Played]:
        """Return what `play` of each rule would; the very same while it is held."""
        before = np.concatenate([rule.held for rule in rules])
        plays = super().play_together(rules, current, contexts)
        same = np.zeros(len(rules), dtype=np.bool_)
        if not self.design.context:
            same = (np.concatenate([rule.held for rule in rules]) == before).all(axis=1)
        for lane, (rule, played) in enumerate(zip(rules, plays, strict=True)):
            rule._served = current
            if played.pull != EXPLOIT:  # it is played in the place of the held action
                rule._played = None
            elif same[lane] and rule._played is not None:
                plays[lane] = rule._played
            else:
                rule._played = played
        return plays

    def _joined(self, rules: Sequence[Self]) -> Self:
        joined = super()._joined(rules)
        if any(rule._served is not self._served for rule in rules):
            joined._served = None
        return joined

    def play_many(
        self, current: ActionSet, count: int, context: FloatArray | None = None
    ) -> list[Played]:
        """Return choices of the only lane, each of which knows of the others but no reward."""
        self.contexts = None if context is None else context[None]
        plays = []
        with self._known_again_on_error():
            self._take_in(self.everyone)
            known = self.posterior
            self.posterior = known.copy()
            sigma = self._level(known, slice(None))
            for place in range(count):
                action, pull = self._next_of_batch(current, sigma, place)
                plays.append(Played.of(action[0], pull, context))
                self.posterior.imagine(self.design.columns(action, self.contexts))
        self.posterior = known
        self.left[:] = self.awaited[:] = 0
        self.aged += count
        self.pulls = np.full(self.lanes, EXPLOIT)
        return plays

    def _next_of_batch(
        self, current: ActionSet, sigma: FloatArray, place: int
    ) -> tuple[FloatArray, int]:
        """Return the action of the only lane after `place` others whose rewards are not known."""
        return self.decide(self.everyone, current, sigma)[0], EXPLOIT

    def _decide_anew(self, due: IntArray, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        own = current is self.action_set and current.sorting is not None
        if self.lanes > 1 or own:
            # A simulation ends with the error, and sorting makes none.
            self._take_in(due)
            return self.decide(due, current)
        with self._known_again_on_error():
            self._take_in(due)
            return self.decide(due, current)

    # ------------------------------------------------------------------ one decision

    def decide(
        self, lanes: IntArray, current: ActionSet, sigma: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return an action of each lane, and its variance for unit noise."""
        model, where = self.posterior, self._rows(lanes)
        belief = model.belief(where)
        if sigma is None:
            sigma = self._level(model, where, belief.variances)
        candidates = self.candidates(lanes, current, belief, sigma)
        return candidates.efficient(sigma)

    def candidates(
        self, lanes: IntArray, current: ActionSet, belief: RootBelief, sigma: FloatArray
    ) -> Candidates:
        """Return what is proposed for these lanes."""
        normals = self._tape.next(lanes).reshape(lanes.size, -1, self.design.size)
        spreads = belief.spreads(normals)
        spreads *= (self.recipe.scale * sigma)[:, None, None]
        known = self.posterior.counts[self._rows(lanes)]
        differ = self._dispersion(belief, sigma) if self.recipe.asks_dispersion(known) else None
        bonus = self.recipe.boldness(sigma, known, differ)
        candidates = Candidates(
            belief,
            self.design,
            None if self.contexts is None else self.contexts[lanes],
            partial(self.policy.best_actions, current=current),
            bonus,
            spreads,
            self.recipe.climbs,
        )
        axes = Axes.of(belief, self.design, self._reach(current), bonus)
        return climbed(candidates, axes)

    def _dispersion(self, belief: RootBelief, sigma: FloatArray) -> FloatArray:
        """Return how much the coordinates of the policy's set differ by what is believed."""
        lengths, squares, count = self._lengths
        earnings = np.abs(self.design.thetas(belief.theta)) * lengths
        variances = belief.variances[:, self.design.base :: self.design.width]
        doubts = np.einsum("nd,d->n", variances, squares)
        return dispersion(earnings, sigma * sigma * doubts, count)


def _is_part(current: ActionSet, whole: ActionSet) -> bool:
    """Whether `current` is `whole`, by content, with the same or fewer coordinates available."""
    if current is whole:
        return True
    if type(current) is not type(whole) or (current.available & ~whole.available).any():
        return False
    # `restrict` makes a new set of the same parts: no need to compare what may be long lists.
    mine, theirs = ({**vars(X), "_availability": None, "_cache": None} for X in (current, whole))
    if mine.keys() == theirs.keys() and all(mine[name] is theirs[name] for name in mine):
        return True
    mine, theirs = ({**X.to_dict(), "available": None} for X in (current, whole))
    return mine == theirs
