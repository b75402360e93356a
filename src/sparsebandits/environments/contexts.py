"""What is seen before each decision, and how theta* answers to it."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.descriptions import Described
from sparsebandits.validation import FloatArray, as_integer, as_non_negative


@dataclass(frozen=True)
class GaussianContexts(Described):
    """z_t of independent standard normal numbers, and theta_t = theta* + Gamma z_t.

    Gamma, (dim, size), is drawn anew for each trial, its entries uniform on [-effect, effect]; the
    baseline moves by g·z_t, with the entries of g uniform on [-shift, shift].

    Parameters
    ----------
    size : int
        How many numbers are seen.
    effect : float
        How much one of them may move an entry of theta_t.
    shift : float
        How much one of them may move the baseline.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import GaussianContexts
    >>> contexts = GaussianContexts(2, effect=0.5)
    >>> gamma, shifts = contexts.draw_effects(np.random.default_rng(0), dim=3)
    >>> gamma.shape, shifts
    ((3, 2), array([0., 0.]))
    """

    kind = "gaussian"
    noun = "Contexts"

    size: int
    effect: float = 0.5
    shift: float = 0.0

    def __post_init__(self) -> None:
        self._set_plain(
            size=as_integer("size", self.size, minimum=1),
            effect=as_non_negative("effect", self.effect),
            shift=as_non_negative("shift", self.shift),
        )

    def draw_effects(self, rng: np.random.Generator, dim: int) -> tuple[FloatArray, FloatArray]:
        """Draw Gamma, (dim, size), and g, (size,), of one trial."""
        effects = rng.uniform(-1.0, 1.0, (dim + 1, self.size))
        # Adding 0 turns -0 into 0.
        return self.effect * effects[:dim] + 0.0, self.shift * effects[dim] + 0.0

    def draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Fill the rows of `out`, (n, size), with the contexts of the next steps."""
        rng.standard_normal(out=out)


GaussianContexts.kinds = {GaussianContexts.kind: GaussianContexts}
