"""Phased elimination of supports: explore, strike out what cannot be best, exploit, repeat."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.estimation import sigma_upper, split_delta
from sparsebandits.policies.design import Design
from sparsebandits.policies.parameters import (
    checked,
    failure_probability,
    flag,
    positive,
    sigma_or_estimate,
)
from sparsebandits.policies.phased import ExploringPolicy
from sparsebandits.policies.played import EXPLOIT
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import PerSet, Rule
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_theta,
    describe,
    read_only,
)

LISTED_SUPPORTS = 20_000
"""Up to this many supports are told apart."""

_RIDGE = 1e-6  # the estimate that is exploited: as if each axis had once been seen a millionth
_RIDGE_AND_BASELINE = 1e-4  # beside a free column, which the first action is nearly parallel to
_ROUNDING = 1e-9  # values that differ by less, relative to the largest, tie
_FOREVER = 2**50  # a float holds it exactly, and sums of a few
_CHUNK = 2_000_000  # numbers held at once while the values of the supports are worked out


@dataclass(frozen=True, kw_only=True, eq=False)
class SupportElimination(ExploringPolicy):
    r"""Play b_1..b_d in phases of growing length; drop supports that are surely not the best.

    Phase m = 1, 2, ... plays every basis action n_m = ceil(growth^m) times, in rounds. From all
    explorations so far, with k_i rewards of action i, comes theta_hat = M^-1 (mean rewards), and
    then follow d n_m^exploit_exponent steps of exploitation (rounded up).

    The test. theta_hat_i - theta*_i = sum_k (M^-1)_ik (mean noise of action k) is sub-Gaussian
    with variance proxy sigma^2 v_i, v_i = sum_k (M^-1)_ik^2 / (rewards of k). So with probability
    at least 1 - delta, for all d coordinates and all phases at once,

        abs(theta_hat_i - theta*_i) <= e_i = sigma sqrt(2 v_i ln(2 d m (m + 1) / delta)),

    because the two tails of d coordinates in phase m get delta / (m (m + 1)) together, and these
    add up to delta. For every action x supported on S, with L the largest norm of an H-sparse
    action, abs(theta_hat·x - theta*·x) <= ||x|| ||(theta_hat - theta*)_S|| <= L ||e_S||_2 = r_S,
    and so, maxima of functions that differ by at most r_S differing by at most r_S,

        abs(h(S; theta_hat) - h(S; theta*)) <= r_S.

    A support goes if h(S; theta_hat) + r_S < h(S'; theta_hat) - r_S' for some other S'. While the
    bounds hold, h(S*; theta_hat) + r_S* >= h(S*; theta*) >= h(S'; theta*) >= h(S'; theta_hat) -
    r_S': the best support never goes. Supports whose values tie stay for ever, as all that
    contain the largest coordinate do on the l1 ball.

    Only the basis actions on which theta_hat depends on the coordinates of remaining supports are
    played on. That does not harm the bounds: an action that matters now has mattered in all phases
    before, so the number of its rewards was not chosen by looking at them.

    Exploitation plays the best response, on the remaining support of largest h(S; theta_hat), to
    the least-squares estimate from all rewards, its own included. With exponent 1.5 the cost
    of a phase's exploration, d n_m, matches that of its exploitation, d n_m^1.5 times an
    error of order n_m^-0.5, so that regret is of order T^(2/3) at worst, even if nothing can be
    dropped. Once a single support is left, exploration ends: its best response is played, and
    theta_hat goes on learning from that. On sets with corners the response soon stands still at
    the right one; on round sets an error of the size of the last phase's can stay, which
    `refine=True` avoids by going on with phases on the coordinates of that support. With H = d
    there is one support from the start, and a single phase of exploration.

    On a set other than the policy's own (items away, another X_t) the survivors say little: basis
    actions that fit there are explored as planned, and otherwise the oracle's best action for the
    estimate is played. A phase waits for items that are away, and exploits meanwhile. Where the
    rewards of a phase have not come, the next phase follows without exploitation.

    Parameters
    ----------
    action_set : ActionSet
        With at most 20,000 supports.
    sparsity : int
        H.
    oracle : str
        For sets other than the policy's own.
    sigma : float or "estimate"
        Sub-Gaussian scale of the noise. "estimate" is an upper bound that rests on Gaussian noise
        and takes half of delta: rewards of one action within one phase, about their mean.
    delta : float
        Probability with which the best support may be lost, in (0, 1).
    basis, basis_seed, intercept
        As in `ExploringPolicy`. With an intercept each round plays one action more, and M^-1 is the
        part of the inverse of (1, M) that gives theta: its rows add up to 0, so that b cancels.
    growth : float
        Above 1.
    exploit_exponent : float
        1 exploits for as long as the phase explored.
    refine : bool
        Whether phases go on when a single support is left.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.SupportElimination(action_set=sb.LpBall(3), sparsity=1, sigma=0.01)
    >>> learner = policy.start()
    >>> for _ in range(7):
    ...     decision = learner.ask()
    ...     learner.tell(decision, decision.action @ [0.2, -0.7, 0.1])
    >>> decision.action, decision.phase, learner.support
    (array([ 0., -1.,  0.]), 'exploit', (1,))
    """

    kind: ClassVar[str] = "support-elimination"
    takes_rules: ClassVar[bool] = False

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    delta: float = checked(failure_probability, 0.05)
    growth: float = checked(positive, 2.0)
    exploit_exponent: float = checked(positive, 1.5)
    refine: bool = checked(flag, False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.growth <= 1:
            raise InvalidValueError(
                f"growth must be above 1, so that phases get longer, got {self.growth}; 2 is usual."
            )
        count = math.comb(self.action_set.dim, self.sparsity)
        if count > LISTED_SUPPORTS:
            raise CompositionError(
                f"SupportElimination lists all supports, and there are {count} with dim = "
                f"{self.action_set.dim} and sparsity (H) = {self.sparsity}; it takes at most "
                f"{LISTED_SUPPORTS}. Lower the sparsity, or use LinTS, which lists none."
            )
        _ = self.explored

    @cached_property
    def supports(self) -> IntArray:
        """All supports, (n, H), in lexicographic order."""
        everything = itertools.combinations(range(self.action_set.dim), self.sparsity)
        return read_only(np.array(list(everything), dtype=np.intp))

    def values(self, theta: FloatArray, supports: IntArray) -> FloatArray:
        """h(S; theta) of the policy's set for theta, (dim,), on the rows of supports, (n,)."""
        step = max(1, _CHUNK // self.action_set.dim)
        parts = []
        for first in range(0, len(supports), step):
            rows = supports[first : first + step]
            shared = np.broadcast_to(theta, (len(rows), theta.size))
            parts.append(self.action_set.respond_on(shared, rows)[1])
        return np.concatenate(parts)

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support of H coordinates with the largest value; the first one on ties."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        best = int(self.values(known, self.supports).argmax())
        return tuple(self.supports[best].tolist())

    def rounds(self, phase: int) -> int:
        """n_m."""
        return _ceiling(math.log(self.growth) * phase, 1)

    def exploitation_steps(self, phase: int) -> int:
        """Return how many steps of exploitation follow the exploration of phase m."""
        power = math.log(self.rounds(phase)) * self.exploit_exponent
        return _ceiling(power, self.action_set.dim)

    def rule(
        self, generators: Sequence[np.random.Generator], block: int = 1
    ) -> "SupportEliminationRule":
        """Return the decision rule with one lane per generator; it draws nothing."""
        return SupportEliminationRule(self, len(generators))


def _ceiling(logarithm: float, factor: int) -> int:
    """Return factor exp(logarithm), rounded up, or a number of steps that nobody will live to see.

    What rounding put above an integer is taken off first.
    """
    if logarithm + math.log(factor) > math.log(_FOREVER):
        return _FOREVER
    return math.ceil(factor * math.exp(logarithm) * (1 - 1e-12))


_SURVIVAL = ("alive", "survivors", "phase", "target", "left", "chosen", "needed", "asked")
_REWARDS = ("told", "means", "fresh", "fresh_means", "spread", "freedom")


class SupportEliminationRule(RidgeRule):
    """The survivors of every lane, and the rewards of its basis actions.

    Attributes
    ----------
    alive : (lanes, supports) bool array
    phase : (lanes,) int array
        m, the phase whose exploration is under way, or comes after the exploitation under way.
    """

    commits = True
    saved = (*_SURVIVAL, *_REWARDS)
    least: ClassVar[Mapping[str, float]] = {"squares": 0.0, "spread": 0.0, "chosen": -1.0}

    def __init__(self, policy: SupportElimination, lanes: int) -> None:
        dim, count = policy.action_set.dim, len(policy.supports)
        ridge = _RIDGE_AND_BASELINE if policy.intercept else _RIDGE
        prior, design = relative_prior(policy.action_set, ridge), Design(dim, policy.intercept)
        super().__init__(policy, lanes, prior, policy.sigma, design)
        self._settings = policy
        self._rows, arms = policy.explored.actions, policy.explored.count
        self.explorations = arms
        self._inverse = policy.explored.estimate(np.eye(arms)).T  # M^-1
        # On which basis actions k the estimate of coordinate i depends, (i, k), beyond rounding.
        sizes = np.abs(self._inverse)
        self._matters = sizes > 1e-13 * sizes.max(axis=1, keepdims=True)
        self._norm = policy.action_set.sparse_norm_bound(policy.sparsity)
        self._targets = [0]
        self._look_at = PerSet(self._find_fitting)
        self.alive = np.ones((lanes, count), dtype=np.bool_)
        self.survivors = np.full(lanes, count)
        self.phase = np.ones(lanes, dtype=np.intp)
        self.target = np.full(lanes, self._total_rounds(1))  # plays of each action by this phase
        self.left = np.zeros(lanes, dtype=np.intp)  # steps of exploitation still to come
        self.chosen = np.full(lanes, -1)  # the support that is exploited
        self.needed = np.ones((lanes, arms), dtype=np.bool_)  # basis actions still explored
        self.asked = np.zeros((lanes, arms), dtype=np.intp)
        self.told = np.zeros((lanes, arms), dtype=np.intp)
        self.means = np.zeros((lanes, arms))  # above the anchor of a baseline
        # Within a phase, for sigma: deviations from a mean that no test has looked at yet.
        self.fresh = np.zeros((lanes, arms), dtype=np.intp)
        self.fresh_means = np.zeros((lanes, arms))
        self.spread = np.zeros(lanes)
        self.freedom = np.zeros(lanes, dtype=np.intp)

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned."""
        super().restore(state, asked)
        chosen, phase = int(self.chosen[0]), int(self.phase[0])
        in_range = -1 <= chosen < self.alive.shape[1] and 1 <= phase <= asked + 1
        if not in_range or self.survivors[0] != self.alive[0].sum() or not self.survivors[0]:
            raise InvalidValueError(
                f"state.alive, survivors, chosen and phase contradict each other: "
                f"{int(self.alive[0].sum())} supports alive, survivors = {self.survivors[0]}, "
                f"chosen = {chosen}, phase = {phase}. Load an earlier copy."
            )
        self._check_phase(phase, chosen, asked)

    def _check_phase(self, phase: int, chosen: int, asked: int) -> None:
        """Refuse what does not follow from the phase, its survivors and the explorations."""
        is_tested = chosen >= 0
        used = np.unique(self._settings.supports[self.alive[0]])
        needed = self._matters[used].any(axis=0) | (not is_tested)
        limit = self._settings.exploitation_steps(phase - 1) if is_tested else 0
        sound = {
            "target": self.target[0] == self._total_rounds(phase),
            "needed": (self.needed[0] == needed).all(),
            "chosen": not is_tested or (self.alive[0, chosen] and phase > 1),
            "left": self.left[0] <= limit,
            "asked": self.asked[0].sum() <= asked and (self.asked <= self.target[0]).all(),
            "told": (self.told <= self.asked).all(),
            "means": not self.means[self.told == 0].any(),
            "fresh_means": not self.fresh_means[self.fresh == 0].any(),
            "fresh": (self.fresh <= self.told).all(),
            "freedom": self.freedom[0] <= self.told[0].sum(),
        }
        for name, is_sound in sound.items():
            if not is_sound:
                raise InvalidValueError(
                    f"state.{name} contradicts phase {phase}, its survivors and the {asked} "
                    f"decisions made: got {describe(getattr(self, name)[0].tolist())}. Load an "
                    "earlier copy."
                )

    def _exploration(self, pull: int, action: FloatArray) -> FloatArray:
        return np.asarray(self._rows[pull])

    correct = Rule.correct  # a support that was dropped for a wrong reward does not come back

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the single support that is left in a lane; None while there are several."""
        if self.survivors[lane] > 1:
            return None
        return tuple(self._settings.supports[self.alive[lane].argmax()].tolist())

    # ------------------------------------------------------------------ choose

    def choose(self, current: ActionSet) -> FloatArray:
        """Explore the basis action that is furthest behind, or exploit the best survivor."""
        is_whole, fits = self._look_at(current)
        free = (self.left == 0) & ~self._is_settled()
        due = np.flatnonzero(free & ~self._behind().any(axis=1))
        with self._undone_on_error(self.saved if due.size else ()):
            for lane in due:
                self._test(int(lane))
            free[due] = (self.left[due] == 0) & ~self._is_settled()[due]
            candidates = self._behind() & fits
            exploring = free & candidates.any(axis=1)
            # The least often asked for; the first of equals: rounds.
            arms = np.where(candidates, self.asked, np.iinfo(np.intp).max).argmin(axis=1)
            actions = self._rows[arms]
            rest = np.flatnonzero(~exploring)
            if rest.size:
                actions[rest] = self._exploit(rest, current, is_whole)
        explorers = np.flatnonzero(exploring)
        self.asked[explorers, arms[explorers]] += 1
        self.left[rest] = np.maximum(self.left[rest] - 1, 0)
        self.pulls = np.where(exploring, arms, EXPLOIT)
        return np.asarray(actions)

    def _find_fitting(self, current: ActionSet) -> tuple[bool, BoolArray]:
        """Return whether this is the policy's own set, and which basis actions it contains."""
        whole = self._settings.action_set
        is_whole = current is whole or (current.is_unrestricted and current == whole)
        return is_whole, np.asarray(is_whole | current.contains(self._rows))

    def _is_settled(self) -> BoolArray:
        """Return which lanes are done with exploring: one support left, and a phase behind it."""
        if self._settings.refine:
            return np.zeros(self.lanes, dtype=np.bool_)
        return np.asarray((self.survivors == 1) & (self.chosen >= 0))

    def _behind(self) -> BoolArray:
        """Return which basis actions the phase of each lane has still to ask for, (lanes, dim)."""
        return np.asarray(self.needed & (self.asked < self.target[:, None]))

    def _exploit(self, lanes: IntArray, current: ActionSet, is_whole: bool) -> FloatArray:
        theta = self.design.thetas(self.posterior.theta_hat[lanes])
        actions = np.empty_like(theta)
        on_support = (self.chosen[lanes] >= 0) & is_whole
        if on_support.any():
            rows = self._settings.supports[self.chosen[lanes[on_support]]]
            actions[on_support] = current.respond_on(theta[on_support], rows)[0]
        if not on_support.all():
            actions[~on_support] = self.policy.best_actions(theta[~on_support], current)
        return actions

    # ------------------------------------------------------------------ the test

    def errors(self, lane: int) -> FloatArray:
        """Return e_i of this phase, (dim,), for the coordinates of remaining supports."""
        settings, phase = self._settings, int(self.phase[lane])
        share, spare = split_delta(settings.delta, settings.sigma)
        if isinstance(settings.sigma, str):
            sigma = float(sigma_upper(self.spread[lane], self.freedom[lane], spare))
        else:
            sigma = settings.sigma
        level = math.log(2 * self.dim * phase * (phase + 1) / share)
        squares = self._inverse**2 / np.maximum(self.told[lane], 1)
        variance = np.where(self._matters, squares, 0.0).sum(axis=1)
        return np.asarray(sigma * np.sqrt(2 * variance * level))

    def _test(self, lane: int) -> None:
        """Close the exploration of a lane's phase: strike out supports, and plan what follows."""
        settings, phase = self._settings, int(self.phase[lane])
        if self.told[lane, self.needed[lane]].min() > 0:
            theta = (self._inverse * self.means[lane]).sum(axis=1)
            places = np.flatnonzero(self.alive[lane])
            supports = settings.supports[places]
            values = settings.values(theta, supports)
            errors = self.errors(lane)[supports]
            radii = self._norm * np.sqrt((errors * errors).sum(axis=1))
            bar = (values - radii).max() - _ROUNDING * np.abs(values).max()
            kept = values + radii >= bar
            self.alive[lane, places[~kept]] = False
            self.survivors[lane] = kept.sum()
            self.chosen[lane] = places[values.argmax()]
            used = np.unique(supports[kept])
            self.needed[lane] = self._matters[used].any(axis=0)
            self.left[lane] = settings.exploitation_steps(phase)
            self.fresh[lane], self.fresh_means[lane] = 0, 0.0
        self.phase[lane] = phase + 1
        self.target[lane] = self._total_rounds(phase + 1)

    def _total_rounds(self, phase: int) -> int:
        """n_1 + ... + n_m."""
        while len(self._targets) <= phase:
            more = self._targets[-1] + self._settings.rounds(len(self._targets))
            self._targets.append(min(more, _FOREVER))
        return self._targets[phase]

    # ------------------------------------------------------------------ learn

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        super()._learn(actions, rewards, pulls, lanes)
        rewards = rewards - self.posterior.anchor[lanes]  # 0 where there is no baseline
        explored = np.flatnonzero(pulls != EXPLOIT)
        where, arms = lanes[explored], pulls[explored]
        here = (where, arms)
        self.told[here] += 1
        self.means[here] += (rewards[explored] - self.means[here]) / self.told[here]
        # Welford's step: the sum of squared deviations from the mean grows by off (y - new mean).
        off = rewards[explored] - self.fresh_means[here]
        self.fresh[here] += 1
        self.fresh_means[here] += off / self.fresh[here]
        again = self.fresh[here] > 1
        self.spread[where] += np.where(again, off * (rewards[explored] - self.fresh_means[here]), 0)
        self.freedom[where] += again

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane: for the estimate that is exploited.

        The test does not count them, because whoever logged them may have chosen by the rewards.
        """
        super().learn_many(actions, rewards)
