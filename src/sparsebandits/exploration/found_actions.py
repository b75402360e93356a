"""Actions for a basis, where the axes will not do: found by asking the set for random directions.

Sets without 0 have no action along most axes, least doses leave gaps on them, and rules may want
several coordinates on at once. What such a set has is then found: the best allowed actions for
directions that favour each coordinate in turn, drawn once and for all.
"""

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.choices import Choice
from sparsebandits.validation import FloatArray, IntArray

_ROUNDS = 6
_FAVOUR = 3.0
"""How much more than others a direction favours its coordinate, in standard deviations."""


def allowed_actions(action_set: ActionSet, choice: Choice) -> FloatArray:
    """Return allowed actions, (n, dim), that span as much as was found in a few rounds."""
    rng = np.random.default_rng(0)
    found = np.zeros((0, action_set.dim))
    for number in range(_ROUNDS):
        sign = 1.0 if number % 2 == 0 else -1.0
        directions = rng.standard_normal((action_set.dim, action_set.dim))
        directions += sign * _FAVOUR * np.eye(action_set.dim)
        for direction in directions:
            on = action_set.support_for(direction, choice)
            if on is not None and on.any():
                found = np.vstack([found, _best(action_set, direction, np.flatnonzero(on))])
        if len(found) and np.linalg.matrix_rank(found) == action_set.dim:
            break
    return found


def _best(action_set: ActionSet, direction: FloatArray, support: IntArray) -> FloatArray:
    return action_set.respond_on(direction[None], support[None], all_on=True)[0]
