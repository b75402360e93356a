"""What every action set X offers: values, best responses, bounds, samples, a JSON round trip."""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from sparsebandits.action_sets.forms import Form
from sparsebandits.action_sets.marginals import Marginals, ResolvedMarginals, SortedMarginals
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.descriptions import Described, as_fields
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Support,
    as_availability,
    as_integer,
    as_number,
    as_rows,
    as_sparsity,
    as_support,
    as_theta,
    read_only,
)

Kept = TypeVar("Kept")


class ActionSet(Described):
    """A compact set X of actions in R^d that contains 0.

    A new set is a subclass with the hooks `_respond`, `sparse_norm_bound`, `axis_reach`,
    `_contains`, `_parameters` and `_summary`, plus a line in the table
    of `sparsebandits.action_sets`. Sets are immutable.

    Attributes
    ----------
    dim : int
        d, the number of coordinates.
    available : (dim,) bool array
        Coordinates that may be used; the others must stay 0. All of them unless `restrict` was
        called.
    whole : ActionSet
        The set of which `restrict` made this one; itself if it did not.
    """

    noun = "An action set"

    is_convex: bool = True
    """Whether X contains what lies between two of its actions."""

    is_strongly_convex: bool = False
    """Whether X is an intersection of balls of one radius, as `prop:lipschitz_h` needs."""

    def __init__(self, dim: int) -> None:
        self.dim = as_integer("dim", dim, minimum=1)
        self.available: BoolArray = read_only(np.ones(self.dim, dtype=np.bool_))
        self.whole: ActionSet = self
        self._cache: dict[Any, Any] = {}

    # ------------------------------------------------------------------ the hooks

    @abstractmethod
    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Maximise theta·x over actions supported on `indices`.

        `theta` is (n, k), already gathered. `indices` is (k,) when all rows share one support, or
        (n, k) with -1 (and theta 0) as padding; the answer to one row must then not depend, even in
        its last bit, on the rows beside it. Returns the (n, k) entries of the maximiser.
        """

    @abstractmethod
    def sparse_norm_bound(self, sparsity: int) -> float:
        """Upper bound on the l2 norm of the available actions with at most `sparsity` non-zeros."""

    @abstractmethod
    def axis_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest x_k with x_k e_k in X, each (dim,).

        Both are 0 where coordinate k is unavailable.
        """

    @abstractmethod
    def _contains(self, x: FloatArray, tolerance: float) -> BoolArray:
        """Whether the rows of x, (n, dim) and finite, satisfy the constraints of the set."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's keywords as JSON-safe values."""

    @abstractmethod
    def _summary(self) -> str:
        """Return what a person wants to see between the parentheses of the repr."""

    # ------------------------------------------------------------------ what a set may offer

    @property
    def sorting(self) -> Sorting | None:
        """How the best support is found by sorting, where it is."""
        return None

    @property
    def form(self) -> Form | None:
        """How the set is written down, where an exact search knows such a form."""
        return None

    @property
    def gamma_bound(self) -> float:
        """A lower bound on the submodularity ratio gamma of h(.; theta) for every theta.

        1 where sorting is exact: a concave function of a sum over S is submodular.
        """
        return 0.0 if self.sorting is None else 1.0

    def response_lipschitz(self, sparsity: int | None = None) -> float:
        """Return L_grad = 1/mu of `prop:lipschitz_h` for theta of length 1; inf if there is none.

        ||x*(S; u) - x*(S; v)||_2 <= L_grad ||u - v||_2 for all u, v whose restrictions to S have
        length 1. The paper states it for all theta, but x* depends on the direction of theta alone
        and turns arbitrarily fast near 0; its proofs use unit vectors only.

        L_grad is the largest radius of curvature of the boundary: X is an intersection of balls of
        that radius, and so is each slice of it. Where it is infinite,
        `thm:regret_general_compact` is for X.

        Parameters
        ----------
        sparsity : int, optional
            Only supports of at most this many coordinates; by default all.
        """
        self._active(sparsity)
        return math.inf

    def from_sphere(self, points: FloatArray, support: IntArray) -> FloatArray | None:
        """Carry points of the unit sphere in R^k over to the boundary of X on a support of k.

        (n, k) to (n, k); None where the boundary has corners, or no such map is known.
        """
        return None

    def marginals(self, theta: FloatArray) -> Marginals:
        """Start the marginal gains of the greedy algorithm, one row per theta of shape (n, dim)."""
        if self.sorting is not None:
            return SortedMarginals(self.sorting, theta)
        return ResolvedMarginals(self._respond, self.available, theta)

    @classmethod
    def stack(cls, sets: "Sequence[ActionSet]", rows: int) -> "ActionSet | None":
        """Return one set that answers for several of this class, `rows` rows of theta for each.

        It has `marginals` and `respond_on`, with the bits that each set gives for its own rows;
        None where the class has no such set, or these do not fit into one.
        """
        return None

    # ------------------------------------------------------------------ the public surface

    @property
    def norm_bound(self) -> float:
        """L_X, the largest l2 norm of an action (`prop:lipschitz_h`), or an upper bound on it."""
        return self.sparse_norm_bound(self.dim)

    def value(self, theta: Any, support: Support = None) -> Any:
        """h(S; theta), the largest theta·x over actions supported on S (`eqn:def of h(S;)`).

        Parameters
        ----------
        theta : array of shape (..., dim)
        support : indices, a boolean mask, or None for all coordinates

        Returns
        -------
        float, or an array of shape (...)
        """
        parameters, _, on_support = self._solve(theta, support)
        values = (parameters * on_support).sum(axis=-1)
        shape = np.shape(theta)[:-1]
        return values.reshape(shape) if shape else float(values[0])

    def best_response(self, theta: Any, support: Support = None) -> FloatArray:
        """x*(S; theta), an action supported on S that attains h(S; theta); (..., dim)."""
        parameters, indices, on_support = self._solve(theta, support)
        actions = np.zeros((parameters.shape[0], self.dim))
        actions[:, indices] = on_support
        return actions.reshape(np.shape(theta))

    def _solve(self, theta: Any, support: Support) -> tuple[FloatArray, IntArray, FloatArray]:
        rows = as_theta(theta, self.dim).reshape(-1, self.dim)
        indices = as_support(support, self.dim)
        if not self.is_unrestricted:
            indices = indices[self.available[indices]]
        on_support = rows[:, indices]
        if indices.size == 0:
            return on_support, indices, np.zeros_like(on_support)
        return on_support, indices, self._respond(on_support, indices)

    def respond_on(self, theta: FloatArray, indices: IntArray) -> tuple[FloatArray, FloatArray]:
        """Best responses where every row has its own support: the simulator's path, unchecked.

        Parameters
        ----------
        theta : (n, dim)
        indices : (n, k)
            Available coordinates, padded with -1.

        Returns
        -------
        actions : (n, dim)
        values : (n,)
        """
        padding = indices < 0
        rows = np.arange(theta.shape[0])[:, None]
        on_support = np.where(padding, 0.0, theta[rows, indices])
        chosen = self._respond(on_support, indices)
        # Padding lands in one column more than there are coordinates, and is cut off with it.
        actions = np.zeros((theta.shape[0], self.dim + 1))
        actions[rows, indices] = chosen
        return actions[:, : self.dim], np.asarray((on_support * chosen).sum(axis=-1))

    def unconstrained_values(self, theta: FloatArray) -> FloatArray:
        """Return the values without a sparsity constraint for rows of theta, (n,), unchecked."""
        usable = np.flatnonzero(self.available)
        on_support = theta[:, usable]
        return np.asarray((on_support * self._respond(on_support, usable)).sum(axis=-1))

    def contains(self, x: Any, *, tolerance: float = 1e-9) -> Any:
        """Whether x, of shape (..., dim), is in X up to a relative `tolerance`."""
        points = as_rows("x", x, self.dim)
        tolerance = as_number("tolerance", tolerance)
        rows = points.reshape(-1, self.dim)
        finite = np.isfinite(rows)
        if finite.all():
            inside = self._contains(rows, tolerance)
        else:
            inside = np.asarray(finite.all(axis=-1))
            inside[inside] = self._contains(rows[inside], tolerance)
        if not self.is_unrestricted and (unavailable := rows[:, ~self.available]).any():
            slack = tolerance * np.abs(rows).max(axis=-1, keepdims=True)
            inside &= (np.abs(unavailable) <= slack).all(axis=-1)
        shape = points.shape[:-1]
        return inside.reshape(shape) if shape else bool(inside[0])

    def sample(self, rng: np.random.Generator, sparsity: int) -> FloatArray:
        """Draw a random available action with at most `sparsity` non-zeros.

        A random support, a random direction, the best response to it, shrunk towards 0 by a random
        factor (X is convex and contains 0); every relatively open part of X can be reached.
        """
        sparsity = as_sparsity(sparsity, self.dim)
        usable = np.flatnonzero(self.available)
        support = rng.choice(usable, size=min(sparsity, usable.size), replace=False)
        extreme = self.best_response(rng.standard_normal(self.dim), support)
        return np.asarray(extreme * rng.uniform() ** (1.0 / support.size))

    def _active(self, sparsity: int | None) -> int:
        """Return how many coordinates an H-sparse action can use; all that there are for None."""
        limit = self.dim if sparsity is None else as_sparsity(sparsity, self.dim)
        return min(limit, int(np.count_nonzero(self.available)))

    @property
    def is_unrestricted(self) -> bool:
        """Whether every coordinate is available."""
        return self.remember("unrestricted", lambda: bool(self.available.all()))

    def restrict(self, available: Support) -> Self:
        """Return the same set with only some coordinates usable: the rest must stay 0.

        Restrictions add up. An empty one is refused.
        """
        mask = as_availability(available, self.dim) & self.available
        if not mask.any():
            raise InvalidValueError(
                "No coordinate is left: this set was restricted before, and none of the "
                "coordinates now given is among those still available."
            )
        twin = copy.copy(self)
        twin.available = read_only(mask)
        twin._cache = {}
        return twin

    # ------------------------------------------------------------------ identity

    def remember(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return ``make()``, called once for this object: what is derived from the set alone.

        It is no part of the set's identity: neither compared, nor saved, copied or pickled.
        """
        if key not in self._cache:
            # Of two threads that get here, both go on with what the first one made.
            self._cache.setdefault(key, make())
        kept: Kept = self._cache[key]
        return kept

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build the action set that `to_dict` described.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.ActionSet.from_dict({"kind": "lp-ball", "dim": 3, "p": "inf"})
        LpBall(dim=3, p=inf, radius=1)
        """
        fields = as_fields(cls.noun, data)
        available = fields.pop("available", None)
        built = super().from_dict(fields)
        return built if available is None else built.restrict(available)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `from_dict` reads it back."""
        data: dict[str, Any] = {"kind": self.kind, **self._parameters()}
        if not self.is_unrestricted:
            data["available"] = [int(i) for i in np.flatnonzero(self.available)]
        return data

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ActionSet) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.dim, self.available.tobytes()))

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({self._summary()})"
        if self.is_unrestricted:
            return text
        return f"{text}.restrict({int(self.available.sum())} of {self.dim} available)"
