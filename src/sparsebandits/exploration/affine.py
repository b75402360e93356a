"""One more action than coordinates, so that a baseline in every reward cancels."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from sparsebandits.action_sets import ActionSet, Points
from sparsebandits.action_sets.choices import Choice, Rules
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.exploration.base import Basis
from sparsebandits.exploration.found_actions import allowed_actions
from sparsebandits.exploration.matrix import MatrixBasis
from sparsebandits.validation import BoolArray, FloatArray, IntArray, as_array, read_only

EXACT_DIM = 400
"""Up to this many coordinates eigenvalues and contrasts are worked out, beyond them bounded."""

_FAR = 0.2
"""What is further off than this, as a share, is good enough."""

_DEPENDENT = 1e-6
"""An action as near as this to the plane of the others, as a share, is taken to lie in it."""


class AffineBasis(Basis):
    r"""d + 1 actions that are affinely independent: b_1..b_d, and the origin b_0, numbered last.

    For rewards b + theta·x + noise with b unknown. With D the matrix of the differences b_k - b_0,
    least squares on the columns (1, x) is, because d + 1 means determine d + 1 unknowns,

        theta_hat = D^-1 (mean_k - mean_0),

    from which b is gone. It is also least squares on the centred actions z_k = b_k - mean of b:
    theta_hat - theta* = C^-1 sum_k z_k eta_k with C = sum_k z_k z_k', in which b is gone because
    the z_k add up to 0. So all that is proven of theta_hat with B holds with C in its place, for
    d + 1 actions a cycle: `gram`, `trace`, `lambda_0`, `h_1` and the variances are those of C, and

        C = D'D - (D'1)(D'1)' / (d + 1),    C^-1 = (D'D)^-1 + u u',    u = D^-1 1.

    The baseline costs the u u': for the axes e_k and the origin 0 each variance doubles.

    Parameters
    ----------
    differences : Basis
        b_k - b_0, which must span.
    origin : array of shape (dim,)
        b_0; 0 where that is an action.

    Examples
    --------
    >>> from sparsebandits.exploration import AffineBasis, DiagonalBasis
    >>> basis = AffineBasis(DiagonalBasis([1.0, 2.0]), [0.0, 0.0])
    >>> basis.actions
    array([[1., 0.],
           [0., 2.],
           [0., 0.]])
    >>> basis.estimate([103.0, 108.0, 100.0])
    array([3., 4.])
    >>> basis.coordinate_variance
    array([2. , 0.5])
    """

    kind = "affine"

    def __init__(self, differences: Basis, origin: Any, name: str | None = None) -> None:
        self.differences = differences
        self.origin = as_array("origin", origin, ndim=1)
        if self.origin.size != differences.dim:
            raise InvalidValueError(
                f"origin must have {differences.dim} entries, one per coordinate, got "
                f"{self.origin.size}."
            )
        self._is_zero = not self.origin.any()
        self._ray = read_only(differences.estimate(np.ones(differences.dim)))  # u
        self._sums = read_only(differences.column_sums())  # D'1
        values = differences._singular_values
        super().__init__(differences.name if name is None else name, values)
        self._smallest = self._smallest_eigenvalue()

    @property
    def count(self) -> int:
        """D + 1."""
        return self.dim + 1

    # ------------------------------------------------------------------ the actions

    def _action(self, k: int) -> tuple[IntArray, FloatArray]:
        if k == self.dim:
            used = np.flatnonzero(self.origin)
            return used, self.origin[used]
        if self._is_zero:
            return self.differences._action(k)
        return np.arange(self.dim), self.differences.action(k) + self.origin

    def _support_sizes(self) -> IntArray:
        if self._is_zero:
            return np.append(self.differences._support_sizes(), 0)
        return np.array([self.support(k).size for k in range(self.count)])

    def _first_outside(self, action_set: ActionSet) -> int | None:
        if not self._is_zero:
            return super()._first_outside(action_set)
        outside = self.differences._first_outside(action_set)
        if outside is None and not action_set.contains(self.origin):
            return self.dim
        return outside

    def behind(self, support: Any) -> BoolArray:
        """Return which actions the estimate on these coordinates depends on, (count,)."""
        used = np.abs(self._ray[np.asarray(support, dtype=np.intp)])
        origin = bool((used > 1e-12 * np.abs(self._ray).max()).any())
        return np.append(self.differences.behind(support), origin)

    # ------------------------------------------------------------------ least squares

    def _predict(self, theta: FloatArray) -> FloatArray:
        base = (theta * self.origin).sum(axis=1, keepdims=True)
        return np.concatenate([self.differences._predict(theta) + base, base], axis=1)

    def _estimate(self, means: FloatArray) -> FloatArray:
        return self.differences._estimate(means[:, :-1] - means[:, -1:])

    @property
    def coordinate_variance(self) -> FloatArray:
        """diag(C^-1), (dim,)."""
        return np.asarray(self.differences.coordinate_variance + self._ray**2)

    def _inverse_gram_columns(self, indices: IntArray) -> FloatArray:
        columns = self.differences._inverse_gram_columns(indices)
        return np.asarray(columns + np.outer(self._ray, self._ray[indices]))

    @property
    def ray(self) -> FloatArray:
        """U = D^-1 1, (dim,): how far off theta_hat is by an error of 1 in the origin's mean."""
        return self._ray

    # ------------------------------------------------------------------ C

    @property
    def gram(self) -> FloatArray:
        """C, (dim, dim); built anew at each request."""
        return np.asarray(self.differences.gram - np.outer(self._sums, self._sums) / self.count)

    @property
    def trace(self) -> float:
        """tr(C), the sum of the squared distances of the actions from their mean."""
        return self.differences.trace - float(self._sums @ self._sums) / self.count

    @property
    def lambda_0(self) -> float:
        """The smallest eigenvalue of C; with more than 400 coordinates, a lower bound.

        The bound is exact where the differences are orthogonal and equally long.
        """
        return self._smallest

    @property
    def inverse_trace(self) -> float:
        """tr(C^-1)."""
        return self.differences.inverse_trace + float(self._ray @ self._ray)

    def _smallest_eigenvalue(self) -> float:
        if self.dim <= EXACT_DIM:
            everything = np.arange(self.dim)
            return float(1 / np.linalg.eigvalsh(self._inverse_gram_columns(everything))[-1])
        return 1 / (1 / self.differences.lambda_0 + float(self._ray @ self._ray))

    # ------------------------------------------------------------------ identity

    def _parameters(self) -> dict[str, Any]:
        return {"differences": self.differences.to_dict(), "origin": self.origin.tolist()}

    @classmethod
    def _from_fields(cls, **keywords: Any) -> Self:
        if isinstance(keywords.get("differences"), Mapping):
            keywords["differences"] = Basis.from_dict(keywords["differences"])
        return cls(**keywords)


def with_origin(basis: Basis, action_set: ActionSet, sparsity: int | Rules) -> AffineBasis:
    """Add an action to b_1..b_d, so that a baseline in every reward can be told from theta.

    It is 0 where 0 is allowed, else an allowed action off the plane through b_1..b_d: of those that
    were looked at, the one furthest from it.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.exploration import make_basis, with_origin
    >>> ball = sb.LpBall(3)
    >>> with_origin(make_basis("standard", ball, 1), ball, 1).origin
    array([0., 0., 0.])
    """
    choice = action_set.choice_of(sparsity)
    plane = basis.estimate(np.ones(basis.dim))  # plane·b_k = 1 for every k
    origin = off_plane(plane, action_set, choice)
    if origin is None:
        raise CompositionError(
            f"No action of {action_set!r} was found off the plane through the actions of the "
            f"basis {basis.name!r}: a baseline cannot be told from theta there. Where all actions "
            "lie in a plane, as in a budget that must be spent, it need not be: use "
            "intercept=False. Otherwise give another basis."
        )
    if not origin.any():
        return AffineBasis(basis, origin)
    return AffineBasis(MatrixBasis(basis.actions - origin, basis.name), origin)


def off_plane(plane: FloatArray, action_set: ActionSet, choice: Choice) -> FloatArray | None:
    """Return an allowed action x with plane·x != 1, (dim,): 0, or one far off; None if none is."""
    zero = np.zeros(action_set.dim)
    if action_set.contains(zero) and action_set.obeys(zero, choice):
        return zero
    best, furthest = None, _DEPENDENT
    for actions in _candidates(plane, action_set, choice):
        away = np.abs(actions @ plane - 1.0) / (1.0 + np.abs(actions) @ np.abs(plane))
        place = int(away.argmax())
        if away[place] > furthest:
            best, furthest = actions[place], float(away[place])
        if furthest > _FAR:
            break
    return best


def _candidates(plane: FloatArray, action_set: ActionSet, choice: Choice) -> Iterator[FloatArray]:
    """Yield allowed actions, (n, dim): all points, or ends to either side and then any others."""
    if isinstance(action_set.form, Points):
        points = action_set.form.points
        yield points[choice.allows(points != 0)]
        return
    for direction in (-plane, plane):
        on = action_set.support_for(direction, choice)
        if on is not None and on.any():
            yield action_set.respond_on(direction[None], np.flatnonzero(on)[None], all_on=True)[0]
    yield allowed_actions(action_set, choice)
