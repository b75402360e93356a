"""The same thetas on the sets of many steps at once: one answer per step and theta."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.action_sets.scaling import unit_rows
from sparsebandits.oracles.argmax import choose_supports, sparse_argmax_batch
from sparsebandits.oracles.greedy import greedy_picks, minimum_gaps
from sparsebandits.oracles.solution import ascending
from sparsebandits.oracles.supports import Limit
from sparsebandits.oracles.top_h import top_h_supports
from sparsebandits.validation import FloatArray, IntArray

_BLOCK = 2**14
"""Numbers per block of theta: its temporaries stay in the cache."""


@dataclass(frozen=True, eq=False)
class Choices:
    """The oracle's answers for n thetas on each of m sets.

    Attributes
    ----------
    actions : (m, n, dim) array
    values, gaps : (m, n) arrays
        theta·action, and by how much the support was chosen, as `SparseOracle.supports` says it.
    """

    actions: FloatArray
    values: FloatArray
    gaps: FloatArray


def distinct_sets(sets: Sequence[ActionSet]) -> tuple[list[ActionSet], IntArray]:
    """Return the sets without those that came before, and the place of each among them.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball, box = sb.LpBall(2), sb.Box([0, 0], [1, 1])
    >>> distinct_sets([ball, box, ball])[1]
    array([0, 1, 0])
    """
    places: dict[int, int] = {}
    order = [places.setdefault(id(X), len(places)) for X in sets]
    found: list[ActionSet] = [sets[0]] * len(places)
    for place, X in zip(order, sets, strict=True):
        found[place] = X
    return found, np.array(order, dtype=np.intp)


def choose_on_each(
    sets: Sequence[ActionSet], theta: FloatArray, sparsity: Limit, method: str, *, measured: bool
) -> Choices:
    """Answer every theta, (n, dim), on every set, with the bits of `SparseOracle` on each.

    The gaps are to be used where they are asked for by `measured`: an exact oracle must search for
    the runner-up.

    Sets that differ only in what is available are one set where sorting is exact: a coordinate that
    is not available is one whose theta is 0. Sets of a class that can be stacked are one stack. All
    others are asked one by one.
    """
    m, (n, dim) = len(sets), theta.shape
    answer = Choices(np.zeros((m, n, dim)), np.zeros((m, n)), np.zeros((m, n)))
    for places in _families(sets):
        size = max(1, _BLOCK // (n * dim))
        for first in range(0, len(places), size):
            block = np.array(places[first : first + size])
            part = _on_family([sets[place] for place in block], theta, sparsity, method, measured)
            answer.actions[block] = part.actions
            answer.values[block], answer.gaps[block] = part.values, part.gaps
    return answer


def _families(sets: Sequence[ActionSet]) -> Iterator[list[int]]:
    """Group the places of sets that may be answered together."""
    families: dict[object, list[int]] = {}
    for place, X in enumerate(sets):
        sortable = X.sorting is not None
        families.setdefault(id(X.whole) if sortable else type(X), []).append(place)
    yield from families.values()


def _on_family(
    sets: Sequence[ActionSet], theta: FloatArray, sparsity: Limit, method: str, measured: bool
) -> Choices:
    if not isinstance(sparsity, int):
        return _one_by_one(sets, theta, sparsity, method, measured)
    sortable = sets[0].sorting is not None
    if sortable and method != "swap":
        return _sorted(sets, theta, sparsity, method)
    stacked = type(sets[0]).stack(sets, theta.shape[0]) if method == "greedy" else None
    if stacked is None:
        return _one_by_one(sets, theta, sparsity, method, measured)
    rows, scales = unit_rows(np.tile(theta, (len(sets), 1)))
    picks, step_gaps = greedy_picks(stacked, rows, sparsity)
    gaps = minimum_gaps(stacked, picks, step_gaps * scales)
    actions, values = stacked.respond_on(rows, ascending(picks))
    return _shaped(len(sets), actions, values * scales[:, 0], gaps)


def _sorted(sets: Sequence[ActionSet], theta: FloatArray, sparsity: int, method: str) -> Choices:
    """Answer on restrictions of one set: theta is 0 where a coordinate is not available."""
    whole = sets[0].whole
    masks = np.array([X.available for X in sets])
    rows = np.where(masks[:, None], theta[None], 0.0).reshape(-1, theta.shape[1])
    if method == "greedy":
        supports, gaps = choose_supports(whole, rows, sparsity, method)
    else:
        supports, gaps = top_h_supports(whole, rows, sparsity)
    actions, values = whole.respond_on(rows, supports)
    answer = _shaped(len(sets), actions, values, gaps)
    answer.gaps[np.count_nonzero(masks, axis=1) <= sparsity] = np.inf  # there is no rival
    return answer


def _one_by_one(
    sets: Sequence[ActionSet], theta: FloatArray, sparsity: Limit, method: str, measured: bool
) -> Choices:
    answers = [sparse_argmax_batch(X, theta, sparsity, method, runner_up=measured) for X in sets]
    return Choices(
        np.array([each.actions for each in answers]),
        np.array([each.values for each in answers]),
        np.array([each.gaps for each in answers]),
    )


def _shaped(sets: int, actions: FloatArray, values: FloatArray, gaps: FloatArray) -> Choices:
    return Choices(
        actions.reshape(sets, -1, actions.shape[1]),
        values.reshape(sets, -1),
        gaps.reshape(sets, -1),
    )
