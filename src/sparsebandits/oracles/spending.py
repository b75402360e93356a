"""The exact oracle on a budget, with rules or without: the search, and its runner-up."""

import math

import numpy as np

from sparsebandits.action_sets import ActionSet, Spending
from sparsebandits.action_sets.choices import Choice
from sparsebandits.action_sets.knapsack import BestSpend, best_spend
from sparsebandits.oracles.solution import BatchSolution
from sparsebandits.validation import FloatArray


def solve_spending(
    action_set: ActionSet,
    form: Spending,
    theta: FloatArray,
    choice: Choice,
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BatchSolution:
    """Prove the best spend, or stop at `time_limit` seconds per theta or 20,000 nodes.

    Parameters
    ----------
    theta : (n, dim)
    """
    n = theta.shape[0]
    # Half of the time is for the runners-up.
    seconds = math.inf if time_limit is None else n * time_limit / (1 + runner_up)
    best = best_spend(theta, form, choice, seconds=seconds)
    if choice.is_plain and choice.at_most >= action_set.available_count:
        gaps = np.full(n, np.inf)
    elif runner_up:
        gaps = _gaps(form, theta, choice, best, seconds)
    else:
        gaps = np.full(n, np.nan)
    return BatchSolution(
        supports=best.supports,
        actions=best.spent,
        values=best.values,
        gaps=gaps,
        step_gaps=np.empty((n, 0)),
        is_exact=best.proven,
        upper_bounds=best.bounds,
        method="exact",
    )


def _gaps(
    form: Spending, theta: FloatArray, choice: Choice, best: BestSpend, seconds: float
) -> FloatArray:
    """Return by how much each proven support wins, (n,): nan where that is not known."""
    # A support that does not contain the best one lacks one of its coordinates; none lacks what is
    # always on.
    movable = (best.supports >= 0) & ~np.isin(best.supports, list(choice.always))
    rows, places = np.nonzero(movable & best.proven[:, None])
    lacking = form.without(best.supports[rows, places])
    second = best_spend(theta[rows], lacking, choice, seconds=seconds)
    gaps = np.where(best.proven, np.inf, np.nan)
    worth = np.where(second.proven, second.bounds, np.nan)
    np.minimum.at(gaps, rows, np.maximum(best.values[rows] - worth, 0.0))
    return gaps
