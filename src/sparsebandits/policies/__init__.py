"""The paper's algorithms and the field's baselines: frozen policies, learners in a loop."""

from sparsebandits.policies.adaptive import AdaptiveLearner, AdaptivePolicy
from sparsebandits.policies.apsee import APSEE
from sparsebandits.policies.apsee_compact import CompactAPSEEG
from sparsebandits.policies.apsee_g import APSEEG
from sparsebandits.policies.base import Decision, Learner, Policy
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
from sparsebandits.policies.phased import PhasedPolicy
from sparsebandits.policies.table import POLICIES, REFERENCES, policy_from_dict
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
    "AdaptiveLearner",
    "AdaptivePolicy",
    "Certificate",
    "Clairvoyant",
    "CompactAPSEEG",
    "Decision",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Learner",
    "LinTS",
    "PhasedPolicy",
    "Policy",
    "PosteriorCertificate",
    "RandomSparse",
    "SparseThompson",
    "SupportElimination",
    "TimeVaryingAPSEEG",
    "policy_from_dict",
]
