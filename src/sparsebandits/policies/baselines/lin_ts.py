"""LinTS (Agrawal & Goyal 2013) with an H-sparse oracle: sample theta, play its best action."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.design import Design
from sparsebandits.policies.joining_rule import JoiningRule
from sparsebandits.policies.parameters import checked, positive, sigma_or_estimate
from sparsebandits.policies.policy import InterceptPolicy
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.validation import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class LinTS(InterceptPolicy):
    """theta ~ N(theta_hat, v^2 sigma^2 (V + ridge I)^-1) at every step, by Cholesky.

    Parameters
    ----------
    action_set, sparsity
        As in `Policy`.
    oracle : str
        "exact" and "greedy" are the two forms; "auto" is exact where that is cheap.
    sigma : float or "estimate"
    scale : float
        v; 1 is the posterior itself, for a prior N(0, sigma^2 / ridge).
    ridge : float
    intercept : bool
        Whether rewards have an unknown baseline: reward = b + theta·x. Nothing is believed of b
        beforehand.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.LinTS(action_set=sb.LpBall(3), sparsity=1, sigma=0.1).start(seed=0)
    >>> learner.tell(learner.ask(), 0.7)
    >>> learner.theta_hat.round(2)
    array([0.  , 0.  , 0.35])

    With a baseline the first reward says where it lies, and nothing of theta:

    >>> policy = sb.LinTS(action_set=sb.LpBall(3), sparsity=1, sigma=0.1, intercept=True)
    >>> learner = policy.start(seed=0)
    >>> learner.tell(learner.ask(), 100.7)
    >>> learner.theta_hat.round(2)
    array([0., 0., 0.])
    """

    kind: ClassVar[str] = "lin-ts"

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    scale: float = checked(positive, 1.0)
    ridge: float = checked(positive, 1.0)

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "LinTSRule":
        """Return the decision rule with one lane per generator."""
        return LinTSRule(self, generators, block)


class LinTSRule(JoiningRule):
    """One draw and one oracle call per lane and step."""

    _tape: Tape

    def __init__(
        self, policy: LinTS, generators: Sequence[np.random.Generator], block: int
    ) -> None:
        dim = policy.action_set.dim
        design = Design(dim, policy.intercept)
        super().__init__(policy, len(generators), np.full(dim, policy.ridge), policy.sigma, design)
        self._scale = policy.scale
        self._tape = Tape(generators, design.size, block, normals)

    def choose(self, current: ActionSet) -> FloatArray:
        """Draw theta in every lane and return its best action."""
        scale = self.noise_scale()
        # While no reward but 0 has come theta_hat is 0, and any scale gives the same action.
        scale[self.posterior.squares == 0] = 1.0
        drawn = self.posterior.draw(self._tape.next(self.everyone), self._scale * scale)
        return self.policy.best_actions(self.design.thetas(drawn), current)
