"""CUCB (Chen, Wang & Yuan 2013), a reference: it sees the outcome of every coordinate it plays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.policy import ReferencePolicy
from sparsebandits.policies.rule import InformedRule
from sparsebandits.validation import FloatArray, IntArray, as_non_negative


@dataclass(frozen=True, kw_only=True, eq=False)
class CUCB(ReferencePolicy):
    r"""Combinatorial upper confidence bounds: the best action for the most hopeful theta.

    After n_i outcomes of coordinate i with mean m_i, step t reckons with theta_i in
    m_i +- sigma sqrt(6 log(t) / n_i), and takes the end of it that is worth more: the upper end
    where only x_i > 0 is possible, sign(m_i) (abs(m_i) + radius) where the set is symmetric.
    Coordinates never played come first. For outcomes in [0, 1], which have sigma = 1/2, the radius
    is the published sqrt(3 log(t) / (2 n_i)).

    With h linear in theta and x in {0, 1}^d the regret is at most
    (24 sigma^2 H^2 log(T) / gap_min^2 + pi^2 / 3 + 1) d gap_max, where the gaps are those of the
    actions that are not the best.

    It is a mark to measure learners by: the others see one reward per step, this one H outcomes.
    On sets where the value of theta depends on the signs of its entries together (a correlated
    ellipsoid, a polytope) the choice of ends by coordinate need not be the most hopeful one.

    Parameters
    ----------
    action_set, sparsity, oracle
        As in `Policy`.
    sigma : float
        The noise level of an outcome.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> box = sb.Box(np.zeros(3), np.ones(3))
    >>> theta, noise = [0.2, 0.8, 0.5], sb.Gaussian(0.1)
    >>> env = sb.LinearEnvironment(action_set=box, theta_star=theta, noise=noise)
    >>> policy = sb.CUCB(action_set=box, sparsity=1, sigma=0.1)
    >>> run = sb.simulate(policy, env, horizon=500, trials=2, seed=0)
    >>> bool(run.regret[:, -1].max() < 5.0)
    True
    """

    kind: ClassVar[str] = "cucb"
    sees: ClassVar[str] = "the outcome of every coordinate that it plays"

    sigma: float = field(metadata={"check": as_non_negative})

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "CUCBRule":
        """Return the decision rule with one lane per generator, none of which is used."""
        return CUCBRule(self, len(generators))


class CUCBRule(InformedRule):
    """Counts and means of every coordinate."""

    saved: ClassVar[tuple[str, ...]] = ("counts", "means", "steps")

    def __init__(self, policy: CUCB, lanes: int) -> None:
        dim = policy.action_set.dim
        super().__init__(policy.action_set, policy.sparse_oracle, lanes)
        self._sigma = policy.sigma
        self.counts = np.zeros((lanes, dim), dtype=np.intp)
        self.means = np.zeros((lanes, dim))
        self.steps = np.zeros(lanes, dtype=np.intp)

    def choose(self, current: ActionSet) -> FloatArray:
        """Play coordinates never seen where there are any, else the most hopeful action."""
        lower, upper = current.axis_reach()
        unseen = (self.counts == 0) & current.available
        theta = self.hopeful(lower, upper)
        exploring = unseen.any(axis=1)
        if not exploring.any():
            self.pulls = np.full(self.lanes, EXPLOIT)
            return self.oracle.actions(theta, current)
        end = np.where(-lower > upper, lower, upper)
        towards = np.where(end != 0, 1 / np.where(end != 0, end, 1.0), 1.0)
        first = np.where(unseen, towards, 0.0)
        actions = self.oracle.actions(np.where(exploring[:, None], first, theta), current)
        # Some coordinates cannot be played, or not now: nobody waits for them.
        stuck = exploring & ~((actions != 0) & unseen).any(axis=1)
        if stuck.any():
            actions = actions.copy()
            actions[stuck] = self.oracle.actions(theta[stuck], current)
        self.pulls = np.where(exploring & ~stuck, 0, EXPLOIT)
        return actions

    def hopeful(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return the end of each coordinate's interval that is worth more, (lanes, dim).

        Parameters
        ----------
        lower, upper : (dim,)
            How far each axis reaches.
        """
        logs = np.log(self.steps + 1.0)[:, None]
        radius = self._sigma * np.sqrt(6 * logs / np.maximum(self.counts, 1))
        high, low = self.means + radius, self.means - radius
        downwards = (lower < 0) & ((upper <= 0) | (lower * low > upper * high))
        return np.asarray(np.where(downwards, low, high))

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        """Count the step; the reward says nothing that the outcomes do not."""
        self.steps[lanes] += 1

    def learn_items(self, actions: FloatArray, items: FloatArray) -> None:
        """Take in the outcome of every coordinate that was played."""
        played = actions != 0
        self.counts += played
        change = (items - self.means) / np.maximum(self.counts, 1)
        self.means += np.where(played, change, 0.0)

    @property
    def estimate(self) -> FloatArray:
        """The means; 0 where nothing was seen."""
        return self.means

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return sigma in each lane."""
        return np.full(self.everyone[lanes].shape, self._sigma)
