"""The rules of a `Choice` as plain lists: for a search that looks at a few coordinates at a time.

At fifty coordinates a loop over a list costs less than a call into an array library, and a search
makes thousands of them.
"""

from collections.abc import Iterable, Sequence


class ListedRules:
    """What may be on together, for coordinates that are decided one after another.

    Parameters
    ----------
    at_most, at_least : int
        How many blocks may, and must, be touched.
    blocks : list of int or None
        The block of each coordinate; None where every coordinate is its own.
    groups : sequence of (list of int, int, bool)
        At most so many of these; and whether a relaxation keeps the group exactly.
    always : list of int

    Attributes
    ----------
    is_plain : bool
        Whether H is the only rule.
    groups_of : dict from int to lists of int
        The groups of each coordinate that is in one.
    nested_of : dict from int to int
        The group of a coordinate that a relaxation keeps exactly.
    """

    def __init__(
        self,
        at_most: int,
        at_least: int = 0,
        blocks: list[int] | None = None,
        groups: Sequence[tuple[list[int], int, bool]] = (),
        always: Sequence[int] = (),
    ) -> None:
        self.at_most, self.at_least, self.blocks, self.always = at_most, at_least, blocks, always
        self.is_plain = not (at_least or blocks or groups or always)
        self.limits = [limit for _, limit, _ in groups]
        self.groups_of: dict[int, list[int]] = {}
        self.nested_of: dict[int, int] = {}
        for number, (members, _, is_exact) in enumerate(groups):
            for i in members:
                self.groups_of.setdefault(i, []).append(number)
                if is_exact:
                    self.nested_of[i] = number

    def room(self, on: Iterable[int]) -> list[int]:
        """Return how many more of each group may be on beside these."""
        left = self.limits.copy()
        for i in on:
            for group in self.groups_of.get(i, ()):
                left[group] -= 1
        return left

    def touched(self, on: Iterable[int]) -> set[int]:
        """Return the blocks that have one of these."""
        return set(on) if self.blocks is None else {self.blocks[i] for i in on}

    def still_open(self, inside: list[int], free: list[int]) -> list[int] | None:
        """Return what of `free` may still be on beside `inside`; None if rules are broken."""
        if self.is_plain:
            if len(inside) > self.at_most:
                return None
            return free if len(inside) < self.at_most else []
        if self.limits:
            left = self.room(inside)
            if min(left) < 0:
                return None
            if 0 in left:
                full = {group for group, count in enumerate(left) if not count}
                free = [i for i in free if full.isdisjoint(self.groups_of.get(i, ()))]
        opened = self.touched(inside)
        if len(opened) > self.at_most:
            return None
        if len(opened) == self.at_most:
            free = [i for i in free if self.blocks[i] in opened] if self.blocks else []
        if self.at_least and len(opened | self.touched(free)) < self.at_least:
            return None
        return free

    def allow(self, on: list[int]) -> bool:
        """Whether these may be on, and nothing else; what is always on is taken to be there."""
        if self.is_plain:
            return len(on) <= self.at_most
        if not self.at_least <= len(self.touched(on)) <= self.at_most:
            return False
        return not self.limits or min(self.room(on)) >= 0

    def those_that_fit(self, inside: list[int], wanted: list[int]) -> list[int]:
        """Return the wanted ones that fit beside `inside` and those before them."""
        left, opened, taken = self.room(inside), self.touched(inside), []
        for i in dict.fromkeys(wanted):
            block = i if self.blocks is None else self.blocks[i]
            if block not in opened and len(opened) == self.at_most:
                continue
            groups = self.groups_of.get(i, ())
            if all(left[group] > 0 for group in groups):
                taken.append(i)
                opened.add(block)
                for group in groups:
                    left[group] -= 1
        return taken
