"""The recommended policy: it learns while it earns, and needs to be told nothing but X and H."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebandits.policies.learner import Policy
from sparsebandits.policies.parameters import checked, flag, sigma_or_estimate
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

    ``guarantee=True`` keeps the paper's powers of T by a floor instead, with sigma still unknown:
    when some coordinate's variance (V^-1)_ii exceeds sigma^2 over 0.1 sqrt(t) pulls (0.1 t^(2/3)
    where X is not strongly convex) its axis is played, at a cost of O(d floor(T)). Then trace V^-1
    <= d / floor(t). The data are adaptive, so that the error of theta_hat is bounded by
    ||theta_hat - theta*||_V = O(sqrt(d log t)) alone: its square is O(d^2 log t / floor(t)), as is
    that of every proposal's spread. Where responses are Lipschitz, and the support is right after
    finitely many steps, regret is of the order of that square: d^2 sqrt(T) up to logarithms, a
    factor d above Theorems 1 and 2, whose design is fixed in advance. On every compact set with an
    exact oracle it is of the order of the error: d T^(2/3) up to logarithms, as in Theorem 3.

    Parameters
    ----------
    action_set, sparsity, oracle
        As in `Policy`.
    sigma : float or "estimate"
        The noise level; estimated unless given. One that is given is the least that is reckoned
        with: rewards that it does not explain count as more.
    guarantee : bool
        Keep the floor of exploration described above.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5).start(seed=0)
    >>> decision = learner.ask()
    >>> int((decision.action != 0).sum())
    5
    >>> learner.tell(decision, 0.7)
    """

    kind: ClassVar[str] = "sparse-thompson"

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    guarantee: bool = checked(flag, False)

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> ThompsonRule:
        """Return the decision rule with one lane per generator."""
        kind = FlooredThompsonRule if self.guarantee else ThompsonRule
        return kind(self, generators, block, self.sigma)
