"""When SparseThompson, among very many coordinates, looks at fresh ones."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import FloatArray


@dataclass(frozen=True)
class Gate:
    """When fresh coordinates are worth looking at.

    Of m coordinates that were looked at, whether or not they still have a slot, the next one
    enters the best H with chance H / (m + 1). H more are admitted when t steps of the `gap` that
    such a one fills are worth `price` losses, where the gap is the mean of the best H scores less
    the next one, and a loss that next score less the mean. At least `least` H sqrt(t) and 4 H, at
    most `most` H sqrt(t) are admitted.
    """

    sparsity: int
    price: float = 1.5
    least: float = 0.5
    most: float = 3.0

    def opens(self, known: int, steps: float, scores: FloatArray, mean: float) -> bool:
        """Whether H more are admitted, given the scores of those still in a slot and their mean."""
        H = self.sparsity
        if scores.size < 4 * H or known < self.least * H * np.sqrt(steps):
            return True
        if known >= self.most * H * np.sqrt(steps):
            return False
        rest = scores.size - H - 1
        best = np.partition(scores, rest)[rest:]
        gap, loss = float(best[1:].sum()) / H - float(best[0]), float(best[0]) - mean
        return steps * H / (known + 1) * gap >= self.price * loss
