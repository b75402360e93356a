"""theta*: samplers of the unknown parameter, which is drawn anew for each trial."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sparsebandits.descriptions import Described
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import (
    FloatArray,
    as_generator,
    as_integer,
    as_non_negative,
    as_number,
    as_sparsity,
)


@dataclass(frozen=True)
class ThetaSampler(Described):
    """A distribution of theta*.

    A new sampler is a frozen dataclass with `_draw`, plus a line in the table of
    `sparsebandits.environments`.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> theta = sb.SparseTheta(nonzeros=2).draw(np.random.default_rng(0), dim=10, sparsity=2)
    >>> int((theta != 0).sum())
    2
    """

    noun = "A parameter"

    @abstractmethod
    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        """Draw theta*, (dim,); the arguments are checked."""

    def draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        """Draw theta*, (dim,).

        Parameters
        ----------
        rng : numpy.random.Generator
        dim : int
            d.
        sparsity : int
            H; the samplers with a gap place it between the H-th and the (H+1)-th largest
            abs(theta_i), and the others ignore H.
        """
        size = as_integer("dim", dim, minimum=1)
        return self._draw(as_generator(rng), size, as_sparsity(sparsity, size))

    def _set_positive(self, *names: str) -> None:
        self._set_plain(**{x: as_number(x, getattr(self, x), positive=True) for x in names})


@dataclass(frozen=True)
class UniformCube(ThetaSampler):
    """Uniform on [-half_width, half_width]^d; the paper's experiments have half width 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import UniformCube
    >>> UniformCube().draw(np.random.default_rng(0), dim=3, sparsity=1).round(3)
    array([ 0.274, -0.46 , -0.918])
    """

    kind = "uniform-cube"
    half_width: float = 1.0

    def __post_init__(self) -> None:
        self._set_positive("half_width")

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        return rng.uniform(-self.half_width, self.half_width, dim)


@dataclass(frozen=True)
class StandardTheta(ThetaSampler):
    """The "standard" theta* of `fig:app_support_recovery`: well separated absolute values.

    The paper gives neither the values nor their number, only that `StandardTheta` and
    `AdversarialTheta` share the gap. Here the pair shares its two values at the gap as well:
    abs(theta)_(H+1) = level and abs(theta)_(H) = level + gap, bit for bit. The H largest are
    evenly spaced from level + gap to `largest`, the others from level down to level / (d - H).
    Coordinates and signs are random.

    Parameters
    ----------
    gap : float
        Delta_min, the H-th minus the (H+1)-th largest abs(theta_i). With H = d there is no gap.
    level : float
        The (H+1)-th largest; 0 for exactly H non-zeros.
    largest : float
        The largest; above level + gap.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import StandardTheta
    >>> theta = StandardTheta(gap=0.1).draw(np.random.default_rng(0), dim=8, sparsity=5)
    >>> np.sort(abs(theta))[::-1].round(3)
    array([1.   , 0.9  , 0.8  , 0.7  , 0.6  , 0.5  , 0.333, 0.167])
    """

    kind = "standard"
    gap: float = 0.1
    _: KW_ONLY
    level: float = 0.5
    largest: float = 1.0

    def __post_init__(self) -> None:
        self._set_positive("gap")
        level = as_non_negative("level", self.level)
        self._set_plain(level=level, largest=as_number("largest", self.largest))
        if self.largest <= self.level + self.gap:
            raise InvalidValueError(
                f"largest must exceed level + gap = {self.level + self.gap:g} to separate the "
                f"values, got {self.largest:g}; lower the level or the gap."
            )

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        above = np.linspace(self.level + self.gap, self.largest, sparsity)
        others = dim - sparsity
        below = self.level * (np.arange(others, 0, -1) / max(others, 1))
        return _scattered(rng, np.concatenate([above, below]))


@dataclass(frozen=True)
class AdversarialTheta(ThetaSampler):
    """The "adversarial" theta* of `fig:app_support_recovery`: nearly identical absolute values.

    All values lie within `spread` of the two sides of the gap, so that each of the d - H wrong
    coordinates is as hard to tell from each of the H right ones as the gap allows: the H largest
    are evenly spaced from level + gap to level + gap + spread, the others from level down to
    level - spread. See `StandardTheta` for what the paper leaves open.

    Parameters
    ----------
    gap, level : float
        As in `StandardTheta`.
    spread : float
        Below level, unless that is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import AdversarialTheta
    >>> theta = AdversarialTheta(gap=0.1).draw(np.random.default_rng(0), dim=5, sparsity=2)
    >>> np.sort(abs(theta))[::-1]
    array([0.601 , 0.6   , 0.5   , 0.4995, 0.499 ])
    """

    kind = "adversarial"
    gap: float = 0.1
    _: KW_ONLY
    level: float = 0.5
    spread: float = 0.001

    def __post_init__(self) -> None:
        self._set_positive("gap")
        level = as_non_negative("level", self.level)
        self._set_plain(level=level, spread=as_non_negative("spread", self.spread))
        if 0 < self.level <= self.spread:
            raise InvalidValueError(
                f"spread must be below level = {self.level:g}, so that nothing crosses 0, "
                f"got {self.spread:g}."
            )

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        edge = self.level + self.gap
        above = np.linspace(edge, edge + self.spread, sparsity)
        below = np.linspace(self.level, max(self.level - self.spread, 0.0), dim - sparsity)
        return _scattered(rng, np.concatenate([above, below]))


@dataclass(frozen=True)
class SparseTheta(ThetaSampler):
    """Only `nonzeros` random coordinates of theta* differ from 0.

    Parameters
    ----------
    nonzeros : int
        At most d.
    smallest, half_width : float
        The absolute values of the non-zeros are uniform between these two.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import SparseTheta
    >>> theta = SparseTheta(2, smallest=0.5).draw(np.random.default_rng(0), dim=6, sparsity=3)
    >>> theta.round(3)
    array([0.   , 0.   , 0.   , 0.   , 0.865, 0.682])
    """

    kind = "sparse"
    nonzeros: int
    _: KW_ONLY
    smallest: float = 0.0
    half_width: float = 1.0

    def __post_init__(self) -> None:
        nonzeros = as_integer("nonzeros", self.nonzeros, minimum=1)
        self._set_plain(nonzeros=nonzeros, smallest=as_non_negative("smallest", self.smallest))
        self._set_positive("half_width")
        if self.smallest > self.half_width:
            raise InvalidValueError(
                f"smallest must not exceed half_width = {self.half_width:g}, got {self.smallest:g}."
            )

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        if self.nonzeros > dim:
            raise InvalidValueError(
                f"nonzeros must be at most dim = {dim}, got {self.nonzeros}; lower it."
            )
        sizes = np.zeros(dim)
        # 1 - random is in (0, 1]: a non-zero is never 0.
        share = 1.0 - rng.random(self.nonzeros)
        sizes[: self.nonzeros] = self.smallest + (self.half_width - self.smallest) * share
        return _scattered(rng, sizes)


@dataclass(frozen=True)
class GapTheta(ThetaSampler):
    """Uniform on the cube, then stretched so that the gap at H is exactly the given one.

    The H largest abs(theta_i) are mapped linearly onto [m + gap/2, half_width] and the others onto
    [0, m - gap/2], where m is the middle of the gap that was drawn, moved as little as needed for
    both to fit. Order and signs stay. With H = d there is no gap and nothing is stretched.

    Parameters
    ----------
    gap : float
        Delta_min, below half_width.
    half_width : float

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import GapTheta
    >>> theta = GapTheta(0.25).draw(np.random.default_rng(0), dim=6, sparsity=2)
    >>> sizes = np.sort(abs(theta))[::-1]
    >>> print(round(sizes[1] - sizes[2], 12))
    0.25
    """

    kind = "gap"
    gap: float
    _: KW_ONLY
    half_width: float = 1.0

    def __post_init__(self) -> None:
        self._set_positive("gap", "half_width")
        if self.gap >= self.half_width:
            raise InvalidValueError(
                f"gap must be below half_width = {self.half_width:g}, got {self.gap:g}."
            )

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        theta = rng.uniform(-self.half_width, self.half_width, dim)
        if sparsity == dim:
            return theta
        sizes = np.abs(theta)
        order = np.argsort(-sizes, kind="stable")
        top, rest = order[:sparsity], order[sparsity:]
        last, first = sizes[top[-1]], sizes[rest[0]]
        lower = np.clip((last + first - self.gap) / 2, 0.0, self.half_width - self.gap)
        upper = lower + self.gap
        room = self.half_width - last
        stretch = (self.half_width - upper) / room if room > 0 else 0.0
        sizes[top] = np.minimum(upper + (sizes[top] - last) * stretch, self.half_width)
        sizes[rest] = sizes[rest] / first * lower if first > 0 else 0.0
        return np.copysign(sizes, theta)


def _scattered(rng: np.random.Generator, sizes: FloatArray) -> FloatArray:
    """Put the absolute values on random coordinates with random signs."""
    # Adding 0 turns -0 into 0.
    return rng.permutation(sizes) * np.where(rng.random(sizes.size) < 0.5, -1.0, 1.0) + 0.0
