"""The benchmark that regret is measured against."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import choose_on_each, sparse_argmax_batch
from sparsebandits.validation import BoolArray, FloatArray, as_number

BENCHMARKS = ("exact", "greedy")


@dataclass(frozen=True)
class Benchmark:
    """alpha times the value of an oracle that knows theta* (`eqn:def of a-regret`).

    Parameters
    ----------
    name : {"exact", "greedy"}
        The exact optimum, or the greedy solution on theta*.
    alpha : float
        In (0, 1].
    """

    name: str = "exact"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in BENCHMARKS:
            raise InvalidValueError(
                f"benchmark must be one of {BENCHMARKS}, got {self.name!r}; "
                "for alpha times the optimum pass alpha=... beside benchmark='exact'."
            )
        if not 0 < as_number("alpha", self.alpha) <= 1:
            raise InvalidValueError(f"alpha must lie in (0, 1], got {self.alpha}.")

    def earnings(self, action_set: ActionSet, theta: FloatArray, sparsity: int) -> FloatArray:
        """Return the benchmark's earning per step for every row of theta*, (n,)."""
        return self.best(action_set, theta, sparsity)[0]

    def best(
        self, action_set: ActionSet, theta: FloatArray, sparsity: int
    ) -> tuple[FloatArray, BoolArray]:
        """Return the earnings, (n,), and where the benchmark's action is not zero, (n, dim)."""
        best = sparse_argmax_batch(action_set, theta, sparsity, self.name)
        return np.asarray(self.alpha * best.values), np.asarray(best.actions != 0)

    def best_on_each(
        self, sets: Sequence[ActionSet], theta: FloatArray, sparsity: int
    ) -> tuple[FloatArray, BoolArray]:
        """Return the same on each of m sets: (m, n), and (m, n, dim)."""
        best = choose_on_each(sets, theta, sparsity, self.name, measured=False)
        return np.asarray(self.alpha * best.values), np.asarray(best.actions != 0)

    def __str__(self) -> str:
        name = {"exact": "exact optimum", "greedy": "greedy on theta*"}[self.name]
        return name if self.alpha == 1 else f"{self.alpha:g} x {name}"
