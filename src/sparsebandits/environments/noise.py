"""eta_t: the noise on the reward (`ass:noise`), and one kind that breaks the assumption."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sparsebandits.descriptions import Described
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.validation import FloatArray, as_generator, as_non_negative, as_number, describe


@dataclass(frozen=True)
class Noise(Described):
    """Independent draws with mean 0; the noise on the reward of x is scale_of(x) times a draw.

    The draws do not know the actions, so that policies in one comparison can share them. n draws
    in one call are the same bits as n draws in several calls, so that the simulator may draw in
    blocks. A new noise is a frozen dataclass with `_fill` and `standard_deviation`, plus a line in
    the table of `sparsebandits.environments`.

    Attributes
    ----------
    sigma : float
        A number for which `ass:noise` holds whatever the action: E exp(lambda eta) <=
        exp(lambda^2 sigma^2 / 2) for all lambda. Infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> noise = sb.Rademacher(0.5)
    >>> noise.sigma, noise.standard_deviation
    (0.5, 0.5)
    >>> noise.draw(np.random.default_rng(0), 4)
    array([ 0.5, -0.5, -0.5, -0.5])
    """

    noun = "A noise"

    depends_on_action: ClassVar[bool] = False
    """Whether `scale_of` is anything but 1; where not, the simulator can skip it."""

    sigma: float

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """The standard deviation of a draw; infinite where it does not exist."""

    @abstractmethod
    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Write draws into a C-contiguous `out`, in its order, one element after the other."""

    @property
    def is_sub_gaussian(self) -> bool:
        """Whether `ass:noise` holds with some finite sigma."""
        return math.isfinite(self.sigma)

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> FloatArray:
        """Draw an array of the given shape."""
        out = np.empty(size)
        self._fill(as_generator(rng), out)
        return out

    def draw_into(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Overwrite `out` with draws: the bits of `draw`, without a new array."""
        given: object = out
        if not isinstance(given, np.ndarray) or given.dtype != np.float64:
            raise InvalidTypeError(f"out must be a float64 array, got {describe(given)}.")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise InvalidValueError(
                f"out must be writeable and C-contiguous, got shape {out.shape} with strides "
                f"{out.strides}; slice a buffer along its first axis only."
            )
        self._fill(as_generator(rng), out)

    def scale_of(self, actions: Any) -> FloatArray:
        """Return what the draw is multiplied by for actions of shape (..., dim); shape (...)."""
        return np.ones(np.shape(actions)[:-1])


@dataclass(frozen=True)
class Gaussian(Noise):
    """N(0, sigma^2), the noise of all experiments of the paper with sigma = 0.5.

    Parameters
    ----------
    sigma : float
        The standard deviation; 0 for rewards without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import Gaussian
    >>> Gaussian(0.5).draw(np.random.default_rng(0), 3).round(3)
    array([ 0.063, -0.066,  0.32 ])
    """

    kind = "gaussian"

    def __post_init__(self) -> None:
        self._set_plain(sigma=as_non_negative("sigma", self.sigma))

    @property
    def standard_deviation(self) -> float:
        """Sigma itself, that of a draw before `scale_of`."""
        return self.sigma

    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_normal(out=out)
        out *= self.sigma


@dataclass(frozen=True)
class UniformNoise(Noise):
    """Uniform on [-half_width, half_width].

    `sigma` is the half width, as Hoeffding's lemma has it for every noise that is bounded so.

    Examples
    --------
    >>> from sparsebandits.environments import UniformNoise
    >>> noise = UniformNoise(0.6)
    >>> noise.sigma, round(noise.standard_deviation, 4)
    (0.6, 0.3464)
    """

    kind = "uniform"
    sigma: float = field(init=False, repr=False)
    half_width: float

    def __post_init__(self) -> None:
        half_width = as_non_negative("half_width", self.half_width)
        self._set_plain(half_width=half_width, sigma=half_width)

    @property
    def standard_deviation(self) -> float:
        """The half width over sqrt(3)."""
        return self.half_width / math.sqrt(3.0)

    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.random(out=out)
        out -= 0.5
        out *= 2 * self.half_width


@dataclass(frozen=True)
class Rademacher(Noise):
    """Either -scale or scale, each half of the time: the widest noise that is bounded by scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import Rademacher
    >>> Rademacher(0.5).draw(np.random.default_rng(0), 4)
    array([ 0.5, -0.5, -0.5, -0.5])
    """

    kind = "rademacher"
    sigma: float = field(init=False, repr=False)
    scale: float

    def __post_init__(self) -> None:
        scale = as_non_negative("scale", self.scale)
        self._set_plain(scale=scale, sigma=scale)

    @property
    def standard_deviation(self) -> float:
        """The scale itself."""
        return self.scale

    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        # Small integers would be cut from buffered words, and the bits would depend on the calls.
        rng.random(out=out)
        out -= 0.5
        np.copysign(self.scale, out, out=out)


@dataclass(frozen=True)
class Heteroscedastic(Gaussian):
    """Gaussian noise that grows with the action: a bold action is heard less clearly.

    The standard deviation is sigma * (floor + (1 - floor) * min(1, ||x||_2 / norm_bound)). It never
    exceeds sigma, so `ass:noise` holds with sigma.

    Parameters
    ----------
    sigma : float
        The standard deviation at the longest actions.
    norm_bound : float
        The length at which sigma is reached, usually L_X, the `norm_bound` of the action set.
    floor : float
        The share of sigma that is left at x = 0; in [0, 1].

    Examples
    --------
    >>> from sparsebandits.environments import Heteroscedastic
    >>> noise = Heteroscedastic(0.5, norm_bound=2.0, floor=0.2)
    >>> noise.scale_of([[0.0, 0.0], [1.0, 0.0], [0.0, -2.0]])
    array([0.2, 0.6, 1. ])
    """

    kind = "heteroscedastic"
    depends_on_action = True
    norm_bound: float = 1.0
    floor: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        bound = as_number("norm_bound", self.norm_bound, positive=True)
        floor = as_number("floor", self.floor)
        if not 0 <= floor <= 1:
            raise InvalidValueError(
                f"floor must lie in [0, 1], got {floor}; it is the share of sigma left at x = 0."
            )
        self._set_plain(norm_bound=bound, floor=floor)

    def scale_of(self, actions: Any) -> FloatArray:
        """Return floor + (1 - floor) * min(1, ||x||_2 / norm_bound)."""
        # In C order each row is summed alone: its bits do not depend on the rows beside it.
        rows = np.ascontiguousarray(actions, dtype=np.float64)
        norms = np.sqrt(np.square(rows).sum(axis=-1))
        return np.asarray(self.floor + (1 - self.floor) * np.minimum(1.0, norms / self.norm_bound))


@dataclass(frozen=True)
class StudentT(Noise):
    """Student's t: heavy tails that break `ass:noise` on purpose.

    No sigma is large enough, because E exp(lambda eta) is infinite for every lambda != 0; so
    `sigma` is infinite, and a policy must be told another number, such as `standard_deviation`,
    with which its confidence bounds have no guarantee.

    Parameters
    ----------
    scale : float
        The standard deviation where it exists, that is for degrees > 2; below, what the standard t
        is multiplied by.
    degrees : float
        Degrees of freedom, above 1 so that the mean is 0; the fewer, the heavier the tails.

    Examples
    --------
    >>> from sparsebandits.environments import StudentT
    >>> noise = StudentT(0.5, degrees=3)
    >>> noise.sigma, noise.is_sub_gaussian, noise.standard_deviation
    (inf, False, 0.5)
    """

    kind = "student-t"
    sigma: float = field(init=False, repr=False)
    scale: float
    degrees: float = 3.0

    def __post_init__(self) -> None:
        scale = as_number("scale", self.scale, positive=True)
        degrees = as_number("degrees", self.degrees)
        if degrees <= 1:
            raise InvalidValueError(
                f"degrees must be above 1, otherwise the noise has no mean, got {degrees}."
            )
        self._set_plain(sigma=math.inf, scale=scale, degrees=degrees)

    @property
    def standard_deviation(self) -> float:
        """The scale for degrees > 2, infinite below."""
        return self.scale if self.degrees > 2 else math.inf

    def _fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        out[...] = rng.standard_t(self.degrees, out.shape)
        unit = math.sqrt((self.degrees - 2) / self.degrees) if self.degrees > 2 else 1.0
        out *= self.scale * unit
