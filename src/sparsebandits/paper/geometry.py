"""Regret on one action set at both horizons: the three panels that most of the figures share."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import LinearEnvironment
from sparsebandits.environments.paper_setting import LONG, SHORT, TRIALS, paper_environment
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.experiment import (
    SETTING,
    Experiment,
    Outcome,
    Results,
    Size,
    figure_id,
    lock_note,
    setting_note,
)
from sparsebandits.paper.exponents import LOG_SLACK, SUB_LINEAR, rate_claim, tail_exponent
from sparsebandits.paper.theorems import theorem_claim
from sparsebandits.plotting.figure import Figure, Panel, regret_panel
from sparsebandits.policies import PhasedPolicy
from sparsebandits.sweeps import Cell


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to run the algorithm: the paper's own constants, or a change that is named."""

    key: str
    label: str
    changes: dict[str, Any] = field(default_factory=dict)


LITERAL = Variant(key="literal", label="literal (scale 1)")
COMPACT = Variant(key="literal", label="literal, floor(sqrt(c)) steps")


def scaled(scale: float) -> Variant:
    """Return the paper's bound multiplied by `scale`, without a guarantee."""
    label = f"epsilon_c x {scale:g}"
    return Variant(key="scaled", label=label, changes={"confidence_scale": scale})


def sharper(confidence: str) -> Variant:
    """Return a valid sharper bound at scale 1."""
    label = f"valid '{confidence}' bound"
    return Variant(key="sharper", label=label, changes={"confidence": confidence})


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """One action set, the algorithm that the paper runs on it, and the variants beside it."""

    id: str
    label: str
    title: str
    about: str
    action_set: ActionSet
    policy: type[PhasedPolicy]
    variants: tuple[Variant, ...]
    rate: float
    """The exponent that the paper's theorem promises."""
    theorem: str
    benchmark: str = "exact"
    world: Callable[[ActionSet], LinearEnvironment] = paper_environment
    """Makes the environment with this action set."""
    average_label: str = ""
    """Where the paper shows the average over the long horizon as a figure of its own."""
    part_of: str = ""
    """The label of the figure that this one is a part of."""
    decisions: tuple[str, ...] = ()

    def experiment(self) -> Experiment:
        """Return the experiment that the report runs."""
        labels = (self.label, self.average_label, self.part_of)
        return Experiment(
            id=self.id,
            labels=tuple(label for label in labels if label),
            title=self.title,
            about=self.about,
            cells=self.cells,
            outcome=self.outcome,
            decisions=self.decisions,
        )

    @property
    def horizons(self) -> dict[str, int]:
        """The paper's two; without a gap test also one at which d K no longer hides the rate."""
        both = {"short": SHORT, "long": LONG}
        return both if self.policy.verifies else {**both, "longer": 100 * LONG}

    @property
    def order(self) -> str:
        """The promised rate in words."""
        return "sqrt(T)" if self.rate == 0.5 else "T^(2/3)"

    def cells(self, size: Size) -> list[Cell]:
        """Every variant at every horizon; the quick run has few trials and short horizons."""
        environment = self.world(self.action_set)
        told = {**SETTING, "sigma": environment.sigma}
        return [
            Cell(
                key=f"{variant.key}-{name}",
                label=variant.label,
                policy=self.policy(action_set=self.action_set, **told, **variant.changes),
                environment=environment,
                horizon=horizon // 10 if size == "quick" else horizon,
                trials=4 if size == "quick" else TRIALS,
                benchmark=self.benchmark,
            )
            for name, horizon in self.horizons.items()
            for variant in self.variants
        ]

    def outcome(self, results: Results) -> Outcome:
        """Draw the panels and judge what the paper says about them."""
        return Outcome(figures=self.figures(results), claims=self.claims(results))

    # ------------------------------------------------------------------ figures

    def figures(self, results: Results) -> tuple[Figure, ...]:
        """One figure with three panels; where the paper has two figures, the average is apart."""
        panels = self.panels(results)
        whole = Figure(
            id=figure_id(self.label),
            label=self.label,
            title=self.title,
            panels=panels,
            notes=self.notes(results, "short", "long"),
        )
        if not self.average_label:
            return (whole,)
        average = Figure(
            id=figure_id(self.average_label),
            label=self.average_label,
            title=f"{self.title.split(',')[0]}, average regret over the long horizon",
            panels=panels[2:],
            notes=self.notes(results, "long"),
        )
        return replace(whole, panels=panels[:2], notes=self.notes(results, "short")), average

    def panels(self, results: Results) -> tuple[Panel, Panel, Panel]:
        """Cumulative with the scatter of runs, normalised by the rate, average over long."""
        short, long = (
            {variant.label: results[f"{variant.key}-{horizon}"] for variant in self.variants}
            for horizon in ("short", "long")
        )
        return (
            regret_panel("Cumulative regret", short, scatter=True),
            regret_panel(
                f"Divided by {self.order}",
                short,
                exponent=self.rate,
                y_label=f"regret / {self.order}",
                scatter=True,
            ),
            regret_panel(
                "Average, long horizon",
                long,
                exponent=1.0,
                y_label="regret / T (reward units per step)",
                x_log=True,
            ),
        )

    def notes(self, results: Results, *horizons: str) -> tuple[str, ...]:
        """State scale, benchmark, seed, trials and locks."""
        setting = setting_note([results[f"{variant.key}-short"] for variant in self.variants])
        if not self.policy.verifies:
            return setting, "No gap test in this variant: the confidence scale plays no part in it"
        locks = (
            lock_note(variant.label, results[f"{variant.key}-{horizon}"])
            for horizon in horizons
            for variant in self.variants
        )
        return setting, *locks

    # ------------------------------------------------------------------ claims

    def claims(self, results: Results) -> tuple[Claim, ...]:
        """Sub-linear growth at both horizons, the promised rate, a bound that holds."""
        literal, changed = self.variants[0], self.variants[min(1, len(self.variants) - 1)]
        change = "" if changed is literal else changed.label
        sub_linear = [
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
            for horizon, steps in (("short", SHORT), ("long", LONG))
        ]
        rate = rate_claim(
            id=f"{self.id}-rate",
            label=self.theorem,
            statement=f"The regret is of order {self.order} up to logarithms: R / {self.order} "
            "flattens.",
            experiment=self.id,
            rate=self.rate,
            literal=results[f"{literal.key}-long"],
            changed=results[f"{changed.key}-long" if change else f"{literal.key}-longer"],
            change=change or f"T = {100 * LONG:,}",
        )
        locked = [self._after_lock(results, changed)] if self.policy.verifies else []
        cell = next(cell for cell in self.cells("paper") if cell.key == "literal-long")
        bound = theorem_claim(cell, results["literal-long"], id=self.id, label=self.theorem)
        return *sub_linear, rate, *locked, bound

    def _after_lock(self, results: Results, changed: Variant) -> Claim:
        """Fit the exponent of the runs that locked the right support early enough."""
        run = results[f"{changed.key}-long"]
        early = run.support_correct & (run.locked_at <= run.steps[-1] / 20)
        count = int(early.sum())
        undecided = Claim(
            id=f"{self.id}-after-lock",
            label=self.theorem,
            statement="Once the right support is locked the regret grows like sqrt(T).",
            experiment=self.id,
            measured=f"Only {count} runs locked the right support early enough.",
            verdict="not testable",
        )
        if count < 3:
            return undecided
        fitted = tail_exponent(run.rows(early))
        holds = fitted.high <= self.rate + LOG_SLACK
        return replace(
            undecided,
            measured=f"Exponent {fitted} over the last decade of the {count} runs "
            f"({float(early.mean()):.0%}) that locked the right support within T/20.",
            **vars(fitted),
            verdict="holds with the stated change" if holds else "fails",
            change=changed.label if holds else "",
        )
