"""L_grad: how fast the best response turns with the direction of theta."""

import math

import numpy as np

from sparsebandits.action_sets import ActionSet, Ellipsoid, LpBall
from sparsebandits.errors import InvalidTypeError
from sparsebandits.validation import as_sparsity, describe


def response_lipschitz(action_set: ActionSet, sparsity: int | None = None) -> float:
    """Return L_grad = 1/mu of `prop:lipschitz_h` for theta of length 1; inf where there is none.

    ||x*(S; u) - x*(S; v)||_2 <= L_grad ||u - v||_2 for all u, v whose restrictions to S have
    length 1. The paper states it for all theta, but x* depends on the direction of theta alone and
    turns arbitrarily fast near 0; its proofs use unit vectors only.

    L_grad is the largest radius of curvature of the boundary: X is an intersection of balls of
    that radius, and so is each slice of it.

    - l2 ball: its radius.
    - Ellipsoid with half-axes a_i: a_max^2 / a_min = sqrt(lambda_max) / lambda_min.
    - lp ball, 1 < p < 2: radius n^(1/p - 1/2) / (p - 1) in n coordinates. With q dual to p, the
      Hessian of ||theta||_q^2 / 2 is at most (q - 1) ||v||_q^2 <= (q - 1) ||v||_2^2 in direction
      v, so that of ||theta||_q is at most (q - 1) / ||theta||_q, and ||theta||_q is at least
      n^(1/q - 1/2) on the unit sphere. This is [Garber & Hazan 2015], whose constant
      (p - 1) / radius is for the p-norm; the power of n is the price of the l2 norm.
    - All other sets: infinite; `thm:regret_general_compact` is for those.

    Parameters
    ----------
    action_set : ActionSet
        X.
    sparsity : int, optional
        Only supports of at most this many coordinates; by default all.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.theory import response_lipschitz
    >>> response_lipschitz(sb.LpBall(dim=20, radius=2.0))
    2.0
    >>> response_lipschitz(sb.Ellipsoid([[4.0, 0.0], [0.0, 1.0]]))
    2.0
    >>> response_lipschitz(sb.Box([0, 0], [1, 1]))
    inf
    """
    if not isinstance(action_set, ActionSet):
        raise InvalidTypeError(f"action_set must be an action set, got {describe(action_set)}.")
    usable = np.flatnonzero(action_set.available)
    wanted = action_set.dim if sparsity is None else as_sparsity(sparsity, action_set.dim)
    size = min(wanted, usable.size)
    if isinstance(action_set, Ellipsoid):
        largest = float(np.linalg.eigvalsh(action_set.matrix[np.ix_(usable, usable)])[-1])
        # The bound on the norm is 1 / sqrt(lambda_min) of the worst support.
        return math.sqrt(largest) * action_set.sparse_norm_bound(size) ** 2
    if isinstance(action_set, LpBall) and action_set.is_strongly_convex:
        p = action_set.p
        return float(action_set.radius * size ** (1 / p - 0.5) / (p - 1))
    return math.inf
