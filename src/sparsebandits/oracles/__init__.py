"""Sparse oracles: the best action with at most H non-zeros, and how sure that is."""

from sparsebandits.oracles.solution import BatchSolution, Solution
from sparsebandits.oracles.sparse_argmax import (
    METHODS,
    choose_supports,
    sparse_argmax,
    sparse_argmax_batch,
)
from sparsebandits.oracles.sparse_oracle import SparseOracle
from sparsebandits.oracles.submodularity import (
    approximation_ratio,
    certified_ratio,
    ellipsoid_gamma_bound,
    submodularity_ratio,
)

__all__ = [
    "METHODS",
    "BatchSolution",
    "Solution",
    "SparseOracle",
    "approximation_ratio",
    "certified_ratio",
    "choose_supports",
    "ellipsoid_gamma_bound",
    "sparse_argmax",
    "sparse_argmax_batch",
    "submodularity_ratio",
]
