"""The paper's algorithms and the field's baselines: frozen policies, learners in a loop."""

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
from sparsebandits.policies.certificate import Certificate, PosteriorCertificate
from sparsebandits.policies.decision import Decision
from sparsebandits.policies.learner import Learner
from sparsebandits.policies.phased import CyclePolicy, PhasedPolicy
from sparsebandits.policies.policy import Policy, ReferencePolicy
from sparsebandits.policies.table import POLICIES, REFERENCES
from sparsebandits.policies.thompson import SparseThompson
from sparsebandits.policies.time_varying import TimeVaryingAPSEEG

__all__ = [
    "APSEE",
    "APSEEG",
    "CSAR",
    "CUCB",
    "ESTC",
    "OFUL",
    "PEGE",
    "POLICIES",
    "REFERENCES",
    "Certificate",
    "Clairvoyant",
    "CompactAPSEEG",
    "CyclePolicy",
    "Decision",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "HedgedAPSEE",
    "Learner",
    "LinTS",
    "PhasedPolicy",
    "Policy",
    "PosteriorCertificate",
    "RandomSparse",
    "ReferencePolicy",
    "SparseThompson",
    "SupportElimination",
    "TimeVaryingAPSEEG",
]
