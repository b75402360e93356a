"""Regret on one action set at both horizons: the three panels that most of the figures share."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import Gaussian, LinearEnvironment, UniformCube
from sparsebandits.environments.paper_setting import (
    LONG,
    SHORT,
    SPARSITY,
    TRIALS,
    paper_environment,
)
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
from sparsebandits.paper.rates import Judged, geometry_claims
from sparsebandits.plotting.figure import Figure, Panel, regret_panel
from sparsebandits.policies import CompactAPSEEG, PhasedPolicy
from sparsebandits.sweeps import Cell

LONGER = 100 * LONG
"""Where the explorations of a cycle no longer hide the rate; run only where it is cheap."""

MANY = 170
"""Trials that bound a probability of 5%: 0 of 20 has an upper limit of 17%."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to run the algorithm: the paper's own constants, or a change that is named."""

    key: str
    label: str
    changes: dict[str, Any] = field(default_factory=dict)
    policy: type[PhasedPolicy] | None = None
    """Where it is not the geometry's own."""
    guaranteed: bool = True
    """Whether a claim may be said to hold with it; a shrunk epsilon_c promises nothing."""
    longer: bool = False
    """Whether it is cheap enough for the longer horizon too."""


LITERAL = Variant(key="literal", label="literal (scale 1)")
NO_TEST = Variant(
    key="no-test",
    label="no gap test, c steps",
    changes={"schedule": "linear"},
    policy=CompactAPSEEG,
    longer=True,
)
COMPACT = Variant(key="literal", label="literal, floor(sqrt(c)) steps", longer=True)
LINEAR = replace(NO_TEST, key="linear", label="c steps")
QUADRATIC = replace(NO_TEST, key="quadratic", label="c^2 steps", changes={"schedule": "quadratic"})


def scaled(scale: float) -> Variant:
    """Return the paper's bound multiplied by `scale`, without a guarantee."""
    return Variant(
        key="scaled",
        label=f"epsilon_c x {scale:g}, no guarantee",
        changes={"confidence_scale": scale},
        guaranteed=False,
        longer=True,
    )


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
    quiet: float = 0.0
    """A noise level at which the literal gap test passes early; 0 where there is none to pass."""
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
    def order(self) -> str:
        """The promised rate in words."""
        return "sqrt(T)" if self.rate == 0.5 else "T^(2/3)"

    def cells(self, size: Size) -> list[Cell]:
        """Every variant at its horizons; the quick run has few trials and short horizons."""
        environment = self.world(self.action_set)
        horizons = {"short": SHORT, "long": LONG, "longer": LONGER}
        cells = [
            self._cell(f"{variant.key}-{name}", variant, environment, horizon, TRIALS)
            for name, horizon in horizons.items()
            for variant in self.variants
            if name != "longer" or variant.longer
        ]
        literal = self.variants[0]
        if self.quiet:
            world = paper_environment(self.action_set, self.separated, Gaussian(self.quiet))
            cells.append(self._cell("literal-quiet", literal, world, 10 * LONG, MANY))
        else:
            cells.append(self._cell("literal-many", literal, environment, LONG, MANY))
        if size == "quick":
            cells = [replace(cell, horizon=cell.horizon // 10, trials=4) for cell in cells]
        return cells

    def _cell(
        self, key: str, variant: Variant, world: LinearEnvironment, horizon: int, trials: int
    ) -> Cell:
        policy = variant.policy or self.policy
        told = {**SETTING, "sigma": world.sigma, **variant.changes}
        return Cell(
            key=key,
            label=variant.label,
            policy=policy(action_set=self.action_set, **told),
            environment=world,
            horizon=horizon,
            trials=trials,
            benchmark=self.benchmark,
        )

    @cached_property
    def separated(self) -> Any:
        """The theta* of 1,000 draws whose gap, as the policy's own test measures it, is widest."""
        rng, sampler = np.random.default_rng(0), UniformCube()
        dim = self.action_set.dim
        draws = np.array([sampler.draw(rng, dim, SPARSITY) for _ in range(1000)])
        policy = self.policy(action_set=self.action_set, **SETTING)
        return draws[policy.test.verify(draws)[1].argmax()]

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
        short = {variant.label: results[f"{variant.key}-short"] for variant in self.variants}
        long = {
            variant.label: results[f"{variant.key}-{'longer' if variant.longer else 'long'}"]
            for variant in self.variants
        }
        average = regret_panel(
            "Average, long horizon",
            long,
            exponent=1.0,
            y_label="regret / T, per step (log scale)",
            x_log=True,
        )
        horizon = float(results[f"{self.variants[0].key}-long"].steps[-1])
        return (
            regret_panel("Cumulative regret", short, scatter=True),
            regret_panel(
                f"Divided by {self.order}",
                short,
                exponent=self.rate,
                y_label=f"regret / {self.order}",
                scatter=True,
            ),
            # On a log scale an average that stops falling shows, as that of wrong locks does.
            replace(average, y_log=True, lines=((horizon, "the paper's T"),)),
        )

    def notes(self, results: Results, *horizons: str) -> tuple[str, ...]:
        """State scale, benchmark, seed, trials and locks."""
        setting = setting_note([results[f"{variant.key}-short"] for variant in self.variants])
        if not self.policy.verifies:
            return setting, "No gap test in these variants: the confidence scale plays no part"
        locks = (
            lock_note(variant.label, results[f"{variant.key}-{horizon}"])
            for horizon in horizons
            for variant in self.variants
            if (variant.policy or self.policy).verifies
        )
        return setting, *locks

    # ------------------------------------------------------------------ claims

    def claims(self, results: Results) -> tuple[Claim, ...]:
        """Judge what the paper says about these figures."""
        return tuple(geometry_claims(self._judged(results)))

    def _judged(self, results: Results) -> Judged:
        """Hand over what the judges need."""
        literal, *others = self.variants

        def runs(horizon: str, *, guaranteed: bool) -> dict[str, Any]:
            return {
                variant.label: results[f"{variant.key}-{horizon}"]
                for variant in others
                if variant.guaranteed is guaranteed and f"{variant.key}-{horizon}" in results
            }

        probe = "literal-quiet" if self.quiet else "literal-many"
        cells = {cell.key: cell for cell in self.cells("paper")}
        return Judged(
            id=self.id,
            label=self.label,
            theorem=self.theorem,
            rate=self.rate,
            order=self.order,
            literal={name: results[f"{literal.key}-{name}"] for name in ("short", "long")},
            longer=results.get(f"{literal.key}-longer"),
            changed={name: runs(name, guaranteed=True) for name in ("short", "long", "longer")},
            beside={name: runs(name, guaranteed=False) for name in ("short", "long", "longer")},
            cell=cells["literal-long"],
            probe=(cells[probe], results[probe]),
            has_gap_test=bool(self.policy.verifies),
        )
