"""Which coordinates may be on together, as arrays that searches work with.

A support is a set of coordinates that are on. Rules limit it: at most H blocks, at least a few, at
most so many of a group, some always. A search decides coordinate by coordinate; a *state* says
which are on (`IN`), off (`OUT`) or open (`FREE`), and a `Choice` tells what follows from a state
and what the best way to decide the open ones would be for a sum of scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebandits.action_sets.listed_rules import ListedRules
from sparsebandits.validation import BoolArray, FloatArray, IntArray

FREE, IN, OUT = 0, 1, 2

StateArray = npt.NDArray[np.int8]


class Rules(ABC):
    """What says which supports are allowed, on whatever set (`sparsebandits.oracles.Supports`)."""

    @abstractmethod
    def choice(self, names: tuple[str, ...] | None, dim: int) -> "Choice":
        """Return the rules for coordinates of these names."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rules for the coordinates 0..dim-1.

    Parameters
    ----------
    dim : int
    at_most, at_least : int
        How many blocks may, and must, have a coordinate that is on.
    blocks : sequence of index arrays
        Disjoint; every coordinate that is in none is a block of its own.
    groups : sequence of (index array, int)
        At most so many of these may be on.
    always : sequence of int
        These are on.

    Examples
    --------
    >>> pick = Choice(4, 2, groups=[(np.array([0, 1]), 1)])
    >>> state = pick.start(np.ones((1, 4), dtype=bool))
    >>> pick.select(np.array([[5.0, 4.0, 3.0, 2.0]]), state).tolist()
    [[True, False, True, False]]
    """

    dim: int
    at_most: int
    at_least: int = 0
    blocks: Sequence[IntArray] = ()
    groups: Sequence[tuple[IntArray, int]] = ()
    always: Sequence[int] = ()

    # ------------------------------------------------------------------ what follows from the rules

    @property
    def is_plain(self) -> bool:
        """Whether H is the only rule."""
        return not (self.at_least or self.blocks or self.groups or self.always)

    @cached_property
    def block_of(self) -> IntArray:
        """The block of each coordinate, (dim,); numbered by their first coordinates."""
        first = np.arange(self.dim)
        for block in self.blocks:
            first[block] = block.min()
        return np.unique(first, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def _by_block(self) -> tuple[IntArray, IntArray]:
        """The coordinates ordered by block, and where each block starts among them."""
        order = np.argsort(self.block_of, kind="stable")
        return order, np.searchsorted(self.block_of[order], np.arange(self.block_of.max() + 1))

    @cached_property
    def nested(self) -> list[tuple[IntArray, int]]:
        """Groups that no other one shares a coordinate with, and no two large blocks share.

        To keep the best few of such a group is never a loss, whatever else is chosen.
        """
        if not self.groups:
            return []
        times = np.zeros(self.dim, dtype=np.intp)
        for members, _ in self.groups:
            times[members] += 1
        sizes = np.bincount(self.block_of)[self.block_of]
        return [
            (members, limit)
            for members, limit in self.groups
            if (times[members] == 1).all()
            and ((sizes[members] == 1).all() or np.unique(self.block_of[members]).size == 1)
        ]

    @cached_property
    def listed(self) -> ListedRules:
        """The rules as plain lists."""
        nested = {id(members) for members, _ in self.nested}
        groups = [
            (members.tolist(), limit, id(members) in nested) for members, limit in self.groups
        ]
        blocks = self.block_of.tolist() if self.blocks else None
        return ListedRules(self.at_most, self.at_least, blocks, groups, list(self.always))

    @cached_property
    def _overlapping(self) -> list[tuple[IntArray, int]]:
        """The other groups."""
        nested = {id(members) for members, _ in self.nested}
        return [group for group in self.groups if id(group[0]) not in nested]

    @property
    def is_matroid(self) -> bool:
        """Whether `select` is exact: to take the best that still fits is then best."""
        return len(self.nested) == len(self.groups)

    @cached_property
    def width(self) -> int:
        """The most coordinates that can be on, or a bound above it; groups are left out."""
        if not self.blocks:
            return min(self.at_most, self.dim)
        sizes = np.sort(np.bincount(self.block_of))[::-1]
        return int(sizes[: self.at_most].sum())

    # ------------------------------------------------------------------ states

    def start(self, usable: BoolArray) -> StateArray:
        """Return the states in which nothing is decided but by the rules: (n, dim) to (n, dim)."""
        state = np.where(usable, FREE, OUT).astype(np.int8)
        if len(self.always):
            state[:, list(self.always)] = IN
        return state

    def propagate(self, state: StateArray) -> BoolArray:
        """Decide in place what is no longer open; return where the rules can still be met, (n,)."""
        included = state == IN
        possible = np.ones(state.shape[0], dtype=np.bool_)
        for members, limit in self._overlapping:
            count = included[:, members].sum(axis=1)
            possible &= count <= limit
            part = state[:, members]
            part[(part == FREE) & (count >= limit)[:, None]] = OUT
            state[:, members] = part
        if self.nested:
            table, limits = self._side_by_side
            counts = _extended(included, False)[:, table].sum(axis=2)
            possible &= (counts <= limits).all(axis=1)
            padded = _extended(state, np.int8(OUT))
            part = padded[:, table]
            part[(part == FREE) & (counts >= limits)[:, :, None]] = OUT
            padded[:, table] = part
            state[...] = padded[:, : self.dim]
        opened = self._touched(included)
        count = opened.sum(axis=1)
        possible &= count <= self.at_most
        full = (count >= self.at_most)[:, None]
        state[(state == FREE) & full & ~opened[:, self.block_of]] = OUT
        if self.at_least:
            possible &= self._touched(state != OUT).sum(axis=1) >= self.at_least
        return possible

    def _touched(self, on: BoolArray) -> BoolArray:
        """Return the blocks that have a coordinate on, (n, blocks)."""
        if not self.blocks:
            return on
        order, starts = self._by_block
        return np.asarray(np.logical_or.reduceat(on[:, order], starts, axis=1))

    def allows(self, on: BoolArray) -> BoolArray:
        """Return which of these supports, (n, dim), meet all rules."""
        count = self._touched(on).sum(axis=1)
        allowed = (count <= self.at_most) & (count >= self.at_least)
        for members, limit in self.groups:
            allowed &= on[:, members].sum(axis=1) <= limit
        return np.asarray(allowed & on[:, list(self.always)].all(axis=1))

    def movable(self, on: BoolArray) -> BoolArray:
        """Return what of these supports, (n, dim), is not always on."""
        moving = on.copy()
        moving[:, list(self.always)] = False
        return moving

    # ------------------------------------------------------------------ the best addition

    def select(self, scores: FloatArray, state: StateArray) -> BoolArray:
        """Return the open coordinates whose positive scores add up to most, (n, dim).

        Groups that overlap, and `at_least`, are left out of account: the sum is then an upper
        bound. The lowest index wins a tie.
        """
        gains = np.where(state == FREE, scores, 0.0)
        if self.nested:
            gains = self._best_of_groups(gains, state)
        if not self.blocks:
            # What is on takes its place among the H first.
            ranked = np.where(state == IN, np.inf, gains)
            return (gains > 0.0) & _largest(ranked, self.at_most)
        opened = self._touched(state == IN)
        order, starts = self._by_block
        sums = np.add.reduceat(np.maximum(gains, 0.0)[:, order], starts, axis=1)
        taken = opened | ((sums > 0.0) & _largest(np.where(opened, np.inf, sums), self.at_most))
        return np.asarray((gains > 0.0) & taken[:, self.block_of])

    @cached_property
    def _side_by_side(self) -> tuple[IntArray, IntArray]:
        """The nested groups as rows of one array, padded with dim, and their limits."""
        width = max(members.size for members, _ in self.nested)
        table = np.full((len(self.nested), width), self.dim, dtype=np.intp)
        for row, (members, _) in zip(table, self.nested, strict=True):
            row[: members.size] = members
        return table, np.array([limit for _, limit in self.nested])

    def _best_of_groups(self, gains: FloatArray, state: StateArray) -> FloatArray:
        """Leave of each nested group the largest gains that its limit has room for."""
        table, limits = self._side_by_side
        padded = _extended(gains, 0.0)
        left = limits - _extended(state == IN, False)[:, table].sum(axis=2)
        part = padded[:, table]
        part[_ranks(part) >= left[:, :, None]] = 0.0
        padded[:, table] = part
        return padded[:, : self.dim]

    def complete(self, on: BoolArray, usable: BoolArray) -> BoolArray | None:
        """Return a support that meets all rules and includes these, (dim,); None if there is none.

        By depth-first search, the lowest index first.
        """
        state = self.start(usable[None])
        state[0, on] = IN
        if (on & ~usable).any() or not usable[list(self.always)].all():
            return None
        return self._complete(state)

    def _complete(self, state: StateArray) -> BoolArray | None:
        if not self.propagate(state)[0]:
            return None
        included = np.asarray(state[0] == IN)
        if self.allows(included[None])[0]:
            return included
        opened = self._touched(included[None])[0][self.block_of]
        candidates = np.flatnonzero((state[0] == FREE) & ~opened)  # only new blocks are missing
        for coordinate in candidates.tolist():
            child = state.copy()
            child[0, coordinate] = IN
            found = self._complete(child)
            if found is not None:
                return found
            state[0, coordinate] = OUT
        return None


def _extended(rows: npt.NDArray[Any], padding: Any) -> npt.NDArray[Any]:
    """Return the rows with one column more, which stands for no coordinate, and is cut off."""
    return np.concatenate([rows, np.full_like(rows, padding, shape=(rows.shape[0], 1))], axis=1)


def _ranks(values: FloatArray) -> IntArray:
    """Return the place of every entry in its row sorted downwards; the first of equals wins."""
    order = np.argsort(-values, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    places = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    np.put_along_axis(ranks, order, places, axis=-1)
    return ranks


def _largest(values: FloatArray, count: int) -> BoolArray:
    """Mark the `count` largest entries of every row; the first of equals wins."""
    first = values.shape[1] - count
    if first <= 0:
        return np.ones(values.shape, dtype=np.bool_)
    marked: BoolArray = values >= np.partition(values, first, axis=1)[:, first, None]
    crowded = np.flatnonzero(marked.sum(axis=1) > count)
    if crowded.size:
        marked[crowded] = _ranks(values[crowded]) < count
    return marked
