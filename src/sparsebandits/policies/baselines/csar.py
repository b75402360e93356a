"""CSAR (Rejwan & Mansour 2020): accept and reject arms of a box from the sums of sets of arms."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.estimation import sigma_upper, split_delta
from sparsebandits.policies.parameters import checked, failure_probability, sigma_or_estimate
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.rule import PerSet, Rule
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_non_negative

_LAST_PHASE = 25
"""No run gets as far: phase 25 alone takes 4^24 rewards."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CSAR(Policy):
    r"""Combinatorial successive accepts and rejects: explore in phases until every arm is decided.

    Arm i is coordinate i of a box, played at its farther end e_i, so that it earns theta_i e_i; an
    action is a set of at most H arms, and only the sum of their earnings is seen. An arm is worth
    its earning at its better end, or nothing where that is negative: then it is left at 0.

    Phase p asks for sets by a Hadamard matrix of order M, the largest power of 2 with M / 2 arms
    free beside the accepted ones. The active arms are split into groups of at most M - 1; set i of
    a group is the accepted arms and those arms j with H_ij = -1, half of M. Every pair of arms is
    together as often as apart, so

        earning of j = mean reward of the sets with j - mean reward of the sets without j

    is unbiased, and its variance is 4 sigma^2 / (M R) after R rounds of each set: M / 4 times as
    precise as playing j alone, R times. (The set without any arm of the group is shared by all
    groups; while nothing is accepted it is the action 0, which earns 0 and is not played.) Each
    phase has rewards of its own and 4 times as many as the last, so that its radius

        r_p = sigma sqrt(8 log(2 n_p / delta_p) / (M R)),  delta_p = 6 delta / (pi p)^2

    about halves; n_p is the number of active arms. With k places left, an arm is accepted when its
    estimate exceeds the (k+1)-th largest by more than 2 r_p, and 0 by more than r_p; it is
    rejected when the k-th largest exceeds it by more than 2 r_p, or 0 does by more than r_p. With
    probability at least 1 - delta no decision is ever wrong.

    Nothing is exploited before all arms are decided: exploration costs regret at every step, of
    order (d / H) sigma^2 log(d / delta) / gap^2 steps. Where two arms tie at the H-th place, or an
    arm is worth exactly 0 and a place is free, that never ends unless `tolerance` is positive.

    Where the set of a step lacks every set of arms still due, the best action known is played
    (accepted arms first, then by the estimates of past phases; arms without one stay at 0).

    Parameters
    ----------
    action_set : Box
    sparsity : int
        H.
    oracle : str
        Of no effect: a box is solved by sorting.
    sigma : float or "estimate"
        By "estimate", bounded from above from the spread of repeated sets, for Gaussian noise.
    delta : float
        The probability of a wrong decision.
    tolerance : float
        When 2 r_p is no larger, the arms still active are decided by their estimates; each of the
        H places then loses at most this much per step.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> box = sb.Box(np.zeros(4), np.ones(4))
    >>> learner = sb.CSAR(action_set=box, sparsity=2, sigma=0.01).start()
    >>> theta, phase = np.array([0.9, -0.5, 0.3, 0.7]), "explore"
    >>> while phase == "explore":
    ...     decision = learner.ask()
    ...     learner.tell(decision, theta @ decision.action)
    ...     phase = decision.phase
    >>> learner.support, decision.id
    ((0, 3), 7)
    """

    kind: ClassVar[str] = "csar"
    takes_rules: ClassVar[bool] = False

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    delta: float = checked(failure_probability, 0.05)
    tolerance: float = checked(as_non_negative, 0.0)

    def check_set(self, current: ActionSet) -> None:
        """Refuse sets whose coordinates do not earn on their own."""
        super().check_set(current)
        if current.sorting is None or current.sorting.exponent != 1:
            raise CompositionError(
                f"CSAR needs a Box (or a cube), whose coordinates earn on their own; got "
                f"{current!r}. Use sb.Box(lower, upper), or LinTS for any set."
            )

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "CSARRule":
        """Return the decision rule with one lane per generator, none of which is used."""
        return CSARRule(self, len(generators))


def sylvester_patterns(order: int, arms: int) -> BoolArray:
    """Return which of `arms` arms are in each of the order - 1 sets of a group, (order - 1, arms).

    Set i and the arm in place j belong together where i & j has an odd number of ones, which is
    H_ij = -1 in Sylvester's Hadamard matrix. The places that are powers of 2 are filled first: they
    tell all sets apart.

    Examples
    --------
    >>> sylvester_patterns(4, 3).astype(int)
    array([[1, 0, 1],
           [0, 1, 1],
           [1, 1, 0]])
    """
    places = sorted(range(1, order), key=lambda j: (j & (j - 1) != 0, j))[:arms]
    odd = [[(i & j).bit_count() % 2 == 1 for j in places] for i in range(1, order)]
    return np.array(odd, dtype=np.bool_)


class CSARRule(Rule):
    """The decisions of each lane, and the rewards of the phase under way.

    Set 0 of a phase is the accepted arms alone; the sets of the groups follow. `_sets`, `_due` and
    `_rounds` follow from the decisions and the phase.
    """

    commits = True
    saved = ("accepted", "rejected", "theta", "phase", "cursor", "counts", "means", "squares")

    def __init__(self, policy: CSAR, lanes: int) -> None:
        box, dim = policy.action_set, policy.action_set.dim
        super().__init__(policy.action_set, policy.sparse_oracle, lanes)
        self.policy, self.explorations = policy, 2 * dim
        self._lower, self._upper = box.axis_reach()
        self._end = np.where(-self._lower > self._upper, self._lower, self._upper)
        self._delta, self._delta_sigma = split_delta(policy.delta, policy.sigma)
        self.accepted = np.zeros((lanes, dim), dtype=np.bool_)
        self.rejected = np.tile(self._end == 0, (lanes, 1))
        self.theta = np.zeros((lanes, dim))
        self.phase = np.ones(lanes, dtype=np.intp)
        self.cursor = np.zeros(lanes, dtype=np.intp)
        width = 2 * dim
        self.counts = np.zeros((lanes, width), dtype=np.intp)
        self.means = np.zeros((lanes, width))
        self.squares = np.zeros(lanes)
        self._sets = np.zeros((lanes, width, dim), dtype=np.bool_)
        self._due = np.zeros((lanes, width), dtype=np.bool_)
        self._rounds = np.zeros(lanes, dtype=np.intp)
        self._values = np.zeros((lanes, dim))
        self._places = np.arange(width)
        self._is_own = PerSet(partial(operator.eq, box))
        # Two rounds at least show the spread.
        first = 2 if isinstance(policy.sigma, str) else 1
        self._precision = first * self._order(int(np.count_nonzero(self._end)), policy.sparsity)
        for lane in range(lanes):
            self._plan(lane)

    # ------------------------------------------------------------------ the sets of a phase

    @staticmethod
    def _order(active: int, free: int) -> int:
        """Return M: at most half of it fits in the free places, and no more than the arms need."""
        return 1 << min(max(free, 1).bit_length(), max(active, 1).bit_length())

    def _groups(self, lane: int) -> tuple[int, list[IntArray]]:
        """Return M and the groups of active arms, as even as can be."""
        active = np.flatnonzero(~(self.accepted[lane] | self.rejected[lane]))
        free = self.policy.sparsity - int(self.accepted[lane].sum())
        order = self._order(active.size, free)
        number = -(-active.size // (order - 1))
        return order, [active[first::number] for first in range(number)]

    def _plan(self, lane: int) -> None:
        """Lay out the sets of the lane's phase."""
        order, groups = self._groups(lane)
        kept = self.accepted[lane]
        sets = self._sets[lane]
        sets[:] = kept
        for number, group in enumerate(groups):
            first = 1 + number * (order - 1)
            sets[first : first + order - 1, group] = sylvester_patterns(order, group.size)
        self._due[lane] = self._places < 1 + len(groups) * (order - 1)
        self._due[lane, 0] = kept.any() and bool(groups)
        goal = self._precision * 4 ** (int(self.phase[lane]) - 1)
        self._rounds[lane] = -(-goal // order)
        better = np.where(self.theta[lane] > 0, self._upper, self._lower)
        self._values[lane] = np.where(kept, better, self._end)
        if not groups:
            self._due[lane] = False

    # ------------------------------------------------------------------ choose and learn

    def choose(self, current: ActionSet) -> FloatArray:
        """Play the next set that is due, or the best action known."""
        waiting = self._due & (self.counts < self._rounds[:, None])
        if not self._is_own(current):
            for lane in np.flatnonzero(waiting.any(axis=1)):
                rows = np.where(self._sets[lane], self._values[lane], 0.0)
                waiting[lane] &= current.contains(rows, tolerance=0.0)
        exploring: BoolArray = np.asarray(waiting.any(axis=1))
        # The first set waiting from the cursor on, round and round.
        turns = np.where(waiting, (self._places - self.cursor[:, None]) % self._places.size, 2**31)
        chosen = turns.argmin(axis=1)
        actions = np.where(self._sets[self.everyone, chosen], self._values, 0.0)
        lanes = np.flatnonzero(~exploring)
        if lanes.size:
            actions[lanes] = self._best(lanes, current)
        self.cursor[exploring] = chosen[exploring] + 1
        self.pulls = np.where(exploring, chosen, EXPLOIT)
        return np.asarray(actions)

    def _best(self, lanes: IntArray, current: ActionSet) -> FloatArray:
        """Return the accepted arms that the set allows, and the best others in what is left."""
        assert current.sorting is not None  # `check_set`
        scores = current.sorting.scores(self.theta[lanes])
        earning = scores > 0
        tier = np.where(earning, 1 + self.accepted[lanes], 0)
        order = np.lexsort((-scores, -tier), axis=1)[:, : self.policy.sparsity]
        supports = np.where(np.take_along_axis(earning, order, axis=1), order, -1)
        return current.respond_on(self.theta[lanes], supports)[0]

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        # Rewards of sets of another phase are of no use any more.
        played = actions != 0
        whole = (actions == np.where(played, self._values[lanes], 0.0)).all(axis=1)
        useful = np.flatnonzero((pulls != EXPLOIT) & whole & self._due[lanes].any(axis=1))
        if not useful.size:
            return
        lanes, played, earned = lanes[useful], played[useful], rewards[useful]
        same = (self._sets[lanes] == played[:, None, :]).all(axis=2) & self._due[lanes]
        asked = same.any(axis=1)
        lanes, earned, places = lanes[asked], earned[asked], same.argmax(axis=1)[asked]
        self.counts[lanes, places] += 1
        before = earned - self.means[lanes, places]
        self.means[lanes, places] += before / self.counts[lanes, places]
        self.squares[lanes] += before * (earned - self.means[lanes, places])
        lacking = self._due[lanes] & (self.counts[lanes] < self._rounds[lanes, None])
        for lane in lanes[~lacking.any(axis=1)]:
            self._end_phase(int(lane))

    # ------------------------------------------------------------------ the end of a phase

    def _earnings(self, lane: int) -> FloatArray:
        """Return the estimated earning of every active arm at its end, (dim,); 0 elsewhere."""
        order, groups = self._groups(lane)
        earnings = np.zeros(self.dim)
        # Nobody accepted: set 0 is the action 0, and its mean is 0.
        base = self.means[lane, 0]
        for number, group in enumerate(groups):
            first = 1 + number * (order - 1)
            means = self.means[lane, first : first + order - 1]
            signs = np.where(sylvester_patterns(order, group.size), 1.0, -1.0)
            earnings[group] = 2 / order * ((signs * means[:, None]).sum(axis=0) - base)
        return earnings

    def _radius(self, lane: int, active: int) -> float:
        """Return r_p."""
        order, _ = self._groups(lane)
        phase = int(self.phase[lane])
        sigma = self.policy.sigma
        if isinstance(sigma, str):
            freedom = int(np.maximum(self.counts[lane] - 1, 0).sum())
            level = float(sigma_upper(self.squares[lane], freedom, self._delta_sigma, phase))
        else:
            level = sigma
        share = 6 * self._delta / (math.pi * phase) ** 2
        spread = 8 * math.log(2 * active / share) / (order * int(self._rounds[lane]))
        return level * math.sqrt(spread)

    def _end_phase(self, lane: int) -> None:
        """Accept and reject what is sure, and plan the next phase."""
        active = np.flatnonzero(~(self.accepted[lane] | self.rejected[lane]))
        radius = self._radius(lane, active.size)
        theta = self._earnings(lane)[active] / self._end[active]
        self.theta[lane, active] = theta
        up, down = theta * self._upper[active], theta * self._lower[active]
        # A side without length earns nothing: the other one tells how far below 0 the arm is.
        worth = np.maximum(
            np.where(self._upper[active] > 0, up, -np.inf),
            np.where(self._lower[active] < 0, down, -np.inf),
        )
        free = self.policy.sparsity - int(self.accepted[lane].sum())
        accept, reject = decide(worth, free, radius, self.policy.tolerance)
        self.accepted[lane, active[accept]] = True
        self.rejected[lane, active[reject]] = True
        if np.count_nonzero(accept) == free:
            self.rejected[lane] = ~self.accepted[lane]
        self.phase[lane] += 1
        self.counts[lane], self.means[lane] = 0, 0.0
        self.squares[lane], self.cursor[lane] = 0.0, 0
        self._plan(lane)

    # ------------------------------------------------------------------ what is known

    @property
    def estimate(self) -> FloatArray | None:
        """theta_hat of each lane from the last phase of each arm; nan before the first ended."""
        done = self.phase > 1
        return np.where(done[:, None], self.theta, np.nan) if done.any() else None

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the accepted arms of a lane once all are decided."""
        if self._due[lane].any():
            return None
        return tuple(int(i) for i in np.flatnonzero(self.accepted[lane]))

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned, and lay out its phase anew."""
        super().restore(state, asked)
        kept = int(self.accepted[0].sum())
        both = bool((self.accepted[0] & self.rejected[0]).any())
        phase = int(self.phase[0])
        if kept > self.policy.sparsity or both or not 1 <= phase <= _LAST_PHASE:
            raise InvalidValueError(
                f"state must have at most {self.policy.sparsity} accepted arms, none of them "
                f"rejected, and a phase in 1..{_LAST_PHASE}, got {kept} accepted and phase {phase}."
            )
        self._plan(0)
        due, missing = self._due[0], self.counts[0] < self._rounds[0]
        full = kept == self.policy.sparsity and not (self.accepted | self.rejected).all()
        idle = due.any() and not (due & missing).any()
        stray = (~due & (self.counts[0] != 0)) | ((self.counts[0] == 0) & (self.means[0] != 0))
        if full or idle or stray.any() or not self.rejected[0][self._end == 0].all():
            raise InvalidValueError(
                "state.accepted, rejected, counts and means contradict each other: a phase is "
                "under way while arms are undecided and a place is free, some of its sets lack "
                "rewards, and no others have any. Load an earlier copy."
            )


def decide(
    worth: FloatArray, free: int, radius: float, tolerance: float
) -> tuple[BoolArray, BoolArray]:
    """Say which arms are surely among the `free` best that earn, and which are surely not.

    Parameters
    ----------
    worth : (n,)
        Estimates that are all within `radius` of the truth.
    free : int
        How many places there are, at least 1.
    radius, tolerance : float

    Examples
    --------
    >>> decide(np.array([0.9, 0.5, 0.1, -0.3]), free=2, radius=0.15, tolerance=0.0)
    (array([ True,  True, False, False]), array([False, False,  True,  True]))
    """
    falling = np.sort(worth)[::-1]
    following = falling[free] if worth.size > free else -np.inf
    accept = (worth - following > 2 * radius) & (worth > radius)
    reject = worth < -radius
    if worth.size > free:
        reject |= falling[free - 1] - worth > 2 * radius
    if 2 * radius <= tolerance:
        best = np.argsort(-worth, kind="stable")[:free]
        accept = np.zeros(worth.size, dtype=np.bool_)
        accept[best] = worth[best] > 0
        reject = ~accept
    return accept, reject
