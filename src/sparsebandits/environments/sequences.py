"""X_t: action sets that change from step to step (`subsec:time_varying_action_set`)."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self

from sparsebandits.action_sets import ActionSet
from sparsebandits.descriptions import Described, as_fields
from sparsebandits.errors import CompositionError, InvalidTypeError
from sparsebandits.validation import as_instance, as_integer, describe

FEW = 64
"""Sets that are kept unless said otherwise."""


class ActionSetSequence(Described):
    """The sets X_0, X_1, ... of one dimension, each a function of its step alone.

    Any step can be asked for, in any order and again, with the same answer: nothing is consumed.
    A new sequence is a subclass with `_at` and `_parameters`, plus a line in the table of
    `sparsebandits.environments`. Sequences are immutable.

    Attributes
    ----------
    base : ActionSet
        The set that stands for all of them where one is needed, such as in bounds.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> weekdays = sb.Alternating([sb.LpBall(3, p=2.0), sb.LpBall(3, p=1.0)])
    >>> weekdays.at(0), weekdays.at(7)
    (LpBall(dim=3, p=2, radius=1), LpBall(dim=3, p=1, radius=1))
    """

    noun = "A sequence"

    is_fixed: ClassVar[bool] = False
    """Whether X_t is the same set at every step."""

    def __init__(self, base: ActionSet) -> None:
        self.base = as_action_set("action_set", base)

    @abstractmethod
    def _at(self, step: int) -> ActionSet:
        """Return X_t; the step is checked."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's keywords as JSON-safe values."""

    def at(self, step: int) -> ActionSet:
        """Return the set that the action of a step is taken from; the first step is 0."""
        return self._at(as_integer("step", step, minimum=0))

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.base.dim

    @property
    def norm_bound(self) -> float:
        """L_max: no action of any step is longer."""
        return self.base.norm_bound

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Upper bound on the l2 norm of all actions with at most `sparsity` non-zeros."""
        return self.base.sparse_norm_bound(sparsity)

    @property
    def is_strongly_convex(self) -> bool:
        """Whether X_t is strongly convex at every step."""
        return self.base.is_strongly_convex

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build the sequence of sets that `to_dict` described.

        Examples
        --------
        >>> from sparsebandits.environments import ActionSetSequence
        >>> ball = {"kind": "lp-ball", "dim": 3}
        >>> ActionSetSequence.from_dict({"kind": "fixed", "action_set": ball})
        FixedSet(LpBall(dim=3, p=2, radius=1))
        """
        fields = as_fields(cls.noun, data)
        if "action_set" in fields:
            fields["action_set"] = ActionSet.from_dict(fields["action_set"])
        if isinstance(fields.get("sets"), list):
            fields["sets"] = [ActionSet.from_dict(described) for described in fields["sets"]]
        return super().from_dict(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSetSequence) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.dim))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r})"


class FixedSet(ActionSetSequence):
    """The same set at every step.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import FixedSet
    >>> FixedSet(sb.LpBall(dim=3)).at(7)
    LpBall(dim=3, p=2, radius=1)
    """

    kind = "fixed"
    is_fixed = True

    def __init__(self, action_set: ActionSet) -> None:
        super().__init__(action_set)

    def _at(self, step: int) -> ActionSet:
        return self.base

    def _parameters(self) -> dict[str, Any]:
        return {"action_set": self.base.to_dict()}


class Alternating(ActionSetSequence):
    """A list of sets, one after the other and again from the start: the geometry may change.

    The base is the first among the sets with the largest norm bound.

    Parameters
    ----------
    sets : sequence of ActionSet
        All of one dimension.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import Alternating
    >>> moving = Alternating([sb.LpBall(dim=2), sb.LpBall(dim=2, p=1.0)])
    >>> moving.at(3)
    LpBall(dim=2, p=1, radius=1)
    >>> moving.is_strongly_convex
    False
    """

    kind = "alternating"

    def __init__(self, sets: Sequence[ActionSet]) -> None:
        given: object = sets
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) == 0:
            raise InvalidTypeError(
                f"sets must be a non-empty list of action sets, got {describe(given)}."
            )
        self.sets = tuple(as_action_set(f"sets[{i}]", X) for i, X in enumerate(sets))
        for i, X in enumerate(self.sets):
            if X.dim != self.sets[0].dim:
                raise CompositionError(
                    f"sets must share one dim, got {self.sets[0].dim} in sets[0] and {X.dim} in "
                    f"sets[{i}]; use restrict to switch coordinates off instead."
                )
        super().__init__(max(self.sets, key=lambda X: X.norm_bound))

    def _at(self, step: int) -> ActionSet:
        return self.sets[step % len(self.sets)]

    def sparse_norm_bound(self, sparsity: int) -> float:
        """Return the largest bound among the sets."""
        return max(X.sparse_norm_bound(sparsity) for X in self.sets)

    @property
    def is_strongly_convex(self) -> bool:
        """Whether every set of the list is."""
        return all(X.is_strongly_convex for X in self.sets)

    def _parameters(self) -> dict[str, Any]:
        return {"sets": [X.to_dict() for X in self.sets]}

    def __repr__(self) -> str:
        return f"Alternating({len(self.sets)} sets, dim={self.dim})"


class Recent:
    """The sets built last, so that asking for one again is free and its own caches live on.

    Parameters
    ----------
    count : int
        How many are kept.
    """

    def __init__(self, count: int = FEW) -> None:
        self._count = count
        self._kept: dict[Hashable, ActionSet] = {}

    def get(self, key: Hashable, build: Callable[[], ActionSet]) -> ActionSet:
        """Return the set under `key`, built if it is not among those kept."""
        kept = self._kept.pop(key, None)
        # Put back at the end: the first of the table is the one not asked for the longest.
        current = self._kept[key] = build() if kept is None else kept
        if len(self._kept) > self._count:
            del self._kept[next(iter(self._kept))]
        return current


def as_action_set(name: str, value: ActionSet) -> ActionSet:
    """Return `value`, checked to be an action set."""
    return as_instance(name, value, ActionSet, "an action set such as LpBall(dim=20)")
