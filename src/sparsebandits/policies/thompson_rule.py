"""How SparseThompson decides, for many lanes at once."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.learner import Policy
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import EXPLOIT, Tape, normals
from sparsebandits.validation import FloatArray, IntArray

_TINY = 1e-300


class ThompsonRule(RidgeRule):
    """Propose, climb, take the best index, hold.

    A decision is kept as the theta whose best action it is, so that it can be played on the set of
    any step. The constants were chosen in `benchmarks/ideas.py`.
    """

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
        # Without any noise the posterior of a known sigma = 0 would have no width to explore.
        known = sigma if sigma != 0 else "estimate"
        super().__init__(policy, lanes, relative_prior(policy.action_set, self.ridge), known)
        self.explorations = dim
        self._tape = Tape(generators, dim * self.samples, block, normals)
        self.held = np.zeros((lanes, dim))
        self.left = np.zeros(lanes, dtype=np.intp)
        self._current: ActionSet | None = None
        self._actions = np.zeros((lanes, dim))

    def arrays(self) -> dict[str, Any]:
        """Return the regression's arrays, and the decision that is held."""
        return {**super().arrays(), "held": self.held, "left": self.left}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned."""
        super().restore(state, asked)
        self._current = None

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the held action of each lane, decided anew where its time is over."""
        due = np.flatnonzero(self.left == 0)
        held, left, actions = self.held, self.left - 1, self._actions
        if current is not self._current:
            actions = np.empty_like(actions)
            stay = np.flatnonzero(self.left)
            if stay.size:
                actions[stay] = self.policy.best_actions(held[stay], current)
        if due.size:
            thetas, chosen, widths = self.decide(due, current)
            held, actions = held.copy(), actions.copy()
            held[due], actions[due] = thetas, chosen
            left[due] = np.clip(self.hold / np.maximum(widths, _TINY), 1, 1e9).astype(np.intp) - 1
        self.held, self.left, self._actions, self._current = held, left, actions, current
        return actions

    # ------------------------------------------------------------------ one decision

    def decide(
        self, lanes: IntArray, current: ActionSet
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return theta, its best action, and that action's variance for unit noise."""
        scene = self.scene(lanes, current)
        scene.propose(self.proposals(scene))
        scene.propose(scene.uphill())
        best = scene.index.argmax(axis=0), scene.rows
        return scene.thetas[best], scene.actions[best], scene.widths[best]

    def scene(self, lanes: IntArray, current: ActionSet) -> "Scene":
        """Return the first proposal for these lanes: the best action for the estimate."""
        return Scene(self, lanes, current)

    def proposals(self, scene: "Scene") -> FloatArray:
        """Return thetas to start from beside the estimate, (proposals, lanes, dim)."""
        found = []
        shape = (scene.lanes.size, self.samples, self.dim)
        drawn = self._tape.next(scene.lanes).reshape(shape)
        for z in np.swapaxes(drawn, 0, 1):
            noise = np.matmul(scene.root, z[:, :, None])[:, :, 0]
            found.append(scene.theta + (self.scale * scene.sigma)[:, None] * noise)
        found.extend(scene.directed(self.directed))
        return np.array(found).reshape(-1, scene.lanes.size, self.dim)

    def bonus(self, widths: FloatArray, rewards: FloatArray) -> FloatArray:
        """How many deviations the index lies above the mean, for x' V^-1 x = `widths`."""
        return np.asarray(np.sqrt(self.growth * np.log(np.e + self.share * rewards * widths)))


class Scene:
    """The proposals for the decisions of some lanes; arrays are (proposals, lanes, ...)."""

    def __init__(self, rule: ThompsonRule, lanes: IntArray, current: ActionSet) -> None:
        self.rule, self.lanes, self.current = rule, lanes, current
        self.root, self.theta = rule.posterior.root[lanes], rule.posterior.theta_hat[lanes]
        self.sigma: FloatArray = rule.noise_scale(lanes)
        # No reward but 0 so far: theta_hat is 0 and any scale gives the same actions.
        self.sigma[self.sigma == 0] = 1.0
        self.rewards: FloatArray = np.asarray(rule.posterior.counts[lanes] + 1.0, dtype=np.float64)
        self.rows = np.arange(lanes.size)
        shape = (0, *self.theta.shape)
        self.thetas, self.actions, self.shadows = np.empty(shape), np.empty(shape), np.empty(shape)
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
        self.thetas = np.concatenate([self.thetas, thetas])
        self.actions = np.concatenate([self.actions, actions])
        self.shadows = np.concatenate([self.shadows, shadows])
        self.widths = np.concatenate([self.widths, widths])
        self.means = np.concatenate([self.means, means])
        self.index = np.concatenate([self.index, index])

    def directed(self, count: int) -> list[FloatArray]:
        """Return thetas that are optimistic about the most promising coordinates left out."""
        if not count:
            return []
        variances = np.einsum("nij,nij->ni", self.root, self.root)
        lower, upper = self.current.axis_reach()
        widths = variances * np.maximum(-lower, upper) ** 2
        spread = self.rule.bonus(widths, self.rewards[:, None]) * np.sqrt(variances)
        spread *= self.sigma[:, None]
        above, below = upper * (self.theta + spread), -lower * (spread - self.theta)
        promise = np.where(above >= below, above, below)
        promise = np.where(self.actions[0] != 0, -np.inf, promise)
        found = []
        for _ in range(count):
            axis = promise.argmax(axis=1)
            side = np.where((above >= below)[self.rows, axis], 1.0, -1.0)
            step = side * spread[self.rows, axis] / variances[self.rows, axis]
            column = np.matmul(self.root, self.root[self.rows, axis][:, :, None])[:, :, 0]
            found.append(self.theta + step[:, None] * column)
            promise[self.rows, axis] = -np.inf
        return found

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

    def choose(self, current: ActionSet) -> FloatArray:
        """Play the axis known least where it is known less than the floor wants."""
        lower, upper = current.axis_reach()
        reach = np.where(upper >= -lower, upper, lower)
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
