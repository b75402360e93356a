"""The table of policies: what contracts, command line and files read."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.errors import InvalidTypeError, InvalidValueError, SparseBanditsError
from sparsebandits.policies.apsee import APSEE
from sparsebandits.policies.apsee_compact import CompactAPSEEG
from sparsebandits.policies.apsee_g import APSEEG
from sparsebandits.policies.base import Policy
from sparsebandits.policies.baselines import (
    CSAR,
    CUCB,
    ESTC,
    OFUL,
    PEGE,
    Clairvoyant,
    EpsilonGreedy,
    ExploreThenCommit,
    LinTS,
    RandomSparse,
    SupportElimination,
)
from sparsebandits.policies.thompson import SparseThompson
from sparsebandits.policies.time_varying import TimeVaryingAPSEEG
from sparsebandits.validation import describe

POLICIES: dict[str, Any] = {
    SparseThompson.kind: SparseThompson,
    APSEE.kind: APSEE,
    APSEEG.kind: APSEEG,
    CompactAPSEEG.kind: CompactAPSEEG,
    TimeVaryingAPSEEG.kind: TimeVaryingAPSEEG,
    LinTS.kind: LinTS,
    OFUL.kind: OFUL,
    PEGE.kind: PEGE,
    ExploreThenCommit.kind: ExploreThenCommit,
    EpsilonGreedy.kind: EpsilonGreedy,
    ESTC.kind: ESTC,
    SupportElimination.kind: SupportElimination,
    CSAR.kind: CSAR,
    RandomSparse.kind: RandomSparse,
}

REFERENCES: dict[str, Any] = {CUCB.kind: CUCB, Clairvoyant.kind: Clairvoyant}
"""Policies that are told more than rewards; `simulate` and `compare` run them, `start` refuses."""


def policy_from_dict(data: Mapping[str, Any]) -> Policy:
    """Build the policy that `Policy.to_dict` described."""
    if not isinstance(data, Mapping):
        raise InvalidTypeError(f"A policy must be a table of keys, got {describe(data)}.")
    fields = dict(data)
    kind = fields.pop("kind", None)
    table = {**POLICIES, **REFERENCES}
    if not isinstance(kind, str) or kind not in table:
        known = ", ".join(repr(name) for name in table)
        raise InvalidValueError(f"kind must be one of {known}, got {describe(kind)}.")
    try:
        policy: Policy = table[kind]._from_dict(fields)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SparseBanditsError):
            raise
        raise InvalidValueError(
            f"The policy {kind!r} cannot be built from the keys {sorted(fields)}: {error}."
        ) from None
    return policy
