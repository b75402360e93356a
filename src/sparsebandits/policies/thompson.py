"""The recommended policy: it learns while it earns, and needs to be told nothing but X and H."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.estimation.core_ridge import FRESH
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.design import Design
from sparsebandits.policies.floored_rule import FlooredThompsonRule
from sparsebandits.policies.parameters import (
    checked,
    count,
    flag,
    per_coordinate,
    positive,
    sigma_or_estimate,
    size,
)
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray, IntArray, read_only


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseThompson(Policy):
    r"""Thompson samples, each climbed one step to optimism; the best index is played, and held.

    Anytime: no horizon, no gap, no tuning, sigma unknown. Ridge least squares on all rewards gives
    theta_hat and V, and a baseline beside them. A decision proposes the oracle's actions for
    theta_hat, for a few draws of N(theta_hat, sigma^2 V^-1), and for the parameter most optimistic
    about the most promising coordinate outside the support of the first; moves the two best one
    step uphill on the index

        theta_hat·x + sigma ||x||_{V^-1} sqrt(g log(e + t ||x||^2_{V^-1} / 2));

    and plays the best of all. On flat sets (boxes, budgets, polytopes) the scale of the prior is
    learned from the rewards; on round ones (strongly convex) g grows with how much coordinates
    differ, and an action is sought that tells the best from what is known at less cost. g, t and
    what else differs between kinds of sets stand in `policies/recipe.py`, where they come from in
    `docs/regret.md`. A decision is kept for as many steps as add 2% to what is known along it, at
    most 2% of all rewards, so oracle calls become rare; it is made anew at once when another set is
    asked about, logs or rewards of other actions come in, or its action teaches nothing.

    Beyond 128 coordinates (and 4 H + 16) only those that were looked at are kept, at most 512, and
    a gate decides when fresh ones are worth it: a step costs the same at d = 10^3 and at 10^6. What
    is exact: the posterior of the coordinates kept, since the others are their prior and
    independent of them; and setting one aside, unless it comes back. Then its own information and
    what it had in common with the others are lost (`tests/estimation/test_core_ridge.py` measures
    it). What is not: coordinates never looked at cannot be chosen, and draws of more than 128
    columns are independent between decisions only where the decision is made.

    What may be claimed. The regret was measured (`docs/regret.md`), not proven. Thompson sampling
    has a proven frequentist bound, of order d^(3/2) sqrt(T) up to logarithms, if the draws are
    widened to v ~ sqrt(d log t) posterior deviations (Agrawal & Goyal 2013, Abeille & Lazaric 2017)
    and the oracle is exact. LinTS with ``scale`` of that size is the proven one; `docs/regret.md`
    has its measured price. With a greedy or swap oracle no bound is known, and one can fail:
    sampling relies on the best action of a draw being played when that draw comes up.

    ``guarantee=True`` keeps the paper's powers of T by a floor instead, with sigma still unknown.
    Some actions stand for all, x = sum_j c_j a_j: the ends of the axes where these are allowed,
    else actions found in the set, as where all must be spent or rules want several on. One that is
    known less well than floor(t) = 0.1 sqrt(t) pulls would tell (0.1 t^(2/3) where X is not
    strongly convex) is played, in a batch too: O(d floor(T)) steps. In all others two actions are
    told apart to 2 C / sqrt(floor(t)), C the largest ||c||_1 (`docs/theory.md`). The data are
    adaptive, so that the error is bounded by ||theta_hat - theta*||_V = O(sqrt(d log t)) alone.
    With an exact oracle regret is of the order of the error: C sqrt(d) T^(2/3) up to logarithms, on
    every compact set, with any rules, as in Theorem 3. Where responses are Lipschitz, and the
    support is right after finitely many steps, it is of the order of its square: d^2 sqrt(T), a
    factor d above Theorems 1 and 2, whose design is fixed in advance.

    Parameters
    ----------
    action_set, sparsity, oracle
        As in `Policy`.
    sigma : float or "estimate"
        The noise level; estimated unless given. One that is given is the least that is reckoned
        with: rewards that it does not explain count as more.
    guarantee : bool
        Keep the floor of exploration described above.
    intercept : bool
        Whether rewards have an unknown baseline: reward = b + theta·x. Nothing is believed of b
        beforehand, and it does not count in H. On unless switched off.
    context : int
        How many numbers are seen before each decision, and given by ``ask(context=z)``: then
        reward = (1, z)·b + x' Theta (1, z), and the oracle is asked about theta_t = Theta (1, z).
        `theta_hat` and certificates are of z = 0.
    half_life : float, optional
        After so many decisions a reward counts half, so that a theta* that changes is followed.
    horizon : int, optional
        T, where it is known how many decisions there will be: then it explores for what is left.
    prior_mean, prior_scale : float or (dim,) array
        What popularity, logs or an earlier campaign say of theta: its mean, 0 unless given, and
        its deviation, learned or vague unless given. Among very many coordinates those that
        promise most are looked at first.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5).start(seed=0)
    >>> decision = learner.ask()
    >>> int((decision.action != 0).sum())
    5
    >>> learner.tell(decision, 0.7)

    A constant in every reward is not taken for theta:

    >>> policy = sb.SparseThompson(action_set=sb.LpBall(3), sparsity=1)
    >>> learner = policy.start(seed=0)
    >>> learner.warm_start([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [100, 100, 101, 100])
    >>> learner.theta_hat.round(1)
    array([-0.1,  0.8, -0.1])

    What is seen before a decision is kept with it, however late its reward comes:

    >>> learner = sb.SparseThompson(action_set=sb.LpBall(3), sparsity=1, context=2).start(seed=0)
    >>> decision = learner.ask(context=[0.5, -1.0])
    >>> learner.tell(decision, 0.7)

    Where theta* may change, what was learned fades, and certificates say so:

    >>> learner = sb.SparseThompson(action_set=sb.LpBall(3), sparsity=1, half_life=500).start(0)
    >>> print(learner.certificate().warning[:45])
    Rewards fade with a half-life of 500 decision
    """

    kind: ClassVar[str] = "sparse-thompson"

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    guarantee: bool = checked(flag, False)
    intercept: bool = checked(flag, True)
    context: int = checked(size, 0)
    half_life: float | None = checked(positive, None)
    horizon: int | None = checked(count, None)
    prior_mean: float | FloatArray = checked(per_coordinate, 0.0)  # noqa: RUF009
    prior_scale: float | FloatArray | None = checked(per_coordinate, None)  # noqa: RUF009

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.guarantee and (self.context or self.half_life is not None):
            raise CompositionError(
                "guarantee=True is for one theta: without a context, and without forgetting."
            )
        for name in ("prior_mean", "prior_scale"):
            given = getattr(self, name)
            if np.ndim(given) and given.size != self.action_set.dim:
                raise InvalidValueError(
                    f"{name} must be a number or {self.action_set.dim}, one per coordinate, got "
                    f"{given.size}."
                )
        if self.prior_scale is not None and np.min(self.prior_scale) <= 0:
            raise InvalidValueError(
                f"prior_scale must be positive, got {np.min(self.prior_scale):g}."
            )

    @property
    def is_gated(self) -> bool:
        """Whether there are so many coordinates that not all of them are looked at."""
        X, H = self.action_set, self.sparsity
        may_be = not self.guarantee and isinstance(H, int) and X.is_convex and X.contains_zero
        return may_be and X.dim > max(4 * H + 16, FRESH)

    @cached_property
    def design(self) -> Design:
        """The columns of the regression."""
        centre = self._of_each(self.prior_mean) if np.any(self.prior_mean) else None
        return Design(self.action_set.dim, self.intercept, self.context, centre)

    @cached_property
    def _order(self) -> IntArray | None:
        """The coordinates by what they are believed to earn, the best first; None if all alike.

        Kept: of very many, sorting takes longer than the decisions of a short life.
        """
        centre = self.design.centre
        if centre is None or np.ptp(centre) == 0:
            return None
        lower, upper = self.action_set.axis_reach()
        return read_only(np.argsort(-np.maximum(centre * upper, centre * lower), kind="stable"))

    @cached_property
    def _scale(self) -> FloatArray | None:
        """The deviation that is believed of each coordinate, (dim,)."""
        return None if self.prior_scale is None else self._of_each(self.prior_scale)

    def _of_each(self, given: float | FloatArray) -> FloatArray:
        """Return an entry per coordinate, (dim,).

        A whole array: sums over a broadcast one have other last bits than over its copies.
        """
        return read_only(np.full(self.action_set.dim, given))

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        """Return the decision rule with one lane per generator."""
        find = Recipe.among_many if self.is_gated else Recipe.on
        recipe = find(self.action_set, self.sparsity).told(self.horizon)
        recipe = replace(recipe, half_life=self.half_life)
        if self.prior_scale is not None:
            recipe = replace(recipe, prior_scale=self._scale, evidence=False)
        if self.is_gated:
            return CoreRule(self, generators, recipe, self.design, self.sigma, self._order)
        kind = FlooredThompsonRule if self.guarantee else ThompsonRule
        return kind(self, generators, block, recipe, self.design, self.sigma)
