"""Named settings: the paper's geometries, and what a policy meets where it is used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sparsebandits.action_sets import ActionSet, Box, LpBall
from sparsebandits.comparison.compare import Comparison, compare_runs, comparison_cells
from sparsebandits.comparison.field import RECOMMENDED, Field, make_field
from sparsebandits.environments import (
    GENRES_SHOWN,
    AdversarialTheta,
    Gaussian,
    GaussianContexts,
    Jump,
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
from sparsebandits.oracles import Limit
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A world, how sparse actions must be in it, and for how long it is played."""

    name: str
    """What the command line calls it."""
    about: str
    environment: Callable[[], LinearEnvironment]
    sparsity: Limit = SPARSITY
    horizons: tuple[int, ...] = (SHORT,)
    trials: int = TRIALS
    tells_sigma: bool = False
    """Whether baselines that want the noise level are told it. The recommended policy never is."""
    only: tuple[str, ...] = ()
    """The labels of the field that take part; all of them if empty."""
    notes: tuple[str, ...] = ()

    def field(self, horizon: int) -> Field:
        """Build the policies that take part, for a horizon."""
        field = make_field(self.environment(), self.sparsity, horizon, tells_sigma=self.tells_sigma)
        if not self.only:
            return field
        return replace(field, policies={label: field.policies[label] for label in self.only})

    def cells(self, horizon: int, trials: Callable[[str], int], prefix: str) -> list[Cell]:
        """Return a cell of each policy with its number of trials; of those with 0 trials none."""
        policies, environment = self.field(horizon).policies, self.environment()
        cells = comparison_cells(policies, environment, horizon, 1, (horizon,), prefix=prefix)
        counts = [(cell, trials(cell.label)) for cell in cells]
        return [replace(cell, trials=count) for cell, count in counts if count > 0]

    def comparison(self, results: Mapping[str, Run], prefix: str) -> Comparison:
        """Set the runs of such cells side by side."""
        runs = {
            key.removeprefix(prefix): run for key, run in results.items() if key.startswith(prefix)
        }
        horizon = int(runs[RECOMMENDED].steps[-1])
        field = self.field(horizon)
        return compare_runs(
            {label: policy for label, policy in field.policies.items() if label in runs},
            self.environment(),
            runs,
            (horizon,),
            int(runs[RECOMMENDED].label["seed"]),
            reference=RECOMMENDED,
            left_out=field.left_out,
        )


def _geometry(name: str, about: str, make: Callable[[], ActionSet]) -> Scenario:
    return Scenario(
        name=name,
        about=about,
        environment=lambda: paper_environment(make()),
        horizons=(SHORT, 10 * SHORT),
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
        name="baseline",
        about="5 in every reward, whatever is played",
        environment=lambda: LinearEnvironment(
            action_set=LpBall(DIM), theta_star=UniformCube(), noise=Gaussian(SIGMA), baseline=5.0
        ),
        notes=("Regret does not see the baseline. Who reckons with none takes it for theta*.",),
    ),
    Scenario(
        name="context",
        about="theta_t moves with three numbers that are seen before each decision",
        environment=lambda: LinearEnvironment(
            action_set=LpBall(DIM),
            theta_star=UniformCube(),
            noise=Gaussian(SIGMA),
            baseline=1.0,
            contexts=GaussianContexts(3, effect=0.5, shift=1.0),
        ),
        notes=("Regret is against the best action for theta_t; the error is of theta at z = 0.",),
    ),
    Scenario(
        name="drift",
        about="theta* drawn anew after 1,000 steps",
        environment=lambda: LinearEnvironment(
            action_set=LpBall(DIM),
            theta_star=UniformCube(),
            noise=Gaussian(SIGMA),
            drift=Jump(1000),
        ),
        notes=("Nobody is told of the jump.",),
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

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for scenario in (*GEOMETRIES, *ROBUSTNESS)
}
