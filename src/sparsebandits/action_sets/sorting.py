"""What a set offers on which the best support is found by sorting."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Sorting:
    """h(S; theta) = scale * ||scores_S||_q: the H best coordinates have the H largest scores.

    Parameters
    ----------
    exponent : float
        q, in [1, inf].
    scale : float
    ends : pair of (dim,) arrays, optional
        The least and the largest entry that each coordinate can take, over `scale`; both 0 where
        it is not available. -1 and 1 throughout unless given.
    """

    exponent: float
    scale: float = 1.0
    ends: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        for end in self.ends or ():
            read_only(end)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return what each coordinate earns alone, over `scale`: (..., dim), at least 0."""
        if self.ends is None:
            return np.abs(theta)
        lower, upper = self.ends
        return np.maximum(theta * upper, theta * lower)

    @property
    def weights(self) -> FloatArray | None:
        """How much each score can change when its theta_i changes by 1, (dim,); None means 1."""
        if self.ends is None:
            return None
        reach = np.maximum(-self.ends[0], self.ends[1])
        return None if (reach == 1).all() else reach

    @property
    def is_l2(self) -> bool:
        """Whether X is an l2 ball."""
        return self.exponent == 2 and self.weights is None

    def idle_margin(self, theta: FloatArray) -> FloatArray:
        """Return by how much all coordinates with score 0 stay short of gaining, (n,).

        In the units of the scores; theta is (n, dim). Where fewer than H coordinates gain, this is
        how sure one may be that no other does.
        """
        lower, upper = (-np.ones(1), np.ones(1)) if self.ends is None else self.ends
        up = np.where(upper > 0, -theta * upper, np.inf)
        down = np.where(lower < 0, -theta * lower, np.inf)
        idle = self.scores(theta) <= 0
        return np.asarray(np.where(idle, np.minimum(up, down), np.inf).min(axis=-1))
