"""The budget {0 <= x <= upper, sum x <= total}: airtime, spend, portfolio weights, doses."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.action_sets.base import ActionSet
from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.doses import as_doses
from sparsebandits.action_sets.forms import Spending
from sparsebandits.action_sets.knapsack import best_spend
from sparsebandits.action_sets.scaling import length
from sparsebandits.errors import InvalidValueError, SolverError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_flag,
    as_number,
    as_sparsity,
    read_only,
)

_ROUNDING = 1e-12
"""How far, relative to the total, the doses or the bounds may miss it by rounding."""


class Budget(ActionSet):
    """{x : sum x <= total}, where each x_i is 0 or lies between its least dose and upper_i.

    Without least doses, on a fixed support, this is the continuous knapsack: spend the total on the
    largest positive theta_i first, each up to its upper bound. Choosing the support is NP-hard when
    the upper bounds differ, because a cheap small coordinate may waste one of the H places, and so
    is choosing what to leave at 0 on a support where there are least doses; a search
    (`sparsebandits.action_sets.knapsack`) mostly proves the best choice at once.

    With least doses the set is not convex, and with `spend_all` it does not contain 0: nothing is
    then possible on coordinates that together cannot take the total.

    Parameters
    ----------
    total : float
        What may be spent in all; positive.
    upper : array of shape (dim,)
        What may be spent on each coordinate; non-negative.
    min_dose : float or array of shape (dim,), optional
        What is spent at least on a coordinate that is used at all; at most `upper`.
    spend_all : bool
        Whether all of the total must be spent.
    names : list of str, optional
        One per coordinate.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> airtime = sb.Budget(total=1.0, upper=[0.6, 0.6, 0.6])
    >>> airtime.best_response([3.0, 2.0, 1.0])
    array([0.6, 0.4, 0. ])
    >>> grams = sb.Budget(total=5.0, upper=[4.0, 4.0, 4.0], min_dose=2.0)
    >>> grams.best_response([3.0, 2.0, 1.0])  # 1 gram would be left for the second: too little
    array([3., 2., 0.])
    >>> sb.Budget(total=1.0, upper=[0.6, 0.6], spend_all=True).best_response([-1.0, -2.0])
    array([0.6, 0.4])
    """

    kind = "budget"

    def __init__(
        self,
        total: float,
        upper: Any,
        min_dose: Any = None,
        spend_all: bool = False,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        self.upper = as_array("upper", upper, ndim=1)
        super().__init__(self.upper.size, names)
        self.total = as_number("total", total, positive=True)
        self.spend_all = as_flag("spend_all", spend_all)
        negative = np.flatnonzero(self.upper < 0)
        if negative.size:
            i = negative[0]
            raise InvalidValueError(
                f"upper must be non-negative, got upper[{i}] = {self.upper[i]}; "
                "use 0 for a coordinate that may never be used."
            )
        self.min_dose = as_doses(min_dose, self.upper)
        self.is_convex = self.min_dose is None
        self.contains_zero = not self.spend_all
        self.refuse_empty(self.dim)

    # ------------------------------------------------------------------ which supports have actions

    def support_for(self, theta: FloatArray, choice: Choice) -> BoolArray | None:
        """Return the support of the best spend that the rules allow; None if none is possible."""
        best = best_spend(theta[None], self.form, choice)
        if np.isfinite(best.values[0]):
            on = np.zeros(self.dim, dtype=np.bool_)
            on[best.supports[0][best.supports[0] >= 0]] = True
            return on
        if not best.proven[0]:
            raise SolverError(
                f"Whether {self._summary()} can be spent under these rules was not decided within "
                "the search's limit of nodes; relax min_dose or the rules."
            )
        return None

    def _may_rest(self) -> BoolArray:
        usable = self.form.upper > 0
        return usable if self.min_dose is None else usable & (self.min_dose == 0)

    def _why_empty(self, sparsity: int) -> str:
        reach = np.sort(np.minimum(self.form.upper, self.total))[::-1]
        which = "all" if sparsity >= reach.size else f"the {sparsity} largest"
        parts = f"the upper bounds of {which} coordinates add up to {reach[:sparsity].sum():g}"
        if self.min_dose is not None:
            parts += " and the least doses leave gaps"
        if not self.spend_all:
            return (
                "the rules contradict each other, or what they want on cannot all be on: at most "
                f"{self.total:g} may be spent, {np.count_nonzero(reach)} coordinates can be used"
                + ("" if self.min_dose is None else ", and each has its least dose")
            )
        if self.min_dose is not None and not reach.any():
            parts = "the least dose of every coordinate that can be used is more than that"
        return f"all of the total, {self.total:g}, must be spent, and {parts}"

    # ------------------------------------------------------------------ responses

    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        if self.min_dose is None:
            return self._fill(theta, indices, None)
        upper, doses = self._ends(indices, theta.shape)
        # Mostly the best spend without least doses keeps them: then nothing is to be searched.
        response = self._fill(theta, indices, None)
        kept = (response == 0.0) | (response >= doses) | np.isnan(response)
        rest = np.flatnonzero(~kept.all(axis=1))
        if rest.size:
            given = Spending(self.total, upper[rest], doses[rest], self.spend_all)
            best = best_spend(theta[rest], given, Choice(theta.shape[1], theta.shape[1]))
            response[rest] = np.where(np.isfinite(best.values)[:, None], best.spent, np.nan)
        return response

    def _respond_all_on(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        if self.min_dose is None:
            return self._fill(theta, indices, None)
        return self._fill(theta, indices, self._ends(indices, theta.shape)[1])

    def _ends(self, indices: IntArray, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Return the most and the least on each row's own coordinates, (n, k); 0 on padding."""
        assert self.min_dose is not None
        used = np.broadcast_to(indices >= 0, shape)
        upper = np.where(used, self.upper[indices], 0.0)
        return upper, np.where(used, self.min_dose[indices], 0.0)

    def _fill(self, theta: FloatArray, indices: IntArray, doses: FloatArray | None) -> FloatArray:
        """Spend on all of these, in the order of theta; nan where they cannot all be on."""
        caps = np.where(indices < 0, 0.0, self.upper[indices])
        room, left = caps, np.full((1, 1), self.total)
        if doses is not None:
            room, left = caps - doses, self.total - doses.sum(axis=-1, keepdims=True)
        # The coordinates in the order of theta; plain indexing is the fastest way to go there.
        places = np.arange(theta.shape[0])[:, None], np.argsort(-theta, axis=-1, kind="stable")
        keen = True if self.spend_all else theta > 0
        desired = np.where(keen, room, np.zeros_like(theta))[places]
        spent = desired.cumsum(axis=-1)
        np.subtract(spent, desired, out=spent)
        np.subtract(left, spent, out=spent)
        np.minimum(desired, spent, out=spent)
        response = np.empty_like(theta)
        response[places] = np.maximum(spent, 0.0, out=spent)
        if doses is None and not self.spend_all:
            return response
        slack = _ROUNDING * self.total
        possible = np.ones(theta.shape[0], dtype=np.bool_)
        if doses is not None:
            response += doses
            possible &= left[:, 0] >= -slack
        if self.spend_all:
            possible &= np.broadcast_to(caps, theta.shape).sum(axis=-1) >= self.total - slack
        return np.where(possible[:, None], response, np.nan)

    # ------------------------------------------------------------------ what it offers

    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the smaller of upper and total; the total twice where it must be spent."""
        upper = np.minimum(self.form.upper, self.total)
        if not self.spend_all:
            return np.zeros(self.dim), upper
        alone = np.where(upper >= self.total * (1 - _ROUNDING), self.total, 0.0)
        return alone, alone.copy()

    @property
    def form(self) -> Spending:
        """The total, the upper bounds and the least doses; 0 where nothing can be spent."""
        return self.remember("form", self._form)

    def _form(self) -> Spending:
        usable = self.available.copy()
        if self.min_dose is not None:
            usable &= self.min_dose <= self.total * (1 + _ROUNDING)
        upper = read_only(np.where(usable, self.upper, 0.0))
        if self.min_dose is None:
            return Spending(self.total, upper, None, self.spend_all)
        doses = read_only(np.where(usable, self.min_dose, 0.0))
        return Spending(self.total, upper, doses, self.spend_all)

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the norm of the most uneven spend on H coordinates: attained but for least doses.

        Filling the largest upper bounds first majorises every feasible x, and the norm is
        Schur-convex.
        """
        active = as_sparsity(sparsity, self.dim)
        caps = np.sort(self.form.upper)[::-1][:active]
        left = self.total - (np.cumsum(caps) - caps)
        return float(length(np.clip(np.minimum(caps, left), 0.0, None)))

    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        slack = tolerance * min(self.upper.max(), self.total)
        inside = (x >= -slack) & (x <= self.upper + slack)
        if self.min_dose is not None:
            inside &= (np.abs(x) <= slack) | (x >= self.min_dose - slack)
        spent = x.sum(axis=-1)
        within = spent <= self.total * (1 + tolerance)
        if self.spend_all:
            within &= spent >= self.total * (1 - max(tolerance, _ROUNDING))
        return np.asarray(inside.all(axis=-1) & within)

    # ------------------------------------------------------------------ identity

    def _section(self, places: IntArray) -> "Budget":
        doses = None if self.min_dose is None else self.min_dose[places]
        return Budget(self.total, self.upper[places], doses, self.spend_all)

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"total": self.total, "upper": self.upper.tolist()}
        if self.min_dose is not None:
            parameters["min_dose"] = self.min_dose.tolist()
        if self.spend_all:
            parameters["spend_all"] = True
        return parameters

    def _summary(self) -> str:
        text = f"dim={self.dim}, total={self.total:g}"
        text += f", upper={self.upper.min():g}..{self.upper.max():g}"
        if self.min_dose is not None:
            text += f", min_dose={self.min_dose.min():g}..{self.min_dose.max():g}"
        return text + ", spend_all" if self.spend_all else text
