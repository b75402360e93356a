"""PEGE (Rusmevichientong & Tsitsiklis 2010) with an H-sparse oracle: explore a basis, exploit c."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.parameters import checked, flag
from sparsebandits.policies.phased import CyclePolicy, ExploringPolicy
from sparsebandits.policies.schedules import Schedule, make_schedule


@dataclass(frozen=True, kw_only=True, eq=False)
class PEGE(CyclePolicy, ExploringPolicy):
    """Cycle c plays b_1..b_d, then m_c times the oracle's action for the estimate made then.

    The cycle of the paper without its gap test. With m_c = c, on strongly convex sets and without
    a sparsity constraint, the Bayes regret is of order d sqrt(T).

    Parameters
    ----------
    action_set, sparsity, oracle, intercept, basis, basis_seed
        As in `ExploringPolicy`.
    schedule : str or function
        m_c: "linear", "sqrt", "quadratic", or a function of the cycle.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too; the original discards them.

    References
    ----------
    P. Rusmevichientong and J. N. Tsitsiklis, Linearly parameterized bandits, Mathematics of
    Operations Research 35(2), 2010.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.PEGE(action_set=sb.LpBall(2), sparsity=1).start(seed=0)
    >>> for _ in range(3):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0]))
    >>> decision.phase, decision.action
    ('exploit', array([ 0., -1.]))
    """

    kind: ClassVar[str] = "pege"

    schedule: Any = "linear"
    use_all_data: bool = checked(flag, False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.exploitation_steps, self.explored

    @cached_property
    def exploitation_steps(self) -> Schedule:
        """m_c as a function of the cycle."""
        return make_schedule(self.schedule)

    @cached_property
    def cycle(self) -> Cycle:
        """The parts of the cycle: no gap test."""
        return Cycle(
            action_set=self.action_set,
            oracle=self.sparse_oracle,
            schedule=self.exploitation_steps,
            basis=self.explored,
            use_all_data=self.use_all_data,
            intercept=self.intercept,
        )
