"""APSEE-G, Algorithm 2: the support chosen greedily, verified by the minimum greedy gap."""

from dataclasses import dataclass
from typing import ClassVar

from sparsebandits.errors import CompositionError
from sparsebandits.policies.phased import PhasedPolicy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class APSEEG(PhasedPolicy):
    """APSEE with Greedy (`alg:adaptive_general_PEE`), for strongly convex sets.

    As APSEE, with the greedy support instead of the H largest entries, locked once the minimum
    greedy gap exceeds 2 L_X epsilon_c. alpha-regret of order d sqrt(T) up to logarithms, with
    alpha = 1 - exp(-gamma) (`thm:regret_general`); with ``oracle="exact"`` alpha is 1.

    Parameters as in `PhasedPolicy`. On a set that is not strongly convex the linear schedule has no
    guarantee and is refused unless ``insist=True``.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ellipsoid = sb.Ellipsoid([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
    >>> learner = sb.APSEEG(action_set=ellipsoid, sparsity=2, sigma=0.1).start(seed=0)
    >>> decision = learner.ask()
    >>> decision.phase, decision.cycle
    ('explore', 1)
    """

    kind: ClassVar[str] = "apsee-g"
    verifies: ClassVar[bool] = True

    oracle: str = "greedy"

    def __post_init__(self) -> None:
        super().__post_init__()
        proven = self.action_set.is_strongly_convex or self.schedule != "linear"
        if not (proven or self.insist):
            raise CompositionError(
                f"APSEEG's linear schedule is proven for strongly convex sets only, and "
                f"{self.action_set!r} is not one. Use CompactAPSEEG, APSEE where sorting is exact, "
                "or insist=True to run it all the same."
            )
