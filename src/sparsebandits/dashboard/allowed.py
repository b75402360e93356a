"""What a policy was told, in words: how many may be on, which rules hold, its settings."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from sparsebandits.dashboard.words import number
from sparsebandits.oracles import Supports
from sparsebandits.policies import Policy

_LISTED = 6
"""Names, and lists of names, that a sentence holds; of the others it says how many there are."""


def most_of(policy: Policy) -> int:
    """Return H; with blocks, how many of them may be on."""
    limit = policy.sparsity
    return limit.at_most if isinstance(limit, Supports) else int(policy.sparse_oracle.width)


def allowed_of(policy: Policy) -> str:
    """Say how many may be on."""
    limit, dim = policy.sparsity, policy.action_set.dim
    if isinstance(limit, Supports) and limit.blocks:
        count = dim - sum(len(block) - 1 for block in limit.blocks)
        return f"{limit.at_most} of {count:,} blocks"
    return f"{most_of(policy)} of {dim:,}"


def rules_of(policy: Policy) -> list[str]:
    """Say what else may be on together, where H is not all."""
    limit, names = policy.sparsity, policy.action_set.names
    if not isinstance(limit, Supports):
        return []
    # Where doses go down to 0 the rules keep a place, and no more.
    may_rest = policy.sparse_oracle.obeyed_by(np.zeros(policy.action_set.dim), policy.action_set)
    dosed = ", at a dose that may be 0" if may_rest else ""
    said = [f"at least {limit.at_least} on{dosed}"] if limit.at_least else []
    if limit.always:
        said.append(f"always on{dosed}: {_listed(limit.always, names)}")
    said += [f"at most {most} of {_listed(few, names)}" for few, most in limit.groups]
    said += [f"never together: {_listed(few, names)}" for few in limit.never_together]
    more = len(said) - _LISTED
    said = [*said[:_LISTED], f"and {more:,} more"] if more > 0 else said
    if limit.blocks:
        blocks = [f"({_listed(block, names)})" for block in limit.blocks]
        said.append(f"a block counts once: {_listed(blocks, None)}")
    return said


def _listed(coordinates: Sequence[int | str], names: Sequence[str] | None) -> str:
    few = [
        names[each] if names is not None and isinstance(each, int) else str(each)
        for each in coordinates[:_LISTED]
    ]
    more = len(coordinates) - _LISTED
    return ", ".join(few) + (f" and {more:,} more" if more > 0 else "")


def settings_of(policy: Policy) -> str:
    """Say what the policy was given besides set and H, where it is not the default."""
    said = []
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        is_plain = value is None or isinstance(value, bool | int | float | str)
        # A default that is a word may have become what the word stands for.
        is_default = value == field.default if is_plain else isinstance(field.default, str)
        if field.name in ("action_set", "sparsity") or is_default:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = number(float(value), 6) if is_number else str(value) if is_plain else "given"
        said.append(f"{field.name} {text}")
    return ", ".join(said)
