"""The table of policies: what contracts, command line and files read."""

from sparsebandits.policies.apsee import APSEE
from sparsebandits.policies.apsee_compact import CompactAPSEEG
from sparsebandits.policies.apsee_g import APSEEG
from sparsebandits.policies.apsee_hedged import HedgedAPSEE
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
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.thompson import SparseThompson
from sparsebandits.policies.time_varying import TimeVaryingAPSEEG

POLICIES: dict[str, type[Policy]] = {
    SparseThompson.kind: SparseThompson,
    APSEE.kind: APSEE,
    APSEEG.kind: APSEEG,
    CompactAPSEEG.kind: CompactAPSEEG,
    HedgedAPSEE.kind: HedgedAPSEE,
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

REFERENCES: dict[str, type[Policy]] = {CUCB.kind: CUCB, Clairvoyant.kind: Clairvoyant}
"""Policies that are told more than rewards; `simulate` and `compare` run them, `start` refuses."""


Policy.kinds = POLICIES | REFERENCES
