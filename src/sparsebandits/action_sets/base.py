"""What every action set X offers: values, best responses, bounds, samples, a JSON round trip."""

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sparsebandits.action_sets.marginals import Marginals, ResolvedMarginals
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Support,
    as_availability,
    as_integer,
    as_number,
    as_sparsity,
    as_support,
    as_theta,
)

ExactForm = Literal["quadratic", "linear", "budget", "finite", "other"]


class ActionSet(ABC):
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

    kind: ClassVar[str]
    """The name of the set in the table, in files and on the command line."""

    exact_form: ClassVar[ExactForm] = "other"
    """Which exact search applies: see `SOLVERS` in `sparsebandits.oracles.exact`."""

    is_strongly_convex: bool = False
    """Whether X is an intersection of balls of one radius, as `prop:lipschitz_h` needs."""

    def __init__(self, dim: int) -> None:
        self.dim = as_integer("dim", dim, minimum=1)
        self.available: BoolArray = np.ones(self.dim, dtype=np.bool_)
        self.available.setflags(write=False)
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

    # ------------------------------------------------------------------ sorting and greedy

    @property
    def is_sortable(self) -> bool:
        """Whether the H best coordinates are those with the H largest `scores`."""
        return False

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the score of each coordinate, (..., dim) >= 0, on a sortable set."""
        raise InvalidValueError(f"{self!r} has no coordinate scores: sorting is not exact there.")

    @property
    def score_exponent(self) -> float:
        """The q of a sortable set: h(S; theta) is proportional to the q-norm of the scores on S."""
        raise InvalidValueError(f"{self!r} has no coordinate scores: sorting is not exact there.")

    @property
    def score_weights(self) -> FloatArray | None:
        """How much each score can change when its theta_i changes by 1, (dim,); None means 1."""
        raise InvalidValueError(f"{self!r} has no coordinate scores: sorting is not exact there.")

    def idle_margin(self, theta: FloatArray) -> FloatArray:
        """Return by how much all coordinates with score 0 stay short of gaining, (n,).

        In the units of the scores, on a sortable set; theta is (n, dim). Where fewer than H
        coordinates gain, this is how sure one may be that no other does.
        """
        return np.zeros(theta.shape[0])

    def marginals(self, theta: FloatArray) -> Marginals:
        """Start the marginal gains of the greedy algorithm, one row per theta of shape (n, dim)."""
        return ResolvedMarginals(self, theta)

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
        points = np.asarray(x, dtype=np.float64)
        if points.ndim == 0 or points.shape[-1] != self.dim:
            raise InvalidValueError(f"x must have shape (..., {self.dim}), got {points.shape}.")
        tolerance = as_number("tolerance", tolerance)
        rows = points.reshape(-1, self.dim)
        inside: BoolArray = np.asarray(np.isfinite(rows).all(axis=-1))
        inside[inside] = self._contains(rows[inside], tolerance)
        if not self.is_unrestricted:
            inside &= (np.abs(rows[:, ~self.available]) <= tolerance).all(axis=-1)
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

    @property
    def is_unrestricted(self) -> bool:
        """Whether every coordinate is available."""
        if "unrestricted" not in self._cache:
            self._cache["unrestricted"] = bool(self.available.all())
        return bool(self._cache["unrestricted"])

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
        mask.setflags(write=False)
        twin = copy.copy(self)
        twin.available = mask
        twin._cache = {}
        return twin

    # ------------------------------------------------------------------ identity

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `action_set_from_dict` reads it back."""
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
