"""SparseThompson with a floor of exploration (`guarantee=True`)."""

from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.exploration.found_actions import spanning_actions
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.rule import PerSet
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import BoolArray, FloatArray, IntArray


class FlooredThompsonRule(ThompsonRule):
    r"""The same with a floor of exploration that keeps the paper's rates.

    Where every axis has an action (and, with a baseline, 0 is one), the axis that is known least is
    played when the variance of its coordinate exceeds sigma^2 over the floor. Where not (a budget
    that must be spent, equalities, rules that want several on), actions of the set a_1..a_m are
    found whose columns, (1, a) with a baseline, span those of all others, and the one known least
    is played when the variance of its own mean exceeds that. Each is played at most about floor(T)
    times. An action :math:`x = \sum_j c_j a_j`, with :math:`\sum_j c_j = 1` where there is a
    baseline, is then known to :math:`\|c\|_1^2 / floor(t)`: what no two actions tell apart, such as
    a baseline and a theta that is the same everywhere where all must be spent, is of no matter.
    """

    rate: ClassVar[float] = 0.1

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.explorations = self.design.size
        self._longest = PerSet(self._allowed_reach)
        self._spanning = PerSet(self._found)

    # ------------------------------------------------------------------ what may be forced

    def _allowed_reach(self, current: ActionSet) -> FloatArray:
        """Return the longest action along each axis; 0 where none is, or none is allowed."""
        lower, upper = current.axis_reach()
        reach = np.where(upper >= -lower, upper, lower)
        if self.oracle.is_ruled:
            ends = np.diag(reach)
            reach = reach * [self.oracle.obeyed_by(end, current) for end in ends]
        return reach

    def _found(self, current: ActionSet) -> FloatArray | None:
        """Return actions, (m, dim), that stand for the axes where those will not do."""
        lacking = current.available & (self._longest(current) == 0)
        is_zero_allowed = current.contains_zero and self.oracle.obeyed_by(
            np.zeros(self.dim), current
        )
        if not lacking.any() and (is_zero_allowed or not self.design.intercept):
            return None
        choice = current.choice_of(self.oracle.sparsity)
        actions = spanning_actions(
            current, choice, affine=self.design.intercept, with_zero=is_zero_allowed
        )
        if is_zero_allowed and not actions[:, lacking].any():
            return None  # what has no axis cannot be used at all
        return actions

    # ------------------------------------------------------------------ when it is

    def choose(self, current: ActionSet) -> FloatArray:
        """Play what is known least where it is known less than the floor wants."""
        pulls, replaced = self._due(current, 0)
        actions = super().choose(current)
        self.pulls = pulls
        forced = np.flatnonzero(pulls != EXPLOIT)
        if forced.size:
            actions = actions.copy()
            actions[forced] = replaced[forced]
        return actions

    def _goes_on(self, current: ActionSet) -> bool:
        """Nothing is held where the floor may ask for something else."""
        return False

    def _next_of_batch(
        self, current: ActionSet, sigma: FloatArray, place: int
    ) -> tuple[FloatArray, int]:
        pulls, replaced = self._due(current, place)
        if pulls[0] != EXPLOIT:
            return replaced, int(pulls[0])
        return super()._next_of_batch(current, sigma, place)

    def _due(self, current: ActionSet, pending: int) -> tuple[IntArray, FloatArray]:
        """Return the number of what is forced in each lane, or EXPLOIT, and the actions.

        `pending` decisions are known of beside the rewards.
        """
        power = 0.5 if current.is_strongly_convex else 2 / 3
        known = self.posterior.counts + self.told + pending
        floor = self.rate * (known + 1.0) ** power
        spanning = self._spanning(current)
        if spanning is None:
            return self._axes_due(current, floor)
        widths = self.known.belief().widths(self.design.columns(spanning)[None])
        least = widths.argmax(axis=1)
        is_due = widths[self.everyone, least] * floor > 1
        return np.where(is_due, least, EXPLOIT), spanning[least]

    def _axes_due(self, current: ActionSet, floor: FloatArray) -> tuple[IntArray, FloatArray]:
        reach = self._longest(current)
        doubt = self.known.variances()[:, self.design.base :: self.design.width] * reach**2
        axis = doubt.argmax(axis=1)
        forced = np.flatnonzero(doubt[self.everyone, axis] * floor > 1)
        pulls, actions = np.full(self.lanes, EXPLOIT), np.zeros((self.lanes, self.dim))
        if forced.size:
            pulls[forced] = axis[forced]
            along = forced[self._axis_teaches(forced, axis[forced], reach, current)]
            actions[along, axis[along]] = reach[axis[along]]
        return pulls, actions

    def _axis_teaches(
        self, lanes: IntArray, axis: IntArray, reach: FloatArray, current: ActionSet
    ) -> BoolArray:
        """Whether the end of an axis teaches more than 0, which teaches the baseline."""
        if not self.design.intercept or not current.contains_zero:
            return np.ones(lanes.size, dtype=np.bool_)
        ends = np.zeros((lanes.size, self.dim))
        ends[np.arange(lanes.size), axis] = reach[axis]
        model = self.known
        widths = model.widths(self.design.columns(ends), lanes)
        return np.asarray(widths >= model.variances(lanes)[:, 0])
