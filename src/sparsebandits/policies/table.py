"""The table of policies: what contracts, command line and files read."""

from collections.abc import Mapping
from typing import Any

from sparsebandits.descriptions import as_fields
from sparsebandits.errors import InvalidValueError, SparseBanditsError
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
from sparsebandits.validation import as_choice

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
    fields = as_fields("A policy", data)
    table = {**POLICIES, **REFERENCES}
    kind = as_choice("kind", fields.pop("kind", None), table)
    try:
        policy: Policy = table[kind]._from_dict(fields)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SparseBanditsError):
            raise
        raise InvalidValueError(
            f"The policy {kind!r} cannot be built from the keys {sorted(fields)}: {error}."
        ) from None
    return policy
