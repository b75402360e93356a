"""The paper's algorithms: frozen policies, and learners that live in a loop."""

from sparsebandits.policies.apsee import APSEE
from sparsebandits.policies.apsee_compact import CompactAPSEEG
from sparsebandits.policies.apsee_g import APSEEG
from sparsebandits.policies.base import Decision, Learner, Policy
from sparsebandits.policies.certificate import Certificate
from sparsebandits.policies.phased import PhasedPolicy
from sparsebandits.policies.table import POLICIES, policy_from_dict
from sparsebandits.policies.time_varying import TimeVaryingAPSEEG

__all__ = [
    "APSEE",
    "APSEEG",
    "POLICIES",
    "Certificate",
    "CompactAPSEEG",
    "Decision",
    "Learner",
    "PhasedPolicy",
    "Policy",
    "TimeVaryingAPSEEG",
    "policy_from_dict",
]
