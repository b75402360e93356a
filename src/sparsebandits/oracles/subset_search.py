r"""Best subset: maximise :math:`g(S) = \theta_S^\top A_S^{-1} \theta_S` over :math:`|S| \le H`.

g grows with S, so supports of exactly H coordinates suffice. Few supports are all tried, sharing
the elimination of common prefixes (`enumerate_subsets`). Otherwise a branch and bound works on
batches of nodes: each node conditions on what it includes, inherits its parent's relaxation,
improves it by two Newton steps, fixes coordinates, and branches on the largest score
(`perspective`). A node with few completions is enumerated instead.

Rounding. In the scaled problem (unit diagonal, largest abs(theta) one) values and bounds carry a
relative error of order d H u / lambda_min, u the unit roundoff. A node is discarded only if its
bound is below ``(1 + 1e-9 - margin)`` times the incumbent, where
``margin = 16 d H u / lambda_min``; nodes that are this close are enumerated.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles.completions import STORED_ENTRIES, best_completions, best_last
from sparsebandits.oracles.perspective import condition, pad, starting_point, tighten
from sparsebandits.validation import FloatArray, IntArray

NodeArray = npt.NDArray[np.void]

_ENUMERATE_ALL = 300_000  # supports: up to here (about 20 ms) enumeration beats a tree
_ENUMERATE_NODE = 5_000  # completions of one node
_LEAVES = 64  # nodes enumerated together
_RUIN = 1e150  # its square is finite, and so is H times its square
_BATCH = 512  # nodes taken from the pool at once
_CHUNK_ENTRIES = 600_000  # entries of the Newton systems solved in one call: they stay in cache
_OPEN_NODES = 50_000  # beyond, depth first: the pool stays bounded
_ROOT_STEPS, _NODE_STEPS = 15, 2
_TOLERANCE = 1e-9  # supports better by less than this factor need not be found
_FREE, _IN, _OUT = 0, 1, 2


@dataclass(frozen=True)
class BestSubset:
    """The best support found and what is known about it.

    `runner_up_squared_value` is the best value on another support of H coordinates: nan when it
    was not asked for or there is no other; only a lower bound on it when `proven` is false.
    """

    support: tuple[int, ...]
    squared_value: float
    squared_bound: float
    proven: bool
    nodes: int
    runner_up_squared_value: float = math.nan


def best_subset(
    matrix: FloatArray,
    theta: FloatArray,
    sparsity: int,
    *,
    time_limit: float | None = None,
    runner_up: bool = False,
) -> BestSubset:
    """Prove the best support, or stop at `time_limit` with the best found and an upper bound.

    Parameters
    ----------
    matrix
        A, symmetric positive definite, shape (d, d).
    theta
        Shape (d,).
    sparsity
        H, between 1 and d.
    time_limit
        Seconds, checked between batches of nodes; None to run until proven. Enumeration, chosen
        for at most 300,000 supports, takes tens of milliseconds and is not interrupted.
    runner_up
        Whether to prove the second best support as well.

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> best_subset(matrix, np.array([1.0, 0.8, 0.5]), 2).support
    (0, 2)
    """
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    if is_enumerated(theta.size, sparsity):
        return enumerate_subsets(matrix, theta, sparsity, runner_up=runner_up)
    scaled, target, unit = rescale(matrix, theta)
    if unit == 0.0:
        value = 0.0 if runner_up else math.nan
        return BestSubset(tuple(range(sparsity)), 0.0, 0.0, True, 0, value)
    search = _Search(scaled, target, sparsity, runner_up)
    bound = search.run(deadline)
    return search.incumbents.report(unit, bound, search.nodes)


def is_enumerated(dim: int, sparsity: int) -> bool:
    """Whether `best_subset` tries all supports: up to 300,000 of them."""
    return math.comb(dim, sparsity) <= _ENUMERATE_ALL


def enumerate_subsets(
    matrix: FloatArray, theta: FloatArray, sparsity: int, *, runner_up: bool = False
) -> BestSubset:
    """Try every support of `sparsity` coordinates; parameters as in `best_subset`."""
    scaled, target, unit = rescale(matrix, theta)
    incumbents = _Incumbents(scaled, target, sparsity, runner_up)
    rows, gains = best_completions(scaled[None], target[None], np.zeros(1), sparsity)
    incumbents.offer(rows[gains > -np.inf, 1:])
    return incumbents.report(unit, None, math.comb(theta.size, sparsity))


def scale_matrix(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale to unit diagonal; return the matrix and the factors of its rows and columns."""
    diagonal = np.diagonal(matrix)
    if not (diagonal > 0.0).all():
        raise InvalidValueError(
            "best_subset needs a positive definite matrix; its diagonal is not positive."
        )
    scale = 1.0 / np.sqrt(diagonal)
    return scale[:, None] * matrix * scale, scale


def rescale(matrix: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Scale to unit diagonal and largest abs(theta) one, with the factor that restores g."""
    scaled, scale = scale_matrix(matrix)
    target = theta * scale
    largest = float(np.abs(target).max())
    return scaled, target / (largest or 1.0), largest**2


def subset_values(matrix: FloatArray, right: FloatArray, supports: IntArray) -> FloatArray:
    """Solve for g on each support of (n, H) by itself; `right`, (n, H), is theta there."""
    block = matrix[supports[:, :, None], supports[:, None, :]]
    return np.asarray(np.sum(right * np.linalg.solve(block, right[:, :, None])[:, :, 0], axis=1))


class _Incumbents:
    """The best support, or the best two, seen so far."""

    def __init__(self, matrix: FloatArray, theta: FloatArray, size: int, two: bool) -> None:
        self.matrix, self.theta, self.size = matrix, theta, size
        self.capacity = 2 if two else 1
        self.best: list[tuple[float, tuple[int, ...]]] = []

    @property
    def threshold(self) -> float:
        """What a support has to exceed to enter."""
        return self.best[-1][0] if len(self.best) == self.capacity else -math.inf

    def offer(self, supports: IntArray) -> bool:
        """Evaluate supports, shape (n, H), afresh and keep the best; whether one entered."""
        ordered = np.sort(supports, axis=1)
        values = subset_values(self.matrix, self.theta[ordered], ordered)
        entered = False
        for row in np.argsort(-values, kind="stable")[: self.capacity + 1]:
            support = tuple(ordered[row].tolist())
            if values[row] > self.threshold and all(support != kept for _, kept in self.best):
                self.best.append((float(values[row]), support))
                self.best.sort(key=lambda kept: -kept[0])
                del self.best[self.capacity :]
                entered = True
        return entered

    def report(self, unit: float, bound: float | None, nodes: int) -> BestSubset:
        """Give the result in the units of the caller; a bound of None means proven."""
        value, support = self.best[0]
        second = self.best[1][0] * unit if len(self.best) > 1 else math.nan
        limit = value if bound is None else max(value, bound)
        return BestSubset(support, value * unit, limit * unit, bound is None, nodes, second)


def _is_small(free: int, remaining: int) -> bool:
    return remaining <= 2 or math.comb(free, remaining) <= _ENUMERATE_NODE


class _Pool:
    """Open nodes, the rows of one structured array."""

    def __init__(self, dim: int) -> None:
        fields = [("bound", "f8"), ("remaining", "i8"), ("state", "i1", dim)]
        self.rows = np.zeros(256, dtype=[*fields, ("diagonal", "f8", dim), ("point", "f8", dim)])
        self.count = 0

    def push(self, nodes: NodeArray) -> None:
        """Add copies of the nodes."""
        needed = self.count + len(nodes)
        if needed > len(self.rows):
            larger = np.zeros(2 * needed, dtype=self.rows.dtype)
            larger[: self.count] = self.rows[: self.count]
            self.rows = larger
        self.rows[self.count : needed] = nodes
        self.count = needed

    def largest_bound(self) -> float:
        """Give the largest bound of an open node; minus infinity if there is none."""
        return float(self.rows["bound"][: self.count].max(initial=-np.inf))

    def pop(self) -> NodeArray:
        """Take out a batch of nodes with equal `remaining`, those of largest bound first."""
        bound, remaining = self.rows["bound"][: self.count], self.rows["remaining"][: self.count]
        level = remaining.min() if self.count > _OPEN_NODES else remaining[bound.argmax()]
        taken = np.flatnonzero(remaining == level)
        taken = taken[np.argsort(-bound[taken], kind="stable")[:_BATCH]]
        nodes = self.rows[taken]
        left = self.count - len(taken)
        behind = np.ones(len(taken), dtype=np.bool_)  # rows past the new end that stay
        behind[taken[taken >= left] - left] = False
        self.rows[taken[taken < left]] = self.rows[left : self.count][behind]
        self.count = left
        return nodes


class _Search:
    """Branch and bound on a problem with unit diagonal."""

    def __init__(self, matrix: FloatArray, theta: FloatArray, sparsity: int, two: bool) -> None:
        self.matrix, self.theta, self.sparsity = matrix, theta, sparsity
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least <= 0.0:
            raise InvalidValueError(
                f"best_subset needs a positive definite matrix; after scaling to unit diagonal its "
                f"least eigenvalue is {least:.3g}."
            )
        self.margin = 16.0 * theta.size * sparsity * np.finfo(np.float64).eps / least
        self.nodes = 0
        self.incumbents = _Incumbents(matrix, theta, sparsity, two)
        self.pool = _Pool(theta.size)
        root = np.zeros(1, dtype=self.pool.rows.dtype)
        root["bound"] = theta @ np.linalg.solve(matrix, theta)
        root["remaining"] = sparsity
        root["diagonal"], root["point"] = starting_point(matrix, theta, sparsity, least)
        self._push(root)

    @property
    def cutoff(self) -> float:
        """Nodes whose bound is at most this are of no interest."""
        return self.incumbents.threshold * (1.0 + _TOLERANCE - self.margin)

    def run(self, deadline: float) -> float | None:
        """Search; return None when proven, else an upper bound on every support."""
        self._greedy()
        self._improve()
        while self.pool.largest_bound() > self.cutoff:
            if time.perf_counter() > deadline:
                return max(self.pool.largest_bound(), self.cutoff) * (1.0 + self.margin)
            batch = self.pool.pop()
            batch = batch[batch["bound"] > self.cutoff]
            free = (batch["state"] == _FREE).sum(axis=1)
            order = np.argsort(free, kind="stable")  # nodes of like size share a padded batch
            batch, free = batch[order], free[order]
            while len(batch):
                if time.perf_counter() > deadline:
                    self.pool.push(batch)
                    break
                taken = self._process(batch, free)
                batch, free = batch[taken:], free[taken:]
        return None

    def _process(self, batch: NodeArray, free: IntArray) -> int:
        """Enumerate or bound some of the first nodes; return how many."""
        remaining, f = int(batch["remaining"][0]), int(free[0])
        if _is_small(f, remaining):
            most = max(1, min(_LEAVES, STORED_ENTRIES // int(free[-1]) ** 2))
            taken = sum(_is_small(int(other), remaining) for other in free[:most])
            self._enumerate(batch[:taken], free[:taken], remaining)
        else:
            taken = min(len(batch), max(1, _CHUNK_ENTRIES // (2 * f + 1) ** 2))
            self._branch(batch[:taken], free[:taken], remaining)
        self.nodes += taken
        return taken

    def _condition(
        self, nodes: NodeArray, width: int
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
        """Give the included and free coordinates, and the problem left, `width` columns wide."""
        free = np.argsort(nodes["state"] != _FREE, axis=1, kind="stable")[:, :width]
        included = np.nonzero(nodes["state"] == _IN)[1].reshape(len(nodes), -1)
        return included, free, *condition(self.matrix, self.theta, included, free)

    def _enumerate(self, nodes: NodeArray, free: IntArray, remaining: int) -> None:
        included, columns, matrices, thetas, values = self._condition(nodes, int(free[-1]))
        # Choosing padding is allowed and ruinous, which spares the enumeration any masks.
        pad(matrices, thetas, np.arange(free[-1]) >= free[:, None], -1.0, _RUIN)
        rows, gains = best_completions(matrices, thetas, values, remaining)
        rows = rows[gains > max(self.incumbents.threshold, 0.0)]
        if len(rows):
            added = np.take_along_axis(columns[rows[:, 0]], rows[:, 1:], axis=1)
            self.incumbents.offer(np.concatenate([included[rows[:, 0]], added], axis=1))

    def _branch(self, nodes: NodeArray, free: IntArray, remaining: int) -> None:
        """Bound the nodes, fix coordinates, and push the children of those that survive."""
        width = int(free[-1])
        included, columns, matrices, thetas, values = self._condition(nodes, width)
        padding = np.arange(width) >= free[:, None]
        pad(matrices, thetas, padding, 1.0, 0.0)
        diagonal = np.take_along_axis(nodes["diagonal"], columns, axis=1)
        point = np.take_along_axis(nodes["point"], columns, axis=1)
        diagonal[padding], point[padding] = 0.5, 0.0
        relaxed = tighten(
            matrices, thetas, diagonal, point, remaining, self.cutoff - values,
            _ROOT_STEPS if free[0] == self.theta.size else _NODE_STEPS,
        )  # fmt: skip
        best = np.argsort(np.where(padding, -1.0, relaxed.score), axis=1)[:, -remaining:]
        rounded = np.take_along_axis(columns, best, axis=1)
        if self.incumbents.offer(np.concatenate([included, rounded], axis=1)):
            self._improve()

        state = np.where(relaxed.exclude, _OUT, np.where(relaxed.include, _IN, _FREE))
        state[padding] = _OUT
        undecided = np.where(state == _FREE, relaxed.score, -1.0)
        branching = np.take_along_axis(columns, undecided.argmax(axis=1)[:, None], axis=1)
        # Padding columns hold coordinates that are not free: leave those as they are.
        state = np.where(padding, np.take_along_axis(nodes["state"], columns, axis=1), state)
        for field, entries in (
            ("state", state),
            ("diagonal", relaxed.diagonal),
            ("point", relaxed.point),
        ):
            np.put_along_axis(nodes[field], columns, entries.astype(nodes[field].dtype), axis=1)
        nodes["bound"] = np.minimum(nodes["bound"], relaxed.bound + values)
        alive = nodes["bound"] > self.cutoff
        branches = (nodes["state"] == _FREE).any(axis=1)
        for decision in (_IN, _OUT):
            child = nodes[alive & branches]
            np.put_along_axis(
                child["state"], branching[alive & branches], np.int8(decision), axis=1
            )
            self._push(child)
        self._push(nodes[alive & ~branches])

    def _push(self, nodes: NodeArray) -> None:
        """Add nodes to the pool; evaluate those that allow one support, drop those without any."""
        included = (nodes["state"] == _IN).sum(axis=1)
        possible = included + (nodes["state"] == _FREE).sum(axis=1)
        nodes["remaining"] = self.sparsity - included
        for single, kept in (
            (included == self.sparsity, nodes["state"] == _IN),
            (possible == self.sparsity, nodes["state"] != _OUT),
        ):
            if single.any():
                self.incumbents.offer(np.nonzero(kept[single])[1].reshape(-1, self.sparsity))
        self.pool.push(nodes[(included < self.sparsity) & (possible > self.sparsity)])

    def _greedy(self) -> None:
        """Offer the support that adds the best coordinate H times, and the next best at the end."""
        support: list[int] = []
        others = np.arange(self.theta.size)
        for _ in range(self.sparsity):
            included = np.array([support], dtype=np.intp)
            matrices, thetas, _ = condition(self.matrix, self.theta, included, others[None])
            gains = thetas[0] ** 2 / np.diagonal(matrices[0])
            others = others[np.argsort(-gains, kind="stable")]
            support.append(int(others[0]))
            others = others[1:]
        last = [support[-1], *others[:1].tolist()]
        self.incumbents.offer(np.array([[*support[:-1], end] for end in last]))

    def _improve(self) -> None:
        """Exchange two coordinates (one, if large) of the best support while that helps."""
        many = math.comb(self.sparsity, 2) * (self.theta.size - self.sparsity + 2) ** 2
        size = 2 if self.sparsity > 1 and many <= STORED_ENTRIES else 1
        leaving = itertools.combinations(range(self.sparsity), size)
        staying = np.array([np.delete(np.arange(self.sparsity), pair) for pair in leaving])
        improving = True
        while improving:
            support = np.array(self.incumbents.best[0][1])
            included = support[staying]
            free = np.array([np.setdiff1d(np.arange(self.theta.size), row) for row in included])
            rows, _ = best_last(*condition(self.matrix, self.theta, included, free), size)
            added = np.take_along_axis(free[rows[:, 0]], rows[:, 1:], axis=1)
            before = self.incumbents.best[0]
            self.incumbents.offer(np.concatenate([included[rows[:, 0]], added], axis=1))
            improving = self.incumbents.best[0] != before
