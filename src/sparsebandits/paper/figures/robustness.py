"""Where a policy is used: the recommended one should stay within twice the best baseline."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.comparison.compare import Comparison, compare_runs, comparison_cells
from sparsebandits.comparison.entries import Entry
from sparsebandits.comparison.field import GUARANTEED, RECOMMENDED
from sparsebandits.comparison.intervals import Interval, ratio_interval
from sparsebandits.comparison.scenarios import ROBUSTNESS, Scenario
from sparsebandits.comparison.text_table import TextTable
from sparsebandits.paper.base import Experiment, Results
from sparsebandits.paper.claim import Claim
from sparsebandits.plotting.figure import Figure, Panel, Role, Series
from sparsebandits.sweeps import Cell

LIMIT = 2.0
"""The recommended policy may have this many times the best baseline's regret."""

SKIPPED = ("OFUL, proven", "OFUL, Dani", "support elimination", "random H-sparse", "clairvoyant")
"""Slow and never the best of the field here, or the same in every scenario."""

FEW = 5
"""Trials of the paper's algorithm on moving sets, which is simulated step by step."""


def _cells(quick: bool) -> list[Cell]:
    made = []
    # The longest first, so that no worker waits for the other at the end.
    for scenario in sorted(ROBUSTNESS, key=lambda one: -one.horizons[0]):
        horizon = min(scenario.horizons[0], 4_000) // 100 if quick else scenario.horizons[0]
        policies = {
            label: policy
            for label, policy in scenario.field(horizon).policies.items()
            if not label.startswith(SKIPPED) and label != GUARANTEED
        }
        cells = comparison_cells(
            policies,
            scenario.environment(),
            horizon,
            2 if quick else scenario.trials,
            (horizon,),
            prefix=f"{scenario.name}-",
        )
        for cell in cells:
            slow = cell.label.startswith("paper: moving sets")
            made.append(replace(cell, trials=min(cell.trials, FEW)) if slow else cell)
    return made


def comparison(scenario: Scenario, results: Results) -> Comparison:
    """Set the runs of one scenario side by side."""
    prefix = f"{scenario.name}-"
    runs = {key.removeprefix(prefix): run for key, run in results.items() if key.startswith(prefix)}
    horizon = int(runs[RECOMMENDED].steps[-1])
    policies = {
        label: policy for label, policy in scenario.field(horizon).policies.items() if label in runs
    }
    return compare_runs(
        policies,
        scenario.environment(),
        runs,
        (horizon,),
        int(runs[RECOMMENDED].label["seed"]),
        reference=RECOMMENDED,
    )


def best_baseline(found: Comparison) -> Entry:
    """Return the baseline with the least regret, whatever it is told, but for the references."""
    others = [e for e in found.entries if e.label not in (RECOMMENDED, GUARANTEED) and not e.sees]
    return min(others, key=lambda entry: entry.regret[found.horizon].mean)


def ratio_to_best(found: Comparison) -> tuple[Entry, Interval]:
    """Return the best baseline, and the recommended policy's regret divided by its regret."""
    best = best_baseline(found)
    mine, other = (found.runs[label].regret[:, -1] for label in (RECOMMENDED, best.label))
    trials = min(mine.size, other.size)
    return best, ratio_interval(mine[:trials], other[:trials])


def is_trivial(found: Comparison) -> bool:
    """Whether nobody can have any regret, as with theta* = 0."""
    return all(float(np.abs(run.regret).max()) < 1e-9 for run in found.runs.values())


def claim_of(scenario: Scenario, found: Comparison) -> Claim:
    """Judge one scenario by its measured numbers."""
    mine = found.entry(RECOMMENDED)
    settings: dict[str, Any] = {
        "id": f"robustness-{scenario.name}",
        "label": "ours",
        "experiment": "robustness",
    }
    if is_trivial(found):
        lowest = min(e.theta_error for e in found.entries if e.kind == "lin-ts")
        return Claim(
            **settings,
            statement=f"Nothing breaks: {scenario.about}.",
            measured=(
                f"Regret 0 in all {found.trials} trials; ||theta_hat|| = {mine.theta_error:.2f} "
                f"after {found.horizon:,} steps, {lowest:.2f} for LinTS."
            ),
            verdict="holds" if np.isfinite(mine.theta_error) else "fails",
        )
    best, ratio = ratio_to_best(found)
    return Claim(
        **settings,
        statement=f"At most twice the regret of the best baseline: {scenario.about}.",
        measured=(
            f"{mine.regret[found.horizon].text()} against {best.regret[found.horizon].text()} of "
            f"{best.label}: {_ratio_text(ratio)} times as much."
        ),
        value=ratio.mean,
        low=None if np.isnan(ratio.low) else ratio.low,
        high=None if np.isnan(ratio.high) else ratio.high,
        verdict="holds" if ratio.mean <= LIMIT else "fails",
        details={"best": best.label, "trials": found.trials, "horizon": found.horizon},
    )


def _ratio_text(ratio: Interval) -> str:
    ends = "" if np.isnan(ratio.low) else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.mean:.2f}{ends}"


def _claims(results: Results) -> list[Claim]:
    return [claim_of(scenario, comparison(scenario, results)) for scenario in ROBUSTNESS]


# ---------------------------------------------------------------------- tables


def _tables(results: Results) -> list[TextTable]:
    rows, details = [], []
    for scenario in ROBUSTNESS:
        found = comparison(scenario, results)
        mine = found.entry(RECOMMENDED).regret[found.horizon].text()
        if is_trivial(found):
            rows.append((scenario.name, scenario.about, mine, "0, everyone", "", "yes"))
        else:
            best, ratio = ratio_to_best(found)
            rows.append(
                (
                    scenario.name,
                    scenario.about,
                    mine,
                    f"{best.regret[found.horizon].text()}, {best.label}",
                    _ratio_text(ratio),
                    "yes" if ratio.mean <= LIMIT else "no",
                )
            )
        table = found.table(f"{scenario.name}: {scenario.about}, T = {found.horizon:,}")
        error = tuple((*row, _error(found.entry(row[0]))) for row in table.rows)
        details.append(
            replace(
                table,
                headings=(*table.headings, "error of theta"),
                rows=error,
                notes=(*scenario.notes, *table.notes),
                folded=True,
            )
        )
    overview = TextTable(
        title=f"{RECOMMENDED} against the best baseline of each scenario",
        headings=("scenario", "what", RECOMMENDED, "best baseline", "ratio", "at most twice"),
        rows=tuple(rows),
        notes=(
            "The recommended policy is told neither sigma nor T. The best baseline is the one with "
            "the least mean regret, even if it is told T; only CUCB, which sees every outcome, is "
            "a reference and no baseline (the tables below have all of them).",
            "Ratio of the means, with a 95% bootstrap interval over the trials.",
        ),
    )
    return [overview, *details]


def _error(entry: Entry) -> str:
    return "" if np.isnan(entry.theta_error) else f"{entry.theta_error:.2f}"


# ---------------------------------------------------------------------- figures


def _figures(results: Results, seed: int) -> list[Figure]:
    """Every policy's regret over the best baseline's, one column of marks per scenario."""
    shown = [(one, comparison(one, results)) for one in ROBUSTNESS]
    kept = [(one, found) for one, found in shown if not is_trivial(found)]
    places: dict[str, list[tuple[int, float]]] = {}
    sees: set[str] = set()
    for place, (_, found) in enumerate(kept):
        unit = best_baseline(found).regret[found.horizon].mean
        for entry in found.entries:
            label = "the paper" if entry.label.startswith("paper:") else entry.label
            if entry.label.startswith("paper:") and " x " in entry.label:
                label = "the paper, epsilon_c scaled"
            points = places.setdefault(label, [])
            points.append((place, entry.regret[found.horizon].mean / unit))
            if entry.sees:
                sees.add(label)
    series = []
    for style, (label, points) in enumerate(places.items()):
        role: Role = "main" if label == RECOMMENDED else "plain"
        if label in sees:
            role = "reference"
        x, y = np.array(points, dtype=float).T
        series.append(
            Series(
                label=f"{label} (sees every outcome)" if label in sees else label,
                x=x,
                y=y,
                style=style,
                role=role,
            )
        )
    panel = Panel(
        title="Regret divided by the best baseline's",
        x_label="scenario",
        y_label="ratio (log scale)",
        series=tuple(series),
        y_log=True,
        levels=((LIMIT, "twice the best"), (1.0, "the best baseline")),
        categories=tuple(one.name for one, _ in kept),
    )
    trials = sorted({found.trials for _, found in kept})
    return [
        Figure(
            id="robustness",
            label="ours",
            title=f"{RECOMMENDED} where it is used",
            panels=(panel,),
            notes=(
                "Regret against the exact optimum; "
                f"{' or '.join(map(str, trials))} trials; seed {seed}",
                "The best baseline may be told T (explore-then-commit, ESTC), but sees no single "
                "outcomes; the recommended policy is told neither T nor sigma",
                "The paper's algorithm: literal (confidence scale 1), and scaled as in its figures",
            ),
        )
    ]


ROBUST = Experiment(
    id="robustness",
    labels=("ours",),
    title="Robust where it is used",
    about=(
        "Not in the paper: many items, much noise, ties, nothing to learn, missing items, late "
        "rewards, heavy tails, a million steps, real data. The recommended policy should never be "
        "worse than twice the best baseline."
    ),
    cells=_cells,
    figures=_figures,
    claims=_claims,
    tables=_tables,
    ours=True,
    decisions=(
        "Left out here because they are slow and never came first: OFUL with the proven radius, "
        "with Dani's corners, and the elimination of supports. "
        "sparsebandits compare --scenario NAME runs them too.",
    ),
)
