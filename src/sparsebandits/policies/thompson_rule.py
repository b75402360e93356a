"""How SparseThompson decides, for many lanes at once."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import RidgeLanes
from sparsebandits.policies.candidates import Candidates, climbed
from sparsebandits.policies.design import Design
from sparsebandits.policies.learner import Policy
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import PerSet, Tape, normals
from sparsebandits.validation import FloatArray, IntArray


class ThompsonRule(RidgeRule):
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
    """

    saved: ClassVar[tuple[str, ...]] = (
        "held",
        "left",
        "awaited",
        "offered",
        "told",
        "mean",
        "spread",
    )
    least: ClassVar[Mapping[str, float]] = {
        "squares": 0.0,
        "spread": 0.0,
        "told": 0.0,
        "counts": 0.0,
    }

    recipe: ClassVar[Recipe] = Recipe()

    def __init__(
        self,
        policy: Policy,
        generators: Sequence[np.random.Generator],
        block: int,
        sigma: float | str,
        design: Design,
    ) -> None:
        lanes, dim = len(generators), policy.action_set.dim
        prior = relative_prior(policy.action_set, self.recipe.ridge)
        super().__init__(policy, lanes, prior, sigma, design)
        self.explorations = dim
        self._tape = Tape(generators, self.recipe.samples * design.size, block, normals)
        self.held = np.zeros((lanes, dim))
        self.left = np.zeros(lanes, dtype=np.intp)
        self.awaited = np.zeros(lanes, dtype=np.intp)
        self.offered = np.tile(policy.action_set.available, (lanes, 1))
        self.told, self.mean, self.spread = np.zeros((3, lanes))
        self._is_own = PerSet(partial(_is_part, whole=policy.action_set))
        self._reach = PerSet(lambda current: current.axis_reach())

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the held action of each lane, decided anew where it is not held any more."""
        is_own = self._is_own(current)
        # Every lane was last served on one and the same set.
        is_same = is_own and bool((self.offered[0] == current.available).all())
        due = np.flatnonzero(self.left == 0) if is_same else self.everyone
        held, left, awaited = self.held, self.left - 1, self.awaited + 1
        if due.size:
            chosen, widths = self._decide_anew(due, current)
            if due.size == self.lanes:
                held = chosen
            else:
                held = held.copy()
                held[due] = chosen
            awaited[due] = 1
            # A set that is not the policy's is not saved with it, so nothing is held there.
            left[due] = self.recipe.steps(self.posterior.counts[due], widths) - 1 if is_own else 0
        if not is_same:
            self.offered = np.tile(current.available, (self.lanes, 1))
        self.held, self.left, self.awaited = held, left, awaited
        return held

    def _decide_anew(self, due: IntArray, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        if self.lanes > 1:  # a simulation ends with the error
            self._take_in(due)
            return self.decide(due, current)
        names = ("told", "mean", "spread")
        with self._undone_on_error(names):
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
        return self._level(self.known.noise_scale(lanes))

    def _level(self, estimate: FloatArray) -> FloatArray:
        if not isinstance(self.sigma, str):
            estimate = np.maximum(estimate, self.sigma)
        estimate[estimate <= 0] = 1.0
        return estimate

    # ------------------------------------------------------------------ rewards

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        awaited = self.awaited[lanes]
        own = awaited > 0
        if actions is not self.held:
            own &= (actions == self.held[lanes]).all(axis=1)
        if own.all():
            self.awaited[lanes] = awaited - 1
            self._set_aside(rewards, lanes)
            return
        # Rewards that are none of the held action's end its hold.
        self.awaited[lanes] = awaited - own
        self.left[lanes] *= own
        if own.any():
            self._set_aside(rewards[own], lanes[own])
        super()._learn(actions[~own], rewards[~own], pulls, lanes[~own])

    def _set_aside(self, rewards: FloatArray, lanes: IntArray) -> None:
        """Count rewards of the held action, by Welford's recursion."""
        told = self.told[lanes] + 1
        mean = self.mean[lanes]
        off = rewards - mean
        mean += off / told
        self.spread[lanes] += off * (rewards - mean)
        self.told[lanes], self.mean[lanes] = told, mean

    def _take_in(self, lanes: IntArray) -> None:
        """Let the regression know what was set aside in these lanes."""
        told = self.told[lanes]
        waiting = told > 0
        if not waiting.all():
            lanes, told = lanes[waiting], told[waiting]
        if lanes.size:
            self._add_aside(self.posterior, lanes, None if lanes.size == self.lanes else lanes)
            self.told[lanes] = self.mean[lanes] = self.spread[lanes] = 0.0

    def _add_aside(self, posterior: RidgeLanes, lanes: IntArray, where: IntArray | None) -> None:
        columns = self.design.columns(self.held[lanes])
        posterior.add(columns, self.mean[lanes], where, self.told[lanes], self.spread[lanes])

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
        """Take in logged rewards of the only lane at once."""
        self._take_in(self.everyone)
        super().learn_many(actions, rewards)
        self.left[0] = 0

    # ------------------------------------------------------------------ saved

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; what is still to be played must be an action."""
        super().restore(state, asked)
        known = float(self.posterior.counts[0] + self.told[0])
        left, longest = int(self.left[0]), self.recipe.hold * known
        if left > longest:
            raise InvalidValueError(
                f"state.left must be at most {longest:g}, a share of {self.recipe.hold:g} of the "
                f"rewards known, got {left}."
            )
        held, offered = self.held[0], self.offered[0] & self.policy.action_set.available
        fits = not held[~offered].any() and np.count_nonzero(held) <= self.policy.sparsity
        if left and not (fits and self.policy.action_set.contains(held)):
            raise InvalidValueError(
                f"state.held must be an action of {self.policy.action_set!r} on what is offered, "
                f"with at most {self.policy.sparsity} non-zeros."
            )

    # ------------------------------------------------------------------ one decision

    def decide(self, lanes: IntArray, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        """Return an action of each lane, and its variance for unit noise."""
        candidates = self.candidates(lanes, current)
        best = candidates.rows, candidates.index.argmax(axis=1)
        return candidates.actions[best], candidates.widths[best]

    def candidates(self, lanes: IntArray, current: ActionSet) -> Candidates:
        """Return what is proposed for these lanes."""
        everyone = lanes.size == self.lanes
        model, where = self.posterior, slice(None) if everyone else lanes
        belief = model.belief(where)
        sigma = self._level(model.noise_scale(where, belief.variances))
        candidates = Candidates(
            belief,
            self.design,
            None,
            partial(self.policy.best_actions, current=current),
            partial(self.recipe.bonus, sigma=sigma, rewards=model.counts[where] + 1.0),
        )
        normals = self._tape.next(lanes).reshape(lanes.size, -1, self.design.size)
        spreads = belief.spreads(normals)
        spreads *= (self.recipe.scale * sigma)[:, None, None]
        return climbed(candidates, spreads, self._reach(current))


class FlooredThompsonRule(ThompsonRule):
    """The same with a floor of exploration that keeps the paper's rates."""

    rate: ClassVar[float] = 0.1

    def choose(self, current: ActionSet) -> FloatArray:
        """Play the axis known least where it is known less than the floor wants."""
        lower, upper = current.axis_reach()
        reach = np.where(upper >= -lower, upper, lower)
        power = 0.5 if current.is_strongly_convex else 2 / 3
        known = self.posterior.counts + self.told
        floor = self.rate * (known + 1.0) ** power
        doubt = self.known.variances()[:, self.design.base :: self.design.width] * reach**2
        axis = doubt.argmax(axis=1)
        actions = super().choose(current)
        forced = np.flatnonzero(doubt[self.everyone, axis] * floor > 1)
        self.pulls = np.full(self.lanes, EXPLOIT)
        if forced.size:
            self.pulls[forced] = axis[forced]
            actions = actions.copy()
            actions[forced] = 0.0
            actions[forced, axis[forced]] = reach[axis[forced]]
        return actions


def _is_part(current: ActionSet, whole: ActionSet) -> bool:
    """Whether `current` is `whole`, by content, with the same or fewer coordinates available."""
    if current is whole:
        return True
    if type(current) is not type(whole) or (current.available & ~whole.available).any():
        return False
    # `restrict` makes a new set of the same parts: no need to compare what may be long lists.
    mine, theirs = ({**vars(X), "available": None, "_cache": None} for X in (current, whole))
    if mine.keys() == theirs.keys() and all(mine[name] is theirs[name] for name in mine):
        return True
    mine, theirs = ({**X.to_dict(), "available": None} for X in (current, whole))
    return mine == theirs
