"""APSEE, Algorithm 1: the support by sorting, verified by the gap of the sorted estimate."""

from dataclasses import dataclass
from typing import ClassVar

from sparsebandits.policies.phased import PhasedPolicy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class APSEE(PhasedPolicy):
    """Adaptively Phased Sparse Exploration and Exploitation (`alg:adaptive_PEE`).

    In cycle c: play b_1..b_d; theta_hat_c by least squares over all explorations; unless the
    support is locked, lock the H largest abs(theta_hat_c) once their gap exceeds 2 epsilon_c; once
    locked, play the best response on that support c times. Regret of order d sqrt(T) up to
    logarithms on the l2 ball (`thm:regret_adaptive`).

    For the l2 ball and every set on which sorting is exact. Parameters as in `PhasedPolicy`.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.APSEE(action_set=sb.LpBall(dim=3), sparsity=1, sigma=0.1)
    >>> learner = policy.start(seed=0)
    >>> for _ in range(2000):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0, 0.1]))
    >>> learner.support, decision.phase
    ((1,), 'exploit')

    Rewards with a baseline, and one more action to explore: 0.

    >>> policy = sb.APSEE(action_set=sb.LpBall(3), sparsity=1, sigma=0.1, intercept=True)
    >>> learner = policy.start(seed=0)
    >>> for _ in range(4):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(-100 + decision.action @ [0.2, -1.0, 0.1]))
    >>> decision.action, learner.theta_hat.round(9)
    (array([0., 0., 0.]), array([ 0.2, -1. ,  0.1]))
    """

    kind: ClassVar[str] = "apsee"
    verifies: ClassVar[bool] = True

    oracle: str = "top-h"
