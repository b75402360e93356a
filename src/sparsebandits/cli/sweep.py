"""``sparsebandits sweep``: every combination of a TOML file, resumable, on any number of cores."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebandits.cli.output import json_option
from sparsebandits.errors import InvalidValueError

if TYPE_CHECKING:
    from sparsebandits.sweeps import Progress, SweepResult

_SHOWN = 8
"""Cells under way whose bars are shown at a time."""

_CHUNK_SECONDS = 1.0

_EXAMPLE = """
\b
A sweep in TOML (docs/sweeps.md has all keys):
  trials = 100
  horizon = 2000
  [axes]                                 # every combination is a cell
  dim = [20, 100]
  sparsity = [2, 5]
  [[policies]]
  kind = "sparse-thompson"
  [[environments]]
  action_set = { kind = "lp-ball" }
  theta_star = { kind = "uniform-cube" }
"""


@click.command(epilog=_EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--workers", type=int, default=1, show_default=True, help="Processes.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786.")
@click.option("--resume", is_flag=True, help="Go on where the sweep in --out was.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder.  [default: the file's name-results]"
)
@click.option(
    "--chunk-seconds",
    type=float,
    default=_CHUNK_SECONDS,
    show_default=True,
    help="What a chunk should take.",
)
@json_option
def sweep(
    file: Path,
    workers: int,
    cluster: str | None,
    resume: bool,
    out: Path | None,
    chunk_seconds: float,
    as_json: bool,
) -> None:
    """Run every combination in FILE; interrupt it and go on with --resume."""
    from rich.console import Console

    from sparsebandits.sweeps import sweep as run
    from sparsebandits.sweeps.spec import read_sweep

    if cluster is not None and workers != 1:
        raise InvalidValueError("Give --workers or --cluster, not both.")
    folder = out if out is not None else Path(f"{file.stem}-results")
    console = Console(stderr=True, highlight=False)
    try:
        planned = read_sweep(file)
        with _Bars(console) as bars:
            done = run(
                planned,
                folder,
                workers=workers,
                cluster=cluster,
                resume=resume,
                chunk_seconds=chunk_seconds,
                progress=bars.show,
            )
    except KeyboardInterrupt:
        again = _command(file, workers, cluster, chunk_seconds, folder)
        raise KeyboardInterrupt(f"What has landed is kept; go on with: {again}") from None
    if as_json:
        click.echo(json.dumps(_record(done)))
    else:
        _print(done)
    if done.failures:
        raise SystemExit(1)


def _command(
    file: Path, workers: int, cluster: str | None, chunk_seconds: float, folder: Path
) -> str:
    """Return the command that goes on with a sweep."""
    parts = ["sparsebandits", "sweep", str(file)]
    if cluster is not None:
        parts += ["--cluster", cluster]
    elif workers != 1:
        parts += ["--workers", str(workers)]
    if chunk_seconds != _CHUNK_SECONDS:
        parts += ["--chunk-seconds", f"{chunk_seconds:g}"]
    return shlex.join([*parts, "--out", str(folder), "--resume"])


def _record(done: "SweepResult") -> dict[str, Any]:
    return {
        "folder": str(done.folder),
        "steps": str(done.steps),
        "cells": [cell.key for cell in done.sweep.cells],
        "computed_chunks": done.computed,
        "reused_chunks": done.reused,
        "failures": list(done.failures),
        "skipped": [{"key": item.key, "reason": item.reason} for item in done.sweep.skipped],
        "seconds": done.seconds,
    }


def _print(done: "SweepResult") -> None:
    cells = len(done.sweep.cells)
    click.echo(
        f"{cells - len(done.failures)} of {cells} cells in {done.seconds:.1f} s "
        f"({done.computed} chunks computed, {done.reused} taken from before)"
    )
    if done.sweep.skipped:
        click.echo(f"Skipped as impossible: {len(done.sweep.skipped)}")
        for item in done.sweep.skipped:
            click.echo(f"  {item.key}: {item.reason}")
    for failure in done.failures:
        click.echo(f"FAILED {failure['key']}, from trial {failure['first_trial']} on")
        click.echo(f"  {failure['error']}")
        click.echo(f"  {json.dumps(failure['configuration'])}")
    click.echo(f"See: {shlex.join(['sparsebandits', 'results', str(done.folder)])}")


class _Bars:
    """A bar for the whole sweep with the time left, and one for each cell under way."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._whole = self._bars.add_task("all cells", total=None, note="")
        self._cells: dict[str, Any] = {}

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *error: object) -> None:
        # Stopping what never started would print an empty line before an error.
        if self._bars.live.is_started:
            self._bars.stop()

    def show(self, progress: "Progress") -> None:
        """Bring the bars up to date; they appear with the first call."""
        self._bars.start()
        left = progress.seconds_left
        known = left is not None and progress.done < progress.total
        note = f"{readable_time(left or 0.0)} left" if known else ""
        self._bars.update(self._whole, completed=progress.done, total=progress.total, note=note)
        for key, (done, total) in progress.cells.items():
            under_way = 0 < done < total
            if key in self._cells and not under_way:
                self._bars.remove_task(self._cells.pop(key))
            elif under_way and (key in self._cells or len(self._cells) < _SHOWN):
                if key not in self._cells:
                    self._cells[key] = self._bars.add_task(key, total=total, note="")
                self._bars.update(
                    self._cells[key], completed=done, note=f"{done} of {total} trials"
                )


def readable_time(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> [readable_time(s) for s in (0.4, 75, 3 * 3600 + 61, 200_000)]
    ['less than 1 s', '1 min 15 s', '3 h 1 min', '2 days 7 h']
    """
    if seconds < 1:
        return "less than 1 s"
    whole = round(seconds)
    units = (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[tuple[int, str]] = []
    for name, size in units:
        count, whole = divmod(whole, size)
        if count or parts:
            parts.append((count, "day" if name == "days" and count == 1 else name))
    return " ".join(f"{count} {name}" for count, name in parts[:2] if count)
