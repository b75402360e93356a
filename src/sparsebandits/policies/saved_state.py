"""A saved learner: a body with its digest, each field checked, and named where it is wrong."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.validation import (
    LARGEST_REWARD,
    IntArray,
    as_array,
    as_integer,
    as_number,
    as_reward,
    describe,
    read_only,
)

STATE_VERSION = 3


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
    check_version(data)
    body = {key: data[key] for key in ("version", "policy", "state")}
    if data.get("digest") != _digest(body):
        raise InvalidValueError(
            "The saved learner is damaged: its digest does not match its content. "
            "Load an earlier copy."
        )
    return data["policy"], data["state"]


def check_version(data: Mapping[str, Any]) -> None:
    """Refuse a learner that another release has saved in another way."""
    if data["version"] != STATE_VERSION:
        raise InvalidValueError(
            f"The saved learner has version {describe(data['version'])}; this release reads "
            f"version {STATE_VERSION}. Tell its rewards to a new learner by warm_start."
        )


def _digest(body: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"A learner is saved as plain JSON, and this is not: {error}."
        raise InvalidValueError(message) from None
    return hashlib.sha256(text.encode()).hexdigest()


def read_decisions(state: Mapping[str, Any], dim: int) -> tuple[int, dict[int, Played]]:
    """Return the next id, and the open decisions by their ids."""
    next_id = as_integer("state.next_id", state["next_id"], minimum=1)
    records = state["open"]
    if not isinstance(records, list) or any(not _is_record(record) for record in records):
        raise InvalidTypeError(
            "state.open must be a list of decisions [id, indices, values, pull, context], got "
            f"{describe(records)}."
        )
    ids = [as_integer("state.open", record[0], minimum=1) for record in records]
    if ids != sorted(set(ids)) or (ids and ids[-1] >= next_id):
        raise InvalidValueError(
            f"state.open must list distinct ids, ascending and below next_id = {next_id}, got "
            f"{describe(ids)}."
        )
    return next_id, {record[0]: read_played("open", record[1:], dim) for record in records}


def read_told(state: Mapping[str, Any], next_id: int, dim: int) -> dict[int, tuple[Played, float]]:
    """Return the rewards told last, by the ids of their decisions."""
    told: dict[int, tuple[Played, float]] = {}
    records = state["told_rewards"]
    if not isinstance(records, list) or any(
        not isinstance(record, list) or len(record) != 6 for record in records
    ):
        raise InvalidTypeError(
            "state.told_rewards must be a list of [id, indices, values, pull, context, reward], "
            f"got {describe(records)}."
        )
    for number, *played, reward in records:
        key = as_integer("state.told_rewards", number, minimum=1)
        if key >= next_id or key in told:
            raise InvalidValueError(
                f"state.told_rewards must name distinct ids below {next_id}, got {key}."
            )
        value = as_reward(as_number("state.told_rewards", reward))
        told[key] = (read_played("told_rewards", played, dim), value)
    return told


def restore_generator(rng: np.random.Generator, given: Any) -> None:
    """Let a generator go on from a saved state of one of its kind."""
    try:
        rng.bit_generator.state = given
        if not rng.bit_generator.state["state"]["inc"] % 2:
            raise ValueError("an even increment repeats itself")
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise InvalidValueError(
            f"state.generator is not the state of a generator: {error}."
        ) from None


def _is_record(record: Any) -> bool:
    return isinstance(record, list) and len(record) == 5 and isinstance(record[1], list)


def read_indices(name: str, given: Any, dim: int) -> IntArray:
    """Return distinct coordinates, in the order given."""
    if not isinstance(given, list):
        raise InvalidTypeError(f"state.{name} must be a list of indices, got {describe(given)}.")
    indices = [as_integer(f"state.{name}", place, minimum=0) for place in given]
    if len(set(indices)) < len(indices) or max(indices, default=0) >= dim:
        raise InvalidValueError(
            f"state.{name} must hold distinct indices in 0..{dim - 1}, got {describe(given)}."
        )
    return np.array(indices, dtype=np.intp)


def read_played(name: str, record: Any, dim: int) -> Played:
    """Return what `Played.to_list` made a list of."""
    if not isinstance(record, list) or len(record) != 4:
        raise InvalidTypeError(
            f"state.{name} must be [indices, values, pull, context], got {describe(record)}."
        )
    places, values, pull, context = record
    indices = read_indices(name, places, dim)
    if (np.diff(indices) <= 0).any():
        raise InvalidValueError(
            f"state.{name} must hold ascending indices in 0..{dim - 1}, got {describe(places)}."
        )
    # The action 0 has neither indices nor values.
    entries = as_array(f"state.{name}", values, ndim=1) if places or values != [] else np.zeros(0)
    if entries.size != indices.size:
        raise InvalidValueError(
            f"state.{name} must hold one value per index, got {describe(values)} for "
            f"{describe(places)}."
        )
    if np.abs(entries).max(initial=0.0) >= LARGEST_REWARD:
        raise InvalidValueError(
            f"state.{name} must hold actions smaller than {LARGEST_REWARD:g}, got "
            f"{describe(values)}."
        )
    number = as_integer(f"state.{name}", pull, minimum=EXPLOIT)
    seen = None if context is None else read_only(as_array(f"state.{name}", context, ndim=1))
    return Played(read_only(indices), read_only(entries), number, seen)
