"""Sparse oracles: the best action with at most H non-zeros, and how sure that is."""

from sparsebandits.oracles.argmax import (
    ORACLES,
    choose_supports,
    sparse_argmax,
    sparse_argmax_batch,
)
from sparsebandits.oracles.each_set import Choices, choose_on_each, distinct_sets
from sparsebandits.oracles.solution import BatchSolution, Solution
from sparsebandits.oracles.sparse_oracle import SparseOracle
from sparsebandits.oracles.submodularity import (
    approximation_ratio,
    certified_ratio,
    submodularity_ratio,
)
from sparsebandits.oracles.supports import Limit, Supports, as_limit, limit_label
from sparsebandits.oracles.unproven import unproven_answers

__all__ = [
    "ORACLES",
    "BatchSolution",
    "Choices",
    "Limit",
    "Solution",
    "SparseOracle",
    "Supports",
    "approximation_ratio",
    "as_limit",
    "certified_ratio",
    "choose_on_each",
    "choose_supports",
    "distinct_sets",
    "limit_label",
    "sparse_argmax",
    "sparse_argmax_batch",
    "submodularity_ratio",
    "unproven_answers",
]
