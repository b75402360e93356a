"""b_1..b_d: the sparse actions that exploration plays, and least squares on their rewards."""

from sparsebandits.exploration.affine import AffineBasis, with_origin
from sparsebandits.exploration.base import Basis
from sparsebandits.exploration.block import BlockBasis
from sparsebandits.exploration.diagonal import DiagonalBasis
from sparsebandits.exploration.matrix import MatrixBasis
from sparsebandits.exploration.table import BASES, make_basis

__all__ = [
    "BASES",
    "AffineBasis",
    "Basis",
    "BlockBasis",
    "DiagonalBasis",
    "MatrixBasis",
    "make_basis",
    "with_origin",
]
