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
from sparsebandits.action_sets.spend_relaxation import ROUNDING, SpendProblem
from sparsebandits.action_sets.spend_search import SpendSearch
from sparsebandits.validation import BoolArray, FloatArray

NODE_LIMIT = 20_000
"""Nodes per theta; those that wait take at most about 8 bytes per node and open coordinate."""


@dataclass(frozen=True)
class BestSpend:
    """What was found for n theta.

    Attributes
    ----------
    on : (n, d) bool array
        The support; nothing where no allowed spend was found.
    spent : (n, d)
        What is spent on it.
    values, bounds : (n,)
        Its worth, minus infinity where none was found; and an upper bound on any other's.
    proven : (n,) bool array
        Whether none is better; where none was found, whether there is none.
    """

    on: BoolArray
    spent: FloatArray
    values: FloatArray
    bounds: FloatArray
    proven: BoolArray


@dataclass(frozen=True, eq=False)
class Purse:
    """What may be spent: rows of upper bounds and least doses, (n, d), and the total.

    Parameters
    ----------
    total : float
    upper : (n, d)
        0 for a coordinate that must not be used.
    doses : (n, d), optional
        What is spent at least on a coordinate that is on.
    spend_all : bool
        Whether the total must be spent.
    """

    total: float
    upper: FloatArray
    doses: FloatArray | None = None
    spend_all: bool = False


def best_spend(
    theta: FloatArray, purse: Purse, choice: Choice, *, seconds: float = np.inf
) -> BestSpend:
    """Find the best allowed spend for every theta.

    Parameters
    ----------
    theta : (n, d)
    purse : Purse
    choice : Choice
    seconds : float
        After which the search stops, for all theta together.

    Examples
    --------
    >>> purse = Purse(1.0, np.array([[0.1, 0.2, 1.0]]))
    >>> spend = best_spend(np.array([[3.0, 2.0, 1.9]]), purse, Choice(3, 1))
    >>> spend.on.tolist(), spend.proven.tolist()
    ([[False, False, True]], [True])
    """
    begun = time.monotonic()
    n, dim = theta.shape
    caps, doses = _in_units(purse)
    usable = caps > 0.0
    unit = np.abs(theta).max(axis=1, initial=0.0, where=usable)
    unit[unit == 0.0] = 1.0
    worth = theta / unit[:, None]
    may_be_on = usable
    if not (purse.spend_all or choice.at_least or choice.always):
        may_be_on = usable & (worth > 0.0)  # the others are worth nothing at any price
    ranked = np.argsort(-worth, axis=1, kind="stable")
    spend = BestSpend(
        np.zeros((n, dim), dtype=np.bool_),
        np.zeros((n, dim)),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.bool_),
    )
    rules = choice.listed
    for row in range(n):
        order = ranked[row]
        order = order[may_be_on[row, order]]
        problem = SpendProblem(
            worth[row].tolist(), caps[row].tolist(), doses[row].tolist(), rules, purse.spend_all
        )
        deadline = begun + seconds * (row + 1) / n
        search = SpendSearch(problem, order.tolist(), NODE_LIMIT, deadline)
        spend.spent[row, search.on] = search.spent
        spend.on[row, search.on] = True
        spend.values[row], spend.bounds[row] = search.value, search.bound
    if choice.is_plain:
        spend.on[...] = spend.spent > 0.0
    spend.proven[...] = spend.bounds <= spend.values
    spend.spent[...] *= purse.total
    scale = unit * purse.total
    for values in (spend.values, spend.bounds):
        np.multiply(values, scale, out=values, where=np.isfinite(values))
    return spend


def _in_units(purse: Purse) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds and least doses in units in which the total is 1."""
    caps = np.minimum(purse.upper / purse.total, 1.0)
    if purse.doses is None or not purse.doses.any():
        return caps, np.zeros_like(caps)
    doses = np.where(purse.upper > 0.0, purse.doses / purse.total, 0.0)
    caps = np.where(doses > 1.0 + ROUNDING, 0.0, caps)
    return caps, np.where(caps > 0.0, np.minimum(doses, caps), 0.0)
