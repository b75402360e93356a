"""What the paper says about regret on one action set, judged: its growth, its rate, its bound."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sparsebandits.comparison.intervals import ratio_interval
from sparsebandits.environments.paper_setting import LONG, SHORT
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.exponents import (
    LOG_SLACK,
    PIECES,
    SUB_LINEAR,
    falls_steadily,
    rate_claim,
    regret_since_lock,
)
from sparsebandits.paper.locks import Locks
from sparsebandits.paper.theorems import theorem_claim
from sparsebandits.paper.verdicts import LEVEL, Judgement, first_change, judged_claim, within
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell

Runs = Mapping[str, Run]
"""By what is said of them: the label of the variant."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The runs on one action set, in their parts: what is literal, valid changes, what is not."""

    id: str
    label: str
    theorem: str
    rate: float
    order: str
    literal: Mapping[str, Run]
    """By horizon, as the next ones."""
    longer: Run | None
    """The literal run at the longer horizon, where it is cheap."""
    changed: Mapping[str, Runs]
    """Valid variants; only these may be what a claim holds with."""
    beside: Mapping[str, Runs]
    """Variants without a guarantee: shown, never judged."""
    cell: Cell
    """Of the literal run at the long horizon."""
    probe: tuple[Cell, Run]
    """The literal run with many trials where its theorem's bound says something."""
    has_gap_test: bool


def geometry_claims(of: Judged) -> Iterator[Claim]:
    """Judge sub-linear growth, a falling average, the rate, what follows a lock, and the bound."""
    for horizon, steps in (("short", SHORT), ("long", LONG)):
        yield rate_claim(
            id=f"{of.id}-sub-linear-{horizon}",
            label=of.label,
            statement=f"The cumulative regret grows sub-linearly up to T = {steps:,}.",
            experiment=of.id,
            rate=SUB_LINEAR,
            slack=0.0,
            literal=of.literal[horizon],
            changed=of.changed[horizon],
            beside=of.beside[horizon],
        )
    yield _falling_average(of)
    yield _rate(of)
    if of.has_gap_test:
        yield _after_lock(of)
    elif of.changed["long"]:
        yield _necessity(of)
    yield from _theorem(of)


def _falling_average(of: Judged) -> Claim:
    """Judge "R_T / T decreases monotonically" over the long horizon."""
    runs = {"the literal run": of.literal["long"], **of.changed["long"]}
    found = {name: falls_steadily(run) for name, run in runs.items()}
    largest = {
        name: max(pieces, key=lambda each: each.value) for name, (pieces, _) in found.items()
    }
    printed, *others = found
    tried = {name: found[name][1] for name in others}
    judged, stated = first_change(found[printed][1], tried)
    worst = largest[stated or printed]
    parts = [f"{largest[name]} for {name}{Locks.of(run).note}" for name, run in runs.items()]
    return judged_claim(
        worst,
        judged,
        id=f"{of.id}-average-falls",
        label=of.label,
        statement=f"The average regret R_T / T decreases monotonically up to T = {LONG:,}.",
        experiment=of.id,
        measured=f"The largest exponent of R_t in {PIECES} equal pieces of log t, 1 being an "
        f"average that stays: {'; '.join(parts)}.",
        brief=f"largest exponent {worst.value:.2f}{f' with {stated}' if stated else ''}",
        change=stated,
    )


def _rate(of: Judged) -> Claim:
    """Judge the theorem's rate: at the longer horizon where a run is cheap enough for it."""
    if of.longer is not None:  # no gap test to change: only the horizon was too short
        changed: dict[str, Run] = {f"T = {of.longer.steps[-1]:,}": of.longer}
    else:
        changed = {
            f"{name} (T = {run.steps[-1]:,})": run
            for name, short in of.changed["long"].items()
            for run in (of.changed["longer"].get(name, short),)
        }
    beside = {
        f"{name} (T = {run.steps[-1]:,})": run
        for horizon in ("long", "longer")
        for name, run in of.beside[horizon].items()
    }
    return rate_claim(
        id=f"{of.id}-rate",
        label=of.theorem,
        statement=f"The regret is of order {of.order} up to logarithms: R / {of.order} flattens.",
        experiment=of.id,
        rate=of.rate,
        literal=of.literal["long"],
        changed=changed,
        beside=beside,
    )


def _after_lock(of: Judged) -> Claim:
    """Fit R_t - R_lock of the literal algorithm where its own test passes early."""
    cell, run = of.probe
    claim = Claim(
        id=f"{of.id}-after-lock",
        label=of.theorem,
        statement="Once the right support is locked the regret grows like sqrt(T), no faster and "
        "no slower.",
        experiment=of.id,
        measured=f"Too few runs locked early enough{Locks.of(run).note}.",
        verdict="not testable",
        otherwise="3 runs whose lock comes within sqrt(T / 1000) cycles",
        brief="too few early locks",
    )
    fitted = regret_since_lock(run)
    if fitted is None:
        return claim
    judged = fitted.judge(of.rate - LOG_SLACK, of.rate + LOG_SLACK)
    return replace(
        claim,
        measured=f"Exponent of R_t - R_lock over the last decade: {fitted}, for the literal "
        f"algorithm with noise {cell.environment.sigma:g} and the theta* of 1,000 draws with the "
        f"widest gap, T = {run.steps[-1]:,}{Locks.of(run).note}.",
        value=fitted.value,
        low=fitted.low,
        high=fitted.high,
        verdict=judged.verdict,
        otherwise=judged.otherwise,
        brief=f"exponent {fitted.value:.2f} [{fitted.low:.2f}, {fitted.high:.2f}]",
    )


def _necessity(of: Judged) -> Claim:
    """Judge "the sqrt(c) schedule is necessary": whether other schedules earn more regret."""
    literal = of.literal["long"].regret[:, -1]
    ratios = {
        name: ratio_interval(run.regret[:, -1], literal, confidence=LEVEL)
        for name, run in of.changed["long"].items()
    }
    judged = [necessity(ratio.low, ratio.high) for ratio in ratios.values()]
    # One schedule with less regret is enough to do without the paper's.
    decided = next((each for each in judged if each.verdict == "fails"), None)
    undecided = next((each for each in judged if each.verdict == "not testable"), None)
    final = decided or undecided or judged[0]
    listed = "; ".join(
        f"{name} {ratio.mean:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] times"
        for name, ratio in ratios.items()
    )
    least = min(ratios.values(), key=lambda ratio: ratio.mean)
    return Claim(
        id=f"{of.id}-necessary-schedule",
        label=of.label,
        statement="Without curvature the schedule of floor(sqrt(c)) steps is necessary to balance "
        "exploration and exploitation.",
        experiment=of.id,
        measured=f"Regret at T = {LONG:,} in units of the paper's schedule ({LEVEL:.2%} "
        f"intervals): {listed}.",
        value=least.mean,
        low=least.low,
        high=least.high,
        verdict=final.verdict,
        otherwise=final.otherwise,
        brief=f"{least.mean:.2g} times the regret with another schedule",
    )


def necessity(low: float, high: float) -> Judgement:
    """Judge the regret of another schedule over the paper's, by its interval."""
    judged = within(low, high, (1.0, np.inf), "a ratio")
    words = {
        "holds": "another schedule with less regret",
        "fails": "more regret with every other schedule",
        "not testable": "a ratio whose interval is clear of 1",
    }
    return replace(judged, otherwise=words[judged.verdict])


def _theorem(of: Judged) -> Iterator[Claim]:
    """Compare with the bound at the paper's setting, and where it says something."""
    cell, run = of.probe
    statement = "The regret stays below the theorem's bound, with its constants"
    if of.has_gap_test:
        yield theorem_claim(
            of.cell,
            of.literal["long"],
            id=f"{of.id}-theorem",
            label=of.theorem,
            statement=f"{statement}, at the paper's setting.",
            experiment=of.id,
        )
        statement += f", with noise {cell.environment.sigma:g} and a theta* with a wide gap"
    yield theorem_claim(
        cell,
        run,
        id=f"{of.id}-theorem{'-quiet' if of.has_gap_test else ''}",
        label=of.theorem,
        statement=f"{statement}.",
        experiment=of.id,
    )
