"""An oracle with its sparsity: what a policy asks for the best action, on whatever set is there."""

import operator
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.argmax import (
    ORACLES,
    best_actions,
    choose_supports,
    sparse_argmax,
)
from sparsebandits.oracles.greedy import refuse_no_start
from sparsebandits.oracles.solution import Solution
from sparsebandits.oracles.supports import Limit, Supports, as_limit
from sparsebandits.validation import FloatArray, IntArray, as_choice


@dataclass(frozen=True)
class SparseOracle:
    """The best action with at most H non-zeros, or under rules, by one method.

    Parameters
    ----------
    sparsity : int or Supports
        H, or rules that stand for it.
    method : str
        "auto", "top-h", "greedy", "swap" or "exact".

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> from sparsebandits.oracles import SparseOracle
    >>> SparseOracle(1).actions(np.array([[0.0, -2.0], [3.0, 0.0]]), sb.LpBall(2))
    array([[ 0., -1.],
           [ 1.,  0.]])
    """

    sparsity: Limit
    method: str = "auto"

    def __post_init__(self) -> None:
        as_choice("oracle", self.method, ORACLES)

    def check(self, current: ActionSet) -> None:
        """Refuse a set that the method does not cover."""
        if isinstance(self.sparsity, Supports):
            as_limit(self.sparsity, current)
            choice = self.sparsity.on(current)
            if self.method == "top-h" and (choice.blocks or not choice.is_matroid):
                raise CompositionError(
                    "The gap of a sorted choice is between single coordinates; with blocks, or "
                    "with rules that overlap, use APSEEG with oracle='exact' in place of APSEE."
                )
        else:
            current.refuse_empty(self.sparsity)
        if self.method in ("greedy", "swap"):
            refuse_no_start(current)
        if self.method == "top-h" and current.sorting is None:
            raise CompositionError(
                f"Sorting is not exact on {current!r}. Use oracle='greedy' or 'exact', such as "
                "APSEEG or CompactAPSEEG in place of APSEE."
            )

    @property
    def width(self) -> int:
        """The most coordinates that a support can have."""
        return operator.index(self.sparsity)

    @property
    def is_ruled(self) -> bool:
        """Whether there are rules beside H."""
        return isinstance(self.sparsity, Supports)

    def obeyed_by(self, action: FloatArray, current: ActionSet) -> bool:
        """Whether what an action uses, (dim,), may be on."""
        if not self.is_ruled:
            return bool(np.count_nonzero(action) <= self.width)
        return current.obeys(action, current.choice_of(self.sparsity))

    def actions(self, theta: FloatArray, current: ActionSet) -> FloatArray:
        """Return the best action on the current set for every row of theta, (n, dim)."""
        return best_actions(current, theta, self.sparsity, self.method)

    def solve(self, theta: FloatArray, current: ActionSet) -> Solution:
        """Return the best action for one theta, (dim,), with all that is known about it."""
        return sparse_argmax(current, theta, self.sparsity, self.method)

    def supports(self, theta: FloatArray, current: ActionSet) -> tuple[IntArray, FloatArray]:
        """Return the supports for every row of theta, (n, H), padded with -1, and their gaps."""
        return choose_supports(current, theta, self.sparsity, self.method)
