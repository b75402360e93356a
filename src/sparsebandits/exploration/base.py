"""What every exploration basis b_1..b_d offers: actions, B and its bounds, least squares."""

import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.choices import Choice, Rules
from sparsebandits.descriptions import Described
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_integer,
    as_number,
    as_rows,
    describe,
)

_CHUNK_ENTRIES = 2_000_000
_ROUNDING = 1e-12


class Basis(Described):
    """d actions b_1..b_d that span R^d (`ass:arms during exploration`).

    With M the matrix whose rows are the actions, B = sum_k b_k b_k' = M'M. A subclass stores M in
    its own way and hands the singular values of M to this class, from which tr(B), lambda_0 and
    tr(B^-1) follow. Bases are immutable; one that does not span cannot be built.

    Attributes
    ----------
    dim : int
        d, the number of actions and of coordinates.
    name : str
        How the basis was made: a name of `BASES`, or the caller's own.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> basis = sb.make_basis("standard", sb.LpBall(4), sparsity=2)
    >>> basis.dim, basis.lambda_0, basis.trace
    (4, 1.0, 4.0)
    """

    noun = "A basis"

    def __init__(self, name: str, singular_values: FloatArray) -> None:
        if not isinstance(name, str):
            raise InvalidTypeError(f"name must be a string, got {describe(name)}.")
        self.name = name
        self.dim = singular_values.size
        self._singular_values = singular_values
        with np.errstate(over="ignore", divide="ignore"):
            bounds = (self.trace, self.inverse_trace)
        if not np.isfinite(bounds).all():
            raise InvalidValueError(
                f"The actions are too long or too short for floating point: singular values from "
                f"{singular_values.min():.3g} to {singular_values.max():.3g} give tr(B) = "
                f"{bounds[0]:.3g} and tr(B^-1) = {bounds[1]:.3g}. Rescale the coordinates."
            )

    @property
    def count(self) -> int:
        """How many actions there are: dim, and one more where a baseline is reckoned with."""
        return self.dim

    # ------------------------------------------------------------------ the hooks

    @abstractmethod
    def _action(self, k: int) -> tuple[IntArray, FloatArray]:
        """Return the coordinates of action k that may be non-zero, and its entries there."""

    @abstractmethod
    def _support_sizes(self) -> IntArray:
        """Return the number of non-zeros of b_k, for every k, (count,)."""

    @abstractmethod
    def _predict(self, theta: FloatArray) -> FloatArray:
        """M theta for the rows of theta, (n, dim) to (n, count)."""

    @abstractmethod
    def _estimate(self, means: FloatArray) -> FloatArray:
        """theta_hat, M^-1 means where M is square, for rows of means, (n, count) to (n, dim)."""

    @property
    @abstractmethod
    def coordinate_variance(self) -> FloatArray:
        """diag(B^-1), (dim,): the variance of theta_hat_i after one cycle with unit noise."""

    @abstractmethod
    def _inverse_gram_columns(self, indices: IntArray) -> FloatArray:
        """Return the columns of B^-1 at `indices`, (dim, len(indices))."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's keywords, without the name, as JSON-safe values."""

    # ------------------------------------------------------------------ the actions

    def action(self, k: int) -> FloatArray:
        """b_k, (dim,)."""
        coordinates, entries = self._action(self._as_index(k))
        action = np.zeros(self.dim)
        action[coordinates] = entries
        return action

    def support(self, k: int) -> IntArray:
        """S_k, the coordinates that action k uses, ascending."""
        coordinates, entries = self._action(self._as_index(k))
        return np.sort(coordinates[entries != 0])

    def _as_index(self, k: int) -> int:
        index = as_integer("k", k, minimum=0)
        if index >= self.count:
            raise InvalidValueError(f"k must lie in 0..{self.count - 1}, got {index}.")
        return index

    def _rows(self, start: int, stop: int) -> FloatArray:
        rows = np.zeros((stop - start, self.dim))
        for k in range(start, stop):
            coordinates, entries = self._action(k)
            rows[k - start, coordinates] = entries
        return rows

    @property
    def actions(self) -> FloatArray:
        """M, (count, dim), whose row k is b_k; built anew at each request."""
        return self._rows(0, self.count)

    def column_sums(self) -> FloatArray:
        """M'1, the sum of the actions, (dim,)."""
        sums = np.zeros(self.dim)
        for k in range(self.count):
            coordinates, entries = self._action(k)
            sums[coordinates] += entries
        return sums

    @property
    def sparsity(self) -> int:
        """The largest number of non-zeros of an action."""
        return int(self._support_sizes().max())

    # ------------------------------------------------------------------ B

    @property
    def gram(self) -> FloatArray:
        """B, (dim, dim); built anew at each request."""
        actions = self.actions
        return actions.T @ actions

    @property
    def trace(self) -> float:
        """tr(B), the sum of the squared lengths of the actions."""
        return float((self._singular_values**2).sum())

    @property
    def lambda_0(self) -> float:
        """The smallest eigenvalue of B."""
        return float(self._singular_values.min() ** 2)

    @property
    def inverse_trace(self) -> float:
        """tr(B^-1), the mean squared error of theta_hat after one cycle with unit noise."""
        return float((self._singular_values**-2).sum())

    def h_1(self, sigma: float) -> float:
        """2 sigma^2 tr(B) / lambda_0^2, the constant of the paper's error bound.

        Parameters
        ----------
        sigma : float
            Noise level; non-negative.
        """
        level = as_number("sigma", sigma)
        if level < 0:
            raise InvalidValueError(f"sigma must be non-negative, got {level}.")
        return 2 * level**2 * self.trace / self.lambda_0**2  # lemma:ols-bound-hp

    # ------------------------------------------------------------------ least squares

    def predict(self, theta: Any) -> FloatArray:
        """b_k·theta for every k: the mean rewards of one cycle; (..., dim) to (..., count)."""
        rows = as_rows("theta", theta, self.dim)
        means = self._predict(rows.reshape(-1, self.dim))
        return means.reshape(*rows.shape[:-1], self.count)

    def estimate(self, means: Any) -> FloatArray:
        """theta_hat from the mean reward of each action; (..., count) to (..., dim).

        B^-1 sum_k b_k mean_k = (M'M)^-1 M' means = M^-1 means, because M is square.
        """
        rows = as_rows("means", means, self.count)
        theta = self._estimate(rows.reshape(-1, self.count))  # eqn:sparse-PEE-ols
        return theta.reshape(*rows.shape[:-1], self.dim)

    def inverse_gram_columns(self, indices: Any) -> FloatArray:
        """Columns of B^-1, (dim, len(indices)): covariances with theta_hat at `indices`."""
        chosen = np.atleast_1d(np.asarray(indices))
        if chosen.ndim != 1 or not (np.issubdtype(chosen.dtype, np.integer) or chosen.size == 0):
            raise InvalidTypeError(
                f"indices must be a flat list of integers in 0..{self.dim - 1}, "
                f"got {describe(indices)}."
            )
        outside = chosen[(chosen < 0) | (chosen >= self.dim)]
        if outside.size:
            raise InvalidValueError(f"indices must lie in 0..{self.dim - 1}, got {outside[0]}.")
        return self._inverse_gram_columns(chosen.astype(np.intp))

    def behind(self, support: Any) -> BoolArray:
        """Return which actions the estimate on these coordinates depends on, (count,).

        Those k with (M^-1)_ik != 0 for an i of the support: where M is diagonal, the support.

        Examples
        --------
        >>> from sparsebandits.exploration import DiagonalBasis
        >>> DiagonalBasis([1.0, 2.0, 3.0]).behind([0, 2])
        array([ True, False,  True])
        """
        # (M^-1)_ik = b_k·(B^-1)_i, because M^-1 = B^-1 M'.
        weights = np.abs(self._predict(self.inverse_gram_columns(support).T))
        rounding = _ROUNDING * weights.max(axis=1, keepdims=True, initial=0.0)
        return np.asarray((weights > rounding).any(axis=0))

    # ------------------------------------------------------------------ fit to an action set

    def check(self, action_set: ActionSet, sparsity: int | Rules) -> None:
        """Refuse the basis unless every action is H-sparse, or obeys rules, available and in X.

        That the actions span was established when the basis was built.

        Raises
        ------
        InvalidValueError
            Naming the first action k that is not allowed, and why.
        CompositionError
            If the dimensions differ, or the set leaves coordinates that no action may use.
        """
        if action_set.dim != self.dim:
            raise CompositionError(
                f"The basis has {self.dim} coordinates and {action_set!r} has {action_set.dim}; "
                "build the basis for this set, for example with make_basis('standard', ...)."
            )
        self.refuse_unfit(action_set, action_set.choice_of(sparsity))

    def refuse_unfit(self, action_set: ActionSet, choice: Choice) -> None:
        """Refuse the basis if an action uses what may not be on together, or is not in X."""
        limit = choice.width
        sizes = self._support_sizes()
        too_many = np.flatnonzero(sizes > limit)
        if too_many.size:
            k = int(too_many[0])
            raise InvalidValueError(
                f"Action k = {k} of the basis uses {sizes[k]} coordinates and sparsity (H) = "
                f"{limit} allows {limit}; raise the sparsity or use basis='standard'."
            )
        refuse_restricted(action_set, self._user_of)
        self._refuse_disobedient(action_set, choice)
        outside = self._first_outside(action_set)
        if outside is not None:
            raise InvalidValueError(
                f"Action k = {outside} of the basis, {_show(*self._action(outside))}, is outside "
                f"{action_set!r}; shrink it, or use basis='standard', which stays inside."
            )

    def _refuse_disobedient(self, action_set: ActionSet, choice: Choice) -> None:
        if choice.is_plain:
            return
        for k in range(self.count):
            if not action_set.obeys(self.action(k), choice):
                raise InvalidValueError(
                    f"Action k = {k} of the basis uses {listed(self.support(k))}, which may not be "
                    "on together under the rules; name a basis, which is then found to fit."
                )

    def fitting(self, current: ActionSet) -> BoolArray:
        """Return which actions may be played on a set, (count,), by a few rows at a time."""
        step = max(1, _CHUNK_ENTRIES // self.dim)
        parts = []
        for start in range(0, self.count, step):
            rows = self._rows(start, min(start + step, self.count))
            usable = ~rows[:, ~current.available].any(axis=1)
            parts.append(usable & np.asarray(current.contains(rows)))
        return np.concatenate(parts)

    def _user_of(self, coordinate: int) -> int:
        """Return an action that uses the coordinate; there is one, because the actions span."""
        candidates = itertools.chain([coordinate], range(self.count))
        return next(k for k in candidates if coordinate in self.support(k))

    def _first_outside(self, action_set: ActionSet) -> int | None:
        """Return the first action that is not in X."""
        outside = np.flatnonzero(~self.fitting(action_set))
        return int(outside[0]) if outside.size else None

    # ------------------------------------------------------------------ identity

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `Basis.from_dict` reads it back bit for bit."""
        return {"kind": self.kind, "name": self.name, **self._parameters()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Basis) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self._singular_values.tobytes()))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, dim={self.dim}, sparsity={self.sparsity}, "
            f"lambda_0={self.lambda_0:.3g})"
        )


def refuse_restricted(action_set: ActionSet, user_of: Callable[[int], int] | None = None) -> None:
    """Refuse a set with unavailable coordinates: nothing in it spans R^d."""
    if action_set.is_unrestricted:
        return
    missing = np.flatnonzero(~action_set.available)
    user = f" Action k = {user_of(int(missing[0]))} uses {missing[0]}." if user_of else ""
    raise CompositionError(
        f"{action_set!r} cannot be explored: coordinates {listed(missing)} are unavailable, so "
        f"its actions do not span all {action_set.dim} dimensions.{user} Explore on the "
        "unrestricted set, or on one that has only the available coordinates."
    )


def listed(indices: IntArray) -> str:
    """Name the first few indices in an error message."""
    shown = ", ".join(str(i) for i in indices[:8])
    return shown if indices.size <= 8 else f"{shown}, ... ({indices.size} in all)"


def _show(coordinates: IntArray, entries: FloatArray) -> str:
    order = np.argsort(coordinates)
    parts = [f"{entries[i]:.6g} at {coordinates[i]}" for i in order if entries[i] != 0]
    return ", ".join(parts[:4]) + (", ..." if len(parts) > 4 else "")
