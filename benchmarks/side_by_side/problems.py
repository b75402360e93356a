"""What is played: d inputs in [0, 1], at most 5 on, a reward with noise, one trial at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sparsebandits.validation import FloatArray

EDITION = 1
"""To be raised when what is played changes: results of another edition do not count."""

SPARSITY = 5
SIGMA = 0.5
TRIALS = 200
STARTS = 10
PEAK = 0.6
DIMS = (50, 20)


def as_it_is(x: FloatArray) -> FloatArray:
    return x


def peaked(x: FloatArray) -> FloatArray:
    """0 where an input is off, 1 at the peak, 0.56 where it is fully on."""
    return 1.0 - ((x - PEAK) / PEAK) ** 2


def saturating(total: float) -> float:
    """Each further unit earns less: a third of the first when there are four already."""
    return total - total**2 / 12.0


@dataclass(frozen=True, kw_only=True)
class Reward:
    """outer(theta·inner(x)): outer increases on [-5, 5], inner is 0 at 0 and at most 1."""

    about: str
    inner: Callable[[FloatArray], FloatArray] = as_it_is
    outer: Callable[[float], float] = float
    is_linear: bool = False


REWARDS: dict[str, Reward] = {
    "linear": Reward(about="theta·x", is_linear=True),
    "baseline": Reward(about="theta·x - 3", outer=lambda total: total - 3.0, is_linear=True),
    "concave": Reward(about="u - u²/12 with u = theta·x", outer=saturating),
    "peak": Reward(about="the sum of theta_i (1 - ((x_i - 0.6) / 0.6)²)", inner=peaked),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """One theta, uniform on [-1, 1]^d, and one tape of noise, alike for all who play this seed.

    `starts` are ten random actions, for those who ask for some before they suggest any.
    """

    reward: str
    dim: int
    seed: int
    theta: FloatArray = field(init=False)
    noise: FloatArray = field(init=False)
    starts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        parameter, tape, first = np.random.SeedSequence([self.seed, self.dim]).spawn(3)
        theta = np.random.default_rng(parameter).uniform(-1.0, 1.0, self.dim)
        noise = SIGMA * np.random.default_rng(tape).standard_normal(TRIALS)
        starts = random_actions(np.random.default_rng(first), self.dim, STARTS)
        for name, value in (("theta", theta), ("noise", noise), ("starts", starts)):
            object.__setattr__(self, name, value)

    def value(self, action: FloatArray) -> float:
        """Return the expected reward of an action."""
        kind = REWARDS[self.reward]
        return kind.outer(float(self.theta @ kind.inner(action)))

    @property
    def optimum(self) -> float:
        """The largest expected reward: on the five largest entries of theta that are positive."""
        best = np.sort(self.theta)[-SPARSITY:]
        return REWARDS[self.reward].outer(float(best[best > 0].sum()))


def random_actions(rng: np.random.Generator, dim: int, count: int) -> FloatArray:
    """Return actions with five random inputs on, each by a random amount."""
    actions = np.zeros((count, dim))
    for action in actions:
        action[rng.choice(dim, SPARSITY, replace=False)] = rng.uniform(size=SPARSITY)
    return actions
