"""What can be done with a learner, as plain records; `groups` carries them out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparsebandits.policies import Learner, Policy
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.log import Lived
from sparsebandits.service.schemas import Availability
from sparsebandits.store import LearnerRow


@dataclass(frozen=True, slots=True)
class Operation:
    """Something to do with the learner of a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Create(Operation):
    """Make a learner, or find that it is the same."""

    policy: Policy
    body: bytes
    seed: int
    reward_wait: float | None
    default_reward: float | None


@dataclass(frozen=True, slots=True)
class Import(Operation):
    """Take over a learner that was saved elsewhere; `rewards` are behind its estimate."""

    learner: Learner
    body: bytes
    rewards: int


@dataclass(frozen=True, slots=True)
class Remove(Operation):
    """Remove a learner; purge deletes it for good."""

    purge: bool


@dataclass(frozen=True, slots=True)
class Ask(Operation):
    """Give out decisions; `available` is what a client may write: see `schemas.availability`."""

    available: Availability | None
    context: list[float] | None
    count: int


@dataclass(frozen=True, slots=True)
class Tell(Operation):
    """Tell the reward of a decision."""

    id: int
    reward: float
    correct: bool


@dataclass(frozen=True, slots=True)
class Forget(Operation):
    """Close a decision whose reward will never come."""

    id: int


@dataclass(frozen=True, slots=True)
class Expire(Operation):
    """Close the decisions whose reward is waited for no longer."""


@dataclass(frozen=True, slots=True)
class Observe(Operation):
    """Learn from logged pairs, of equal number."""

    actions: list[list[float] | dict[str, float]]
    rewards: list[float]


@dataclass(frozen=True, slots=True)
class Peek(Operation):
    """Look at a learner as it is now; `even_removed` also at one that was removed."""

    view: Callable[[Lived, LearnerRow], Any]
    even_removed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an operation."""

    status: int
    body: Any


Result = Outcome | RefusedError
