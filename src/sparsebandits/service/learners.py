"""The one place where the service touches a learner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from sparsebandits.action_sets import AllBut
from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Decision, Learner, Policy
from sparsebandits.validation import FloatArray


class Choice(msgspec.Struct, frozen=True, array_like=True):
    """A decision as it is logged: the non-zeros of its action, its phase and cycle."""

    indices: list[int]
    values: list[float]
    phase: str
    cycle: int


class Pair(msgspec.Struct, frozen=True, array_like=True):
    """A logged action, by its non-zeros, and its reward."""

    indices: list[int]
    values: list[float]
    reward: float


def ask(
    learner: Learner, available: Sequence[int] | AllBut | None, context: Any, count: int
) -> list[Choice]:
    """Return choices: of one, what `ask()` returns; of several, what `ask(count=...)` does."""
    if count == 1:
        return [choice_of(learner.ask(available, context=context))]
    return [choice_of(each) for each in learner.ask(available, context=context, count=count)]


def choice_of(decision: Decision) -> Choice:
    """Return a decision as it is logged."""
    indices, values = decision.indices.tolist(), decision.values.tolist()
    return Choice(indices, values, decision.phase, decision.cycle)


def force(learner: Learner, number: int, choice: Choice) -> None:
    """Let an open decision have the action that was logged: that one was played."""
    learner.replace_action(number, choice.indices, choice.values)


def try_correct(learner: Learner, number: int, reward: float) -> bool:
    """Correct a reward if the learner can take one back; return whether it could."""
    try:
        learner.correct(number, reward)
    except SparseBanditsError:
        return False
    return True


def observe(learner: Learner, pairs: Sequence[Pair]) -> None:
    """Learn from logged pairs."""
    actions = np.zeros((len(pairs), learner.policy.action_set.dim))
    for row, pair in zip(actions, pairs, strict=True):
        row[pair.indices] = pair.values
    learner.warm_start(actions, np.array([pair.reward for pair in pairs]))


def to_bytes(learner: Learner) -> bytes:
    """Return the state without the policy, which is stored once for all that share it."""
    return learner.to_bytes(with_policy=False)


def from_bytes(policy: Policy, state: bytes) -> Learner:
    """Return the learner of `to_bytes`, or of the compressed JSON that was stored before.

    It shares the policy object: only such learners can be computed together.
    """
    return Learner.from_bytes(state, policy)


def decisions_given(learner: Learner) -> int:
    """Return how many decisions a learner has given out."""
    return int(learner.to_dict()["state"]["next_id"]) - 1


def rewards_known(learner: Learner) -> int:
    """Return how many rewards are behind a learner's estimate: it does not count those told."""
    return learner.summary(draws=1).rewards


def certificate(learner: Learner, draws: int) -> dict[str, Any]:
    """Return the certificate as plain values; what JSON cannot say is None."""
    return _plain(asdict(learner.certificate(draws=draws)))


def posterior(learner: Learner, draws: int) -> dict[str, Any]:
    """Return what is believed of each coordinate, the likeliest of the best support first."""
    known = learner.summary(draws)
    believed = {"rewards": known.rewards, "sigma": known.sigma, "note": known.note}
    return _plain({**believed, "coordinates": [_plain(asdict(row)) for row in known]})


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in record.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _finite(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _finite(array: FloatArray) -> list[float | None]:
    return [number if np.isfinite(number) else None for number in array.tolist()]
