"""An experiment is data plus a score: cells to simulate, figures to draw, claims to judge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sparsebandits.comparison.text_table import TextTable
from sparsebandits.environments.paper_setting import DELTA, SIGMA, SPARSITY
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.locks import Locks
from sparsebandits.plotting.figure import Figure
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell

SETTING: dict[str, Any] = {"sparsity": SPARSITY, "sigma": SIGMA, "delta": DELTA}
"""What the paper's algorithms are told in its setting."""

Size = Literal["quick", "paper", "full"]
"""A look that shows that all works; the paper's own sizes; the field at its longer horizon too."""

Results = Mapping[str, Run]
"""The run of every cell, by its key."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the runs of an experiment show."""

    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...] = ()
    tables: tuple[TextTable, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure of the paper, or one family of them; or, where `ours`, a study of our own."""

    id: str
    labels: tuple[str, ...]
    """Of the paper's figures; the command line takes them as it takes the id."""
    title: str
    about: str
    cells: Callable[[Size], list[Cell]]
    outcome: Callable[[Results], Outcome]
    decisions: tuple[str, ...] = ()
    ours: bool = False
    """Not in the paper: shown on a page of its own, its claims not counted with the paper's."""


def figure_id(label: str) -> str:
    """Return what the files of a figure are called: the paper's label.

    Examples
    --------
    >>> figure_id("fig:ellipsoid pro")
    'ellipsoid-pro'
    """
    return label.split(":")[-1].replace(" ", "-")


def lock_note(label: str, run: Run) -> str:
    """Say the shares of runs that locked, and wrongly, with their intervals, or that none did."""
    horizon, locks = int(run.steps[-1]), Locks.of(run)
    if locks.locked.count == 0:
        return f"{label}: never locks ({locks.locked.brief} runs by T = {horizon:,})"
    counts = f"{locks.locked.brief} runs locked by T = {horizon:,}"
    return f"{label}: {counts}, {locks.wrong.brief} wrongly"


def setting_note(runs: Sequence[Run]) -> str:
    """Say benchmark, trials and seed."""
    benchmarks = " / ".join(sorted({str(run.label["benchmark"]) for run in runs}))
    trials = " / ".join(str(count) for count in sorted({run.regret.shape[0] for run in runs}))
    return f"Regret against the {benchmarks}; {trials} trials; seed {runs[0].label['seed']}"
