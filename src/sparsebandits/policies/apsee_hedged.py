"""APSEE that earns while it waits: floor(sqrt(c)) steps until the lock, c after it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sparsebandits.policies.parameters import checked, flag
from sparsebandits.policies.phased import PhasedPolicy
from sparsebandits.policies.schedules import Schedule, make_schedule


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HedgedAPSEE(PhasedPolicy):
    """The paper's two guarantees in one policy; not in the paper.

    In cycle c: explore, estimate, and test the gap as APSEE does. Until the support is locked, play
    the oracle's action for theta_hat_c floor(sqrt(c)) times, as the compact variant does; once it
    is locked, play the best response on it c times, and explore only what it depends on. On
    strongly convex sets, with an oracle that is exact, with probability 1 - delta the regret is of
    order d T^(2/3) whatever the gap, and d C_0 + H sqrt(T) where the gap test passes in cycle C_0
    (`docs/theory.md`). APSEE has no such guarantee before C_0: its regret is linear until then.

    Parameters
    ----------
    waiting : str or function
        m_c until the support is locked. "sqrt" has the guarantee above; with "linear" the gap test
        decides only what is explored, and the regret is of order T^(3/4) at worst, and d sqrt(T) on
        average over theta* whose gap has a bounded density.
    oracle : str
        "top-h" is for sets on which sorting is exact, "exact" and "greedy" are for all others.

    The others are as in `PhasedPolicy`.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.HedgedAPSEE(action_set=sb.LpBall(dim=3), sparsity=1, sigma=0.1)
    >>> learner = policy.start(seed=0)
    >>> for _ in range(4):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0, 0.1]))
    >>> decision.phase, learner.support
    ('exploit', None)
    """

    kind: ClassVar[str] = "apsee-hedged"
    verifies: ClassVar[bool] = True

    oracle: str = "top-h"
    confidence: Any = "pairwise"
    explore_locked_only: bool = checked(flag, True)
    waiting: Any = "sqrt"

    def __post_init__(self) -> None:
        super().__post_init__()
        # Built now, so that an unknown name is refused when the policy is made.
        _ = self.steps_while_waiting

    @cached_property
    def steps_while_waiting(self) -> Schedule:
        """m_c until the support is locked."""
        return make_schedule(self.waiting)
