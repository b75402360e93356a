"""PEGE (Rusmevichientong & Tsitsiklis 2010) with an H-sparse oracle: explore a basis, exploit c."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.exploration import Basis, basis_from_dict, make_basis
from sparsebandits.exploration.axes import longest_ends
from sparsebandits.policies.adaptive import AdaptivePolicy
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.schedules import Schedule, lengths, make_schedule
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_integer


@dataclass(frozen=True, kw_only=True, eq=False)
class ExploringPolicy(AdaptivePolicy):
    """What policies that explore by the actions of a basis have in common.

    Parameters
    ----------
    action_set : ActionSet
    sparsity : int
        H.
    oracle : str
    basis : str, Basis or array
        Exploration actions b_1..b_d; a name of `exploration.BASES`.
    basis_seed : int
        Draws the random bases.
    """

    basis: Any = "standard"
    basis_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "basis_seed", as_integer("basis_seed", self.basis_seed, minimum=0))
        # Built now, so that parts that do not fit are refused when they are composed.
        _ = self.exploration

    @cached_property
    def exploration(self) -> Basis:
        """The basis b_1..b_d, checked against the set."""
        rng = np.random.default_rng(self.basis_seed)
        return make_basis(self.basis, self.action_set, self.sparsity, rng)

    @cached_property
    def exploration_actions(self) -> FloatArray:
        """The matrix whose row k is b_k, (dim, dim)."""
        actions = self.exploration.actions
        actions.setflags(write=False)
        return actions

    def fitting(self, current: ActionSet) -> BoolArray:
        """Return which b_k may be played on the current set, (dim,)."""
        actions = self.exploration_actions
        if current is self.action_set:
            return np.ones(actions.shape[0], dtype=np.bool_)
        usable = ~actions[:, ~current.available].any(axis=1)
        return np.asarray(usable & current.contains(actions))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `policy_from_dict` reads back."""
        return {**super().to_dict(), "basis": self.exploration.to_dict()}

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> "AdaptivePolicy":
        return super()._from_dict({**data, "basis": basis_from_dict(data["basis"])})


@dataclass(frozen=True, kw_only=True, eq=False)
class PEGE(ExploringPolicy):
    """Cycle c plays b_1..b_d, then m_c times the oracle's action for the estimate made then.

    The cycle of the paper without its gap test. With m_c = c, on strongly convex sets and without
    a sparsity constraint, the Bayes regret is of order d sqrt(T).

    Parameters
    ----------
    action_set : ActionSet
    sparsity : int
        H.
    oracle : str
    basis : str, Basis or array
        Exploration actions b_1..b_d.
    basis_seed : int
    schedule : str or function
        m_c: "linear", "sqrt", "quadratic", or a function of the cycle.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too; the original discards them.

    Notes
    -----
    Exploration actions that do not fit the set of a step stay due; if none fits, the step plays
    the oracle's action for the data so far, beside the schedule. A cycle that ends while some
    direction has no reward yet exploits nothing.

    References
    ----------
    P. Rusmevichientong and J. N. Tsitsiklis, Linearly parameterized bandits, Mathematics of
    Operations Research 35(2), 2010.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.policies.baselines.pege import PEGE
    >>> learner = PEGE(action_set=sb.LpBall(2), sparsity=1).start(seed=0)
    >>> for _ in range(3):
    ...     decision = learner.ask()
    ...     learner.tell(decision, float(decision.action @ [0.2, -1.0]))
    >>> decision.phase, decision.action
    ('exploit', array([ 0., -1.]))
    """

    kind: ClassVar[str] = "pege"

    schedule: Any = "linear"
    use_all_data: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "use_all_data", bool(self.use_all_data))
        _ = self.exploitation_steps

    @cached_property
    def exploitation_steps(self) -> Schedule:
        """m_c as a function of the cycle."""
        return make_schedule(self.schedule)

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "CycleRule":
        """Return the decision rule with one lane per generator; nothing is drawn from them."""
        return CycleRule(self, self.exploitation_steps, len(generators), self.use_all_data)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; an own schedule function cannot be saved."""
        if not isinstance(self.schedule, str):
            raise InvalidTypeError(
                "A policy with its own schedule function cannot be saved; use a named one."
            )
        return super().to_dict()


class CycleRule(Rule):
    """Explore b_1..b_d, estimate by least squares, exploit m_c steps; again and again.

    Attributes
    ----------
    cycle : (lanes,) array
        c, from 1.
    due : (lanes, dim) bool array
        Which b_k this cycle has still to play; none of them in exploitation.
    left : (lanes,) array
        Exploitation steps left.
    plan : (lanes, dim) array
        theta_hat_c, on which this cycle exploits.
    gram, response : (lanes, dim, dim) and (lanes, dim) arrays
        The sums of x x' and x y that the estimate uses.
    known : (lanes,) bool array
        Whether they determine theta.
    """

    def __init__(
        self, policy: ExploringPolicy, schedule: Schedule, lanes: int, use_all_data: bool
    ) -> None:
        dim = policy.action_set.dim
        super().__init__(lanes, dim)
        self.policy, self._schedule, self._use_all_data = policy, schedule, use_all_data
        self.cycle = np.ones(lanes, dtype=np.intp)
        self.due = np.ones((lanes, dim), dtype=np.bool_)
        self.left = np.zeros(lanes, dtype=np.intp)
        self.plan = np.zeros((lanes, dim))
        self.gram = np.zeros((lanes, dim, dim))
        self.response = np.zeros((lanes, dim))
        self.known = np.zeros(lanes, dtype=np.bool_)
        # The oracle's actions for `plan`, kept while the set stays the same.
        self._planned = np.zeros((lanes, dim))
        self._planned_set: ActionSet | None = None
        self._is_planned = np.zeros(lanes, dtype=np.bool_)

    # ------------------------------------------------------------------ choose

    def choose(self, current: ActionSet) -> FloatArray:
        """Play what is due, or exploit."""
        cycle, due, left, plan = self._closed()
        exploit = np.asarray(~due.any(axis=1))
        candidates = due & self.policy.fitting(current)
        explore = np.asarray(candidates.any(axis=1))
        arms = candidates.argmax(axis=1)[explore]
        actions = np.zeros((self.lanes, self.dim))
        actions[explore] = self.policy.exploration_actions[arms]
        if exploit.any():
            actions[exploit] = self._exploitations(plan, exploit, current)
        beside = ~explore & ~exploit
        if beside.any():
            actions[beside] = self._actions_beside(np.flatnonzero(beside), current)
        # Nothing fails from here on.
        due[explore, arms] = False
        left[exploit] -= 1
        _start_cycle(exploit & (left == 0), cycle, due)
        self.cycle, self.due, self.left, self.plan = cycle, due, left, plan
        self.exploring = explore
        return actions

    def _closed(self) -> tuple[IntArray, BoolArray, IntArray, FloatArray]:
        """Return cycle, due, left and plan after the explorations that are complete are closed."""
        cycle, due, left, plan = self.cycle, self.due, self.left, self.plan
        closing = ~due.any(axis=1) & (left == 0)
        if not closing.any():
            return cycle, due, left, plan
        cycle, due, left, plan = cycle.copy(), due.copy(), left.copy(), plan.copy()
        self._is_planned[closing] = False
        ready = np.flatnonzero(closing & self.known)
        plan[ready] = self._least_squares(ready)
        cycles, places = np.unique(cycle[ready], return_inverse=True)
        left[ready] = lengths(self._schedule, cycles)[places]
        _start_cycle(closing & (left == 0), cycle, due)
        return cycle, due, left, plan

    def _exploitations(
        self, plan: FloatArray, exploit: BoolArray, current: ActionSet
    ) -> FloatArray:
        if current is not self._planned_set:
            self._is_planned[:] = False
            self._planned_set = current
        new = exploit & ~self._is_planned
        if new.any():
            self._planned[new] = self.policy.best_actions(plan[new], current)
            self._is_planned |= new
        return self._planned[exploit]

    def _actions_beside(self, lanes: IntArray, current: ActionSet) -> FloatArray:
        """Return what lanes play whose due explorations do not fit the current set."""
        actions = np.tile(longest_way(current), (lanes.size, 1))
        known = self.known[lanes]
        if known.any():
            actions[known] = self.policy.best_actions(self._least_squares(lanes[known]), current)
        return actions

    # ------------------------------------------------------------------ learn

    def learn(
        self,
        actions: FloatArray,
        rewards: FloatArray,
        exploring: BoolArray,
        lanes: IntArray | None = None,
    ) -> None:
        """Take in one reward of each lane, or of the given distinct `lanes`."""
        if not (self._use_all_data or exploring.all()):
            kept = np.flatnonzero(exploring)
            if not kept.size:
                return
            actions, rewards = actions[kept], rewards[kept]
            lanes = kept if lanes is None else lanes[kept]
        where: Any = slice(None) if lanes is None else lanes
        self.gram[where] += actions[:, :, None] * actions[:, None, :]
        self.response[where] += actions * rewards[:, None]
        self._look(self.everyone[where])

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once."""
        self.gram[0] += actions.T @ actions
        self.response[0] += actions.T @ rewards
        self._look(self.everyone)

    def _look(self, lanes: IntArray) -> None:
        """Find out which of these lanes have come to be determined."""
        new = lanes[~self.known[lanes]]
        if new.size:
            self.known[new] = _are_invertible(self.gram[new])

    def _least_squares(self, lanes: IntArray) -> FloatArray:
        """Return V^-1 b of lanes that are known, solved with V scaled to a unit diagonal."""
        scaled, scales = _unit_diagonal(self.gram[lanes])
        right = (self.response[lanes] / scales)[:, :, None]
        return np.asarray(np.linalg.solve(scaled, right)[:, :, 0] / scales)

    # ------------------------------------------------------------------ what is known

    @property
    def estimate(self) -> FloatArray | None:
        """theta_hat of each lane from the rewards so far; nan in lanes that have none yet."""
        if not self.known.any():
            return None
        theta = np.full((self.lanes, self.dim), np.nan)
        theta[self.known] = self._least_squares(np.flatnonzero(self.known))
        return theta

    def arrays(self) -> dict[str, Any]:
        """Return the place in the cycle, its plan, and the sums."""
        names = ("cycle", "due", "left", "plan", "gram", "response", "known")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        super().restore(state)
        if self.cycle[0] < 1 or self.left[0] < 0 or (self.left[0] and self.due[0].any()):
            raise InvalidValueError(
                "state.cycle must be at least 1, and state.left non-negative, 0 while an "
                f"exploration is due; got {self.cycle[0]} and {self.left[0]}."
            )
        if self.known[0] and not _are_invertible(self.gram)[0]:
            raise InvalidValueError(
                "state.known must be 0 while state.gram is singular, got 1. Load an earlier copy."
            )
        self._is_planned[:] = False


def longest_way(current: ActionSet) -> FloatArray:
    """Return the longest way along the first axis that has one, (dim,): an action for no data."""
    ends = longest_ends(current)
    action = np.zeros(current.dim)
    axis = int(np.argmax(ends != 0))
    action[axis] = ends[axis]
    return action


def _start_cycle(over: BoolArray, cycle: IntArray, due: BoolArray) -> None:
    cycle[over] += 1
    due[over] = True


def _unit_diagonal(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return D^-1 V D^-1 of every V, (n, dim, dim), and the D that make its diagonal 1."""
    scales = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    return gram / scales[:, :, None] / scales[:, None, :], scales


def _are_invertible(gram: FloatArray) -> BoolArray:
    """Return whether each V, (n, dim, dim), is invertible up to rounding, whatever its units."""
    found = np.asarray(np.diagonal(gram, axis1=1, axis2=2).all(axis=1))
    if found.any():
        eigenvalues = np.linalg.eigvalsh(_unit_diagonal(gram[found])[0])
        rounding = 4 * gram.shape[1] * np.finfo(np.float64).eps
        found[found] = eigenvalues[:, 0] > rounding * eigenvalues[:, -1]
    return found
