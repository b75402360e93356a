"""The baselines of the field, each with H-sparse actions on any set and any oracle."""

from sparsebandits.policies.baselines.clairvoyant import Clairvoyant
from sparsebandits.policies.baselines.csar import CSAR
from sparsebandits.policies.baselines.cucb import CUCB
from sparsebandits.policies.baselines.elimination import SupportElimination
from sparsebandits.policies.baselines.epsilon_greedy import EpsilonGreedy
from sparsebandits.policies.baselines.estc import ESTC
from sparsebandits.policies.baselines.explore_then_commit import ExploreThenCommit
from sparsebandits.policies.baselines.lin_ts import LinTS
from sparsebandits.policies.baselines.oful import OFUL
from sparsebandits.policies.baselines.pege import PEGE
from sparsebandits.policies.baselines.random_sparse import RandomSparse

__all__ = [
    "CSAR",
    "CUCB",
    "ESTC",
    "OFUL",
    "PEGE",
    "Clairvoyant",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "LinTS",
    "RandomSparse",
    "SupportElimination",
]
