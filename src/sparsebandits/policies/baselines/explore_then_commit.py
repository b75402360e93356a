"""Explore-then-commit with an H-sparse oracle: T^(2/3) steps of a basis, then one action."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.parameters import checked, count
from sparsebandits.policies.phased import CyclePolicy, ExploringPolicy

FOREVER = 2**53
"""More steps than are ever taken; it and all smaller counts survive JSON as floats."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExploreThenCommit(CyclePolicy, ExploringPolicy):
    """Play rounds of b_1..b_d, then for ever the oracle's action for the estimate made then.

    The exploration takes ceil(T^(2/3)) steps, rounded up to whole rounds, which balances what it
    costs with what the error of the estimate costs afterwards: regret of order T^(2/3) on any
    compact set.

    Parameters
    ----------
    action_set, sparsity, oracle, intercept, basis, basis_seed
        As in `ExploringPolicy`.
    horizon : int
        T; it may be exceeded.
    exploration_steps : int, optional
        In place of ceil(T^(2/3)), rounded up in the same way.

    Notes
    -----
    The commitment uses the rewards that have come by then. Later ones of the exploration still
    enter `theta_hat`, and do not change the commitment. While some direction has no reward at all,
    another round is explored.

    References
    ----------
    T. Lattimore and C. Szepesvari, Bandit Algorithms, chapter 6, Cambridge University Press, 2020.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.ExploreThenCommit(action_set=sb.LpBall(3), sparsity=1, horizon=100)
    >>> policy.rounds
    8
    >>> learner = policy.start(seed=0)
    >>> for _ in range(25):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0, 0.5]))
    >>> decision.phase, learner.support
    ('exploit', (1,))
    """

    kind: ClassVar[str] = "explore-then-commit"

    horizon: int = field(metadata={"check": count})
    exploration_steps: int | None = checked(count, None)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.explored

    @cached_property
    def rounds(self) -> int:
        """How often each b_k is explored."""
        steps = self.exploration_steps or two_thirds_power(self.horizon)
        return -(-steps // self.explored.count)

    def exploitation_steps(self, cycle: int) -> int:
        """Return m_c: nothing until the last round, and then for ever."""
        return 0 if cycle < self.rounds else FOREVER

    @cached_property
    def cycle(self) -> Cycle:
        """The parts of the cycle: one exploitation that never ends."""
        return Cycle(
            action_set=self.action_set,
            oracle=self.sparse_oracle,
            schedule=self.exploitation_steps,
            basis=self.explored,
            forever=True,
            intercept=self.intercept,
        )


def two_thirds_power(horizon: int) -> int:
    """Return ceil(horizon^(2/3)), exactly: the least n with n^3 >= horizon^2.

    Examples
    --------
    >>> [two_thirds_power(T) for T in (1, 2, 8, 9, 1000, 10**15)]
    [1, 2, 4, 5, 100, 10000000000]
    """
    root = round(math.pow(horizon, 2 / 3))
    square = horizon * horizon
    while root * root * root >= square:
        root -= 1
    while root * root * root < square:
        root += 1
    return root
