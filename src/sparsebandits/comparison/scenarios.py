"""Named settings: the paper's geometries, and what a policy meets where it is used."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebandits.action_sets import ActionSet, Box, LpBall
from sparsebandits.comparison.field import RECOMMENDED, Field, make_field
from sparsebandits.environments import (
    GENRES_SHOWN,
    AdversarialTheta,
    Gaussian,
    LinearEnvironment,
    RandomAvailability,
    SparseTheta,
    StudentT,
    UniformCube,
    UniformDelay,
    UniformNoise,
    film_recommendation,
)
from sparsebandits.environments.paper_setting import (
    DIM,
    SHORT,
    SIGMA,
    SPARSITY,
    TRIALS,
    paper_environment,
    random_ellipsoid,
)

FIELD_HORIZONS = (SHORT, 10 * SHORT)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A world, how sparse actions must be in it, and for how long it is played.

    Attributes
    ----------
    name : str
        What the command line calls it.
    about : str
        One line for lists and tables.
    environment : function
        Makes the world.
    sparsity : int
        H.
    horizons : tuple of int
    trials : int
    tells_sigma : bool
        Whether baselines that want the noise level are told it. The recommended policy never is.
    only : tuple of str
        The labels of the field that take part; all of them if empty.
    notes : tuple of str
        What a reader must know besides.
    """

    name: str
    about: str
    environment: Callable[[], LinearEnvironment]
    sparsity: int = SPARSITY
    horizons: tuple[int, ...] = (SHORT,)
    trials: int = TRIALS
    tells_sigma: bool = False
    only: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def field(self, horizon: int) -> Field:
        """Build the policies that take part, for a horizon."""
        made = field_of(self.environment(), self.sparsity, horizon, tells_sigma=self.tells_sigma)
        if not self.only:
            return made
        kept = {label: made.policies[label] for label in self.only}
        return Field(policies=kept, left_out=made.left_out)


def field_of(
    environment: LinearEnvironment, sparsity: int, horizon: int, *, tells_sigma: bool = False
) -> Field:
    """Build the field for an environment; sigma is estimated by who can, unless it is told."""
    level = environment.noise.standard_deviation
    known = level if math.isfinite(level) else None
    return make_field(
        environment.action_set,
        sparsity,
        level if tells_sigma and known is not None else "estimate",
        horizon,
        noise_level=known,
        moving=not environment.action_sets.is_fixed,
    )


def _geometry(name: str, about: str, make: Callable[[], ActionSet]) -> Scenario:
    return Scenario(
        name=name,
        about=about,
        environment=lambda: paper_environment(make()),
        horizons=FIELD_HORIZONS,
        tells_sigma=True,
    )


GEOMETRIES: tuple[Scenario, ...] = (
    _geometry("l2", "the unit l2 ball", lambda: LpBall(DIM)),
    _geometry("ellipsoid", "a random ellipsoid", random_ellipsoid),
    _geometry("l1.5", "the unit l1.5 ball", lambda: LpBall(DIM, p=1.5)),
    _geometry("l1", "the unit l1 ball", lambda: LpBall(DIM, p=1.0)),
    _geometry("box", "the box [0, 1]^20", lambda: Box(np.zeros(DIM), np.ones(DIM))),
)
"""The paper's setting (d = 20, H = 5, sigma = 0.5, theta* uniform on [-1, 1]^20) on five sets."""

ROBUSTNESS: tuple[Scenario, ...] = (
    Scenario(
        name="wide",
        about="d = 100 and H = 10 on the l2 ball",
        environment=lambda: paper_environment(LpBall(100)),
        sparsity=10,
    ),
    Scenario(
        name="loud",
        about="noise of sigma = 2, four times the paper's",
        environment=lambda: paper_environment(LpBall(DIM), noise=Gaussian(2.0)),
    ),
    Scenario(
        name="near-ties",
        about="entries of theta* nearly equal in size, gap 0.001",
        environment=lambda: paper_environment(LpBall(DIM), AdversarialTheta(gap=0.001)),
    ),
    Scenario(
        name="null",
        about="theta* = 0: nothing to earn",
        environment=lambda: paper_environment(LpBall(DIM), np.zeros(DIM)),
        notes=("Everyone's regret is 0; what is looked at is that nothing breaks, and the error.",),
    ),
    Scenario(
        name="sigma-unknown",
        about="uniform noise, its level told to nobody",
        environment=lambda: paper_environment(LpBall(DIM), noise=UniformNoise(0.9)),
    ),
    Scenario(
        name="missing-items",
        about="each item missing in 30% of the steps, at random",
        environment=lambda: LinearEnvironment(
            action_sets=RandomAvailability(LpBall(DIM), 0.7, seed=0),
            theta_star=UniformCube(),
            noise=Gaussian(SIGMA),
        ),
        notes=("Regret is against the best action on the items of each step.",),
    ),
    Scenario(
        name="late-rewards",
        about="each reward told 0 to 200 steps late",
        environment=lambda: LinearEnvironment(
            action_set=LpBall(DIM),
            theta_star=UniformCube(),
            noise=Gaussian(SIGMA),
            delay=UniformDelay(200),
        ),
    ),
    Scenario(
        name="sparse-theta",
        about="d = 100, of which 5 entries of theta* are not 0",
        environment=lambda: paper_environment(LpBall(100), SparseTheta(5, smallest=0.25)),
    ),
    Scenario(
        name="heavy-tails",
        about="Student's t noise with 3 degrees of freedom",
        environment=lambda: paper_environment(LpBall(DIM), noise=StudentT(SIGMA, degrees=3)),
    ),
    Scenario(
        name="long-run",
        about="10^6 steps with d = 5 and H = 2",
        environment=lambda: paper_environment(LpBall(5)),
        sparsity=2,
        horizons=(1_000_000,),
        trials=1,
        only=(RECOMMENDED, "LinTS"),
        notes=("What is looked at is that no matrix stops being positive definite.",),
    ),
    Scenario(
        name="films",
        about="real scores of films in 20 genres, a box",
        environment=film_recommendation,
        sparsity=GENRES_SHOWN,
    ),
)
"""Where policies are used: more items, more noise, ties, nothing to learn, gaps in the data."""

SCENARIOS: dict[str, Scenario] = {one.name: one for one in (*GEOMETRIES, *ROBUSTNESS)}
