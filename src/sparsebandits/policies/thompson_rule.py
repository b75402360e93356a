"""How SparseThompson decides, for many lanes at once."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.learner import Policy
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import EXPLOIT, PerSet, Tape, normals
from sparsebandits.validation import FloatArray, IntArray

_TINY = 1e-300

_LESSON = 0.01
"""An action with t ||x||^2_{V^-1} below this teaches nothing next to an average reward."""


class ThompsonRule(RidgeRule):
    """Propose, climb, take the best index, hold.

    A decision is held for the steps that add `hold` to what is known along it, which is at most
    that share of the rewards known, and only while nothing else changes. It is made anew where its
    action teaches nothing; where the set of the step is another one, by content; and where a reward
    came that is none of its own: of another action, out of logs, or more than it was played. All of
    that is read off the arrays that are saved. The constants were chosen in `benchmarks/ideas.py`.

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
    """

    saved: ClassVar[tuple[str, ...]] = ("held", "left", "awaited", "offered")

    ridge: ClassVar[float] = 0.1
    samples: ClassVar[int] = 3
    scale: ClassVar[float] = 1.0
    directed: ClassVar[int] = 1
    growth: ClassVar[float] = 1.1
    share: ClassVar[float] = 0.5
    hold: ClassVar[float] = 0.003

    def __init__(
        self,
        policy: Policy,
        generators: Sequence[np.random.Generator],
        block: int,
        sigma: float | str,
    ) -> None:
        lanes, dim = len(generators), policy.action_set.dim
        super().__init__(policy, lanes, relative_prior(policy.action_set, self.ridge), sigma)
        self.explorations = dim
        self._tape = Tape(generators, dim * self.samples, block, normals)
        self.held = np.zeros((lanes, dim))
        self.left = np.zeros(lanes, dtype=np.intp)
        self.awaited = np.zeros(lanes, dtype=np.intp)
        self.offered = np.tile(policy.action_set.available, (lanes, 1))
        self._is_own = PerSet(partial(_is_part, whole=policy.action_set))

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the held action of each lane, decided anew where it is not held any more."""
        is_own = self._is_own(current)
        # Every lane was last served on one and the same set.
        is_same = is_own and bool((self.offered[0] == current.available).all())
        due = np.flatnonzero(self.left == 0) if is_same else self.everyone
        held, left, awaited = self.held, self.left - 1, self.awaited + 1
        if due.size:
            chosen, widths = self.decide(due, current)
            held = held.copy()
            # A set that is not the policy's is not saved with it, so nothing is held there.
            held[due], awaited[due] = chosen, 1
            left[due] = self.steps(due, widths) - 1 if is_own else 0
        if not is_same:
            self.offered = np.tile(current.available, (self.lanes, 1))
        self.held, self.left, self.awaited = held, left, awaited
        return held

    def steps(self, lanes: IntArray, widths: FloatArray) -> IntArray:
        """For how many steps actions with x' V^-1 x = `widths` are played, at least 1."""
        known = self.posterior.counts[lanes]
        longest = 1 + self.hold * known
        held = np.minimum(self.hold / np.maximum(widths, _TINY), longest)
        return np.asarray(np.where(known * widths < _LESSON, 1, np.maximum(held, 1)), np.intp)

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return sigma in each lane: its estimate, and no less than the one given.

        The width of the posterior is a multiple of it, before any data too: told of little noise,
        or of none, it would take theta for as little. The estimate counts what the prior does not
        explain, and comes down to sigma with the data.
        """
        told = 0.0 if isinstance(self.sigma, str) else self.sigma
        level = np.maximum(self.posterior.noise_scale(lanes), told)
        return np.asarray(np.where(level > 0, level, 1.0))

    # ------------------------------------------------------------------ rewards end a hold

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        super()._learn(actions, rewards, pulls, lanes)
        if not self.left[lanes].any():
            return
        expected = (actions == self.held[lanes]).all(axis=1) & (self.awaited[lanes] > 0)
        self.awaited[lanes] -= expected
        self.left[lanes] *= expected

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once."""
        super().learn_many(actions, rewards)
        self.left[0] = 0

    # ------------------------------------------------------------------ saved

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; what is still to be played must be an action."""
        super().restore(state, asked)
        left, longest = int(self.left[0]), self.hold * int(self.posterior.counts[0])
        if left > longest:
            raise InvalidValueError(
                f"state.left must be at most {longest:g}, a share of {self.hold:g} of the rewards "
                f"known, got {left}."
            )
        held, offered = self.held[0], self.offered[0] & self.policy.action_set.available
        fits = not held[~offered].any() and self.oracle.obeyed_by(held, self.policy.action_set)
        if left and not (fits and self.policy.action_set.contains(held)):
            raise InvalidValueError(
                f"state.held must be an action of {self.policy.action_set!r} on what is offered, "
                f"with at most {self.policy.sparsity} non-zeros."
            )

    # ------------------------------------------------------------------ one decision

    def decide(self, lanes: IntArray, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        """Return an action of each lane, and its variance for unit noise."""
        candidates = self.candidates(lanes, current)
        candidates.propose(self.proposals(candidates))
        candidates.propose(candidates.uphill())
        best = candidates.index.argmax(axis=0), candidates.rows
        return candidates.actions[best], candidates.widths[best]

    def candidates(self, lanes: IntArray, current: ActionSet) -> "Candidates":
        """Return the first proposal for these lanes: the best action for the estimate."""
        return Candidates(self, lanes, current)

    def proposals(self, candidates: "Candidates") -> FloatArray:
        """Return thetas to start from beside the estimate, (proposals, lanes, dim)."""
        thetas = []
        shape = (candidates.lanes.size, self.samples, self.dim)
        drawn = self._tape.next(candidates.lanes).reshape(shape)
        for z in np.swapaxes(drawn, 0, 1):
            noise = np.matmul(candidates.root, z[:, :, None])[:, :, 0]
            thetas.append(candidates.theta + (self.scale * candidates.sigma)[:, None] * noise)
        thetas.extend(candidates.directed(self.directed))
        return np.array(thetas).reshape(-1, candidates.lanes.size, self.dim)

    def bonus(self, widths: FloatArray, rewards: FloatArray) -> FloatArray:
        """How many deviations the index lies above the mean, for x' V^-1 x = `widths`."""
        return np.asarray(np.sqrt(self.growth * np.log(np.e + self.share * rewards * widths)))


class Candidates:
    """The proposals for the decisions of some lanes; arrays are (proposals, lanes, ...)."""

    def __init__(self, rule: ThompsonRule, lanes: IntArray, current: ActionSet) -> None:
        self.rule, self.lanes, self.current = rule, lanes, current
        self.root, self.theta = rule.posterior.root[lanes], rule.posterior.theta_hat[lanes]
        self.sigma: FloatArray = rule.noise_scale(lanes)
        self.rewards: FloatArray = np.asarray(rule.posterior.counts[lanes] + 1.0, dtype=np.float64)
        self.rows = np.arange(lanes.size)
        shape = (0, *self.theta.shape)
        self.actions, self.shadows = np.empty(shape), np.empty(shape)
        self.widths = self.means = self.index = np.empty((0, lanes.size))
        self.propose(self.theta[None])

    def propose(self, thetas: FloatArray) -> None:
        """Add the best actions for these thetas, (proposals, lanes, dim)."""
        flat = thetas.reshape(-1, thetas.shape[-1])
        actions = self.rule.policy.best_actions(flat, self.current).reshape(thetas.shape)
        shadows = np.matmul(actions[:, :, None, :], self.root)[:, :, 0]
        widths = np.einsum("knd,knd->kn", shadows, shadows)
        means = np.einsum("knd,nd->kn", actions, self.theta)
        index = means + self.sigma * self.rule.bonus(widths, self.rewards) * np.sqrt(widths)
        self.actions = np.concatenate([self.actions, actions])
        self.shadows = np.concatenate([self.shadows, shadows])
        self.widths = np.concatenate([self.widths, widths])
        self.means = np.concatenate([self.means, means])
        self.index = np.concatenate([self.index, index])

    def directed(self, count: int) -> list[FloatArray]:
        """Return thetas that are optimistic about the most promising coordinates left out."""
        variances = np.einsum("nij,nij->ni", self.root, self.root)
        lower, upper = self.current.axis_reach()
        widths = variances * np.maximum(-lower, upper) ** 2
        spread = self.rule.bonus(widths, self.rewards[:, None]) * np.sqrt(variances)
        spread *= self.sigma[:, None]
        above, below = upper * (self.theta + spread), -lower * (spread - self.theta)
        promise = np.where(above >= below, above, below)
        promise = np.where(self.actions[0] != 0, -np.inf, promise)
        thetas = []
        for _ in range(count):
            axis = promise.argmax(axis=1)
            side = np.where((above >= below)[self.rows, axis], 1.0, -1.0)
            step = side * spread[self.rows, axis] / variances[self.rows, axis]
            column = np.matmul(self.root, self.root[self.rows, axis][:, :, None])[:, :, 0]
            thetas.append(self.theta + step[:, None] * column)
            promise[self.rows, axis] = -np.inf
        return thetas

    def uphill(self) -> FloatArray:
        """Return theta' = theta_hat + beta V^-1 x / ||x||_{V^-1} for every action so far.

        Its best action has no smaller theta_hat·x + beta ||x||_{V^-1}: beta ||x||_{V^-1} is the
        largest (theta - theta_hat)·x in the ellipsoid, and theta' is where it is taken.
        """
        gains = np.matmul(self.root, self.shadows[:, :, :, None])[:, :, :, 0]
        bonus = self.sigma * self.rule.bonus(self.widths, self.rewards)
        scale = bonus / np.maximum(np.sqrt(self.widths), _TINY)
        return np.asarray(self.theta + scale[:, :, None] * gains)


class FlooredThompsonRule(ThompsonRule):
    """The same with a floor of exploration that keeps the paper's rates."""

    rate: ClassVar[float] = 0.1

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._reach = PerSet(self._allowed_reach)

    def _allowed_reach(self, current: ActionSet) -> FloatArray:
        """Return the longest action along each axis; 0 where none is, or none is allowed."""
        lower, upper = current.axis_reach()
        reach = np.where(upper >= -lower, upper, lower)
        if self.oracle.is_ruled:
            ends = np.diag(reach)
            reach = reach * [self.oracle.obeyed_by(end, current) for end in ends]
        return reach

    def choose(self, current: ActionSet) -> FloatArray:
        """Play the axis known least where it is known less than the floor wants."""
        reach = self._reach(current)
        power = 0.5 if current.is_strongly_convex else 2 / 3
        floor = self.rate * (self.posterior.counts + 1.0) ** power
        doubt = self.posterior.deviations() ** 2 * reach**2
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
