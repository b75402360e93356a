"""``sparsebandits results``: means with intervals, differences between cells, and curves."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sparsebandits.plotting.figure import Figure
    from sparsebandits.sweeps import Difference, Summary
    from sparsebandits.sweeps.results import CellSummary

_PANELS = 4
"""Panels in one figure file; further ones go into files of their own."""


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--compare", nargs=2, metavar="A B", multiple=True, help="Regret of cell A minus that of B."
)
@click.option("--step", type=int, help="A recorded step.  [default: the last]")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option("--out", type=click.Path(path_type=Path), help="Draw the curves: .svg, .png or .pdf.")
def results(
    folder: Path,
    compare: tuple[tuple[str, str], ...],
    step: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print what the sweep in DIR found, also while it runs or where it was interrupted."""
    from sparsebandits.sweeps import difference, summarise

    if out is not None:
        from sparsebandits.plotting.draw import figure_format

        figure_format(out)
    summary = summarise(folder)
    differences = [difference(summary, first, second, step) for first, second in compare]
    places = [one.place(step) for one in summary.cells]
    drawn = [] if out is None else _draw(summary, out)
    if as_json:
        click.echo(json.dumps(_record(summary, places, differences, drawn)))
    else:
        _print(summary, places, differences, drawn)


# ---------------------------------------------------------------------- for machines


def _record(
    summary: "Summary", places: list[int], differences: list["Difference"], drawn: list[Path]
) -> dict[str, Any]:
    return {
        "folder": str(summary.folder),
        "finished": summary.manifest["ended"] is not None,
        "seed": summary.manifest["seed"],
        "cells": [
            {
                "key": one.key,
                **one.columns,
                "trials": one.trials,
                "planned_trials": one.planned,
                "step": int(one.steps[place]),
                **{
                    name: {
                        "mean": _finite(measure.mean[place]),
                        "standard_error": _finite(measure.standard_error[place]),
                        "low": _finite(measure.low[place]),
                        "high": _finite(measure.high[place]),
                        "count": int(measure.count[place]),
                    }
                    for name, measure in one.measures.items()
                },
                "locked_share": _finite(one.locked_share),
                "correct_share": _finite(one.correct_share),
            }
            for one, place in zip(summary.cells, places, strict=True)
        ],
        "differences": [
            {
                key: _finite(value) if isinstance(value, float) else value
                for key, value in vars(one).items()
            }
            for one in differences
        ],
        "failures": summary.manifest["failures"],
        "skipped": summary.manifest["skipped"],
        "figures": [str(path) for path in drawn],
    }


def _finite(value: float) -> float | None:
    # JSON has neither NaN nor infinity.
    return float(value) if math.isfinite(value) else None


# ---------------------------------------------------------------------- for people


def _print(
    summary: "Summary", places: list[int], differences: list["Difference"], drawn: list[Path]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from sparsebandits.comparison.tables import number

    console = Console(highlight=False)
    console.print(f"{summary.folder}: mean over trials ± half of the 95% interval", markup=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("cell", overflow="fold")
    # What is the same in all rows is said once, below.
    steps = {int(one.steps[place]) for one, place in zip(summary.cells, places, strict=True)}
    trials = {(one.trials, one.planned) for one in summary.cells}
    headings = ["step"] * (len(steps) > 1) + ["trials"] * (len(trials) > 1)
    for heading in (*headings, "regret", "best support", "locked"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one, place in zip(summary.cells, places, strict=True):
        regret, share = one.measures["regret"], one.measures["optimal_share"]
        half = (regret.high[place] - regret.low[place]) / 2
        width = "" if math.isnan(half) else f" ± {number(half)}"
        entries = {"step": f"{int(one.steps[place]):,}", "trials": _landed(one)}
        table.add_row(
            one.key,
            *(entries[heading] for heading in headings),
            f"{number(regret.mean[place])}{width}",
            f"{share.mean[place]:.0%}",
            _locked(one),
        )
    console.print(table)
    if len(steps) == 1 and len(trials) == 1:
        console.print(
            f"After step {steps.pop():,}; {_landed(summary.cells[0])} trials of each cell."
        )
    for found in differences:
        half = (found.high - found.low) / 2
        console.print(
            f"{found.first} minus {found.second} at step {found.step:,}: "
            f"{number(found.mean)} ± {number(half)} ({found.reason}; "
            f"{_trials(found.trials)} trials)",
            markup=False,
        )
    _print_rest(console, summary)
    for path in drawn:
        console.print(f"Figure: {path}", markup=False)


def _landed(one: "CellSummary") -> str:
    return str(one.trials) if one.trials == one.planned else f"{one.trials} of {one.planned}"


def _locked(one: "CellSummary") -> str:
    if one.locked_share == 0:
        return "-"
    return f"{one.locked_share:.0%}, {one.correct_share:.0%} right"


def _trials(counts: tuple[int, int]) -> str:
    return str(counts[0]) if counts[0] == counts[1] else f"{counts[0]} and {counts[1]}"


def _print_rest(console: Any, summary: "Summary") -> None:
    """Say what is not in the table."""
    manifest = summary.manifest
    if manifest["ended"] is None:
        console.print("Not finished: this is what has landed. Run the sweep again with --resume.")
    for failure in manifest["failures"]:
        console.print(f"FAILED {failure['key']}: {failure['error']}", markup=False)
    if manifest["skipped"]:
        count = len(manifest["skipped"])
        console.print(f"Skipped as impossible: {count} combinations, listed in manifest.json.")


# ---------------------------------------------------------------------- curves


def _draw(summary: "Summary", out: Path) -> list[Path]:
    """Draw the regret of every cell, a panel for all policies in one setting."""
    from sparsebandits.plotting.draw import save

    figures = _figures(summary, out.stem)
    paths = [
        out if i == 0 else out.with_name(f"{out.stem}-{i + 1}{out.suffix}")
        for i in range(len(figures))
    ]
    for figure, path in zip(figures, paths, strict=True):
        save(figure, path)
    return paths


def _figures(summary: "Summary", name: str) -> list["Figure"]:
    from sparsebandits.plotting.figure import Figure, Panel, Series

    settings: dict[str, list[CellSummary]] = {}
    for one in summary.cells:
        settings.setdefault(_setting(one), []).append(one)
    policies = list(dict.fromkeys(one.columns["policy"] for one in summary.cells))
    panels = [
        Panel(
            title=title,
            x_label="step t",
            y_label="regret",
            series=tuple(
                Series(
                    label=one.columns["policy"],
                    x=one.steps.astype(float),
                    y=one.measures["regret"].mean,
                    low=one.measures["regret"].low,
                    high=one.measures["regret"].high,
                    style=policies.index(one.columns["policy"]),
                )
                for one in cells
            ),
            x_log=True,
        )
        for title, cells in settings.items()
    ]
    trials = sorted({one.trials for one in summary.cells})
    counts = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    benchmark = summary.manifest["configuration"].get("benchmark", "exact")
    note = (
        f"Mean of {counts} trials with the 95% interval of the mean; regret against the "
        f"{benchmark} benchmark; seed {summary.manifest['seed']}."
    )
    return [
        Figure(
            id=name,
            label="",
            title=f"Regret, {summary.folder.name}",
            panels=tuple(panels[first : first + _PANELS]),
            notes=(note,),
        )
        for first in range(0, len(panels), _PANELS)
    ]


def _setting(one: "CellSummary") -> str:
    shown = {"dim": "d", "sparsity": "H", "sigma": "sigma"}
    parts = [f"{symbol}={one.columns[key]}" for key, symbol in shown.items() if key in one.columns]
    return f"{one.columns['environment']}, {', '.join(parts)}, T={one.columns['horizon']:,}"
