"""Random H-sparse actions: what is earned without learning anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.validation import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomSparse(Policy):
    """A uniform support of H available coordinates, and the best response to a normal direction.

    The lower end of every comparison: a policy that does not beat it has learned nothing. Its
    expected reward is 0 on sets that are symmetric about 0.

    Parameters as in `Policy`; all available coordinates are used where there are fewer than H, and
    the oracle is not used.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.RandomSparse(action_set=sb.LpBall(4), sparsity=2).start(seed=0)
    >>> learner.ask().action.round(2)
    array([ 0.  , -0.83,  0.  ,  0.56])
    """

    kind: ClassVar[str] = "random-sparse"
    takes_rules: ClassVar[bool] = False

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "RandomSparseRule":
        """Return the decision rule with one lane per generator."""
        return RandomSparseRule(self, generators, block)


class RandomSparseRule(Rule):
    """d normal draws rank the coordinates, H more are the direction."""

    def __init__(
        self, policy: RandomSparse, generators: Sequence[np.random.Generator], block: int
    ) -> None:
        super().__init__(policy.action_set, policy.sparse_oracle, len(generators))
        self._tape = Tape(generators, self.dim + policy.sparsity, block, normals)

    def choose(self, current: ActionSet) -> FloatArray:
        """Draw a support and a direction in every lane."""
        draws = self._tape.next(self.everyone)
        usable = np.flatnonzero(current.available)
        # The order of independent equal draws is uniform, and so are the H coordinates that lead.
        order = draws[:, usable].argsort(axis=1)[:, : self.oracle.sparsity]
        support = usable[order]
        direction = np.zeros((self.lanes, self.dim))
        direction[self.everyone[:, None], support] = draws[:, self.dim :][:, : support.shape[1]]
        return current.respond_on(direction, support)[0]

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        """Learn nothing."""

    @property
    def estimate(self) -> None:
        """None: nothing is estimated."""
        return
