"""What every action set X offers: values, best responses, bounds, samples, a JSON round trip."""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self, TypeVar

import numpy as np

from sparsebandits.action_sets.availability import Availability
from sparsebandits.action_sets.choices import IN, Choice, Rules
from sparsebandits.action_sets.forms import Form
from sparsebandits.action_sets.marginals import Marginals, ResolvedMarginals, SortedMarginals
from sparsebandits.action_sets.names import (
    AllBut,
    as_names,
    brief,
    has_names,
    place_of,
    place_of_text,
    refuse_doubled,
)
from sparsebandits.action_sets.sorting import Sorting
from sparsebandits.descriptions import Described, as_fields
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Support,
    as_integer,
    as_listed,
    as_number,
    as_places,
    as_rows,
    as_sparsity,
    as_support,
    as_theta,
    describe,
    read_only,
)

Kept = TypeVar("Kept")


@lru_cache(maxsize=64)
def row_starts(rows: int, width: int) -> IntArray:
    """Return where each row starts in a flat array of rows that are so wide, (rows, 1)."""
    return read_only(np.arange(rows)[:, None] * width)


class ActionSet(Described):
    """A compact set X of actions in R^d.

    Most contain 0. On one that does not (``contains_zero`` is false), a support may have no action
    at all: its value is minus infinity, and it has no best response.

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
    names : tuple of str, or None
        One name per coordinate, where the set was built with ``names=[...]``; wherever
        coordinates are meant, their names will do.
    whole : ActionSet
        The set of which `restrict` made this one; itself if it did not.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> X = sb.Box([0, 0, 0], [1, 1, 2], names=["tv", "radio", "print"])
    >>> X.value([1.0, -1.0, 3.0], support=["tv", "print"])
    7.0
    >>> X.best_response([1.0, -1.0, 3.0])
    array([1., 0., 2.])
    >>> X.restrict(["tv", "radio"]).best_response([1.0, -1.0, 3.0])
    array([1., 0., 0.])
    >>> X.contains([0.5, 0.0, 3.0])
    False
    """

    noun = "An action set"

    is_convex: bool = True
    """Whether X contains what lies between two of its actions."""

    contains_zero: bool = True
    """Whether the action that uses nothing is in X. Where it is not, some supports have none."""

    is_strongly_convex: bool = False
    """Whether X is an intersection of balls of one radius, as `prop:lipschitz_h` needs."""

    def __init__(self, dim: int, names: Sequence[str] | None = None) -> None:
        self.dim = as_integer("dim", dim, minimum=1)
        self.names = as_names(names, self.dim)
        self._availability = Availability.everything(self.dim)
        self.whole: ActionSet = self
        self._cache: dict[Any, Any] = {}

    # ------------------------------------------------------------------ the hooks

    @abstractmethod
    def _respond(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Maximise theta·x over actions supported on `indices`.

        `theta` is (n, k), already gathered. `indices` is (k,) when all rows share one support, or
        (n, k) with -1 (and theta 0) as padding; the answer to one row must then not depend, even in
        its last bit, on the rows beside it. Returns the (n, k) entries of the maximiser, nan in the
        rows whose support has no action.
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

    def _respond_all_on(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Answer `_respond` with all of the coordinates on: none below its least dose."""
        return self._respond(theta, indices)

    def support_for(self, theta: FloatArray, choice: Choice) -> BoolArray | None:
        """Return a support, (dim,), that the rules allow and that has an action; None if none has.

        One that suits theta, (dim,), if not the best. Where 0 is an action, any that is allowed has
        one.
        """
        state = choice.start(self.available[None])
        on = choice.select(np.abs(theta)[None], state) | (state == IN)
        if choice.allows(on)[0] and self.available[on[0]].all():
            return np.asarray(on[0])
        return choice.complete(np.zeros(self.dim, dtype=np.bool_), self.available)

    def obeys(self, action: FloatArray, choice: Choice) -> bool:
        """Whether what an action uses, (dim,), may be on under the rules.

        More may be on than is used, where what is on may be 0.
        """
        on = np.asarray(action != 0)
        return choice.complete(on, on & self.available | self._may_rest()) is not None

    def _may_rest(self) -> BoolArray:
        """Which coordinates may be on and be 0, (dim,): all where no action has to jump there."""
        return self.available if self.is_convex else np.zeros(self.dim, dtype=np.bool_)

    def choice_of(self, sparsity: int | Rules) -> Choice:
        """Return H, or rules, as arrays for the coordinates of this set; made once."""
        if isinstance(sparsity, Rules):
            rules: Rules = sparsity
            # Of the whole set: what is available now changes no rule.
            return self.whole.remember(
                ("choice", rules), lambda: rules.choice(self.names, self.dim)
            )
        return Choice(self.dim, as_sparsity(sparsity, self.dim))

    def _why_empty(self, sparsity: int) -> str:
        """Say why no support of so many coordinates has an action."""
        return "the rules contradict each other"

    def refuse_empty(self, sparsity: int, rules: Rules | None = None) -> None:
        """Refuse to go on with a set that has no action of at most H non-zeros under the rules."""
        if (self.contains_zero and rules is None) or self.remember(
            ("has an action", sparsity, rules), lambda: self._has_action(sparsity, rules)
        ):
            return
        what = f"at most {sparsity} non-zeros" if rules is None else f"a support of {rules!r}"
        missing = [] if rules is None else self._never_available(rules)
        why, remedy = self._why_empty(sparsity), "Relax the set or the rules."
        if not self.is_unrestricted:
            why += f", with {self.available_count} of {self.dim} coordinates available"
        if missing:
            why = f"{describe(missing)} must always be on, and is not available"
            remedy = "Make it available, or leave it out of `always`."
        raise InvalidValueError(f"{self!r} has no action with {what}: {why}. {remedy}")

    def _never_available(self, rules: Rules) -> list[int | str]:
        """Return what the rules want on, always, and cannot be; by its name, if it has one."""
        missing = [i for i in self.choice_of(rules).always if not self.available[i]]
        return [i if self.names is None else self.names[i] for i in missing]

    def _has_action(self, sparsity: int, rules: Rules | None) -> bool:
        choice = self.choice_of(sparsity if rules is None else rules)
        return self.support_for(np.zeros(self.dim), choice) is not None

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
        return ResolvedMarginals(self._respond, self.available, theta, self.contains_zero)

    @classmethod
    def stack(cls, sets: "Sequence[ActionSet]", rows: int) -> "ActionSet | None":
        """Return one set that answers for several of this class, `rows` rows of theta for each.

        It has `marginals` and `respond_on`, with the bits that each set gives for its own rows;
        None where the class has no such set, or these do not fit into one.
        """
        return None

    # ------------------------------------------------------------------ the public surface

    def index(self, coordinate: int | str) -> int:
        """Return the index of a coordinate, given by its name or its index.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.LpBall(dim=2, names=["tv", "radio"]).index("radio")
        1
        """
        return place_of(coordinate, self._places, self.dim)

    def index_of_text(self, coordinate: str) -> int:
        """Return the index of a coordinate, given by its name or its index as text.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.LpBall(dim=2).index_of_text("1")
        1
        """
        return place_of_text(coordinate, self._places, self.dim)

    @property
    def _places(self) -> dict[str, int]:
        """The index of every name."""
        return self.remember("places", lambda: {n: i for i, n in enumerate(self.names or ())})

    def _unnamed(self, coordinates: Support) -> Support:
        """Return indices for names; what has no names in it is returned as it is."""
        if isinstance(coordinates, str):
            raise InvalidTypeError(
                f"Coordinates must be a list, got {coordinates!r}; write [{coordinates!r}]."
            )
        if isinstance(coordinates, Iterator):
            coordinates = list(coordinates)
        if not has_names(coordinates) or coordinates is None:
            return coordinates
        given = list(coordinates)
        places = [self.index(coordinate) for coordinate in given]
        refuse_doubled(given, places)
        return places

    @property
    def norm_bound(self) -> float:
        """L_X, the largest l2 norm of an action (`prop:lipschitz_h`), or an upper bound on it."""
        return self.sparse_norm_bound(self.dim)

    def value(self, theta: Any, support: Support = None) -> Any:
        """h(S; theta), the largest theta·x over actions supported on S (`eqn:def of h(S;)`).

        Parameters
        ----------
        theta : array of shape (..., dim)
        support : indices or names, a boolean mask, or None for all coordinates

        Returns
        -------
        float, or an array of shape (...)
        """
        parameters, indices, on_support = self._solve(theta, support)
        values = self._worth(parameters, on_support, np.full(parameters.shape[0], indices.size > 0))
        shape = np.shape(theta)[:-1]
        return values.reshape(shape) if shape else float(values[0])

    def _worth(self, theta: FloatArray, entries: FloatArray, on: BoolArray) -> FloatArray:
        """Return theta·x of each row, (n,): minus infinity where its support has no action.

        `on` says whether a row has a support at all.
        """
        values = np.asarray((theta * entries).sum(axis=-1))
        if self.contains_zero:
            return values
        return np.where(on & ~np.isnan(values), values, -np.inf)

    def best_response(self, theta: Any, support: Support = None) -> FloatArray:
        """x*(S; theta), an action supported on S that attains h(S; theta); (..., dim)."""
        parameters, indices, on_support = self._solve(theta, support)
        if not self.contains_zero and (indices.size == 0 or np.isnan(on_support).any()):
            raise InvalidValueError(
                f"{self!r} has no action on the support {describe(indices.tolist())}: "
                f"{self._why_empty(self.dim)}. Allow more coordinates."
            )
        actions = np.zeros((parameters.shape[0], self.dim))
        actions[:, indices] = on_support
        return actions.reshape(np.shape(theta))

    def _solve(self, theta: Any, support: Support) -> tuple[FloatArray, IntArray, FloatArray]:
        rows = as_theta(theta, self.dim).reshape(-1, self.dim)
        indices = as_support(self._unnamed(support), self.dim)
        if not self.is_unrestricted:
            indices = indices[self.is_available(indices)]
        on_support = rows[:, indices]
        if indices.size == 0:
            return on_support, indices, np.zeros_like(on_support)
        return on_support, indices, self._respond(on_support, indices)

    def respond_on(
        self, theta: FloatArray, indices: IntArray, *, all_on: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Best responses where every row has its own support: the simulator's path, unchecked.

        Where a support has no action, the action is nan on it and the value minus infinity.

        Parameters
        ----------
        theta : (n, dim)
        indices : (n, k)
            Available coordinates, padded with -1.
        all_on : bool
            Whether all of them must be on, each with its least dose.

        Returns
        -------
        actions : (n, dim)
        values : (n,)
        """
        actions, on_support, chosen = self._act_on(theta, indices, all_on)
        values = self._worth(on_support, chosen, np.asarray((indices >= 0).any(axis=-1)))
        if all_on:
            values = np.where(np.isnan(values), -np.inf, values)
        return actions, values

    def act_on(self, theta: FloatArray, indices: IntArray) -> FloatArray:
        """Return the actions of `respond_on`, without their values."""
        return self._act_on(theta, indices, False)[0]

    def _act_on(
        self, theta: FloatArray, indices: IntArray, all_on: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, dim = theta.shape
        places = indices + row_starts(n, dim)
        on_support = theta.take(places)
        padded = indices.size > 0 and indices.item(indices.argmin()) < 0
        if padded:
            on_support[indices < 0] = 0.0
            # It lands in one column more than there are coordinates, at the end of the row before,
            # and is cut off with it.
            places += row_starts(n, 1)
        chosen = (self._respond_all_on if all_on else self._respond)(on_support, indices)
        actions = np.zeros((n, dim + padded))
        actions.reshape(-1)[places] = chosen
        return actions[:, :dim] if padded else actions, on_support, chosen

    def unconstrained_values(self, theta: FloatArray) -> FloatArray:
        """Return the values without a sparsity constraint for rows of theta, (n,), unchecked."""
        usable = np.flatnonzero(self.available)
        on_support = theta[:, usable]
        entries = self._respond(on_support, usable)
        return self._worth(on_support, entries, np.ones(theta.shape[0], dtype=np.bool_))

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
        factor where X is convex and contains 0; every relatively open part of X can be reached.
        Elsewhere a random mixture of the best responses to a few directions, with the same
        coordinates on: what lies between those is in X.
        """
        sparsity = as_sparsity(sparsity, self.dim)
        usable = np.flatnonzero(self.available)
        support = rng.choice(usable, size=min(sparsity, usable.size), replace=False)
        direction = rng.standard_normal(self.dim)
        if self.is_convex and self.contains_zero:
            extreme = self.best_response(direction, support)
            return np.asarray(extreme * rng.uniform() ** (1.0 / support.size))
        action, value = self.respond_on(direction[None], support[None])
        chosen: BoolArray | None = action[0] != 0
        if value[0] == -np.inf:
            self.refuse_empty(sparsity)
            chosen = self.support_for(direction, Choice(self.dim, sparsity))
        assert chosen is not None
        on = np.flatnonzero(chosen)
        if not on.size:
            return np.zeros(self.dim)
        directions = rng.standard_normal((on.size + 1, self.dim))
        ends, _ = self.respond_on(directions, np.tile(on, (on.size + 1, 1)), all_on=True)
        return np.asarray(rng.dirichlet(np.ones(on.size + 1)) @ ends)

    def _active(self, sparsity: int | None) -> int:
        """Return how many coordinates an H-sparse action can use; all that there are for None."""
        limit = self.dim if sparsity is None else as_sparsity(sparsity, self.dim)
        return min(limit, self._availability.count)

    @property
    def available(self) -> BoolArray:
        """Which coordinates may be used, (dim,); `is_available` looks at some of very many."""
        return self._availability.mask

    def is_available(self, places: IntArray) -> BoolArray:
        """Whether these coordinates may be used: the cost of those few, not of all."""
        return self._availability.holds(places)

    @property
    def available_count(self) -> int:
        """How many coordinates may be used."""
        return self._availability.count

    def available_indices(self) -> IntArray:
        """Return the coordinates that may be used, ascending."""
        return self._availability.usable()

    @property
    def is_unrestricted(self) -> bool:
        """Whether every coordinate is available."""
        return self._availability.count == self.dim

    def restrict(self, available: "Support | AllBut") -> Self:
        """Return the same set with only some coordinates usable: the rest must stay 0.

        Restrictions add up. An empty one is refused.

        Parameters
        ----------
        available : indices or names, a boolean mask, or `AllBut` some

        Examples
        --------
        >>> import sparsebandits as sb
        >>> mix = sb.Box([0, 0, 0], [1, 2, 3], names=["tv", "radio", "print"])
        >>> mix.restrict(["tv", "print"]).best_response([1.0, 1.0, 1.0])
        array([1., 0., 3.])
        """
        is_rest = isinstance(available, AllBut)
        given = available.coordinates if isinstance(available, AllBut) else available
        named = as_listed(self._unnamed(given), self.dim, may_be_empty=is_rest)
        left = Availability(self.dim, named, is_rest).within(self._availability)
        if not left.count:
            raise InvalidValueError(
                "No coordinate is left: none of the coordinates now given is among those still "
                "available (a set may have been restricted before)."
            )
        twin = copy.copy(self)
        twin._availability = left
        twin._cache = {}
        twin.refuse_empty(self.dim)
        return twin

    def section(self, indices: Iterable[int | str]) -> "ActionSet":
        """Return the slice of X in which all other coordinates are 0, as a set in R^k.

        Coordinate j of the section is coordinate ``indices[j]`` of X: the order given is kept.
        What is not available in X is not available in the section. For a few coordinates of very
        many, it costs what those few cost.

        Parameters
        ----------
        indices : k distinct indices or names
            At least one of them available.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> sb.Box([0, -1, 0, 0], [1, 2, 3, 4]).section([3, 1]).best_response([1.0, -1.0])
        array([ 4., -1.])
        """
        places = as_places("indices", self._unnamed(indices), self.dim)
        section = self._section(places)
        if self.names is not None:
            section.names = tuple(self.names[place] for place in places)
        kept = self.is_available(places)
        if not kept.any():
            raise InvalidValueError(
                f"A section needs an available coordinate, got {describe(places.tolist())}, none "
                "of which is available: the only action would be 0."
            )
        return section if kept.all() else section.restrict(kept)

    def _section(self, places: IntArray) -> "ActionSet":
        """Build the unrestricted section: of the same kind, without work for the other places."""
        raise CompositionError(
            f"{type(self).__name__} has no sections: give the class a method `_section(places)` "
            "that returns the set of those coordinates in which the others are 0."
        )

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
        available, names = fields.pop("available", None), fields.pop("names", None)
        built = super().from_dict(fields)
        # Not by the constructor: that of a set outside this package need not take names.
        built.names = as_names(names, built.dim)
        return built if available is None else built.restrict(available)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `from_dict` reads it back."""
        data: dict[str, Any] = {"kind": self.kind, **self._parameters()}
        if self.names is not None:
            data["names"] = list(self.names)
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
        text = f"{type(self).__name__}({self._summary()}{brief(self.names)})"
        if self.is_unrestricted:
            return text
        return f"{text}.restrict({int(self.available.sum())} of {self.dim} available)"
