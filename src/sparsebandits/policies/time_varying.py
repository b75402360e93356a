"""APSEE-G on sets that change at every step (`subsec:time_varying_action_set`)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.estimation import ConfidenceBound, make_confidence
from sparsebandits.exploration import DiagonalBasis
from sparsebandits.exploration.diagonal import longest_ends
from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.parameters import checked, flag
from sparsebandits.policies.phased import VerifyingPolicy
from sparsebandits.validation import as_non_negative


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeVaryingAPSEEG(VerifyingPolicy):
    """Both phases take their actions from the current set X_t.

    A cycle explores d times, each time along the axis of X_t that is known least, and then exploits
    m_c times. The estimator keeps the Gram matrix V actually played. With the linear schedule an
    exploitation step is taken only if the greedy gap on the current set exceeds 2 L epsilon, where
    epsilon bounds the error of an estimate with lambda_min(V); otherwise the step explores: what is
    gained needs gaps that stay above 0, inf_t Delta_min(X_t) > 0. With the "sqrt" schedule, and
    without the gap test, nothing is verified.

    Parameters
    ----------
    action_set : ActionSet
        The set meant when `ask` names no other. L is its norm bound, or that of the current set
        if larger.
    sparsity, oracle, delta, confidence_scale, intercept
        As in `VerifyingPolicy`. With an intercept 0, where X_t has it, is explored as one more
        axis, and lambda_min(V) is that of V about the mean action.
    sigma : float
        Sub-Gaussian scale of the noise; needed by the linear schedule only.
    schedule : str or function
        "linear" if every X_t is strongly convex: d sqrt(T). "sqrt" otherwise: d T^(2/3). Your own
        function of the cycle is verified as the linear one is.
    gap_test : bool
        Whether schedules other than "sqrt" are verified. Without, d sqrt(T) while the gaps stay
        above 0, and T^(3/4) at worst (`docs/theory.md`), on any sets.
    insist : bool
        Run the verified linear schedule on sets that are not strongly convex.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.TimeVaryingAPSEEG(action_set=sb.LpBall(3), sparsity=1, schedule="sqrt")
    >>> learner = policy.start()
    >>> learner.ask(available=[1, 2]).action
    array([0., 1., 0.])
    >>> learner.ask(action_set=sb.Box([0, 0, 0], [2, 2, 2])).action
    array([2., 0., 0.])
    """

    kind: ClassVar[str] = "time-varying"

    sigma: float = checked(as_non_negative, 1.0)
    oracle: str = "greedy"
    gap_test: bool = checked(flag, True)

    @property
    def verifies(self) -> bool:
        """Whether exploitation needs the gap test: never with the "sqrt" schedule."""
        return bool(self.gap_test and self.schedule != "sqrt")

    def check_set(self, current: ActionSet) -> None:
        """Refuse a set of another dimension, or one that oracle or guarantee do not cover."""
        super().check_set(current)
        if self.verifies and not current.is_strongly_convex and not self.insist:
            raise CompositionError(
                f"The linear schedule is proven for strongly convex sets only, and {current!r} "
                "is not one. Use schedule='sqrt', or insist=True."
            )
        if not self._may_go_along_axes(current):
            raise CompositionError(
                f"{type(self).__name__} explores along axes, one coordinate at a time, which "
                f"{current!r} or the rules do not allow. Use SparseThompson, or CompactAPSEEG with "
                "oracle='exact'."
            )

    def _may_go_along_axes(self, current: ActionSet) -> bool:
        """Whether the set has axes, and the rules allow each of them on its own."""
        ends = longest_ends(current)
        if not self.sparse_oracle.is_ruled:
            return bool(ends.any())
        axes = np.diag(ends)[ends != 0]
        return bool(len(axes)) and all(self.sparse_oracle.obeyed_by(x, current) for x in axes)

    @cached_property
    def bound(self) -> ConfidenceBound:
        """The paper's bound, where V >= c I is what c standard cycles give."""
        standard = DiagonalBasis(np.ones(self.action_set.dim))
        return make_confidence("paper", standard, self.delta)

    @cached_property
    def cycle(self) -> Cycle:
        """The parts of the cycle: the axes of the current set, and every reward.

        The paper's estimator uses explorations only; with moving sets every action is kept, because
        V is tracked anyway and a passed gap test does not depend on later data.
        """
        return Cycle(
            action_set=self.action_set,
            oracle=self.sparse_oracle,
            schedule=self.exploitation_steps,
            basis=None,
            test=self.test if self.verifies else None,
            confidence="paper",
            intercept=self.intercept,
        )
