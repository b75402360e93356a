"""A set and a sparsity under examination, and the random instances that both are tried on."""

from typing import NamedTuple

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.testing.contract import Examination
from sparsebandits.validation import FloatArray

ROUNDS = 6
"""Random thetas and supports per promise."""


class SparseProblem(NamedTuple):
    """A set X and the H that its oracles are examined with."""

    action_set: ActionSet
    sparsity: int


Exam = Examination[SparseProblem]


def draw(exam: Exam) -> tuple[FloatArray, list[int]]:
    """Return a theta, some entries 0 or small, and a support."""
    dim = exam.part.action_set.dim
    theta = exam.rng.standard_normal(dim) * exam.rng.choice([0.0, 1e-3, 1.0, 1.0], dim)
    return theta, np.flatnonzero(exam.rng.random(dim) < 0.6).tolist()
