"""What a learner is given, checked: offers, contexts, rewards, logged pairs."""

import math
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet, AllBut
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.oracles import as_limit
from sparsebandits.policies.policy import Policy
from sparsebandits.validation import (
    LARGEST_REWARD,
    FloatArray,
    Support,
    as_array,
    as_number,
    describe,
    read_only,
)


def context_size(policy: Policy) -> int:
    """Return how many numbers are seen before each decision; 0 where the policy asks for none."""
    return int(getattr(policy, "context", 0))


def as_offer(policy: Policy, current: ActionSet, available: Support | AllBut) -> ActionSet:
    """Return the set with what is available now; refuse one without a sparse enough action."""
    offered = current.restrict(available)
    as_limit(policy.sparsity, offered)
    return offered


def as_context(policy: Policy, context: Any) -> FloatArray | None:
    """Return what is seen before a decision, (z,), read-only; None where it asks for none."""
    size = context_size(policy)
    if context is None and not size:
        return None
    seen = None if context is None else as_array("context", context, ndim=1)
    if seen is None or seen.size != size:
        raise InvalidValueError(
            f"{type(policy).__name__} decides by a context of {size} numbers (its keyword "
            f"context), got {describe(context)}."
        )
    refuse_too_large("context", seen)
    return read_only(seen)


def as_finite(reward: Any, remedy: str = "") -> float:
    """Return a reward as a finite float; a click may be told as True."""
    is_plain = isinstance(reward, (float, bool, np.bool_))
    value = float(reward) if is_plain else as_number("reward", reward, allow_infinite=True)
    if not math.isfinite(value):
        raise InvalidValueError(f"reward must be finite, got {value}{remedy}.")
    return value


def as_pairs(policy: Policy, actions: Any, rewards: Any) -> tuple[FloatArray, FloatArray]:
    """Return logged actions and their rewards, (n, dim) and (n,)."""
    if context_size(policy):
        raise CompositionError(
            f"{type(policy).__name__} with a context cannot learn from pairs that do not "
            "say what was seen: ask with each context, and tell its reward."
        )
    played = as_array("actions", actions, ndim=2)
    earned = as_array("rewards", rewards, ndim=1)
    dim = policy.action_set.dim
    if played.shape != (earned.size, dim):
        raise InvalidValueError(
            f"actions must have shape (n, {dim}) and rewards (n,), got {played.shape} "
            f"and {earned.shape}."
        )
    refuse_too_large("actions and rewards", played, earned)
    return played, earned


def refuse_too_large(name: str, *arrays: FloatArray) -> None:
    """Refuse numbers whose squares could not be summed up."""
    sizes = [np.abs(array).ravel() for array in arrays if array.size]
    largest = max((float(size[size.argmax()]) for size in sizes), default=0.0)
    if largest >= LARGEST_REWARD:
        raise InvalidValueError(
            f"{name} must be smaller than {LARGEST_REWARD:g} in size to be learned from, got "
            f"{largest:g}; change the unit."
        )
