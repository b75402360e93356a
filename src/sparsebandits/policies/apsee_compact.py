"""The compact variant: floor(sqrt(c)) greedy steps in every cycle, nothing to verify."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sparsebandits.policies.phased import PhasedPolicy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompactAPSEEG(PhasedPolicy):
    """APSEE-G for any compact set (`app:Omitted Proofs in sec:extensions`).

    In cycle c: play b_1..b_d, estimate, then play the oracle's action on theta_hat_c floor(sqrt(c))
    times. No gap test, so no gap is needed; alpha-regret of order d T^(2/3) up to logarithms
    (`thm:regret_general_compact`). Parameters as in `PhasedPolicy`; sigma and delta are not used.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> box = sb.Box([0, 0, 0], [1, 1, 1])
    >>> learner = sb.CompactAPSEEG(action_set=box, sparsity=1).start(seed=0)
    >>> for _ in range(4):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0, 0.1]))
    >>> decision.phase, decision.action
    ('exploit', array([1., 0., 0.]))
    """

    kind: ClassVar[str] = "apsee-compact"
    verifies: ClassVar[bool] = False

    oracle: str = "greedy"
    schedule: Any = "sqrt"
