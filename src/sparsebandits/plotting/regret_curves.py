"""The regret curves of policies side by side: of `compare`, or of a sweep's folder."""

from collections.abc import Sequence

from sparsebandits.comparison.compare import Comparison
from sparsebandits.comparison.entries import Entry
from sparsebandits.comparison.sweep_folder import SweepComparison
from sparsebandits.plotting.figure import Figure, Panel, Role, Series

_PANELS = 4
"""Panels in one figure; further ones go into figures of their own."""

_NOTHING = 1e-9
"""Regret below this is rounding, and not to be drawn on a logarithmic axis."""


def comparison_figure(
    comparison: Comparison,
    id: str = "compare",  # noqa: A002
    title: str = "Cumulative regret",
) -> Figure:
    """Return the regret curves of `compare`, mean and 95% band, on logarithmic axes."""
    sets = comparison.environment.action_sets
    panel = _panel(
        repr(comparison.environment.action_set if sets.is_fixed else sets),
        comparison.entries,
        [entry.label for entry in comparison.entries],
        comparison.reference,
    )
    notes = (
        f"Regret against the exact optimum; {comparison.trials} trials; seed {comparison.seed}; "
        "bands: 95% intervals of the mean",
        "Grey: references that see more than a learner does",
        *_without_regret(comparison.entries),
    )
    return Figure(id=id, label="ours", title=title, panels=(panel,), notes=notes)


def sweep_figures(comparison: SweepComparison, id: str) -> list[Figure]:  # noqa: A002
    """Return the regret curves of a sweep, a panel for all policies in one setting."""
    settings: dict[str, list[Entry]] = {}
    for entry in comparison.entries:
        settings.setdefault(_setting(entry), []).append(entry)
    policies = list(dict.fromkeys(entry.columns["policy"] for entry in comparison.entries))
    panels = [_panel(title, entries, policies) for title, entries in settings.items()]
    trials = sorted({entry.trials for entry in comparison.entries})
    counts = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    benchmark = comparison.manifest["configuration"].get("benchmark", "exact")
    notes = (
        f"Mean of {counts} trials with the 95% interval of the mean; regret against the "
        f"{benchmark} benchmark; seed {comparison.manifest['seed']}.",
        *_without_regret(comparison.entries),
    )
    return [
        Figure(
            id=id,
            label="",
            title=f"Regret, {comparison.folder.name}",
            panels=tuple(panels[first : first + _PANELS]),
            notes=notes,
        )
        for first in range(0, len(panels), _PANELS)
    ]


def _panel(
    title: str, entries: Sequence[Entry], policies: Sequence[str], reference: str | None = None
) -> Panel:
    """Return one pair of axes; a policy has its place in `policies` as its style."""
    series = [
        _curve(entry, policies.index(entry.columns["policy"]), reference)
        for entry in entries
        if entry.regret.mean[-1] > _NOTHING
    ]
    return Panel(
        title=title,
        x_label="step T (log scale)",
        y_label="regret (reward units, log scale)",
        # Listed as the curves end, from the top down.
        series=tuple(sorted(series, key=lambda curve: -float(curve.y[-1]))),
        x_log=True,
        y_log=True,
    )


def _curve(entry: Entry, style: int, reference: str | None) -> Series:
    label: str = entry.columns["policy"]
    role: Role = "plain"
    if label == reference:
        role = "main"
    elif entry.sees:
        role, label = "reference", f"{label} (sees {entry.sees})"
    shown = entry.steps >= entry.steps[-1] / 1000  # before that all curves are one
    return Series(
        label=label,
        x=entry.steps[shown].astype(float),
        y=entry.regret.mean[shown],
        low=entry.regret.low[shown],
        high=entry.regret.high[shown],
        style=style,
        role=role,
    )


def _without_regret(entries: Sequence[Entry]) -> tuple[str, ...]:
    missing = [entry.label for entry in entries if entry.regret.mean[-1] <= _NOTHING]
    return (f"Regret at most 0, not on these axes: {', '.join(missing)}",) if missing else ()


def _setting(entry: Entry) -> str:
    columns = entry.columns
    shown = {"dim": "d", "sparsity": "H", "sigma": "sigma"}
    parts = [f"{symbol}={columns[name]}" for name, symbol in shown.items() if name in columns]
    return f"{columns['environment']}, {', '.join(parts)}, T={columns['horizon']:,}"
