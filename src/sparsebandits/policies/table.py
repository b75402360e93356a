"""The table of policies: what contracts, command line and files read."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.errors import InvalidTypeError, InvalidValueError, SparseBanditsError
from sparsebandits.policies.apsee import APSEE
from sparsebandits.policies.apsee_compact import CompactAPSEEG
from sparsebandits.policies.apsee_g import APSEEG
from sparsebandits.policies.base import Policy
from sparsebandits.policies.time_varying import TimeVaryingAPSEEG
from sparsebandits.validation import describe

POLICIES: dict[str, Any] = {
    APSEE.kind: APSEE,
    APSEEG.kind: APSEEG,
    CompactAPSEEG.kind: CompactAPSEEG,
    TimeVaryingAPSEEG.kind: TimeVaryingAPSEEG,
}


def policy_from_dict(data: Mapping[str, Any]) -> Policy:
    """Build the policy that `Policy.to_dict` described."""
    if not isinstance(data, Mapping):
        raise InvalidTypeError(f"A policy must be a table of keys, got {describe(data)}.")
    fields = dict(data)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in POLICIES:
        known = ", ".join(repr(name) for name in POLICIES)
        raise InvalidValueError(f"kind must be one of {known}, got {describe(kind)}.")
    try:
        policy: Policy = POLICIES[kind]._from_dict(fields)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SparseBanditsError):
            raise
        raise InvalidValueError(
            f"The policy {kind!r} cannot be built from the keys {sorted(fields)}: {error}."
        ) from None
    return policy
