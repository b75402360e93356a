"""A saved learner: a body with its digest, each field checked, and named where it is wrong."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.policies.rule import EXPLOIT
from sparsebandits.validation import (
    LARGEST_REWARD,
    FloatArray,
    IntArray,
    as_array,
    as_integer,
    describe,
)

STATE_VERSION = 2


def sealed(policy: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is saved: version, policy, state, and a digest of the three."""
    body = {"version": STATE_VERSION, "policy": policy, "state": state}
    return {**body, "digest": _digest(body)}


def read_body(data: Any) -> tuple[Any, Any]:
    """Return the policy and the state of a saved learner, if its digest fits them."""
    if not isinstance(data, Mapping) or not {"version", "policy", "state"} <= set(data):
        raise InvalidValueError(
            f"A saved learner has the keys version, policy, state and digest, got {describe(data)}."
        )
    if data["version"] != STATE_VERSION:
        raise InvalidValueError(
            f"The saved learner has version {describe(data['version'])}; this release reads "
            f"version {STATE_VERSION}. Tell its rewards to a new learner by warm_start."
        )
    body = {key: data[key] for key in ("version", "policy", "state")}
    if data.get("digest") != _digest(body):
        raise InvalidValueError(
            "The saved learner is damaged: its digest does not match its content. "
            "Load an earlier copy."
        )
    return data["policy"], data["state"]


def _digest(body: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"A learner is saved as plain JSON, and this is not: {error}."
        raise InvalidValueError(message) from None
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Played:
    """What an open decision keeps: the non-zeros of its action, and its pull."""

    indices: IntArray
    values: FloatArray
    pull: int

    @classmethod
    def of(cls, action: FloatArray, pull: int) -> "Played":
        """Keep an action, (dim,)."""
        indices = np.flatnonzero(action)
        return cls(indices, action[indices], pull)

    def action(self, dim: int) -> FloatArray:
        """Return the action, (dim,)."""
        action = np.zeros(dim)
        action[self.indices] = self.values
        return action

    def to_list(self) -> list[Any]:
        """Return indices, values and pull, JSON-safe."""
        return [self.indices.tolist(), self.values.tolist(), self.pull]


def read_decisions(state: Mapping[str, Any], dim: int) -> tuple[int, dict[int, Played]]:
    """Return the next id, and the open decisions by their ids."""
    next_id = as_integer("state.next_id", state["next_id"], minimum=1)
    records = state["open"]
    if not isinstance(records, list) or any(not _is_record(record) for record in records):
        raise InvalidTypeError(
            "state.open must be a list of decisions [id, indices, values, pull], got "
            f"{describe(records)}."
        )
    ids = [as_integer("state.open", record[0], minimum=1) for record in records]
    if ids != sorted(set(ids)) or (ids and ids[-1] >= next_id):
        raise InvalidValueError(
            f"state.open must list distinct ids, ascending and below next_id = {next_id}, got "
            f"{describe(ids)}."
        )
    return next_id, {record[0]: _read_played(record, dim) for record in records}


def _is_record(record: Any) -> bool:
    return isinstance(record, list) and len(record) == 4 and isinstance(record[1], list)


def _read_played(record: list[Any], dim: int) -> Played:
    _, places, values, pull = record
    indices = [as_integer("state.open", place, minimum=0) for place in places]
    if indices != sorted(set(indices)) or (indices and indices[-1] >= dim):
        raise InvalidValueError(
            f"state.open must hold ascending indices in 0..{dim - 1}, got {describe(places)}."
        )
    # The action 0 has neither indices nor values.
    entries = as_array("state.open", values, ndim=1) if indices or values != [] else np.zeros(0)
    if entries.size != len(indices):
        raise InvalidValueError(
            f"state.open must hold one value per index, got {describe(values)} for "
            f"{describe(places)}."
        )
    if np.abs(entries).max(initial=0.0) >= LARGEST_REWARD:
        raise InvalidValueError(
            f"state.open must hold actions smaller than {LARGEST_REWARD:g}, got {describe(values)}."
        )
    number = as_integer("state.open", pull, minimum=EXPLOIT)
    return Played(np.array(indices, dtype=np.intp), entries, number)
