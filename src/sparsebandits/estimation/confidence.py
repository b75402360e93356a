"""The table of confidence bounds, and how one is made from a name or a class."""

from typing import Any

from sparsebandits.errors import CompositionError, InvalidTypeError
from sparsebandits.estimation.bound import ConfidenceBound
from sparsebandits.estimation.coordinate import (
    MixtureBound,
    PairwiseBound,
    StitchedBound,
    UnionBound,
)
from sparsebandits.estimation.paper_bound import PaperBound
from sparsebandits.estimation.support_bound import SupportBound
from sparsebandits.exploration import Basis
from sparsebandits.validation import as_choice, as_delta, describe

CONFIDENCE: dict[str, type[ConfidenceBound]] = {
    bound.name: bound
    for bound in (PaperBound, UnionBound, StitchedBound, MixtureBound, PairwiseBound, SupportBound)
}


def make_confidence(confidence: Any, basis: Basis, delta: float) -> ConfidenceBound:
    """Make an anytime confidence bound for one basis.

    Parameters
    ----------
    confidence : str, ConfidenceBound or subclass of it
        ``"paper"``, ``"coordinate"``, ``"stitched"``, ``"mixture"``, ``"pairwise"`` (best for
        top-H), ``"support"`` (best for greedy and exact oracles), a class to be built with the
        basis and delta, or a bound that was.
    basis : Basis
    delta : float
        Failure probability, in (0, 1).

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.estimation import make_confidence
    >>> from sparsebandits.exploration import make_basis
    >>> basis = make_basis("standard", sb.LpBall(dim=20), sparsity=5)
    >>> for name in ("paper", "pairwise"):
    ...     bound = make_confidence(name, basis, delta=0.05)
    ...     print(name, float((0.5 * bound.top_h_threshold(cycle=100)).round(2)))
    paper 2.52
    pairwise 0.33
    """
    if isinstance(confidence, ConfidenceBound):
        _check_fit(confidence, basis, as_delta(delta))
        return confidence
    if isinstance(confidence, type) and issubclass(confidence, ConfidenceBound):
        return confidence(basis, delta)
    if not isinstance(confidence, str):
        raise InvalidTypeError(
            f"confidence must be a name, a ConfidenceBound or a class of them, "
            f"got {describe(confidence)}."
        )
    return CONFIDENCE[as_choice("confidence", confidence, CONFIDENCE)](basis, delta)


def _check_fit(bound: ConfidenceBound, basis: Basis, delta: float) -> None:
    if bound.basis is not basis and bound.basis != basis:
        raise CompositionError(
            f"The confidence bound was built for {bound.basis!r} and exploration plays {basis!r}; "
            "build it with the same basis, or pass its name."
        )
    if bound.delta != delta:
        raise CompositionError(
            f"The confidence bound was built with delta = {bound.delta} and is used with delta = "
            f"{delta}; give both the same, or pass its name."
        )
