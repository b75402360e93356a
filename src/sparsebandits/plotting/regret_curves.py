"""The regret curves of a comparison."""

from sparsebandits.comparison.compare import Comparison
from sparsebandits.plotting.figure import Figure, Panel, Role, mean_series


def comparison_figure(
    comparison: Comparison,
    id: str = "compare",  # noqa: A002
    title: str = "Cumulative regret",
) -> Figure:
    """Return the regret curves, mean and 95% band, on logarithmic axes."""
    series = []
    missing = []
    for style, entry in enumerate(comparison.entries):
        run = comparison.runs[entry.label]
        if run.regret.mean(axis=0)[-1] <= 1e-9:
            missing.append(entry.label)
            continue
        role: Role = "plain"
        label = entry.label
        if entry.label == comparison.reference:
            role = "main"
        elif entry.sees:
            role, label = "reference", f"{label} (sees {entry.sees})"
        shown = run.steps >= comparison.horizon / 1000  # before that all curves are one
        steps = run.steps[shown].astype(float)
        series.append(mean_series(steps, run.regret[:, shown], label, style, role=role))
    # Listed as the curves end, from the top down.
    series.sort(key=lambda curve: -float(curve.y[-1]))
    notes = [
        f"Regret against the exact optimum; {comparison.trials} trials; seed {comparison.seed}; "
        "bands: 95% intervals of the mean",
        "Grey: references that see more than a learner does",
    ]
    if missing:
        notes.append(f"Regret 0, not on these axes: {', '.join(missing)}")
    sets = comparison.environment.action_sets
    panel = Panel(
        title=repr(comparison.environment.action_set if sets.is_fixed else sets),
        x_label="step T (log scale)",
        y_label="regret (reward units, log scale)",
        series=tuple(series),
        x_log=True,
        y_log=True,
    )
    return Figure(id=id, label="ours", title=title, panels=(panel,), notes=tuple(notes))
