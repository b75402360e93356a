"""The budget set {0 <= x <= upper, sum x <= total}: airtime, spend, portfolio weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.forms import Spending
from sparsebandits.action_sets.scaling import length
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_number,
    as_sparsity,
    read_only,
)


class Budget(ActionSet):
    """{x : 0 <= x <= upper, sum x <= total}.

    On a fixed support this is the continuous knapsack: spend the total on the largest positive
    theta_i first, each up to its upper bound. Choosing the support is NP-hard when the upper bounds
    differ, because a cheap small coordinate may waste one of the H places; a search of its own
    (`sparsebandits.oracles.knapsack`) mostly proves the best one at once.

    Parameters
    ----------
    total : float
        What may be spent in all; positive.
    upper : array of shape (dim,)
        What may be spent on each coordinate; non-negative.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> airtime = sb.Budget(total=1.0, upper=[0.6, 0.6, 0.6])
    >>> airtime.best_response([3.0, 2.0, 1.0])
    array([0.6, 0.4, 0. ])
    """

    kind = "budget"

    def __init__(self, total: float, upper: Any, *, names: Sequence[str] | None = None) -> None:
        self.upper = as_array("upper", upper, ndim=1)
        super().__init__(self.upper.size, names)
        self.total = as_number("total", total, positive=True)
        negative = np.flatnonzero(self.upper < 0)
        if negative.size:
            i = negative[0]
            raise InvalidValueError(
                f"upper must be non-negative, got upper[{i}] = {self.upper[i]}; "
                "use 0 for a coordinate that may never be used."
            )

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        caps = np.where(indices < 0, 0.0, self.upper[indices])
        order = np.argsort(-theta, axis=-1, kind="stable")
        desired = np.take_along_axis(np.where(theta > 0, caps, 0.0), order, axis=-1)
        left = self.total - (np.cumsum(desired, axis=-1) - desired)
        spent = np.clip(np.minimum(desired, left), 0.0, None)
        response = np.empty_like(spent)
        np.put_along_axis(response, order, spent, axis=-1)
        return np.asarray(response)

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the smaller of upper and total."""
        return np.zeros(self.dim), np.minimum(self.upper, self.total) * self.available

    @property
    def form(self) -> Spending:
        """The total and the upper bounds."""
        return Spending(self.total, read_only(np.where(self.available, self.upper, 0.0)))

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the norm of the most uneven spend on H coordinates: attained.

        Filling the largest upper bounds first majorises every feasible x, and the norm is
        Schur-convex.
        """
        active = as_sparsity(sparsity, self.dim)
        caps = np.sort(self.upper[self.available])[::-1][:active]
        left = self.total - (np.cumsum(caps) - caps)
        return float(length(np.clip(np.minimum(caps, left), 0.0, None)))

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        slack = tolerance * min(self.upper.max(), self.total)
        inside = ((x >= -slack) & (x <= self.upper + slack)).all(axis=-1)
        return np.asarray(inside & (x.sum(axis=-1) <= self.total * (1 + tolerance)))

    def _section(self, places: IntArray) -> "Budget":
        return Budget(self.total, self.upper[places])

    def _parameters(self) -> dict[str, Any]:
        return {"total": self.total, "upper": self.upper.tolist()}

    def _summary(self) -> str:
        return (
            f"dim={self.dim}, total={self.total:g}, "
            f"upper={self.upper.min():g}..{self.upper.max():g}"
        )
