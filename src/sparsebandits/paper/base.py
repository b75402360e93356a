"""An experiment is data plus a score: cells to simulate, curves to draw, claims to judge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparsebandits import Gaussian, LinearEnvironment, Run, UniformCube
from sparsebandits.action_sets import ActionSet
from sparsebandits.comparison.tables import Table
from sparsebandits.paper.claim import Claim
from sparsebandits.plotting.figure import Figure
from sparsebandits.sweeps import Cell

DIM, SPARSITY, SIGMA, DELTA = 20, 5, 0.5, 0.05
"""The paper's setting (`sec:numerical experiments`); delta is ours, the paper names none."""

SHORT, LONG, TRIALS = 2_000, 200_000, 20
"""The paper's two horizons and its number of trials."""

Results = Mapping[str, Run]
"""The run of every cell, by its key."""


def no_tables(results: Results) -> list[Table]:
    """Return none: most experiments say all in figures and claims."""
    return []


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure of the paper, or one family of them; or, where `ours`, a study of our own."""

    id: str
    labels: tuple[str, ...]
    title: str
    about: str
    cells: Callable[[bool], list[Cell]]
    figures: Callable[[Results, int], list[Figure]]
    claims: Callable[[Results], list[Claim]]
    decisions: tuple[str, ...] = field(default=())
    tables: Callable[[Results], list[Table]] = no_tables
    ours: bool = False
    """Not in the paper: shown on a page of its own, its claims not counted with the paper's."""


def paper_environment(action_set: ActionSet, theta: Any = None) -> LinearEnvironment:
    """theta* uniform on [-1, 1]^20 anew in each trial, noise N(0, 0.5^2)."""
    return LinearEnvironment(
        action_set=action_set,
        theta_star=UniformCube() if theta is None else theta,
        noise=Gaussian(SIGMA),
    )
