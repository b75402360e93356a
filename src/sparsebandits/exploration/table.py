"""The table of bases, and how one is made from a name, a matrix or a file."""

from typing import Any, Protocol

import numpy as np

from sparsebandits.action_sets import ActionSet, Points
from sparsebandits.action_sets.choices import Choice, Rules
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.exploration.affine import AffineBasis
from sparsebandits.exploration.base import Basis, refuse_restricted
from sparsebandits.exploration.block import BlockBasis
from sparsebandits.exploration.designed import designed_basis
from sparsebandits.exploration.diagonal import DiagonalBasis, boundary, standard
from sparsebandits.exploration.found_actions import allowed_actions
from sparsebandits.exploration.matrix import MatrixBasis
from sparsebandits.exploration.orthogonal import block_gaussian, block_uniform
from sparsebandits.exploration.sparse_points import from_points
from sparsebandits.validation import as_array, describe


class BasisBuilder(Protocol):
    """Makes a basis of H-sparse actions of a convex set; only random ones use the generator."""

    def __call__(
        self, action_set: ActionSet, sparsity: int, rng: np.random.Generator | None = None
    ) -> Basis:
        """Build the basis."""


BASES: dict[str, BasisBuilder] = {
    "standard": standard,
    "boundary": boundary,
    "block-gaussian": block_gaussian,
    "block-uniform": block_uniform,
    "designed": designed_basis,
}


def make_basis(
    basis: Any,
    action_set: ActionSet,
    sparsity: int | Rules,
    rng: np.random.Generator | int | None = None,
) -> Basis:
    """Make, and check, the exploration actions b_1..b_d (`ass:arms during exploration`).

    Parameters
    ----------
    basis : str, Basis or array of shape (dim, dim)
        ``"standard"``, ``"boundary"``, ``"block-gaussian"``, ``"block-uniform"``, ``"designed"``,
        or your own actions as rows. On a `FiniteSet` every name gives d independent points of the
        set, and ``"designed"`` the better ones; and so it does with actions found by search where
        the set or the rules have none of the kind named, such as a budget that must be spent.
    action_set : ActionSet
        X.
    sparsity : int or Supports
        H, or rules for what may be on.
    rng : numpy.random.Generator or seed, optional
        Needed by the random bases.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis
    >>> basis = make_basis("standard", sb.LpBall(dim=20), sparsity=5)
    >>> basis
    DiagonalBasis('standard', dim=20, sparsity=1, lambda_0=1)
    >>> basis.h_1(sigma=0.5)
    10.0
    """
    choice = action_set.choice_of(sparsity)
    if isinstance(basis, str):
        actions = _named(basis, action_set, choice, rng)
    elif isinstance(basis, Basis):
        actions = basis
    else:
        rows = as_array("basis", basis, ndim=2)
        is_diagonal = rows.shape[0] == rows.shape[1] and not (rows - np.diag(np.diag(rows))).any()
        actions = DiagonalBasis(np.diag(rows), "own") if is_diagonal else MatrixBasis(rows, "own")
    actions.check(action_set, sparsity)
    return actions


def _named(
    name: str, action_set: ActionSet, choice: Choice, rng: np.random.Generator | int | None
) -> Basis:
    if name not in BASES:
        known = ", ".join(repr(known) for known in BASES)
        raise InvalidValueError(
            f"basis must be one of {known}, a Basis or a (dim, dim) matrix, got {name!r}."
        )
    generator = None if rng is None else _as_generator(rng)
    refuse_restricted(action_set)
    if isinstance(action_set.form, Points):
        points = action_set.form.points
        return from_points(action_set, points[choice.allows(points != 0)], name)
    if action_set.is_convex and action_set.contains_zero and choice.is_plain:
        return BASES[name](action_set, choice.at_most, generator)
    try:
        basis = BASES[name](action_set, choice.width, generator)
        basis.refuse_unfit(action_set, choice)
    except (CompositionError, InvalidValueError):
        return from_points(action_set, allowed_actions(action_set, choice), name)
    return basis


def _as_generator(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise InvalidTypeError(
            f"rng must be a numpy.random.Generator or an integer seed, got {describe(rng)}."
        )
    return np.random.default_rng(rng)


Basis.kinds = {
    DiagonalBasis.kind: DiagonalBasis,
    BlockBasis.kind: BlockBasis,
    MatrixBasis.kind: MatrixBasis,
    AffineBasis.kind: AffineBasis,
}
