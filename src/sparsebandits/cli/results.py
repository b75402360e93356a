"""``sparsebandits results``: means with intervals, differences between cells, and curves."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebandits.cli.output import json_option, open_console, print_table
from sparsebandits.errors import SweepError

if TYPE_CHECKING:
    from sparsebandits.comparison.entries import Difference, Entry
    from sparsebandits.comparison.sweep_folder import SweepComparison
    from sparsebandits.comparison.text_table import TextTable

_WIDTH = 80


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--compare", nargs=2, metavar="A B", multiple=True, help="Regret of cell A minus that of B."
)
@click.option("--step", type=int, help="A recorded step.  [default: the last]")
@json_option
@click.option("--out", type=click.Path(path_type=Path), help="Draw the curves: .svg, .png or .pdf.")
def results(
    folder: Path,
    compare: tuple[tuple[str, str], ...],
    step: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print what the sweep in DIR found, also while it runs or where it was interrupted."""
    from sparsebandits.comparison.sweep_folder import compare_sweep

    if out is not None:
        from sparsebandits.plotting.draw import figure_format

        figure_format(out)
    for first, second in compare:
        if first == second:
            raise SweepError(f"{first!r} is compared with itself; name two cells.")
    cells = compare_sweep(folder)
    differences = [cells.difference(first, second, step) for first, second in compare]
    steps = [int(cell.steps[-1] if step is None else step) for cell in cells.entries]
    drawn = [] if out is None else _draw(cells, out)
    if as_json:
        click.echo(json.dumps(_record(cells, steps, differences, drawn)))
    else:
        _print(cells, steps, differences, drawn)


# ---------------------------------------------------------------------- for machines


def _record(
    cells: "SweepComparison", steps: list[int], differences: list["Difference"], drawn: list[Path]
) -> dict[str, Any]:
    from sparsebandits.comparison.intervals import finite

    return {
        "folder": str(cells.folder),
        "finished": cells.manifest["ended"] is not None,
        "seed": cells.manifest["seed"],
        "cells": [
            {
                "key": cell.label,
                **cell.columns,
                "trials": cell.trials,
                "planned_trials": cell.planned,
                "step": step,
                **{name: means[step].to_dict() for name, means in cell.measures.items()},
                "locked_share": finite(cell.locked_share),
                "correct_share": finite(cell.correct_share),
            }
            for cell, step in zip(cells.entries, steps, strict=True)
        ],
        "differences": [difference.to_dict() for difference in differences],
        "failures": cells.manifest["failures"],
        "skipped": cells.manifest["skipped"],
        "figures": [str(path) for path in drawn],
    }


# ---------------------------------------------------------------------- for people


def _print(
    cells: "SweepComparison", steps: list[int], differences: list["Difference"], drawn: list[Path]
) -> None:
    console = open_console(_WIDTH)
    console.print(f"{cells.folder}: mean over trials ± half of the 95% interval")
    print_table(console, _table(cells, steps))
    for difference in differences:
        trials = " and ".join(map(str, dict.fromkeys(difference.trials)))
        console.print(
            f"{difference.first} minus {difference.second} at step {difference.step:,}: "
            f"{difference.text()} ({difference.reason}; {trials} trials)"
        )
    manifest = cells.manifest
    if manifest["ended"] is None:
        console.print("Not finished: this is what has landed. Run the sweep again with --resume.")
    for failure in manifest["failures"]:
        console.print(f"FAILED {failure['key']}: {failure['error']}")
    if manifest["skipped"]:
        count = len(manifest["skipped"])
        console.print(f"Skipped as impossible: {count} combinations, listed in manifest.json.")
    for path in drawn:
        console.print(f"Figure: {path}")


def _table(cells: "SweepComparison", steps: list[int]) -> "TextTable":
    """Return a row per cell; what is the same in all rows is said once, below."""
    from sparsebandits.comparison.text_table import TextTable

    rows = {
        "cell": [cell.label for cell in cells.entries],
        "step": [f"{step:,}" for step in steps],
        "trials": [_landed(cell) for cell in cells.entries],
        "regret": [cell.regret[t].text() for cell, t in zip(cells.entries, steps, strict=True)],
        "best support": [
            f"{cell.measures['optimal_share'][t].mean:.0%}"
            for cell, t in zip(cells.entries, steps, strict=True)
        ],
        "locked": [_locked(cell) for cell in cells.entries],
    }
    notes = []
    if len(set(rows["step"])) == len(set(rows["trials"])) == 1:
        notes = [f"After step {rows['step'][0]}; {rows['trials'][0]} trials of each cell."]
    shown = [name for name in rows if name not in ("step", "trials") or len(set(rows[name])) > 1]
    return TextTable(
        title="",
        headings=tuple(shown),
        rows=tuple(zip(*(rows[name] for name in shown), strict=True)),
        notes=tuple(notes),
        words=1,
    )


def _landed(cell: "Entry") -> str:
    return str(cell.trials) if cell.trials == cell.planned else f"{cell.trials} of {cell.planned}"


def _locked(cell: "Entry") -> str:
    if cell.locked_share == 0:
        return "-"
    return f"{cell.locked_share:.0%}, {cell.correct_share:.0%} right"


def _draw(cells: "SweepComparison", out: Path) -> list[Path]:
    """Draw the regret of every cell; figures after the first get a number."""
    from sparsebandits.plotting.draw import save
    from sparsebandits.plotting.regret_curves import sweep_figures

    figures = sweep_figures(cells, out.stem)
    paths = [
        out.with_name(f"{out.stem}-{i + 1}{out.suffix}") if i else out for i in range(len(figures))
    ]
    for figure, path in zip(figures, paths, strict=True):
        save(figure, path)
    return paths
