"""`fig:app_support_recovery`: when the true support is found, for easy and hard theta*."""

import numpy as np

from sparsebandits.action_sets import LpBall
from sparsebandits.environments import AdversarialTheta, StandardTheta
from sparsebandits.environments.paper_setting import DELTA, DIM, LONG, SIGMA, paper_environment
from sparsebandits.estimation import cycles_to_lock, make_confidence, warmup_cycles
from sparsebandits.exploration import DiagonalBasis
from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.paper.experiment import (
    SETTING,
    Experiment,
    Outcome,
    Results,
    Size,
    lock_note,
    setting_note,
)
from sparsebandits.paper.geometry import LITERAL, scaled, sharper
from sparsebandits.plotting.figure import Figure, Panel, Series, mean_series
from sparsebandits.policies import APSEE
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell

GAP = 0.2
THETAS = {"standard": StandardTheta(gap=GAP), "adversarial": AdversarialTheta(gap=GAP)}
VARIANTS = (LITERAL, scaled(0.1), sharper("pairwise"))


def theoretical_stopping_step() -> float:
    """t* = d C_0 with the C_0 of `lemma:C_0`, in steps."""
    basis = DiagonalBasis(np.ones(DIM))
    return DIM * warmup_cycles(GAP, basis.h_1(SIGMA), DIM, DELTA)


def first_possible_step() -> float:
    """When the literal test passes if theta_hat equals theta*, in steps."""
    bound = make_confidence("paper", DiagonalBasis(np.ones(DIM)), DELTA)
    return DIM * cycles_to_lock(GAP, bound.top_h_threshold, sigma=SIGMA)


def _cells(size: Size) -> list[Cell]:
    X = LpBall(DIM)
    return [
        Cell(
            key=f"{name}-{variant.key}",
            label=f"{name} theta*, {variant.label}",
            policy=APSEE(action_set=X, **SETTING, **variant.changes),
            environment=paper_environment(X, theta),
            horizon=LONG // 40 if size == "quick" else 5 * LONG,
            trials=4 if size == "quick" else 50,
            track_support=True,
        )
        for variant in VARIANTS
        for name, theta in THETAS.items()
    ]


def _outcome(results: Results) -> Outcome:
    """Draw how much of the support is found and when it is locked; judge t* for both theta*."""
    overlap = Panel(
        title="True support found by theta_hat",
        x_label="step (log scale)",
        y_label="share of the H true coordinates",
        series=tuple(
            _overlap(results[f"{name}-literal"], f"{name} theta*", style)
            for style, name in enumerate(THETAS)
        ),
        x_log=True,
    )
    cases = [(name, variant) for variant in VARIANTS for name in THETAS]
    locks = Panel(
        title="Locked on the true support",
        x_label="step (log scale)",
        y_label="share of runs",
        series=tuple(
            _locked_share(results[f"{name}-{variant.key}"], f"{name}, {variant.key}", style)
            for style, (name, variant) in enumerate(cases)
        ),
        x_log=True,
        lines=(
            (first_possible_step(), "literal test can pass"),
            (theoretical_stopping_step(), "t* = d C_0"),
        ),
    )
    locked = (
        lock_note(f"{name}, {variant.label}", results[f"{name}-{variant.key}"])
        for name, variant in cases
    )
    figure = Figure(
        id="app_support_recovery",
        label="fig:app_support_recovery",
        title=f"Support recovery, APSEE on the l2 ball, gap {GAP:g} for both theta*",
        panels=(overlap, locks),
        notes=(setting_note([results["standard-literal"]]), *locked),
    )
    claims = (_within_t_star(name, results[f"{name}-literal"]) for name in THETAS)
    return Outcome(figures=(figure,), claims=tuple(claims))


def _overlap(run: Run, label: str, style: int) -> Series:
    assert run.overlap is not None
    known = ~np.isnan(run.overlap).any(axis=0)  # no estimate before the first cycle is complete
    steps = run.steps[known].astype(float)
    return mean_series(steps, run.overlap[:, known], label, style, scatter=True)


def _locked_share(run: Run, label: str, style: int) -> Series:
    steps = run.steps[run.steps >= DIM]  # no test before the first cycle is complete
    times = np.where(run.support_correct, run.locked_at, np.inf)
    share = (times[:, None] <= steps[None, :]).mean(axis=0)
    return Series(label=label, x=steps.astype(float), y=share, style=style)


def _within_t_star(name: str, run: Run) -> Claim:
    t_star = theoretical_stopping_step()
    horizon = int(run.steps[-1])
    locked = np.isfinite(run.locked_at)
    wrong = int((locked & ~run.support_correct).sum())
    measured = (
        f"t* = d C_0 = {t_star:.3g} steps; within {horizon:,} steps {int(locked.sum())} of "
        f"{locked.size} literal runs locked, {wrong} of them wrongly"
    )
    if locked.any():
        measured += f"; the slowest after {np.nanmax(run.locked_at):,.0f} steps"
    verdict: Verdict
    if horizon < t_star and not locked.all():
        verdict = "not testable" if wrong == 0 else "fails"
    else:
        in_time = run.support_correct & (run.locked_at <= t_star)  # nan, never locked, is neither
        verdict = "holds" if in_time.mean() >= 1 - DELTA else "fails"
    return Claim(
        id=f"support-recovery-{name}",
        label="fig:app_support_recovery",
        statement=f"APSEE finds the true support within t* for the {name} theta*.",
        experiment="support-recovery",
        measured=measured + ".",
        value=float((locked & run.support_correct).mean()),
        verdict=verdict,
        details={"t_star": t_star, "first_possible_step": first_possible_step()},
    )


APP_SUPPORT_RECOVERY = Experiment(
    id="support-recovery",
    labels=("fig:app_support_recovery",),
    title="Support recovery over time",
    about="Two kinds of theta* with the same gap: well separated entries, and nearly equal ones.",
    cells=_cells,
    outcome=_outcome,
    decisions=(
        f"The paper states no gap; {GAP:g} is used, with |theta|_(H+1) = 0.5 in both cases.",
        "The horizon is 10^6 steps, so that the literal test can pass at all.",
    ),
)
