"""The one place where the service touches a learner."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import Learner, Policy
from sparsebandits.policies.saved_state import Played
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
    learner: Learner, available: Sequence[int] | None, context: Any, count: int
) -> list[Choice]:
    """Return `count` choices. Refused at the first, the learner is as it was."""
    if context is not None:
        raise InvalidValueError(
            f"{type(learner.policy).__name__} takes no context; leave out the key 'context'."
        )
    decisions = [learner.ask(available=available) for _ in range(count)]
    choices = []
    for decision in decisions:
        indices = np.flatnonzero(decision.action)
        values = decision.action[indices].tolist()
        choices.append(Choice(indices.tolist(), values, decision.phase, decision.cycle))
    return choices


def force(learner: Learner, number: int, choice: Choice) -> None:
    """Let an open decision have the action that was logged: that one was played."""
    played = learner._open[number]
    learner._open[number] = Played(
        np.array(choice.indices, dtype=np.intp), np.array(choice.values), played.pull
    )


def observe(learner: Learner, pairs: Sequence[Pair]) -> None:
    """Learn from logged pairs."""
    actions = np.zeros((len(pairs), learner.policy.action_set.dim))
    for row, pair in zip(actions, pairs, strict=True):
        row[pair.indices] = pair.values
    learner.warm_start(actions, np.array([pair.reward for pair in pairs]))


def to_bytes(learner: Learner) -> bytes:
    """Return the state without the policy."""
    data = learner.to_dict()
    del data["policy"]
    return zlib.compress(json.dumps(data).encode(), 1)


def from_bytes(policy: Policy, state: bytes) -> Learner:
    """Return the learner of `to_bytes`."""
    data = json.loads(zlib.decompress(state))
    return Learner.from_dict({**data, "policy": policy.to_dict()})


def decisions_given(learner: Learner) -> int:
    """Return how many decisions a learner has given out."""
    return int(learner.to_dict()["state"]["next_id"]) - 1


def names_of(action_set: ActionSet) -> Sequence[str] | None:
    """Return the names of the coordinates, where the set has any."""
    names: Sequence[str] | None = getattr(action_set, "names", None)
    return names


def certificate(learner: Learner, draws: int) -> dict[str, Any]:
    """Return the certificate as plain values; what JSON cannot say is None."""
    return _plain(asdict(learner.certificate(draws=draws)))


def posterior(learner: Learner) -> dict[str, Any]:
    """Return what is believed of each coordinate: an estimate, and a deviation where known."""
    known = learner.certificate(draws=1)
    deviation = getattr(known, "deviation", None)
    estimate = learner.theta_hat
    return _plain({"theta_hat": estimate, "deviation": deviation, "sigma": known.sigma})


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
