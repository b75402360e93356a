"""The recommended policy: it learns while it earns, and needs to be told nothing but X and H."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebandits.errors import CompositionError
from sparsebandits.estimation.core_ridge import FRESH
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.design import Design
from sparsebandits.policies.learner import Policy
from sparsebandits.policies.parameters import checked, flag, positive, sigma_or_estimate, size
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.thompson_rule import FlooredThompsonRule, ThompsonRule


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseThompson(Policy):
    r"""Thompson samples, each climbed one step to optimism; the best index is played, and held.

    Anytime: no horizon, no gap, no tuning, sigma unknown. Ridge least squares on all rewards gives
    theta_hat and V. A decision proposes the oracle's actions for theta_hat, for three draws of
    N(theta_hat, sigma^2 V^-1), and for the parameter most optimistic about the most promising
    coordinate outside the support of the first; moves each one step uphill on the index

        theta_hat·x + sigma ||x||_{V^-1} sqrt(1.1 log(e + t ||x||^2_{V^-1} / 2));

    and plays the best of all. A decision is kept for as many steps as add 0.3% to what is known
    along it, at most 0.3% of all rewards, so oracle calls become rare; it is made anew at once when
    another set is asked about, logs or rewards of other actions come in, or its action teaches
    nothing.

    What may be claimed. The regret was measured (`docs/regret.md`), not proven. Thompson sampling
    has a proven frequentist bound, of order d^(3/2) sqrt(T) up to logarithms, if the draws are
    widened to v ~ sqrt(d log t) posterior deviations (Agrawal & Goyal 2013, Abeille & Lazaric 2017)
    and the oracle is exact. LinTS with ``scale`` of that size is the proven one; `docs/regret.md`
    has its measured price. With a greedy or swap oracle no bound is known, and one can fail:
    sampling relies on the best action of a draw being played when that draw comes up.

    ``guarantee=True`` keeps the paper's rates by a floor instead, with sigma still unknown: when
    some coordinate's variance (V^-1)_ii exceeds sigma^2 over 0.1 sqrt(t) pulls (0.1 t^(2/3) where
    X is not strongly convex) its axis is played. Then trace V^-1 <= d / floor(t), both the error of
    theta_hat and the spread of every proposal are O(sqrt(d log t / floor(t))), and the cost of the
    floor is O(d floor(T)): with the responses Lipschitz and the support right after finitely many
    steps that is the d sqrt(T) of Theorem 1 and 3, and d T^(2/3) on every compact set.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.guarantee and (self.context or self.half_life is not None):
            raise CompositionError(
                "guarantee=True is for one theta: without a context, and without forgetting."
            )

    @property
    def is_gated(self) -> bool:
        """Whether there are so many coordinates that not all of them are looked at."""
        X = self.action_set
        return not self.guarantee and X.is_convex and X.dim > max(4 * self.sparsity + 16, FRESH)

    @property
    def design(self) -> Design:
        """The columns of the regression."""
        return Design(self.action_set.dim, self.intercept, self.context)

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        """Return the decision rule with one lane per generator."""
        if self.is_gated:
            recipe = Recipe(ridge=0.3, half_life=self.half_life)
            return CoreRule(self, generators, recipe, self.design, self.sigma)
        kind = FlooredThompsonRule if self.guarantee else ThompsonRule
        recipe = Recipe.on(self.action_set, self.sparsity, self.half_life)
        return kind(self, generators, block, recipe, self.design, self.sigma)
