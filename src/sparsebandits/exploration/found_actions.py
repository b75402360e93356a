"""Actions for a basis, where the axes will not do: found by asking the set for random directions.

Sets without 0 have no action along most axes, least doses leave gaps on them, and rules may want
several coordinates on at once. What such a set has is then found: the best allowed actions for
directions that favour each coordinate in turn, drawn once and for all.
"""

import numpy as np
import scipy.linalg

from sparsebandits.action_sets import ActionSet, Points
from sparsebandits.action_sets.choices import Choice
from sparsebandits.validation import FloatArray, IntArray

_ROUNDS = 6
_FAVOUR = 3.0
"""How much more than others a direction favours its coordinate, in standard deviations."""

_ROUNDING = 1e-10
"""How far, relative to the longest, an action must be from the span of others."""


def allowed_actions(action_set: ActionSet, choice: Choice, *, affine: bool = False) -> FloatArray:
    """Return allowed actions, (n, dim), that span as much as was found in a few rounds.

    With `affine`, that (1, x) span as much.
    """
    rng = np.random.default_rng(0)
    found, rank, stuck = np.zeros((0, action_set.dim)), 0, 0
    for number in range(_ROUNDS):
        sign = 1.0 if number % 2 == 0 else -1.0
        directions = rng.standard_normal((action_set.dim, action_set.dim))
        directions += sign * _FAVOUR * np.eye(action_set.dim)
        for direction in directions:
            on = action_set.support_for(direction, choice)
            if on is not None and on.any():
                found = np.vstack([found, _best(action_set, direction, np.flatnonzero(on))])
        before, rank = rank, int(np.linalg.matrix_rank(_columns(found, affine)))
        stuck = stuck + 1 if rank == before else 0
        if rank == action_set.dim + affine or stuck == 2:  # in favour, and against
            break
    return found


def spanning_actions(
    action_set: ActionSet, choice: Choice, *, affine: bool = False, with_zero: bool = False
) -> FloatArray:
    """Return independent allowed actions, (m, dim), in whose span lie all that were found.

    Parameters
    ----------
    affine : bool
        Whether a baseline is learned with them: then (1, x) are independent, and span.
    with_zero : bool
        Whether 0 is allowed, and one of them where it is of use.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> spent = sb.Budget(1.0, [0.6, 0.6, 0.6], spend_all=True)
    >>> spanning_actions(spent, spent.choice_of(2), affine=True).shape
    (3, 3)
    """
    if isinstance(action_set.form, Points):
        found = action_set.form.points
        found = found[choice.allows(found != 0)]
    else:
        found = allowed_actions(action_set, choice, affine=affine)
        if with_zero:
            found = np.vstack([found, np.zeros(action_set.dim)])
    # Again and again the one that is furthest from the span of those taken.
    r, order = scipy.linalg.qr(_columns(found, affine).T, mode="r", pivoting=True)
    pivots = np.abs(np.diag(r))
    rank = int(np.count_nonzero(pivots > _ROUNDING * pivots[0]))
    return found[np.sort(order[:rank])]


def _columns(actions: FloatArray, affine: bool) -> FloatArray:
    return np.column_stack([np.ones(len(actions)), actions]) if affine else actions


def _best(action_set: ActionSet, direction: FloatArray, support: IntArray) -> FloatArray:
    return action_set.respond_on(direction[None], support[None], all_on=True)[0]
