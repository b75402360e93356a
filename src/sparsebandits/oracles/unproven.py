"""How many of the oracle's answers came without a proof, for those who watch over it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import BoolArray


@dataclass
class Unproven:
    """A count of answers without a proof."""

    count: int = 0


_WATCHED: ContextVar[Unproven | None] = ContextVar("unproven", default=None)


@contextmanager
def unproven_answers() -> Iterator[Unproven]:
    """Count the answers without a proof that policies are given in this block.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball = sb.Ellipsoid([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
    >>> policy = sb.SparseThompson(action_set=ball, sparsity=2, oracle="greedy")
    >>> with unproven_answers() as seen:
    ...     decision = policy.start(seed=0).ask()
    >>> seen.count > 0
    True
    """
    seen = Unproven()
    token = _WATCHED.set(seen)
    try:
        yield seen
    finally:
        _WATCHED.reset(token)


def note_proofs(is_exact: BoolArray) -> None:
    """Count answers, if somebody watches."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.count += int(is_exact.size - np.count_nonzero(is_exact))
