"""`fig:case4` and `fig:ellipsoid pro`: APSEE-G on a random ellipsoid."""

from dataclasses import replace

import numpy as np

from sparsebandits.environments.paper_setting import SPARSITY, random_ellipsoid
from sparsebandits.oracles import approximation_ratio, sparse_argmax_batch
from sparsebandits.paper.experiment import Outcome, Results
from sparsebandits.paper.geometry import LITERAL, NO_TEST, Geometry, scaled, sharper
from sparsebandits.plotting.figure import Panel, regret_panel
from sparsebandits.policies import APSEEG
from sparsebandits.simulation import Run

GEOMETRY = Geometry(
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
        "Regret is measured against the greedy solution on theta*, alpha times the optimum being "
        "far below what greedy earns: that alpha-regret stands beside it.",
        "alpha = 1 - exp(-gamma) with the lower bound on gamma that holds for every theta: by its "
        "definition gamma takes 3^20 pairs of supports for each theta*.",
        "The matrix has random axes and eigenvalues uniform on [0.2, 1], seed 0.",
    ),
)

ALPHA = approximation_ratio(GEOMETRY.action_set.gamma_bound)


def alpha_regret(run: Run) -> Run:
    """Return the run with its regret against alpha times the optimum (`eqn:def of a-regret`).

    Each step differs by the same amount from the regret against what greedy earns on theta*.
    """
    best = sparse_argmax_batch(GEOMETRY.action_set, run.theta_star, SPARSITY, "exact").values
    shift = ALPHA * best - run.optimum
    return replace(run, regret=run.regret + shift[:, None] * run.steps)


def _alpha_panel(results: Results) -> Panel:
    runs = {
        variant.label: alpha_regret(results[f"{variant.key}-short"])
        for variant in GEOMETRY.variants
    }
    panel = regret_panel(f"alpha-regret, alpha = {ALPHA:.2f}", runs, scatter=True)
    return replace(panel, levels=((0.0, ""),))


def _outcome(results: Results) -> Outcome:
    whole, average = GEOMETRY.figures(results)
    first = replace(whole, panels=(*whole.panels, _alpha_panel(results)))
    at_the_end = alpha_regret(results["literal-short"]).regret[:, -1]
    note = (
        f"alpha-regret as the paper defines it, against alpha times the optimum: literal "
        f"{np.mean(at_the_end):+,.0f} at the end; exploiting earns more than alpha asks for"
    )
    return Outcome(
        figures=(replace(first, notes=(*first.notes, note)), average),
        claims=GEOMETRY.claims(results),
    )


CASE4 = replace(GEOMETRY.experiment(), outcome=_outcome)
