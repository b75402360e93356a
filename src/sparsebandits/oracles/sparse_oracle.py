"""An oracle with its sparsity: what a policy asks for the best action, on whatever set is there."""

from dataclasses import dataclass

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.oracles.argmax import (
    ORACLES,
    best_actions,
    choose_supports,
    sparse_argmax,
)
from sparsebandits.oracles.solution import Solution
from sparsebandits.validation import FloatArray, IntArray, as_choice


@dataclass(frozen=True)
class SparseOracle:
    """The best action with at most H non-zeros, by one method.

    Parameters
    ----------
    sparsity : int
        H.
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

    sparsity: int
    method: str = "auto"

    def __post_init__(self) -> None:
        as_choice("oracle", self.method, ORACLES)

    def check(self, current: ActionSet) -> None:
        """Refuse a set that the method does not cover."""
        if self.method == "top-h" and current.sorting is None:
            raise CompositionError(
                f"Sorting is not exact on {current!r}. Use oracle='greedy' or 'exact', such as "
                "APSEEG or CompactAPSEEG in place of APSEE."
            )

    def actions(self, theta: FloatArray, current: ActionSet) -> FloatArray:
        """Return the best action on the current set for every row of theta, (n, dim)."""
        return best_actions(current, theta, self.sparsity, self.method)

    def solve(self, theta: FloatArray, current: ActionSet) -> Solution:
        """Return the best action for one theta, (dim,), with all that is known about it."""
        return sparse_argmax(current, theta, self.sparsity, self.method)

    def supports(self, theta: FloatArray, current: ActionSet) -> tuple[IntArray, FloatArray]:
        """Return the supports for every row of theta, (n, H), padded with -1, and their gaps."""
        return choose_supports(current, theta, self.sparsity, self.method)
