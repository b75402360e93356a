r"""The best way to spend a budget on coordinates that rules allow: a search of its own.

:math:`\max \theta \cdot x` subject to :math:`\sum x \le C`, or :math:`= C`, where x_i lies in
:math:`[m_i, u_i]` if i is on and is 0 if not, and a `Choice` says which may be on together; the
plain case has m = 0 and at most H on. For given coordinates the best spend fills them in the order
of theta, so at most one lies strictly between its ends. A price :math:`\lambda` on the budget
leaves a problem that sorting solves, so

.. math:: L(\lambda) = \lambda C + \max_S \sum_{i \in S} f_i(\lambda), \quad
    f_i(\lambda) = \max((\theta_i - \lambda) u_i, (\theta_i - \lambda) m_i)

is an upper bound for every :math:`\lambda \ge 0`; for every :math:`\lambda` where all must be
spent. It is convex and piecewise linear; where two supports meet at its minimum
(`spend_relaxation`), each of them, filled in the order of theta, is a good answer. Mostly one of
them attains the bound. Otherwise a branch and bound begins there (`spend_search`).

The problem is NP-hard: a theta can be made up for which the tree is exponential. `NODE_LIMIT`
bounds it; beyond, the best found is given with the largest bound that is open. No theta depends on
its neighbours.
"""

import time
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.forms import Spending
from sparsebandits.action_sets.spend_relaxation import SpendProblem
from sparsebandits.action_sets.spend_search import SpendSearch
from sparsebandits.validation import BoolArray, FloatArray, IntArray

NODE_LIMIT = 20_000
"""Nodes per theta; those that wait take at most about 8 bytes per node and open coordinate."""


@dataclass(frozen=True)
class BestSpend:
    """What was found for n theta.

    Attributes
    ----------
    supports : (n, width) int array
        What is on, ascending, padded with -1; nothing where no allowed spend was found.
    spent : (n, d)
        What is spent on it.
    values, bounds : (n,)
        Its worth, minus infinity where none was found; and an upper bound on any other's.
    proven : (n,) bool array
        Whether none is better; where none was found, whether there is none.
    """

    supports: IntArray
    spent: FloatArray
    values: FloatArray
    bounds: FloatArray
    proven: BoolArray

    def note(self, row: int, theta: FloatArray, spending: Spending, found: SpendSearch) -> None:
        """Write down what was found for one theta, (d,), in its own unit."""
        value, on = found.value, found.on
        if on:
            worth = theta[on].tolist()
            spent = spending.fill(worth, row, on)
            value = sum([w * amount for w, amount in zip(worth, spent, strict=True)])
            self.spent[row, on] = spent
            if found.problem.rules.is_plain:
                on = [i for i, amount in zip(on, spent, strict=True) if amount > 0.0]
            self.supports[row, : len(on)] = sorted(on)
        self.values[row] = self.bounds[row] = value
        self.proven[row] = found.bound <= found.value


def best_spend(
    theta: FloatArray, spending: Spending, choice: Choice, *, seconds: float = np.inf
) -> BestSpend:
    """Find the best allowed spend for every theta.

    Parameters
    ----------
    theta : (n, d)
    spending : Spending
    choice : Choice
    seconds : float
        After which the search stops, for all theta together.

    Examples
    --------
    >>> spending = Spending(1.0, np.array([0.1, 0.2, 1.0]))
    >>> spend = best_spend(np.array([[3.0, 2.0, 1.9]]), spending, Choice(3, 1))
    >>> spend.supports.tolist(), spend.proven.tolist()
    ([[2]], [True])
    """
    begun = time.monotonic()
    n, dim = theta.shape
    spend = BestSpend(
        np.full((n, choice.width), -1, dtype=np.intp),
        np.zeros((n, dim)),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.bool_),
    )
    usable = spending.usable
    unit = np.abs(theta * usable).max(axis=1)
    unit[unit == 0.0] = 1.0
    worth = theta / unit[:, None]
    if not (spending.spend_all or choice.at_least or choice.always):
        usable = usable & (worth > 0.0)  # the others are worth nothing at any price
    ranked = (-worth).argsort(axis=1, kind="stable")
    listed, rules = spending.listed, choice.listed
    for row in range(n):
        order, ends = ranked[row], listed[row % len(listed)]  # of its own, or the same for all
        problem = SpendProblem(worth[row].tolist(), *ends, rules, spending.spend_all)
        deadline = begun + seconds * (row + 1) / n
        search = SpendSearch(
            problem, order[usable[row % len(usable), order]].tolist(), NODE_LIMIT, deadline
        )
        spend.note(row, theta[row], spending, search)
        if not spend.proven[row]:
            spend.bounds[row] = max(spend.values[row], search.bound * unit[row] * spending.total)
    return spend
