"""A decision: one action to play, and the id under which its reward is told."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import FloatArray, IntArray, brief_repr, read_only


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One action to play, and the id under which its reward is told.

    Attributes
    ----------
    id : int
        Unique within the learner, ascending.
    indices, values : arrays
        The non-zeros of the action, ascending by index. Read-only.
    dim : int
    phase : str
        "explore" or "exploit".
    cycle : int
        c, from 1; where there are no cycles, the number of the decision.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> mix = sb.Box([0, 0], [1, 2], names=["tv", "radio"])
    >>> decision = sb.SparseThompson(action_set=mix, sparsity=2).start(seed=0).ask()
    >>> decision.id, decision.action, decision.named
    (1, array([1., 2.]), {'tv': 1.0, 'radio': 2.0})
    """

    __repr__ = brief_repr

    id: int
    indices: IntArray
    values: FloatArray
    dim: int
    phase: str
    cycle: int
    names: tuple[str, ...] | None = None

    @property
    def named(self) -> dict[str, float]:
        """The non-zeros of the action by the names of their coordinates, or their numbers as text.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> mix = sb.Box([0, 0], [1, 2], names=["tv", "radio"])
        >>> learner = sb.SparseThompson(action_set=mix, sparsity=1).start(seed=0)
        >>> learner.ask(available=["radio"]).named
        {'radio': 2.0}
        """
        labels = [str(i) if self.names is None else self.names[i] for i in self.indices.tolist()]
        return dict(zip(labels, self.values.tolist(), strict=True))

    @property
    def action(self) -> FloatArray:
        """x, (dim,), read-only; made when it is asked for."""
        action = np.zeros(self.dim)
        action[self.indices] = self.values
        return read_only(action)
