"""`fig:case4` and `fig:ellipsoid pro`: APSEE-G on a random ellipsoid."""

from sparsebandits.environments.paper_setting import random_ellipsoid
from sparsebandits.paper.base import Experiment, Results
from sparsebandits.paper.figures.geometry import Geometry
from sparsebandits.paper.figures.lp_balls import LITERAL, scaled, sharper
from sparsebandits.plotting.figure import Figure
from sparsebandits.policies import APSEEG

GEOMETRY = Geometry(
    id="ellipsoid",
    label="fig:case4",
    title="Ellipsoid, APSEE-G",
    action_set=random_ellipsoid(),
    policy=APSEEG,
    variants=(LITERAL, scaled(0.005), sharper("support")),
    rate=0.5,
    theorem="thm:regret_general",
    benchmark="greedy",
)


def _figures(results: Results, seed: int) -> list[Figure]:
    left, right, average = GEOMETRY.panels(results)
    return [
        Figure(
            id="ellipsoid",
            label="fig:case4",
            title=GEOMETRY.title,
            panels=(left, right),
            notes=GEOMETRY.notes(results, seed, "short"),
        ),
        Figure(
            id="ellipsoid-average",
            label="fig:ellipsoid pro",
            title="Ellipsoid, average regret over the long horizon",
            panels=(average,),
            notes=GEOMETRY.notes(results, seed, "long"),
        ),
    ]


ELLIPSOID = Experiment(
    id="ellipsoid",
    labels=("fig:case4", "fig:ellipsoid pro"),
    title=GEOMETRY.title,
    about="A random ellipsoid, where choosing the support is a best-subset problem: greedy.",
    cells=GEOMETRY.cells,
    figures=_figures,
    claims=GEOMETRY.claims,
    decisions=(
        "Regret is measured against the greedy solution on theta*: with alpha = 1 - exp(-gamma) "
        "times the optimum it would be negative.",
        "The matrix has random axes and eigenvalues uniform on [0.2, 1], seed 0.",
    ),
)
