"""What a learner remembers of its decisions: which are open, and the rewards told last."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError
from sparsebandits.policies.decision import Decision
from sparsebandits.policies.played import Played
from sparsebandits.policies.saved_state import read_decisions, read_told
from sparsebandits.validation import describe

REMEMBERED = 50
"""How many told rewards are kept, to be corrected."""


@dataclass
class Ledger:
    """The decisions of a learner by their ids, which count from 1.

    Attributes
    ----------
    next_id : int
    open : dict
        What is played by the decisions whose reward has not been told.
    told : dict
        What was played, and its reward, for the last `REMEMBERED` decisions that were told, in
        the order of telling.
    """

    next_id: int = 1
    open: dict[int, Played] = field(default_factory=dict)
    told: dict[int, tuple[Played, float]] = field(default_factory=dict)

    @property
    def made(self) -> int:
        """How many decisions were made."""
        return self.next_id - 1

    def enter(self, played: Played) -> int:
        """Open a decision for what is played, and return its id."""
        number = self.next_id
        self.open[number] = played
        self.next_id += 1
        return number

    def close(self, number: int, reward: float) -> None:
        """Remember a reward that was taken in."""
        self.told[number] = (self.open.pop(number), reward)
        if len(self.told) > REMEMBERED:
            del self.told[next(iter(self.told))]  # the one told first, whenever it was decided

    def age(self, number: int) -> int:
        """Return how many decisions were made after this one."""
        return self.next_id - 1 - number

    def open_id(self, decision: Decision | int) -> int:
        """Return the id of an open decision; refuse one that is closed, or unknown."""
        number = decision.id if isinstance(decision, Decision) else decision
        # True and 1.0 equal the id 1 and are none.
        is_id = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if is_id and number in self.open:
            return int(number)
        if is_id and 0 < number < self.next_id:
            raise InvalidValueError(
                f"Decision {number} is closed: its reward was told before, or it was forgotten. "
                "Tell each reward once."
            )
        raise InvalidValueError(
            f"Decision {describe(number)} is unknown to this learner; tell the id that ask() "
            "returned."
        )

    def told_id(self, decision: Decision | int) -> int:
        """Return the id of a decision whose reward is remembered; refuse any other."""
        number = decision.id if isinstance(decision, Decision) else decision
        if isinstance(number, (int, np.integer)) and not isinstance(number, bool):
            if number in self.told:
                return int(number)
            if number in self.open:
                raise InvalidValueError(
                    f"Decision {number} is open: no reward was told that could be corrected. "
                    "Tell it."
                )
            if 0 < number < self.next_id:
                raise InvalidValueError(
                    f"Decision {number} is not among the last {REMEMBERED} told, whose rewards can "
                    "be corrected, or was forgotten. Give the right rewards to a new learner by "
                    "warm_start."
                )
        raise InvalidValueError(
            f"Decision {describe(number)} is unknown to this learner; give the id that ask() "
            "returned."
        )

    # ------------------------------------------------------------------ saved

    def state(self) -> dict[str, Any]:
        """Return the ledger, JSON-safe."""
        return {
            "next_id": self.next_id,
            "open": [[number, *played.to_list()] for number, played in self.open.items()],
            "told_rewards": [
                [number, *played.to_list(), reward]
                for number, (played, reward) in self.told.items()
            ],
        }

    @classmethod
    def read(cls, state: Mapping[str, Any], dim: int) -> "Ledger":
        """Return the ledger of what `state` returned, checked."""
        next_id, open_decisions = read_decisions(state, dim)
        return cls(next_id, open_decisions, read_told(state, next_id, dim))

    def check_contexts(self, size: int) -> None:
        """Refuse what was played after seeing more or fewer numbers than the policy decides by."""
        for played in (*self.open.values(), *(played for played, _ in self.told.values())):
            if (0 if played.context is None else played.context.size) != size:
                raise InvalidValueError(
                    f"state.open and state.told_rewards must hold contexts of {size} numbers, got "
                    f"{describe(played.to_list()[-1])}."
                )
