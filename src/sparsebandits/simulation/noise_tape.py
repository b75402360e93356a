"""The noise of one trial for one purpose, in its order, however it is asked for."""

import numpy as np

from sparsebandits.environments import Noise
from sparsebandits.validation import FloatArray


class NoiseTape:
    """Numbers of a noise from one generator; the sizes in which they are drawn change no bit.

    Parameters
    ----------
    noise : Noise
    rng : numpy.random.Generator
    ahead : int
        How many to draw at once at least.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> tape = NoiseTape(sb.Gaussian(1.0), np.random.default_rng(0), ahead=8)
    >>> first = tape.take(3)
    >>> tape.give_back(first[1:])
    >>> bool((tape.take(2) == first[1:]).all())
    True
    """

    def __init__(self, noise: Noise, rng: np.random.Generator, ahead: int = 0) -> None:
        self._noise, self._rng, self._ahead = noise, rng, ahead
        self._spare = np.empty(0)

    def take(self, count: int) -> FloatArray:
        """Return the numbers that come next, (count,)."""
        out = np.empty(count)
        self.fill(out)
        return out

    def fill(self, out: FloatArray) -> None:
        """Fill `out`, contiguous, with the numbers that come next."""
        flat = out.reshape(-1)
        count = min(self._spare.size, flat.size)
        flat[:count], self._spare = self._spare[:count], self._spare[count:]
        missing = flat.size - count
        if missing >= self._ahead:
            self._noise.draw_into(self._rng, flat[count:])
        elif missing:
            drawn = np.empty(self._ahead)
            self._noise.draw_into(self._rng, drawn)
            flat[count:], self._spare = drawn[:missing], drawn[missing:]

    def give_back(self, drawn: FloatArray) -> None:
        """Take back numbers that were not used: they come next again."""
        self._spare = np.concatenate([drawn.reshape(-1), self._spare])
