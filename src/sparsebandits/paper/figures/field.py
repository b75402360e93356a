"""The paper's algorithm among the field: five geometries, everyone side by side."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sparsebandits.comparison.compare import Comparison
from sparsebandits.comparison.field import GREEDY_SCALE, GUARANTEED, SORTED_SCALE
from sparsebandits.comparison.scenarios import GEOMETRIES, Scenario
from sparsebandits.comparison.text_table import TextTable, number
from sparsebandits.paper.experiment import Experiment, Outcome, Results, Size
from sparsebandits.plotting.figure import Figure
from sparsebandits.plotting.regret_curves import comparison_figure
from sparsebandits.sweeps import Cell

MANY = 100
"""Trials of who decides quickly: side by side they cost little more than a few."""

SLOW = {"OFUL, c = 1": 10, "OFUL, Dani": 20, "OFUL, proven": 0, "support elimination": 20}
"""Trials of who does not, by the beginning of the label."""

SLOW_ON_ELLIPSOID = {
    GUARANTEED: 0,
    "OFUL, c = 1": 0,
    "OFUL, proven": 0,
    "LinTS, greedy": MANY,
    "PEGE": MANY,
    "explore-then-commit": MANY,
    "paper": MANY,
    "random": MANY,
    "clairvoyant": MANY,
    "": 20,
}
"""There every exact search takes 50 times as long as sorting; the beginning that fits first."""

FEW = 5
"""Trials at T = 2,000 that make reproduce-full gives to who has none else."""

SHORT_ONLY = ("OFUL, proven", "support elimination")
"""Slow, and far behind at T = 2,000 already: not run any further."""

ABSENT = "-"

NOTE_LETTERS = 150
"""Letters in a line below a figure."""


def trials_of(label: str, scenario: Scenario, horizon: int, size: Size) -> int:
    """Return how many trials a policy is given: 0 where it is too slow for the horizon."""
    if size == "quick":
        return 2
    slow = SLOW_ON_ELLIPSOID if scenario.name == "ellipsoid" else SLOW
    trials = next((count for start, count in slow.items() if label.startswith(start)), MANY)
    if horizon <= scenario.horizons[0]:
        return trials or (FEW if size == "full" else 0)
    # On the ellipsoid OFUL and the guarantee call the oracle many times a step.
    is_costly = slow is SLOW_ON_ELLIPSOID and label.startswith(("OFUL", GUARANTEED))
    return 0 if is_costly or label.startswith(SHORT_ONLY) else trials


def _horizons(scenario: Scenario, size: Size) -> Sequence[int]:
    if size == "quick":
        return (20,)
    return scenario.horizons if size == "full" else scenario.horizons[:1]


def _prefix(scenario: Scenario, horizon: int) -> str:
    return f"{scenario.name}-{horizon}-"


def _cells(size: Size) -> list[Cell]:
    cells = []
    # The slowest first, so that no worker waits for the other at the end.
    for scenario in sorted(GEOMETRIES, key=lambda scenario: scenario.name != "ellipsoid"):
        for horizon in reversed(_horizons(scenario, size)):
            trials = partial(trials_of, scenario=scenario, horizon=horizon, size=size)
            cells += scenario.cells(horizon, trials, _prefix(scenario, horizon))
    return cells


def _outcome(results: Results) -> Outcome:
    horizons = sorted({int(run.steps[-1]) for run in results.values()})
    comparisons = {
        scenario: [scenario.comparison(results, _prefix(scenario, T)) for T in horizons]
        for scenario in GEOMETRIES
    }
    return Outcome(
        figures=tuple(_figure(scenario, of[-1]) for scenario, of in comparisons.items()),
        tables=(
            _overview({scenario.name: of for scenario, of in comparisons.items()}),
            *(_details(scenario, each) for scenario, of in comparisons.items() for each in of),
        ),
    )


def _family(label: str) -> str:
    """Return the row of the overview that a label belongs to: the same on all geometries."""
    if label.startswith("paper:"):
        return "the paper, epsilon_c scaled" if " x " in label else "the paper, literal"
    return label.removesuffix(", greedy") if label.startswith("OFUL") else label


def _overview(comparisons: dict[str, list[Comparison]]) -> TextTable:
    means: dict[str, dict[str, list[str]]] = {}
    for name, at_horizons in comparisons.items():
        for place, comparison in enumerate(at_horizons):
            for entry in comparison.entries:
                row = means.setdefault(_family(entry.label), {})
                texts = row.setdefault(name, [ABSENT] * len(at_horizons))
                texts[place] = number(entry.regret[comparison.horizon].mean)
    last = [name for name in ("random H-sparse", "CUCB", "clairvoyant") if name in means]
    order = [name for name in means if name not in last] + last
    horizons = [f"{comparison.horizon:,}" for comparison in next(iter(comparisons.values()))]
    return TextTable(
        title=f"Mean regret at T = {' / '.join(horizons)}",
        headings=("policy", *comparisons),
        words=1,
        rows=tuple(
            (row, *(" / ".join(means[row].get(name, [ABSENT])) for name in comparisons))
            for row in order
        ),
        notes=(
            "SparseThompson is told neither sigma nor T. The baselines that want sigma are told "
            "it, as the paper's algorithm is; explore-then-commit and ESTC are told T.",
            "CUCB sees every outcome, the clairvoyant theta*: references, not learners. CSAR runs "
            "on boxes only. On the l1 ball and the box the paper's algorithm is the one for "
            "compact sets, which has no epsilon_c.",
            "Means of up to 100 trials, of fewer where a policy or the ellipsoid is slow: the "
            "tables below say how many and have the intervals, and docs/regret.md has the "
            "recommended policy over 300 trials up to T = 20,000.",
            f"{ABSENT}: not run.",
        ),
    )


def _details(scenario: Scenario, comparison: Comparison) -> TextTable:
    table = comparison.table(f"{scenario.name}, T = {comparison.horizon:,}: regret, trial by trial")
    reasons = (f"Left out: {label}: {why}" for label, why in comparison.left_out.items())
    return replace(table, notes=(*table.notes, *reasons), folded=True)


def _figure(scenario: Scenario, comparison: Comparison) -> Figure:
    figure = comparison_figure(
        comparison, f"field-{scenario.name}", f"The field on {scenario.about}"
    )
    slow: dict[int, list[str]] = {}
    for entry in comparison.entries:
        if entry.trials < comparison.trials:
            slow.setdefault(entry.trials, []).append(entry.label)
    fewer = "; ".join(f"{trials} of {' | '.join(labels)}" for trials, labels in slow.items())
    notes = (
        *figure.notes,
        *textwrap.wrap(f"Fewer trials where it is slow: {fewer}" if slow else "", NOTE_LETTERS),
        f"The paper's algorithm: literal (confidence scale 1), and epsilon_c x {SORTED_SCALE:g}"
        f" or x {GREEDY_SCALE:g} as in the paper's figures",
        f"explore-then-commit and ESTC plan for T = {comparison.horizon:,}",
    )
    return replace(figure, notes=notes)


FIELD = Experiment(
    id="field",
    labels=("ours",),
    title="The paper's algorithm among the field",
    about=(
        "Not in the paper: the baselines that the field would ask for, each with the same oracle, "
        "theta* and noise, at the paper's own setting on five geometries."
    ),
    cells=_cells,
    outcome=_outcome,
    ours=True,
    decisions=(
        "Regret is against the exact optimum everywhere. Where an oracle is called dozens of times "
        "a step (OFUL on the ellipsoid) it is the greedy one.",
        "Part of make reproduce-full alone, because they are slow: OFUL with the proven radius, on "
        "the ellipsoid also OFUL with c = 1 and the guarantee, and T = 20,000. "
        "Run any of it with more trials: sparsebandits compare --scenario l2 --trials 100.",
    ),
)
