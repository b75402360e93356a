"""The cycle of moving sets a whole phase at a time: the same choices, with few array operations."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.oracles import choose_on_each, distinct_sets
from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.cycle_rule import CycleRule, axis_ends
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.validation import BoolArray, FloatArray, IntArray


class PhaseRule(CycleRule):
    """`CycleRule` without a basis, for simulations that know the sets of the steps to come.

    Within a phase nothing that is told changes what is chosen: explorations go by what was played,
    and exploitations by the plan made when the exploration was closed. And all lanes are in the
    same phase: they play the same until theta is known, and from then on a cycle lasts d + m_c
    steps, however its gap tests end. So a phase is chosen, and learned, at once.
    """

    def __init__(self, cycle: Cycle, lanes: int) -> None:
        assert cycle.basis is None
        assert not cycle.intercept
        super().__init__(cycle, lanes)

    def start_phase(self) -> int:
        """Close what is complete, and return how many steps are left in the phase."""
        complete = ~self.due.any(axis=1) & (self.left == 0)
        if complete.any():
            assert complete.all()
            self._advance(complete)
        return int(np.count_nonzero(self.due[0]) or self.left[0])

    def choose_phase(self, sets: Sequence[ActionSet]) -> tuple[FloatArray, IntArray]:
        """Return the actions of steps of one phase, (steps, lanes, dim), and pulls, (steps, lanes).

        What `choose` would return on these sets, one after the other.
        """
        steps, different = len(sets), distinct_sets(sets)
        pulls = np.full((steps, self.lanes), EXPLOIT)
        actions = np.zeros((steps, self.lanes, self.dim))
        exploring: BoolArray = np.ones((steps, self.lanes), dtype=np.bool_)
        if self.due[0].any():
            self.due[:, np.flatnonzero(self.due[0])[:steps]] = False
        else:
            actions, exploring = self._exploit_phase(*different)
            self.left -= steps
        self._explore_phase(*different, exploring, actions, pulls)
        return actions, pulls

    def _exploit_phase(
        self, sets: list[ActionSet], places: IntArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return the best actions for the plans, and where the gap test tells to explore."""
        test = self.parts.test
        oracle = self.oracle
        best = choose_on_each(
            sets, self.plan, oracle.sparsity, oracle.method, measured=test is not None
        )
        stopped: BoolArray = np.zeros(best.gaps.shape, dtype=np.bool_)
        if test is not None:
            thresholds = np.array([self._thresholds_on(X, self.everyone) for X in sets])
            stopped = ~(best.gaps > thresholds)
        return best.actions[places], stopped[places]

    def _explore_phase(
        self,
        sets: list[ActionSet],
        places: IntArray,
        exploring: BoolArray,
        actions: FloatArray,
        pulls: IntArray,
    ) -> None:
        """Fill in the axis on which least has been played, step after step."""
        ends = np.array([X.remember("axis ends", partial(axis_ends, X)) for X in sets])
        barred = np.where(ends == 0, np.inf, 0.0)
        if exploring.all() and (self.mass == self.mass[0]).all():
            # Lanes that have explored the same go on with the same.
            axes = _axes_in_turn(self.mass[0], ends, barred, places)
            self.mass[1:] = self.mass[0]
            pulls[:] = axes[:, None]
            actions[:] = 0.0
            actions[np.arange(places.size), :, axes] = ends[places, axes][:, None]
            return
        for step in np.flatnonzero(exploring.any(axis=1)):
            lanes, place = np.flatnonzero(exploring[step]), places[step]
            axes = (self.mass[lanes] + barred[place]).argmin(axis=1)
            reach = ends[place, axes]
            self.mass[lanes, axes] += reach**2
            actions[step, lanes] = 0.0
            actions[step, lanes, axes] = reach
            pulls[step, lanes] = axes

    def learn_phase(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in what `choose_phase` returned, and its rewards, (steps, lanes)."""
        assert self.sums is not None
        self.sums.add_phase(actions, rewards)


def _axes_in_turn(
    mass: FloatArray, ends: FloatArray, barred: FloatArray, places: IntArray
) -> IntArray:
    """Return the axis on which least has been played, step after step; `mass` is kept up."""
    axes = []
    squares = ends**2
    for place in places.tolist():
        axis = int((mass + barred[place]).argmin())
        mass[axis] += squares[place, axis]
        axes.append(axis)
    return np.array(axes, dtype=np.intp)
