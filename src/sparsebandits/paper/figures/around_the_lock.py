"""Ours: explore only what is locked, do without the gap test, or earn while waiting for it."""

from typing import Any

import numpy as np

from sparsebandits.action_sets import LpBall
from sparsebandits.comparison.intervals import ratio_interval
from sparsebandits.environments import GapTheta, Gaussian, LinearEnvironment
from sparsebandits.environments.paper_setting import DIM, LONG, SPARSITY, TRIALS, paper_environment
from sparsebandits.paper.claim import OURS, Claim
from sparsebandits.paper.experiment import (
    SETTING,
    Experiment,
    Outcome,
    Results,
    Size,
    lock_note,
    setting_note,
)
from sparsebandits.paper.exponents import LOG_SLACK, Exponent, tail_exponent
from sparsebandits.paper.verdicts import LEVEL, judged_claim, within
from sparsebandits.plotting.figure import Figure, Panel, Series, regret_series
from sparsebandits.policies import APSEE, CompactAPSEEG, HedgedAPSEE, Policy
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell
from sparsebandits.validation import FloatArray

LABELS = {
    "tested": "APSEE, valid 'pairwise' bound",
    "locked-only": "the same, exploring what is locked",
    "untested": "no gap test, c steps",
    "compact": "no gap test, floor(sqrt(c)) steps",
    "hedged": "hedged: floor(sqrt(c)) until locked, then c",
    "always": "c steps throughout, exploring what is locked",
}

OTHERS = tuple(key for key in LABELS if key != "locked-only")
"""Where the gap may be so small that nothing is locked, this one is as the first."""

LONGER = 10 * LONG
GAP = 0.3
"""Of abs(theta*) at H, where every run locks."""

SMALL = {"sparsity": 1, "sigma": 1.0}
GAPS = tuple(np.geomspace(0.01, 0.64, 7).round(4).tolist())
"""theta* = (1, 1 - gap, 0, 0): for each T another one is the worst."""

FIRST = 0.01
"""The rates at worst are fitted over the last two decades."""


def _policy(key: str, ball: LpBall, told: dict[str, Any]) -> Policy:
    if key in ("untested", "compact"):
        schedule = "linear" if key == "untested" else "sqrt"
        return CompactAPSEEG(action_set=ball, schedule=schedule, oracle="top-h", **told)
    if key in ("hedged", "always"):
        waiting = "sqrt" if key == "hedged" else "linear"
        return HedgedAPSEE(action_set=ball, waiting=waiting, **told)
    only = key == "locked-only"
    return APSEE(action_set=ball, confidence="pairwise", explore_locked_only=only, **told)


def _worlds() -> dict[str, tuple[LinearEnvironment, dict[str, Any], tuple[str, ...]]]:
    """By name: the world, what policies are told, and which of them are run."""
    ball = LpBall(DIM)
    worlds = {
        "gap": (paper_environment(ball, GapTheta(GAP)), SETTING, tuple(LABELS)),
        "drawn": (paper_environment(ball), SETTING, OTHERS),
    }
    for gap in GAPS:
        theta = [1.0, 1.0 - gap, 0.0, 0.0]
        world = LinearEnvironment(action_set=LpBall(4), theta_star=theta, noise=Gaussian(1.0))
        worlds[f"worst-{gap:g}"] = world, SMALL, OTHERS
    return worlds


def _cells(size: Size) -> list[Cell]:
    cells = []
    for name, (world, told, keys) in _worlds().items():
        horizon = LONG if name.startswith("worst") else LONGER
        for key in keys:
            cell = Cell(
                key=f"{name}-{key}",
                label=f"{LABELS[key]} ({name})",
                policy=_policy(key, LpBall(world.dim), told),
                environment=world,
                horizon=horizon // 50 if size == "quick" else horizon,
                trials=2 if size == "quick" else TRIALS,
            )
            cells.append(cell)
    return cells


# ---------------------------------------------------------------------- figures


def _outcome(results: Results) -> Outcome:
    gap = {label: results[f"gap-{key}"] for key, label in LABELS.items()}
    drawn = {LABELS[key]: results[f"drawn-{key}"] for key in OTHERS}
    panels = (
        _panel(f"A gap of {GAP:g} in every trial", gap),
        _panel("theta* uniform, as in the paper", drawn),
    )
    figure = Figure(
        id="around-the-lock",
        label=OURS,
        title="Around the lock, on the l2 ball",
        panels=(*panels, _worst_panel(results)),
        notes=(
            f"{setting_note(list(gap.values()))}; confidence scale 1 throughout",
            "Right: the worst of seven gaps at each T, d = 4, H = 1, sigma = 1",
            *(lock_note(label, run) for label, run in drawn.items() if "gap test" not in label),
        ),
    )
    claims = (_locked_only(results), _on_average(results), *_at_worst(results))
    return Outcome(figures=(figure,), claims=claims)


def _panel(title: str, runs: dict[str, Run]) -> Panel:
    """R_t / sqrt(t), each policy in the same colour in every panel."""
    styles = list(LABELS.values())
    return Panel(
        title=title,
        x_label="step T (log scale)",
        y_label="regret / sqrt(T) (log scale)",
        series=tuple(
            regret_series(run, label, styles.index(label), 0.5) for label, run in runs.items()
        ),
        x_log=True,
        y_log=True,
    )


def worst(results: Results, key: str) -> tuple[FloatArray, FloatArray]:
    """Return the steps, and the regret of the gap that is worst at each of them, (trials, n)."""
    runs = [results[f"worst-{gap:g}-{key}"] for gap in GAPS]
    regret = np.array([run.regret for run in runs])  # (gaps, trials, n)
    chosen = regret.mean(axis=1).argmax(axis=0)
    steps = runs[0].steps.astype(float)
    return steps, np.asarray(regret[chosen, :, np.arange(steps.size)].T)


def _worst_panel(results: Results) -> Panel:
    series = []
    for style, (key, label) in enumerate(LABELS.items()):
        if key not in OTHERS:
            continue
        steps, regret = worst(results, key)
        late = steps >= 100
        y = regret.mean(axis=0)
        series.append(Series(label=label, x=steps[late], y=y[late], style=style))
    return Panel(
        title="The worst gap at each T",
        x_label="T (log scale)",
        y_label="regret (log scale)",
        series=tuple(series),
        x_log=True,
        y_log=True,
    )


# ---------------------------------------------------------------------- claims


def after_lock(run: Run) -> FloatArray:
    """Return R_T - R_lock of every trial, (trials,); 0 where nothing was locked."""
    at_lock = [
        np.interp(t, run.steps, row)
        for t, row in zip(np.nan_to_num(run.locked_at, nan=np.inf), run.regret, strict=True)
    ]
    return np.asarray(run.regret[:, -1] - at_lock)


def _locked_only(results: Results) -> Claim:
    all_of_it, only = (after_lock(results[f"gap-{key}"]) for key in ("tested", "locked-only"))
    ratio = ratio_interval(only, all_of_it, confidence=LEVEL)
    share = SPARSITY / DIM
    judged = within(ratio.low, ratio.high, (0.0, 2 * share), "a ratio")
    return judged_claim(
        ratio,
        judged,
        id="around-lock-explored",
        label=OURS,
        statement="After the lock, exploring only what is locked costs of order H sqrt(T) instead "
        "of d sqrt(T): at most twice H / d of it.",
        experiment="around-the-lock",
        measured=f"R_T - R_lock at T = {LONGER:,} with a gap of {GAP:g}: {only.mean():,.0f} "
        f"against {all_of_it.mean():,.0f}, {ratio.mean:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] "
        f"times ({LEVEL:.2%} interval); H / d = {share:g}.",
        brief=f"{ratio.mean:.2f} times the regret after the lock",
    )


def _on_average(results: Results) -> Claim:
    fitted = tail_exponent(results["drawn-untested"])
    judged = fitted.judge(-np.inf, 0.5 + LOG_SLACK)
    return judged_claim(
        fitted,
        judged,
        id="around-lock-average",
        label=OURS,
        statement="Without the gap test the regret is of order d sqrt(T) on average over theta* "
        "whose gap has a bounded density.",
        experiment="around-the-lock",
        measured=f"Exponent over the last decade up to T = {LONGER:,}, theta* uniform: {fitted}.",
        brief=f"exponent {fitted.value:.2f}",
    )


def worst_exponent(results: Results, key: str) -> Exponent:
    """Fit the regret of the worst gap over the last two decades."""
    steps, regret = worst(results, key)
    tail = steps >= FIRST * steps[-1]
    return Exponent.of(regret[:, tail], np.log(steps[tail]))


def _at_worst(results: Results) -> tuple[Claim, ...]:
    tested = worst_exponent(results, "tested")
    claims = []
    for key, order, rate in (("untested", "T^(3/4)", 0.75), ("hedged", "T^(2/3)", 2 / 3)):
        fitted = worst_exponent(results, key)
        judged = fitted.judge(-np.inf, rate + LOG_SLACK)
        claims.append(
            judged_claim(
                fitted,
                judged,
                id=f"around-lock-worst-{key}",
                label=OURS,
                statement=f"Whatever the gap, the regret is at most of order {order}: "
                f"{LABELS[key]}.",
                experiment="around-the-lock",
                measured=f"Exponent of the worst of {len(GAPS)} gaps over the last two decades up "
                f"to T = {LONG:,}: {fitted}; with the gap test alone {tested}.",
                brief=f"exponent {fitted.value:.2f} at worst",
            )
        )
    return tuple(claims)


AROUND_THE_LOCK = Experiment(
    id="around-the-lock",
    labels=(OURS,),
    title="Around the lock",
    about="Not in the paper: after the lock explore only what is locked; do without the gap test; "
    "or earn while waiting for it. The proofs are in docs/theory.md.",
    cells=_cells,
    outcome=_outcome,
    ours=True,
    decisions=(
        "The gap test is made with the valid bound that is sharpest for sorting; with the paper's "
        "epsilon_c hardly a run locks.",
    ),
)
