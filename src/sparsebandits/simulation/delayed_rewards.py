"""Rewards on their way: told after the delay that the environment draws for each step."""

from typing import Generic, TypeVar

from sparsebandits.environments import LinearEnvironment
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import IntArray

_BLOCK = 4096

Parcel = TypeVar("Parcel")


class Mailbox(Generic[Parcel]):
    """The rewards of one trial that have not been told yet."""

    def __init__(self, environment: LinearEnvironment, seed: int, trial: int) -> None:
        self._delay = environment.delay
        self._rng = stream(seed, trial, Stream.DELAY)
        self._drawn: IntArray | None = None
        self._due: dict[int, list[Parcel]] = {}

    def post(self, step: int, parcel: Parcel) -> None:
        """Send off the reward of a step; steps are posted in order, from 1."""
        delay = 0
        if self._delay is not None:
            place = (step - 1) % _BLOCK
            if place == 0 or self._drawn is None:
                self._drawn = self._delay.draw(self._rng, _BLOCK)
            delay = int(self._drawn[place])
        self._due.setdefault(step + delay, []).append(parcel)

    def arrivals(self, step: int) -> list[Parcel]:
        """Return what arrives after a step, in the order in which it was sent."""
        return self._due.pop(step, [])
