"""`subsec:time_varying_action_set`: sets that change at every step; the paper plots none."""

from sparsebandits.action_sets import LpBall
from sparsebandits.environments import (
    Gaussian,
    LinearEnvironment,
    RandomAvailability,
    RotatingEllipsoid,
    UniformCube,
)
from sparsebandits.environments.paper_setting import DIM, SHORT, SIGMA, random_ellipsoid
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.experiment import SETTING, Experiment, Outcome, Results, Size, setting_note
from sparsebandits.paper.exponents import SUB_LINEAR, rate_claim
from sparsebandits.paper.geometry import Variant
from sparsebandits.plotting.figure import Figure, regret_panel
from sparsebandits.policies import TimeVaryingAPSEEG
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell

SCALED = Variant(
    key="scaled",
    label="linear schedule, epsilon_c x 0.005",
    changes={"confidence_scale": 0.005},
)
VARIANTS = (
    Variant(key="literal", label="linear schedule, literal (scale 1)"),
    SCALED,
    Variant(key="compact", label="floor(sqrt(c)) steps, no test", changes={"schedule": "sqrt"}),
)


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


def _cells(size: Size) -> list[Cell]:
    return [
        Cell(
            key=f"{name}-{variant.key}",
            label=variant.label,
            policy=TimeVaryingAPSEEG(
                action_set=environment.action_set, **SETTING, **variant.changes
            ),
            environment=environment,
            horizon=SHORT // 10 if size == "quick" else SHORT,
            trials=2 if size == "quick" else 10,
            benchmark="exact" if name == "availability" else "greedy",
        )
        for name, environment in _environments().items()
        for variant in VARIANTS
    ]


def _outcome(results: Results) -> Outcome:
    panels = tuple(
        regret_panel(
            title,
            {variant.label: results[f"{name}-{variant.key}"] for variant in VARIANTS},
            exponent=1.0,
            y_label="regret / T (reward units per step)",
            x_log=True,
        )
        for name, title in TITLES.items()
    )
    literal = {title: results[f"{name}-literal"] for name, title in TITLES.items()}
    figure = Figure(
        id="time-varying",
        label="subsec:time_varying_action_set",
        title="Sets that change at every step",
        panels=panels,
        notes=(
            setting_note(list(literal.values())),
            "The benchmark is that of the current set at each step",
            *(_slope_note(title, run) for title, run in literal.items()),
        ),
    )
    claims = (_sub_linear(results, name, schedule) for name in TITLES for schedule in SCHEDULES)
    return Outcome(figures=(figure,), claims=tuple(claims))


def _slope_note(title: str, run: Run) -> str:
    mean = run.regret.mean(axis=0)
    slope = (mean[-1] - mean[-40]) / (run.steps[-1] - run.steps[-40])
    average = mean[-1] / run.steps[-1]
    return f"{title}, scale 1: {slope:.2f} per step at the end, {average:.2f} on average"


SCHEDULES = {
    "linear": ("the linear schedule", "literal", "scaled", SCALED.label),
    "compact": ("floor(sqrt(c)) steps", "compact", "compact", ""),
}
"""What each is called, the cells that are judged as literal and as changed, and the change."""


def _sub_linear(results: Results, name: str, schedule: str) -> Claim:
    words, literal, changed, change = SCHEDULES[schedule]
    return rate_claim(
        id=f"time-varying-{name}-{schedule}",
        label="subsec:time_varying_action_set",
        statement=f"With {words} the regret is sub-linear: {TITLES[name]}.",
        experiment="time-varying",
        rate=SUB_LINEAR,
        slack=0.0,
        literal=results[f"{name}-{literal}"],
        changed=results[f"{name}-{changed}"],
        change=change,
    )


TIME_VARYING = Experiment(
    id="time-varying",
    labels=("subsec:time_varying_action_set",),
    title="Time-varying action sets",
    about="Items that come and go, and an ellipsoid that turns; both schedules of the appendix.",
    cells=_cells,
    outcome=_outcome,
    decisions=(
        "The paper plots nothing here. Exploration follows the axis of the current set that is "
        "known least; the gap test is made on the current set at each exploitation step.",
    ),
)
