"""The oracle's action for theta* itself: what is earned by who knows all."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.policies.policy import ReferencePolicy
from sparsebandits.policies.rule import InformedRule, PerSet
from sparsebandits.validation import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Clairvoyant(ReferencePolicy):
    """Plays the oracle's action for theta* at every step.

    The upper end of every comparison. With an exact oracle its regret is 0; with another, it is
    the price of that oracle alone, which no amount of learning can save.

    Parameters as in `Policy`.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball = sb.LpBall(dim=3)
    >>> env = sb.LinearEnvironment(action_set=ball, theta_star=[3.0, 0.0, 4.0])
    >>> run = sb.simulate(sb.Clairvoyant(action_set=ball, sparsity=2), env, horizon=10, trials=1)
    >>> float(run.regret[0, -1]), float(run.optimal_share[0, -1])
    (0.0, 1.0)
    """

    kind: ClassVar[str] = "clairvoyant"
    sees: ClassVar[str] = "theta*"

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "ClairvoyantRule":
        """Return the decision rule with one lane per generator; nothing is drawn from them."""
        return ClairvoyantRule(self, len(generators))


class ClairvoyantRule(InformedRule):
    """The same actions at every step, as long as the set stays the same."""

    def __init__(self, policy: Clairvoyant, lanes: int) -> None:
        super().__init__(policy.action_set, policy.sparse_oracle, lanes)
        self._theta: FloatArray | None = None

    def reveal(self, theta: FloatArray) -> None:
        """Be told theta* of every lane, (lanes, dim)."""
        self._theta = theta.copy()
        self._best_actions = PerSet(partial(self.oracle.actions, self._theta))

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the oracle's action for theta* in every lane."""
        if self._theta is None:
            raise CompositionError("Clairvoyant must be told theta* first; run it in simulate.")
        return self._best_actions(current)

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        """Learn nothing: all is known."""

    @property
    def estimate(self) -> FloatArray | None:
        """theta* of each lane; None until it is told."""
        return self._theta
