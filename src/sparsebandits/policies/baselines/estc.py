"""ESTC (Hao, Lattimore & Wang 2020): explore the sparsity, then commit to the Lasso's action."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import GramLanes
from sparsebandits.estimation.lasso import published_lasso, scaled_lasso
from sparsebandits.policies.parameters import checked, count, positive, sigma_or_estimate
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.saved_arrays import check_sums
from sparsebandits.policies.tape import Tape, uniforms
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_sparsity


@dataclass(frozen=True, kw_only=True, eq=False)
class ESTC(Policy):
    r"""Explore until n_1 rewards are known, fit the Lasso once, play its best action for ever.

    For theta* with few non-zeros and d large: n_1 may be far below d, where least squares does not
    exist. The regret is O(T^(2/3)) whatever the gap, and no later reward mends a wrong commitment.

    An exploration is the oracle's action for a random direction: independent random signs, and
    sizes uniform in [1, 2) in units of each axis' reach, so that a random support of size H is
    played with entries that are nearly equal in size. On an lp ball the second moments of the
    actions are isotropic, E x x' = (E ||x||^2 / d) I, which no design with actions of that length
    exceeds; on a box with lower = 0 and H << d they are those of random subsets of size H, whose
    smallest eigenvalue is H (d - H) / (d (d - 1)) for sides of 1.

    The Lasso minimises ||y - X theta||^2 / n + lambda sum_j sqrt(mean x_j^2) abs(theta_j) with the
    paper's lambda = 4 sigma sqrt(log(d) / n). The paper's actions have entries up to 1; columns of
    H-sparse actions are far shorter, hence the factor sqrt(mean x_j^2).

    Rewards that come after the commitment, from explorations asked for before it, refine the
    estimate; those of exploitations are not used.

    Parameters
    ----------
    action_set, sparsity, oracle
        As in `Policy`.
    horizon : int, optional
        T; n_1 = ceil(constant (s^2 log(2 d))^(1/3) T^(2/3)), and at most T.
    exploration_steps : int, optional
        n_1 itself. Give either this or `horizon`.
    theta_sparsity : int, optional
        s, how many non-zeros theta* is thought to have; H if left out. Only n_1 depends on it.
    constant : float
        In the paper it is (2 / (R_max C_min)^2)^(1/3) for unit noise, with R_max the largest mean
        reward and C_min the smallest eigenvalue of E x x', which a learner does not know in full.
    sigma : float or "estimate"
        By "estimate", of the scaled Lasso.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> learner = sb.ESTC(action_set=sb.LpBall(50), sparsity=4, exploration_steps=40).start(seed=0)
    >>> theta = np.zeros(50)
    >>> theta[[7, 20]] = 1.0
    >>> for _ in range(40):
    ...     decision = learner.ask()
    ...     learner.tell(decision, theta @ decision.action)
    >>> decision.phase, learner.ask().phase, learner.support
    ('explore', 'exploit', (7, 20))
    """

    kind: ClassVar[str] = "estc"

    horizon: int | None = checked(count, None)
    exploration_steps: int | None = checked(count, None)
    theta_sparsity: int | None = checked(count, None)
    constant: float = checked(positive, 1.0)
    sigma: float | str = checked(sigma_or_estimate, "estimate")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.horizon is None) == (self.exploration_steps is None):
            raise InvalidValueError(
                f"ESTC needs either horizon or exploration_steps, got {self.horizon} and "
                f"{self.exploration_steps}; give horizon=T for the published exploration of order "
                "T^(2/3), or exploration_steps for a number of your own."
            )
        if self.theta_sparsity is not None:
            as_sparsity(self.theta_sparsity, self.action_set.dim)

    @property
    def explorations(self) -> int:
        """n_1."""
        if self.exploration_steps is not None:
            return self.exploration_steps
        horizon = self.horizon or 1
        nonzeros = self.theta_sparsity or operator.index(self.sparsity)
        rate: float = nonzeros**2 * math.log(2 * self.action_set.dim) * horizon**2
        return min(horizon, math.ceil(self.constant * math.cbrt(rate)))

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "ESTCRule":
        """Return the decision rule with one lane per generator."""
        return ESTCRule(self, generators, block)


class ESTCRule(Rule):
    """Sums of the explorations, and the Lasso on them once there are n_1."""

    commits = True

    def __init__(self, policy: ESTC, generators: Sequence[np.random.Generator], block: int) -> None:
        lanes, dim = len(generators), policy.action_set.dim
        super().__init__(policy.action_set, policy.sparse_oracle, lanes)
        self._sigma, self._explorations = policy.sigma, policy.explorations
        lower, upper = policy.action_set.axis_reach()
        reach = np.maximum(-lower, upper)
        self._unit = 1 / np.where(reach > 0, reach, 1.0)
        self._tape = Tape(generators, dim, block, uniforms)
        self.sums = GramLanes(lanes, dim)
        self.theta = np.zeros((lanes, dim))
        self.sigma = np.zeros(lanes)
        self._settled: tuple[ActionSet, FloatArray] | None = None

    @property
    def _is_committed(self) -> BoolArray:
        return np.asarray(self.sums.counts >= self._explorations)

    def choose(self, current: ActionSet) -> FloatArray:
        """Explore where fewer than n_1 rewards are known; play the commitment elsewhere."""
        committed = self._is_committed
        if committed.all():
            if self._settled is None or self._settled[0] is not current:
                self._settled = (current, self.oracle.actions(self.theta, current))
            self.pulls = np.full(self.lanes, EXPLOIT)
            return self._settled[1]
        theta = self.theta.copy()
        lanes = np.flatnonzero(~committed)
        centred = 2 * self._tape.next(lanes) - 1
        # A draw of 0.5 is neither sign: it counts as positive.
        theta[lanes] = (centred + np.where(centred < 0, -1.0, 1.0)) * self._unit
        actions = self.oracle.actions(theta, current)
        self.pulls = np.where(committed, EXPLOIT, 0)
        return actions

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        explored = pulls != EXPLOIT
        if not explored.any():
            return
        self.sums.add(actions[explored], rewards[explored], lanes[explored])
        self._commit(lanes[explored])

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once, as explorations."""
        self.sums.add_many(actions, rewards)
        self._commit(self.everyone)

    def _commit(self, lanes: IntArray) -> None:
        """Fit those of these lanes that know enough."""
        lanes = lanes[self._is_committed[lanes]]
        if not lanes.size:
            return
        gram, response = self.sums.gram(lanes), self.sums.response(lanes)
        counts = self.sums.counts[lanes].astype(float)
        if isinstance(self._sigma, str):
            squares = self.sums.reward_squares(lanes)
            self.theta[lanes], self.sigma[lanes] = scaled_lasso(gram, response, squares, counts)
        else:
            self.sigma[lanes] = self._sigma
            self.theta[lanes] = published_lasso(gram, response, counts, self.sigma[lanes])
        self._settled = None

    @property
    def estimate(self) -> FloatArray | None:
        """The Lasso of each lane; nan in lanes that have not committed."""
        done = self._is_committed
        return np.where(done[:, None], self.theta, np.nan) if done.any() else None

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the sigma behind the penalty; nan before the commitment."""
        return np.asarray(np.where(self._is_committed[lanes], self.sigma[lanes], np.nan))

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the support that a lane has committed to; None while it explores."""
        if not self._is_committed[lane]:
            return None
        return self.oracle.solve(self.theta[lane], self.action_set).support

    def arrays(self) -> dict[str, Any]:
        """Return the sums; the fit follows from them."""
        return {name: getattr(self.sums, name) for name in ("moments", "lost", "counts")}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned, and fit it."""
        super().restore(state, asked)
        check_sums(self.sums)
        self.sums.look()
        self._commit(self.everyone)
