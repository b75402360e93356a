"""An experiment is data plus a score: cells to simulate, curves to draw, claims to judge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparsebandits import Run
from sparsebandits.comparison.text_table import TextTable
from sparsebandits.environments.paper_setting import DELTA as DELTA
from sparsebandits.environments.paper_setting import DIM as DIM
from sparsebandits.environments.paper_setting import LONG as LONG
from sparsebandits.environments.paper_setting import SHORT as SHORT
from sparsebandits.environments.paper_setting import SIGMA as SIGMA
from sparsebandits.environments.paper_setting import SPARSITY as SPARSITY
from sparsebandits.environments.paper_setting import TRIALS as TRIALS
from sparsebandits.environments.paper_setting import paper_environment as paper_environment
from sparsebandits.paper.claim import Claim
from sparsebandits.plotting.figure import Figure
from sparsebandits.sweeps import Cell

Results = Mapping[str, Run]
"""The run of every cell, by its key."""


def no_tables(results: Results) -> list[TextTable]:
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
    tables: Callable[[Results], list[TextTable]] = no_tables
    ours: bool = False
    """Not in the paper: shown on a page of its own, its claims not counted with the paper's."""
