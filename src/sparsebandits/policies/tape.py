"""Random numbers for lanes, each lane from its own generator."""

from collections.abc import Callable, Sequence

import numpy as np

from sparsebandits.validation import FloatArray, IntArray

Draw = Callable[[np.random.Generator, FloatArray], None]


def normals(rng: np.random.Generator, out: FloatArray) -> None:
    """Fill `out` with standard normal draws."""
    rng.standard_normal(out=out)


def uniforms(rng: np.random.Generator, out: FloatArray) -> None:
    """Fill `out` with uniform draws from [0, 1)."""
    rng.random(out=out)


class Tape:
    """Rows of random numbers, each lane from its own generator, drawn ahead in blocks.

    A generator gives the same numbers in one call or in many, so the block changes no bit; with a
    block of 1 nothing is drawn ahead, and the state of the generator is all there is to save.
    """

    def __init__(
        self, generators: Sequence[np.random.Generator], width: int, block: int, draw: Draw
    ) -> None:
        self._generators, self._draw, self._block = generators, draw, block
        self._rows = np.empty((len(generators), block, width))
        self._used = np.full(len(generators), block)

    def next(self, lanes: IntArray) -> FloatArray:
        """Return the next row of each of these distinct lanes, (len(lanes), width)."""
        if self._block == 1:
            for lane in lanes.tolist():
                self._draw(self._generators[lane], self._rows[lane])
            return np.asarray(self._rows[lanes, 0])
        places = self._used[lanes]
        spent = places == self._block
        if spent.any():
            for lane in lanes[spent]:
                self._draw(self._generators[lane], self._rows[lane])
            places[spent] = 0
        self._used[lanes] = places + 1
        return np.asarray(self._rows[lanes, places])

    @classmethod
    def joined(cls, tapes: "Sequence[Tape]") -> "Tape":
        """Return one tape with the lanes of several, which must not have drawn ahead."""
        assert all(tape._block == 1 for tape in tapes)
        return tapes[0].of([generator for tape in tapes for generator in tape._generators])

    def of(self, generators: Sequence[np.random.Generator]) -> "Tape":
        """Return a tape of the same numbers from other generators, without drawing ahead."""
        return Tape(generators, self._rows.shape[2], 1, self._draw)
