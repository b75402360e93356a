"""Epsilon-greedy with an H-sparse oracle: now and then a random basis action, else the best one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.cycle_rule import action_without_data
from sparsebandits.policies.design import Design
from sparsebandits.policies.parameters import checked, positive
from sparsebandits.policies.phased import ExploringPolicy
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.tape import Tape, uniforms
from sparsebandits.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class EpsilonGreedy(ExploringPolicy):
    """At choice t, with probability epsilon_t = min(1, c d / t^power), play a random b_k.

    b_k is uniform among the exploration actions that fit the set of the step. Otherwise the
    oracle's action for the ridge estimate from all rewards is played. Auer et al. decrease
    epsilon_t like d / t, which needs a gap; with power 1/3 the number of explorations grows like
    T^(2/3), and so does the regret on any compact set.

    Parameters
    ----------
    action_set, sparsity, oracle, basis, basis_seed
        As in `ExploringPolicy`.
    rate : float
        c. With 0.03 and d = 20, one step in 17 explores at t = 1,000 and one in 77 at 100,000. Of
        0.01, 0.03 and 0.1 it had the least regret with power 1/3 on the l2 ball and on [0, 1]^20
        (H = 5, sigma = 0.5), at T = 2,000 and at T = 20,000.
    power : float
        In (0, 1]: beyond 1 the exploration would end.
    ridge : float
        The prior counts as this many looks along each axis.
    intercept : bool
        Whether rewards have an unknown baseline: reward = b + theta·x. Nothing is believed of b
        beforehand.

    Notes
    -----
    If no b_k fits the set of a step, or nothing was learned yet where the step would exploit, the
    step does not explore: it plays the oracle's action, or the longest way along an axis, if
    that is allowed.

    References
    ----------
    P. Auer, N. Cesa-Bianchi and P. Fischer, Finite-time analysis of the multiarmed bandit problem,
    Machine Learning 47, 2002.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.EpsilonGreedy(action_set=sb.LpBall(20), sparsity=5)
    >>> [round(policy.epsilon(t), 3) for t in (1, 8, 1000, 10**6)]
    [0.6, 0.3, 0.06, 0.006]
    """

    kind: ClassVar[str] = "epsilon-greedy"

    rate: float = checked(positive, 0.03)
    power: float = checked(positive, 1 / 3)
    ridge: float = checked(positive, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power > 1:
            raise InvalidValueError(
                f"power must lie in (0, 1], got {self.power}: beyond 1 the exploration would end."
            )

    def epsilon(self, choice: int) -> float:
        """Return the probability with which choice t = 1, 2, ... explores."""
        return min(1.0, self.rate * self.action_set.dim / math.pow(choice, self.power))

    def rule(
        self, generators: Sequence[np.random.Generator], block: int = 1
    ) -> "EpsilonGreedyRule":
        """Return the decision rule with one lane per generator."""
        return EpsilonGreedyRule(self, generators, block)


class EpsilonGreedyRule(RidgeRule):
    """Two uniform draws per lane and step: whether to explore, and by which action."""

    policy: EpsilonGreedy
    saved: ClassVar[tuple[str, ...]] = ("choices",)

    def __init__(
        self, policy: EpsilonGreedy, generators: Sequence[np.random.Generator], block: int
    ) -> None:
        prior = relative_prior(policy.action_set, policy.ridge)
        design = Design(policy.action_set.dim, policy.intercept)
        super().__init__(policy, len(generators), prior, "estimate", design)
        self._rows, self.explorations = policy.exploration.actions, self.dim
        self._tape = Tape(generators, 2, block, uniforms)
        self.choices = np.zeros(self.lanes, dtype=np.intp)

    def choose(self, current: ActionSet) -> FloatArray:
        """Explore with probability epsilon_t, or exploit."""
        fitting = np.arange(self.dim)
        if current is not self.action_set:
            fitting = np.flatnonzero(self.policy.exploration.fitting(current))
        draws = self._tape.next(self.everyone)
        # Every call serves all lanes, so t is the same in each of them.
        epsilon = self.policy.epsilon(int(self.choices[0]) + 1)
        explore = (draws[:, 0] < epsilon) & bool(fitting.size)
        start = action_without_data(current, self.policy.sparse_oracle)
        actions = np.tile(start, (self.lanes, 1))
        arms = fitting[(draws[explore, 1] * fitting.size).astype(np.intp)]
        actions[explore] = self._rows[arms]
        exploit = ~explore & (self.posterior.counts > 0)
        if exploit.any():
            actions[exploit] = self.policy.best_actions(self.estimate[exploit], current)
        self.choices += 1
        self.pulls = np.full(self.lanes, EXPLOIT)
        self.pulls[explore] = arms
        return actions

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; epsilon is that of the decisions made."""
        super().restore(state, asked)
        if self.choices[0] != asked:
            raise InvalidValueError(
                f"state.choices must be the {asked} decisions before next_id, got "
                f"{self.choices[0]}."
            )
