"""How SparseThompson decides, for many lanes at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import RidgeLanes
from sparsebandits.estimation.ridge import LAMBDAS, RootBelief
from sparsebandits.policies.candidates import Axes, Candidates, climbed, reach_of
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.design import Design, check_contexts
from sparsebandits.policies.joining_rule import JoiningRule
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe, dispersion
from sparsebandits.policies.rule import PerSet, Tape, normals
from sparsebandits.validation import FloatArray, IntArray

_RENEWED = ("told", "mean", "spread", "aged", "prior_scale", "sigma_young", "renewal")
"""What changes before a decision."""

_LEAST_SCALE = 0.1 * LAMBDAS[0]


class ThompsonRule(JoiningRule):
    """Propose, climb, take the best index, hold.

    A decision is held for the steps that add `hold` to what is known along it, which is at most
    that share of the rewards known, and only while nothing else changes. It is made anew where its
    action teaches nothing; where the set of the step is another one, by content; and where a reward
    came that is none of its own: of another action, out of logs, or more than it was played. All of
    that is read off the arrays that are saved. The rewards of the held action are summed up and
    taken in together, when the next decision needs them. The constants were chosen in
    `benchmarks/ideas.py`.

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

    _tape: Tape
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
        self,
        policy: Policy,
        generators: Sequence[np.random.Generator],
        block: int,
        recipe: Recipe,
        design: Design,
        sigma: float | str,
    ) -> None:
        self.recipe = recipe
        lanes, dim = len(generators), policy.action_set.dim
        scale = recipe.first_scale(policy.action_set, sigma)
        unit = recipe.unit(policy.action_set)
        super().__init__(policy, lanes, scale * unit, sigma, design)
        self._unit = design.prior(unit)
        self.explorations = dim
        self._tape = Tape(generators, self.recipe.samples * design.size, block, normals)
        self.held = np.zeros((lanes, dim))
        self.left = np.zeros(lanes, dtype=np.intp)
        self.awaited = np.zeros(lanes, dtype=np.intp)
        self.offered = np.tile(policy.action_set.available, (lanes, 1))
        self.told, self.mean, self.spread = np.zeros((3, lanes))
        self.aged = np.zeros(lanes, dtype=np.intp)
        self.prior_scale = np.full(lanes, scale)
        self.sigma_young, self.renewal = np.zeros((2, lanes))
        self._served: ActionSet | None = None
        self._played: Played | None = None
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

    def _rows(self, lanes: IntArray) -> Any:
        """Return what takes these lanes of an array; the whole is faster than all of its rows."""
        return slice(None) if lanes.size == self.lanes else lanes

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
        told, mean = float(self.told[0]) + 1.0, float(self.mean[0])
        off = reward - mean
        mean += off * (1.0 / told)
        self.spread[0] += off * (reward - mean)
        self.told[0], self.mean[0] = told, mean

    def play_many(
        self, current: ActionSet, count: int, context: FloatArray | None = None
    ) -> list[Played]:
        """Return choices of the only lane, each of which knows of the others but no reward."""
        self.contexts = None if context is None else context[None]
        before = self.posterior
        plays = []
        with self._undone_on_error(_RENEWED):
            try:
                self.posterior = known = before.copy()
                self._take_in(self.everyone)
                self.posterior = known.copy()
                sigma = self._level(known, slice(None))
                for place in range(count):
                    action, pull = self._next_of_batch(current, sigma, place)
                    plays.append(Played.of(action[0], pull, context))
                    self.posterior.imagine(self.design.columns(action, self.contexts))
            except BaseException:
                self.posterior = before
                raise
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
        with self._undone_on_error(_RENEWED):
            before = self.posterior.copy()
            try:
                self._take_in(due)
                return self.decide(due, current)
            except BaseException:
                self.posterior = before
                raise

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

    # ------------------------------------------------------------------ rewards

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
        """Count rewards of the held action, by Welford's recursion."""
        told = self.told[lanes] + weights
        mean = self.mean[lanes]
        off = rewards - mean
        mean += off * (weights / told)
        self.spread[lanes] += weights * off * (rewards - mean)
        self.told[lanes], self.mean[lanes] = told, mean

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

    def _add_aside(self, posterior: RidgeLanes, lanes: IntArray, where: IntArray | None) -> None:
        rows: Any = slice(None) if where is None else where
        columns = self.design.columns(self.held[rows])
        posterior.add(columns, self.mean[rows], where, self.told[rows], self.spread[rows])

    @property
    def known(self) -> RidgeLanes:
        """The regression with every reward told so far."""
        waiting = np.flatnonzero(self.told)
        if not waiting.size:
            return self.posterior
        known = self.posterior.copy()
        self._add_aside(known, waiting, waiting)
        return known

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once: where rewards fade, as told now."""
        self._take_in(self.everyone)
        if self.recipe.half_life is not None:
            self._fade(self.everyone)
        if self.design.centre is not None:
            rewards = rewards - np.einsum("nd,d->n", actions, self.design.centre)
        super().learn_many(actions, rewards)
        self.left[0] = 0

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
        known = float(self.posterior.counts[0] + self.told[0])
        left, longest = int(self.left[0]), self.recipe.hold * known
        if left > longest:
            raise InvalidValueError(
                f"state.left must be at most {longest:g}, a share of {self.recipe.hold:g} of the "
                f"rewards known, got {left}."
            )
        held, offered = self.held[0], self.offered[0] & self.policy.action_set.available
        fits = not held[~offered].any() and self.oracle.obeyed_by(held, self.policy.action_set)
        if left and not (fits and self.policy.action_set.contains(held)):
            raise InvalidValueError(
                f"state.held must be an action of {self.policy.action_set!r} on what is offered, "
                f"with at most {self.policy.sparsity} non-zeros."
            )

    # ------------------------------------------------------------------ one decision

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
