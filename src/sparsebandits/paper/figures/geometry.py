"""Regret on one action set at both horizons: the three panels that most of the figures share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import LinearEnvironment
from sparsebandits.paper.base import (
    DELTA,
    LONG,
    SHORT,
    SPARSITY,
    TRIALS,
    Results,
    paper_environment,
)
from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.paper.exponents import SUB_LINEAR, describe, rate_claim
from sparsebandits.paper.notes import run_note, setting_note
from sparsebandits.plotting.figure import (
    Figure,
    Panel,
    over_power,
    regret_series,
    tail_exponent,
)
from sparsebandits.policies import PhasedPolicy
from sparsebandits.sweeps import Cell


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to run the algorithm: the paper's own constants, or a change that is named."""

    key: str
    label: str
    changes: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """One action set, the algorithm that the paper runs on it, and the variants beside it."""

    id: str
    label: str
    title: str
    action_set: ActionSet
    policy: type[PhasedPolicy]
    variants: tuple[Variant, ...]
    rate: float
    """The exponent that the paper's theorem promises."""
    theorem: str
    benchmark: str = "exact"
    environment: Callable[[], LinearEnvironment] | None = None
    """Makes the world with this action set; the paper's if left out."""

    @property
    def horizons(self) -> dict[str, int]:
        """The paper's two; without a gap test also one at which d K no longer hides the rate."""
        both = {"short": SHORT, "long": LONG}
        return both if self.policy.verifies else {**both, "longer": 100 * LONG}

    # ------------------------------------------------------------------ data

    def cells(self, quick: bool) -> list[Cell]:
        """Every variant at both horizons; the quick run has few trials and short horizons."""
        environment = self.environment() if self.environment else paper_environment(self.action_set)
        made = []
        for name, horizon in self.horizons.items():
            for variant in self.variants:
                policy = self.policy(
                    action_set=self.action_set,
                    sparsity=SPARSITY,
                    sigma=environment.sigma,
                    delta=DELTA,
                    **variant.changes,
                )
                made.append(
                    Cell(
                        key=f"{variant.key}-{name}",
                        label=variant.label,
                        policy=policy,
                        environment=environment,
                        horizon=horizon // 10 if quick else horizon,
                        trials=4 if quick else TRIALS,
                        benchmark=self.benchmark,
                    )
                )
        return made

    # ------------------------------------------------------------------ figures

    def panels(self, results: Results) -> tuple[Panel, Panel, Panel]:
        """Cumulative with the scatter of runs, normalised by the rate, average over long."""
        power = "sqrt(T)" if self.rate == 0.5 else "T^(2/3)"
        short = [(v, results[f"{v.key}-short"]) for v in self.variants]
        long = [(v, results[f"{v.key}-long"]) for v in self.variants]
        reward = "regret (reward units)"
        return (
            Panel(
                title="Cumulative regret",
                x_label="step T",
                y_label=reward,
                series=tuple(
                    regret_series(run, v.label, i, scatter=True) for i, (v, run) in enumerate(short)
                ),
            ),
            Panel(
                title=f"Divided by {power}",
                x_label="step T",
                y_label=f"regret / {power}",
                series=tuple(
                    regret_series(run, v.label, i, over_power(self.rate), scatter=True)
                    for i, (v, run) in enumerate(short)
                ),
            ),
            Panel(
                title="Average, long horizon",
                x_label="step T (log scale)",
                y_label="regret / T (reward units per step)",
                series=tuple(
                    regret_series(run, v.label, i, over_power(1.0))
                    for i, (v, run) in enumerate(long)
                ),
                x_log=True,
            ),
        )

    def notes(self, results: Results, seed: int, *horizons: str) -> tuple[str, ...]:
        """State scale, benchmark, seed, trials and locks."""
        lines = [setting_note([results[f"{v.key}-short"] for v in self.variants], seed)]
        for horizon in horizons:
            for variant in self.variants:
                run = results[f"{variant.key}-{horizon}"]
                if self.policy.verifies:
                    lines.append(run_note(variant.label, run))
        if not self.policy.verifies:
            lines.append("No gap test in this variant: the confidence scale plays no part in it")
        return tuple(lines)

    def figures(self, results: Results, seed: int) -> list[Figure]:
        """One figure with three panels."""
        return [
            Figure(
                id=self.id,
                label=self.label,
                title=self.title,
                panels=self.panels(results),
                notes=self.notes(results, seed, "short", "long"),
            )
        ]

    # ------------------------------------------------------------------ claims

    def claims(self, results: Results) -> list[Claim]:
        """Sub-linear growth at both horizons, the promised rate, and a falling average."""
        literal, changed = self.variants[0], self.variants[min(1, len(self.variants) - 1)]
        change = "" if changed is literal else changed.label
        made = []
        for horizon, steps in (("short", SHORT), ("long", LONG)):
            made.append(
                rate_claim(
                    id=f"{self.id}-sub-linear-{horizon}",
                    label=self.label,
                    statement=f"The cumulative regret grows sub-linearly up to T = {steps:,}.",
                    experiment=self.id,
                    rate=SUB_LINEAR,
                    slack=0.0,
                    literal=results[f"{literal.key}-{horizon}"],
                    changed=results[f"{changed.key}-{horizon}"],
                    change=change,
                )
            )
        name = "sqrt(T)" if self.rate == 0.5 else "T^(2/3)"
        rated, rate_change = results[f"{changed.key}-long"], change
        if not self.policy.verifies:
            rated = results[f"{literal.key}-longer"]
            rate_change = f"T = {100 * LONG:,}"
        made.append(
            rate_claim(
                id=f"{self.id}-rate",
                label=self.theorem,
                statement=f"The regret is of order {name} up to logarithms: R / {name} flattens.",
                experiment=self.id,
                rate=self.rate,
                literal=results[f"{literal.key}-long"],
                changed=rated,
                change=rate_change,
            )
        )
        if self.policy.verifies:
            made.append(self._after_lock(results, changed))
        return made

    def _after_lock(self, results: Results, changed: Variant) -> Claim:
        """Fit the exponent of the runs that locked the right support early enough."""
        run = results[f"{changed.key}-long"]
        early = run.support_correct & (run.locked_at <= run.steps[-1] / 20)
        share = float(early.mean())
        if int(early.sum()) < 3:
            return Claim(
                id=f"{self.id}-after-lock",
                label=self.theorem,
                statement="Once the right support is locked the regret grows like sqrt(T).",
                experiment=self.id,
                measured=f"Only {int(early.sum())} runs locked the right support early enough.",
                verdict="not testable",
            )
        fitted = tail_exponent(run.rows(early))
        verdict: Verdict = (
            "holds with the stated change" if fitted.high <= self.rate + 0.1 else "fails"
        )
        return Claim(
            id=f"{self.id}-after-lock",
            label=self.theorem,
            statement="Once the right support is locked the regret grows like sqrt(T).",
            experiment=self.id,
            measured=(
                f"Exponent {describe(fitted)} over the last decade of the {int(early.sum())} runs "
                f"({share:.0%}) that locked the right support within T/20."
            ),
            value=fitted.value,
            low=fitted.low,
            high=fitted.high,
            verdict=verdict,
            change=changed.label if verdict == "holds with the stated change" else "",
        )
