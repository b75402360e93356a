"""`subsec:time_varying_action_set`: sets that change at every step; the paper plots none."""

from typing import Any

import numpy as np

from sparsebandits.action_sets import LpBall
from sparsebandits.environments import (
    Gaussian,
    LinearEnvironment,
    RandomAvailability,
    RotatingEllipsoid,
    UniformCube,
)
from sparsebandits.environments.paper_setting import random_ellipsoid
from sparsebandits.paper.base import DELTA, DIM, SHORT, SIGMA, SPARSITY, Experiment, Results
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.exponents import SUB_LINEAR, rate_claim
from sparsebandits.paper.notes import setting_note
from sparsebandits.plotting.figure import Figure, Panel, over_power, regret_series
from sparsebandits.policies import TimeVaryingAPSEEG
from sparsebandits.sweeps import Cell

SCALE = 0.005
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "literal": ("linear schedule, literal (scale 1)", {}),
    "scaled": (f"linear schedule, epsilon_c x {SCALE:g}", {"confidence_scale": SCALE}),
    "compact": ("floor(sqrt(c)) steps, no test", {"schedule": "sqrt"}),
}


def _environments() -> dict[str, LinearEnvironment]:
    moving = {
        "availability": RandomAvailability(LpBall(DIM), 0.7, seed=0),
        "turning": RotatingEllipsoid(random_ellipsoid().matrix, period=500),
    }
    return {
        name: LinearEnvironment(
            action_sets=sequence, theta_star=UniformCube(), noise=Gaussian(SIGMA)
        )
        for name, sequence in moving.items()
    }


TITLES = {
    "availability": "l2 ball, each item there with probability 0.7",
    "turning": "ellipsoid that turns once in 500 steps",
}


def _cells(quick: bool) -> list[Cell]:
    return [
        Cell(
            key=f"{name}-{kind}",
            label=label,
            policy=TimeVaryingAPSEEG(
                action_set=environment.action_set,
                sparsity=SPARSITY,
                sigma=SIGMA,
                delta=DELTA,
                **changes,
            ),
            environment=environment,
            horizon=SHORT // 10 if quick else SHORT,
            trials=2 if quick else 10,
            benchmark="exact" if name == "availability" else "greedy",
        )
        for name, environment in _environments().items()
        for kind, (label, changes) in POLICIES.items()
    ]


def _figures(results: Results, seed: int) -> list[Figure]:
    panels = tuple(
        Panel(
            title=TITLES[name],
            x_label="step T",
            y_label="regret / T (reward units per step)",
            series=tuple(
                regret_series(results[f"{name}-{kind}"], label, i, over_power(1.0))
                for i, (kind, (label, _)) in enumerate(POLICIES.items())
            ),
            x_log=True,
        )
        for name in TITLES
    )
    return [
        Figure(
            id="time-varying",
            label="subsec:time_varying_action_set",
            title="Sets that change at every step",
            panels=panels,
            notes=(
                setting_note([results["availability-literal"], results["turning-literal"]], seed),
                "The benchmark is that of the current set at each step",
                *(_exploited(results, name, kind) for name in TITLES for kind in ("literal",)),
            ),
        )
    ]


def _exploited(results: Results, name: str, kind: str) -> str:
    run = results[f"{name}-{kind}"]
    slope = np.diff(run.regret.mean(axis=0)[[-40, -1]])[0] / np.diff(run.steps[[-40, -1]])[0]
    start = run.regret.mean(axis=0)[-1] / run.steps[-1]
    return f"{TITLES[name]}, scale 1: {slope:.2f} per step at the end, {start:.2f} on average"


def _claims(results: Results) -> list[Claim]:
    made = []
    for name, title in TITLES.items():
        made.append(
            rate_claim(
                id=f"time-varying-{name}-linear",
                label="subsec:time_varying_action_set",
                statement=f"With the linear schedule the regret is sub-linear: {title}.",
                experiment="time-varying",
                rate=SUB_LINEAR,
                slack=0.0,
                literal=results[f"{name}-literal"],
                changed=results[f"{name}-scaled"],
                change=POLICIES["scaled"][0],
            )
        )
        compact = results[f"{name}-compact"]
        made.append(
            rate_claim(
                id=f"time-varying-{name}-compact",
                label="subsec:time_varying_action_set",
                statement=f"With floor(sqrt(c)) steps the regret is sub-linear: {title}.",
                experiment="time-varying",
                rate=SUB_LINEAR,
                slack=0.0,
                literal=compact,
                changed=compact,
                change="",
            )
        )
    return made


TIME_VARYING = Experiment(
    id="time-varying",
    labels=("subsec:time_varying_action_set",),
    title="Time-varying action sets",
    about="Items that come and go, and an ellipsoid that turns; both schedules of the appendix.",
    cells=_cells,
    figures=_figures,
    claims=_claims,
    decisions=(
        "The paper plots nothing here. Exploration follows the axis of the current set that is "
        "known least; the gap test is made on the current set at each exploitation step.",
    ),
)
