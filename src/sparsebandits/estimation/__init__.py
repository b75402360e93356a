"""theta_hat, how far it may be from theta*, and how noisy the rewards are."""

from sparsebandits.estimation.arms import ArmLanes
from sparsebandits.estimation.bound import ConfidenceBound
from sparsebandits.estimation.confidence import CONFIDENCE, make_confidence
from sparsebandits.estimation.coordinate import (
    CoordinateBound,
    MixtureBound,
    PairwiseBound,
    StitchedBound,
    UnionBound,
)
from sparsebandits.estimation.gram import GramLanes
from sparsebandits.estimation.lock_times import cycles_to_lock, warmup_cycles
from sparsebandits.estimation.noise_scale import as_sigma, pooled_sigma, sigma_upper, split_delta
from sparsebandits.estimation.paper_bound import PaperBound
from sparsebandits.estimation.ridge import RidgeLanes
from sparsebandits.estimation.support_bound import SupportBound

__all__ = [
    "CONFIDENCE",
    "ArmLanes",
    "ConfidenceBound",
    "CoordinateBound",
    "GramLanes",
    "MixtureBound",
    "PairwiseBound",
    "PaperBound",
    "RidgeLanes",
    "StitchedBound",
    "SupportBound",
    "UnionBound",
    "as_sigma",
    "cycles_to_lock",
    "make_confidence",
    "pooled_sigma",
    "sigma_upper",
    "split_delta",
    "warmup_cycles",
]
