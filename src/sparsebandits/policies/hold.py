"""A decision that is held, and its rewards that the regression does not know yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.saved_state import read_played
from sparsebandits.validation import (
    LARGEST_REWARD,
    LARGEST_SQUARES,
    FloatArray,
    as_integer,
    as_number,
)

Numbers = TypeVar("Numbers", float, FloatArray)


def set_aside(
    told: Numbers, mean: Numbers, spread: Numbers, reward: Numbers, weight: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Return number, mean and spread with one reward more, by Welford's recursion.

    The spread is the sum of squared differences from the mean. Of one learner, or of many lanes.
    """
    told = told + weight
    off = reward - mean
    mean = mean + off * (weight / told)
    return told, mean, spread + weight * off * (reward - mean)


def check_left(left: int, known: float) -> None:
    """Refuse a saved hold that is longer than any.

    Who was told T may hold for less: learners saved when they did not are taken back all the same.
    """
    share = Recipe.hold
    longest = share * known
    if left > longest:
        raise InvalidValueError(
            f"state.left must be at most {longest:g}, a share of {share:g} of the rewards known, "
            f"got {left}."
        )


@dataclass(slots=True)
class Hold:
    """What one learner decided last, and what is set aside of its rewards.

    Attributes
    ----------
    played : Played
    left : int
        For how many steps more it is held.
    awaited : int
        How often it was played without its reward having come.
    told, mean, spread : float
        Of its rewards that the regression does not know yet: how many, their mean, and the sum of
        their squared differences from it.
    """

    played: Played
    left: int = 0
    awaited: int = 0
    told: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    @classmethod
    def nothing(cls) -> "Hold":
        """Return that of a learner that has not decided yet."""
        return cls(Played(np.zeros(0, dtype=np.intp), np.zeros(0), EXPLOIT))

    def start(self, played: Played, steps: int) -> None:
        """Hold another action, which is played now for the first of so many steps."""
        self.played, self.left, self.awaited = played, steps - 1, 1

    def go_on(self) -> Played:
        """Play it once more."""
        self.left -= 1
        self.awaited += 1
        return self.played

    def end(self) -> None:
        """Decide anew at the next step."""
        self.left = 0

    def awaits(self, played: Played) -> bool:
        """Whether a reward of this is one of its own."""
        held = self.played
        may_be = self.awaited > 0 and held.context is None and played.context is None
        return may_be and (played is held or _is_same(played, held))

    def tell(self, reward: float, weight: float) -> None:
        """Set one of its own rewards aside."""
        self.awaited -= 1
        aside = set_aside(self.told, self.mean, self.spread, reward, weight)
        self.told, self.mean, self.spread = aside

    def clear(self) -> None:
        """Keep nothing of its rewards any more: the regression knows them."""
        self.told = self.mean = self.spread = 0.0

    # ------------------------------------------------------------------ saved

    @classmethod
    def read(cls, state: Mapping[str, Any], dim: int) -> "Hold":
        """Return the one that was saved; refuse what no rewards can be."""
        played = read_played("held", state["held"], dim)
        left, awaited = (as_integer(f"state.{n}", state[n], minimum=0) for n in ("left", "awaited"))
        told, mean, spread = (as_number(f"state.{n}", state[n]) for n in ("told", "mean", "spread"))
        possible = min(told, spread) >= 0
        possible &= abs(mean) < LARGEST_REWARD and spread <= LARGEST_SQUARES
        if not possible or (told == 0 and (mean or spread)):
            raise InvalidValueError(
                "state.told, state.mean and state.spread must be a number of rewards, their mean "
                f"and spread, got {[told, mean, spread]}."
            )
        return cls(played, left, awaited, told, mean, spread)


def _is_same(one: Played, other: Played) -> bool:
    """Whether two actions are the same."""
    return np.array_equal(one.indices, other.indices) and np.array_equal(one.values, other.values)
