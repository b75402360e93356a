"""`fig:case4` and `fig:ellipsoid pro`: APSEE-G on a random ellipsoid."""

from sparsebandits.environments.paper_setting import random_ellipsoid
from sparsebandits.paper.geometry import LITERAL, NO_TEST, Geometry, scaled, sharper
from sparsebandits.policies import APSEEG

CASE4 = Geometry(
    id="ellipsoid",
    label="fig:case4",
    average_label="fig:ellipsoid pro",
    title="Ellipsoid, APSEE-G",
    about="A random ellipsoid, where choosing the support is a best-subset problem: greedy.",
    action_set=random_ellipsoid(),
    policy=APSEEG,
    variants=(LITERAL, scaled(0.005), sharper("support"), NO_TEST),
    quiet=0.004,
    rate=0.5,
    theorem="thm:regret_general",
    benchmark="greedy",
    decisions=(
        "Regret is measured against the greedy solution on theta*: with alpha = 1 - exp(-gamma) "
        "times the optimum it would be negative.",
        "The matrix has random axes and eigenvalues uniform on [0.2, 1], seed 0.",
    ),
).experiment()
