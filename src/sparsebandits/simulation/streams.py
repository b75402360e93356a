"""Named random streams: trial i has the same bits whatever is run beside it."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream of a trial is for."""

    PARAMETER = 0
    EXPLORATION_NOISE = 1
    EXPLOITATION_NOISE = 2
    POLICY = 3
    ITEM_NOISE = 4
    DELAY = 5
    CONTEXT = 6
    DRIFT = 7


def stream(seed: int, trial: int, purpose: Stream) -> np.random.Generator:
    """Return the generator of one purpose in one trial: a child of the seed by its own key."""
    return np.random.default_rng(stream_seed(seed, trial, purpose))


def stream_seed(seed: int, trial: int, purpose: Stream) -> np.random.SeedSequence:
    """Return the seed sequence behind `stream`."""
    return np.random.SeedSequence(seed, spawn_key=(trial, int(purpose)))


def learner_seed(seed: int, trial: int) -> int:
    """Return the seed that the learner of a trial is started with."""
    return int(stream_seed(seed, trial, Stream.POLICY).generate_state(1)[0])
