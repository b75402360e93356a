"""What every action set promises, for whoever writes one."""

from functools import partial

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError
from sparsebandits.testing.contract import (
    ROUNDS,
    Promise,
    SetExam,
    SparseProblem,
    close,
    draw,
    examine,
    same_bits,
)
from sparsebandits.testing.identity import IDENTITY_PROMISES
from sparsebandits.testing.oracles import ORACLE_PROMISES
from sparsebandits.validation import BoolArray, FloatArray, as_instance, as_integer, as_sparsity

_SCALES = [2.0**power for power in (-996, -531, -100, 100, 512, 990)]
"""About 1e-300 to 1e298: to scale by a power of two is exact."""


def check_action_set(action_set: ActionSet, *, sparsity: int | None = None, seed: int = 0) -> None:
    """Hold an action set to what the rest of the package relies on.

    Responses are feasible, on their support, and best; values are convex, homogeneous and grow
    with the support; rows of a batch do not know each other; bounds bound; restrictions, files and
    copies keep their word; the unit of theta does not matter; nothing handed out can change the
    set; and every oracle is as good on it as it says. Where there are few supports they are all
    tried, so examine an instance with `dim` of 3 to 6 as well as one of your own size.

    Parameters
    ----------
    action_set : ActionSet
    sparsity : int, optional
        H; half of the coordinates if left out.
    seed : int
        Draws the thetas and supports that are tried; other seeds try others.

    Raises
    ------
    ContractError
        At the first promise that is broken, with what shows it.

    Notes
    -----
    A set is read back from files if its class is in the table:
    ``sb.ActionSet.kinds[MySet.kind] = MySet``.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> sb.testing.check_action_set(sb.LpBall(dim=4, p=1.5))

    A set that forgets the sign of theta:

    >>> class Careless(sb.LpBall):
    ...     def _respond(self, theta, indices):
    ...         return abs(super()._respond(theta, indices))
    >>> try:
    ...     sb.testing.check_action_set(Careless(dim=3))
    ... except sb.testing.ContractError as error:
    ...     print(error.promise)
    The best response attains the value, and nothing on the support is better.
    """
    as_instance("action_set", action_set, ActionSet, "an action set such as sb.LpBall(dim=4)")
    chosen = (action_set.dim + 1) // 2 if sparsity is None else sparsity
    problem = SparseProblem(action_set, as_sparsity(chosen, action_set.dim))
    promises = _PROMISES | IDENTITY_PROMISES | ORACLE_PROMISES | _SECTION_PROMISES
    number = as_integer("seed", seed, minimum=0)
    action_set.refuse_empty(problem.sparsity)
    examine(problem, promises, number)


def _bounds(exam: SetExam) -> None:
    X = exam.part.action_set
    bounds = [X.sparse_norm_bound(k) for k in range(1, X.dim + 1)]
    exam.require(np.isfinite(bounds).all() and min(bounds) >= 0, "a bound", bounds=bounds)
    growing = (np.diff(bounds) >= -1e-9 * X.norm_bound).all()
    exam.require(growing, "a larger support has a smaller bound", bounds=bounds)
    exam.require(bounds[-1] <= X.norm_bound * (1 + 1e-9), "L_X is smaller", bounds=bounds)
    for theta in (draw(exam)[0] for _ in range(4 * ROUNDS)):
        support = exam.rng.permutation(X.dim)[: int(exam.rng.integers(1, X.dim + 1))]
        if X.value(theta, support) == -np.inf:
            continue
        longest = float(np.linalg.norm(X.best_response(theta, support)))
        within = longest <= bounds[support.size - 1] * (1 + 1e-9)
        exam.require(within, f"length {longest}", theta=theta, support=support, bounds=bounds)


def _feasible(exam: SetExam) -> None:
    X = exam.part.action_set
    zero = X.contains(np.zeros(X.dim)) == X.contains_zero
    exam.require(zero, "0 is contained, or not, against `contains_zero`")
    for theta, support in [(np.ones(X.dim), []), *(draw(exam) for _ in range(ROUNDS))]:
        value = X.value(theta, support)
        if value == -np.inf:
            exam.require(not X.contains_zero, "a support without an action", support=support)
            refused = partial(X.best_response, theta, support)
            exam.refuses(refused, "a support without an action", support=support)
            continue
        response = X.best_response(theta, support)
        shown = {"theta": theta, "support": support, "response": response}
        exam.require(response.shape == theta.shape, "another shape", **shown)
        exam.require(X.contains(response), "it is not contained", **shown)
        exam.require(set(np.flatnonzero(response)) <= set(support), "it goes elsewhere", **shown)


def _reached(X: ActionSet, directions: FloatArray) -> FloatArray:
    """Return how far X goes in directions of length 1 by asking `contains` alone, (n, dim)."""
    inside, outside = np.zeros(len(directions)), np.full(len(directions), 2.0 * X.norm_bound)
    for _ in range(45):
        middle = (inside + outside) / 2
        fits = X.contains(middle[:, None] * directions, tolerance=0.0)
        inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
    return np.asarray(inside[:, None] * directions)


def _within(exam: SetExam, rays: FloatArray, mask: BoolArray) -> FloatArray:
    """Return actions on the support, (n, dim): the ends of rays, or samples where 0 may be out."""
    X = exam.part.action_set
    lengths = np.linalg.norm(rays, axis=1)
    if X.is_convex and X.contains_zero:
        return _reached(X, rays[lengths > 0] / lengths[lengths > 0, None])
    part = X.restrict(mask & X.available) if (mask & X.available).any() else None
    if part is None:
        return np.zeros((0, X.dim))
    return np.array([part.sample(exam.rng, X.dim) for _ in range(20)])


def _optimal(exam: SetExam) -> None:
    # The others: best responses to other thetas, and the ends of rays that `contains` alone finds.
    X = exam.part.action_set
    for theta, support in (draw(exam) for _ in range(ROUNDS)):
        mask = np.isin(np.arange(X.dim), support)
        if X.value(theta, support) == -np.inf:
            continue
        response, value = X.best_response(theta, support), X.value(theta, support)
        others = exam.rng.standard_normal((20, X.dim))
        others = np.vstack([others, np.eye(X.dim), -np.eye(X.dim), theta + 0.1 * others])
        rays = np.vstack([others, response]) * mask
        ends = _within(exam, rays, mask)
        unit = X.norm_bound * np.linalg.norm(theta)
        shown = {"theta": theta, "support": support, "response": response, "value": value}
        exam.require(close(theta @ response, value, unit), "the value is another", **shown)
        above = value >= -1e-12 * unit or not X.contains_zero
        exam.require(above, "0 is worth more", **shown)
        for action in (*X.best_response(others, support), *ends):
            worse = theta @ action <= value + 1e-7 * unit
            exam.require(worse, f"{theta @ action} is earned by {action.tolist()}", **shown)


def _shape(exam: SetExam) -> None:
    X = exam.part.action_set
    for _ in range(ROUNDS):
        (first, support), (second, _) = draw(exam), draw(exam)
        weight, scale = exam.rng.random(), 10 * exam.rng.random()
        h = [X.value(theta, support) for theta in (first, second)]
        if min(h) == -np.inf:
            exam.require(max(h) == -np.inf, "another theta has an action", support=support)
            continue
        unit = X.norm_bound * (np.linalg.norm(first) + np.linalg.norm(second))
        shown = {"theta": first, "other": second, "support": support, "values": h}
        mixed = X.value(weight * first + (1 - weight) * second, support)
        convex = mixed <= weight * h[0] + (1 - weight) * h[1] + 1e-9 * unit
        exam.require(convex, f"{mixed} lies between them at {weight}", **shown)
        homogeneous = close(X.value(scale * first, support), scale * h[0], 10 * unit)
        exam.require(homogeneous, f"{scale} theta has another value", **shown)
        steepest = X.sparse_norm_bound(max(1, len(support))) * np.linalg.norm(first - second)
        exam.require(abs(h[0] - h[1]) <= steepest + 1e-9 * unit, f"above {steepest}", **shown)
        larger = X.value(first, sorted({*support, int(exam.rng.integers(X.dim))}))
        exam.require(h[0] <= larger + 1e-9 * unit, f"{larger} with one more", **shown)


def _possible(exam: SetExam) -> list[int]:
    """Return a support that has an action."""
    X = exam.part.action_set
    theta, support = draw(exam)
    return support if X.value(theta, support) > -np.inf else list(range(X.dim))


def _rows(exam: SetExam) -> None:
    X = exam.part.action_set
    theta = np.array([draw(exam)[0] for _ in range(6)]).reshape(2, 3, X.dim)
    support = _possible(exam)
    values, responses = X.value(theta, support), X.best_response(theta, support)
    for place in np.ndindex(2, 3):
        alone = X.best_response(theta[place], support)
        equal = close(responses[place], alone, X.norm_bound, 1e-12) and close(
            values[place], theta[place] @ alone, X.norm_bound * np.linalg.norm(theta[place]), 1e-12
        )
        exam.require(equal, f"row {place}", theta=theta, support=support)
    rows, usable = theta.reshape(6, X.dim), np.flatnonzero(X.available)
    supports = np.array([exam.rng.permutation(usable) for _ in rows])
    supports[exam.rng.random(supports.shape) < 0.4] = -1
    actions, worth = X.respond_on(rows, supports)
    for row, own in enumerate(supports):
        action, value = X.respond_on(rows[[row]], supports[[row]])
        same = same_bits(action[0], actions[row]) and same_bits(value[0], worth[row])
        exam.require(same, f"row {row} of respond_on", theta=rows, supports=supports)
        if value[0] == -np.inf:
            none = X.value(rows[row], own[own >= 0]) == -np.inf
            exam.require(none, "respond_on finds no action", theta=rows[row], support=own)
            continue
        chosen = X.best_response(rows[row], own[own >= 0])
        agrees = close(actions[row], chosen, X.norm_bound, 1e-12)
        exam.require(agrees, "respond_on is not best_response", theta=rows[row], support=own)


def _restriction(exam: SetExam) -> None:
    X = exam.part.action_set
    usable = np.flatnonzero(X.available)
    lower, upper = (np.array(reach) for reach in X.axis_reach())
    for theta in (draw(exam)[0] for _ in range(ROUNDS)):
        mask = np.zeros(X.dim, dtype=np.bool_)
        mask[exam.rng.choice(usable, int(exam.rng.integers(1, usable.size + 1)), False)] = True
        if X.value(theta, mask) == -np.inf:
            exam.refuses(partial(X.restrict, mask), "a set without actions", available=mask)
            continue
        part = X.restrict(mask)
        shown = {"theta": theta, "available": mask}
        exam.require(not part.best_response(theta)[~mask].any(), "the response", **shown)
        unit = X.norm_bound * np.linalg.norm(theta)
        equal = close(part.value(theta), X.value(theta, mask), unit, 1e-12)
        exam.require(equal, "it has another value than the support", **shown)
        exam.require(part.norm_bound <= X.norm_bound * (1 + 1e-9), "a larger bound", **shown)
        exam.require(part == X.restrict(np.flatnonzero(mask)), "a mask and its indices", **shown)
        reach = np.array(part.axis_reach())
        exam.require(not reach[:, ~mask].any(), "axis_reach", **shown)
        kept = close(reach[:, mask], np.array([lower, upper])[:, mask], X.norm_bound)
        exam.require(kept, "axis_reach of what is available", **shown)
        for axis in np.diag(np.where(upper > 0, upper, lower))[~mask & X.available]:
            exam.require(not axis.any() or not part.contains(axis), "contains", **shown)
    exam.refuses(lambda: X.restrict([]), "a set without coordinates")


def _sections(exam: SetExam) -> None:
    X = exam.part.action_set
    usable = np.flatnonzero(X.available)
    for theta in (draw(exam)[0] for _ in range(ROUNDS)):
        size = int(exam.rng.integers(1, X.dim + 1))
        places = exam.rng.permutation(X.dim)[:size]
        if not X.available[places].any():
            places[0] = usable[0]
        shown = {"theta": theta, "places": places}
        if X.value(theta, places) == -np.inf:
            exam.refuses(partial(X.section, places.tolist()), "an empty section", **shown)
            continue
        try:
            section = X.section(places.tolist())
        except CompositionError:
            return  # it says that it has none
        exam.require(isinstance(X, type(section)) and section.dim == size, "another kind", **shown)
        same = same_bits(section.available, X.available[places])
        exam.require(same, "what is available", **shown)
        full = X.best_response(theta, places)
        unit = X.norm_bound * np.linalg.norm(theta)
        equal = close(section.value(theta[places]), theta @ full, unit)
        exam.require(equal, "it has another value than the support", **shown)
        action = np.zeros(X.dim)
        action[places] = section.best_response(theta[places])
        best = X.contains(action) and close(theta @ action, theta @ full, unit)
        exam.require(best, "its best response is not one of the set", action=action, **shown)
        exam.require(section.contains(full[places]), "contains", response=full, **shown)
        reach, whole = np.array(section.axis_reach()), np.array(X.axis_reach())
        exam.require(close(reach, whole[:, places], X.norm_bound), "axis_reach", **shown)
        smaller = section.norm_bound <= X.sparse_norm_bound(size) * (1 + 1e-9)
        exam.require(smaller, "its bound on the norm is larger", **shown)
    exam.refuses(lambda: X.section([]), "a section of no coordinates")
    exam.refuses(lambda: X.section([0, 0]), "a coordinate twice")


def _axes(exam: SetExam) -> None:
    X = exam.part.action_set
    lower, upper = X.axis_reach()
    exam.require(lower.shape == upper.shape == (X.dim,), "its shape", lower=lower, upper=upper)
    for k, axis in enumerate(np.eye(X.dim)):
        if X.value(axis, [k]) == -np.inf:
            exam.require(lower[k] == upper[k] == 0, f"axis {k} has no action", reach=(lower, upper))
            continue
        ends = X.best_response(axis, [k])[k], X.best_response(-axis, [k])[k]
        right = close(ends, (upper[k], lower[k]), X.norm_bound)
        exam.require(right, f"the responses on axis {k} are {ends}", lower=lower, upper=upper)
        for end, beyond in ((upper[k], upper[k] > 0), (lower[k], lower[k] < 0)):
            outside = end * (1.01 if beyond else 0.99)
            within = X.contains(end * axis) and (end == 0 or not X.contains(outside * axis))
            exam.require(within, f"contains on axis {k}", lower=lower, upper=upper)


def _units(exam: SetExam) -> None:
    X = exam.part.action_set
    theta = exam.rng.uniform(-1, 1, (ROUNDS, X.dim))
    support = _possible(exam)
    response = X.best_response(theta, support)
    for scale in _SCALES:
        other = X.best_response(scale * theta, support)
        agrees = close(other, response, X.norm_bound, 1e-12)
        exam.require(agrees, f"scale {scale}", theta=theta, support=support)


_PROMISES: dict[str, Promise[SparseProblem]] = {
    "No action is longer than `sparse_norm_bound`, nor that than `norm_bound`.": _bounds,
    "The best response is an action of the set that uses the support alone.": _feasible,
    "The best response attains the value, and nothing on the support is better.": _optimal,
    "The value is convex, homogeneous, Lipschitz, and grows with the support.": _shape,
    "A row has the answer that it has alone; of `respond_on`, the same bits.": _rows,
    "A restricted set leaves the rest at 0, and is otherwise the same set.": _restriction,
    "`axis_reach` is where the set ends on each axis.": _axes,
    "The unit of theta does not matter, from 1e-300 to 1e300.": _units,
}

_SECTION_PROMISES: dict[str, Promise[SparseProblem]] = {
    "A section has the values and best responses of its support, if the set has any.": _sections,
}
