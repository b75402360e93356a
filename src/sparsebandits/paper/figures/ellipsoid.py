"""`fig:case4` and `fig:ellipsoid pro`: APSEE-G on a random ellipsoid."""

import numpy as np

from sparsebandits.action_sets import Ellipsoid
from sparsebandits.paper.base import DIM, Experiment, Results
from sparsebandits.paper.figures.geometry import Geometry
from sparsebandits.paper.figures.lp_balls import LITERAL, scaled, sharper
from sparsebandits.plotting.figure import Figure
from sparsebandits.policies import APSEEG
from sparsebandits.validation import FloatArray


def random_ellipsoid(seed: int = 0) -> Ellipsoid:
    """Draw a positive definite matrix with random axes and eigenvalues uniform on [0.2, 1].

    The paper says "randomly generated positive definite matrix with lambda_max <= 1" and no more.
    """
    rng = np.random.default_rng(seed)
    basis, triangle = np.linalg.qr(rng.standard_normal((DIM, DIM)))
    basis *= np.sign(np.diag(triangle))
    matrix = (basis * rng.uniform(0.2, 1.0, DIM)) @ basis.T
    return Ellipsoid((matrix + matrix.T) / 2)


def random_matrix(rng: np.random.Generator, dim: int, condition: float) -> FloatArray:
    """Draw A with lambda_max = 1 and the given condition number, its axes uniformly turned."""
    turn, upper = np.linalg.qr(rng.standard_normal((dim, dim)))
    turn = turn * np.sign(np.diag(upper))
    return np.asarray((turn * np.geomspace(1 / condition, 1, dim)) @ turn.T)


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
