"""``sparsebandits reproduce``: every figure of the paper, every claim with a verdict."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebandits.cli.output import progress_bars

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from sparsebandits.paper.experiment import Size
    from sparsebandits.paper.report import Progress

LINE_SECONDS = 5.0
"""Without a terminal a line says how far an experiment is, at most this often."""


class _WithTable(click.Command):
    """A command whose help ends with the table of experiments, read only when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the ids, the labels of the paper that stand for them, and their titles."""
        from sparsebandits.paper.table import EXPERIMENTS, LEMMAS, figure_ids

        rows = [
            (" | ".join((each.id, *figure_ids(each))), each.title) for each in EXPERIMENTS.values()
        ]
        with formatter.section("Names"):
            formatter.write_dl([*rows, (LEMMAS, "Lemmas and propositions")])


@click.command(cls=_WithTable)
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--quick", is_flag=True, help="A look: few trials, short horizons.")
@click.option("--full", is_flag=True, help="The field at T = 20,000 too: may take an hour.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=int, default=2, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("report"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option(
    "--table",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Run nothing: rewrite the table of verdicts in FILE from the report that is there.",
)
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    full: bool,
    seed: int,
    workers: int,
    out: Path,
    as_json: bool,
    table: Path | None,
) -> None:
    """Rerun the paper: everything, or what is named by an id or a label of the paper's figures.

    The page and its figures are written as each experiment is done. Interrupt it and run it again:
    it continues where it was.
    """
    from rich.console import Console

    from sparsebandits.paper.report import reproduce as rerun

    if table is not None:
        from sparsebandits.paper.readme import write_table

        write_table(table, out)
        click.echo(f"Verdicts of {out / 'summary.json'} written to {table}")
        return
    if quick and full:
        raise click.UsageError("--quick and --full exclude each other; pass one of them.")
    console = Console(stderr=True)
    # Standard error is for the progress and for one line about how it ended.
    if full:
        click.echo("The long rerun: it may take an hour on 2 cores.", err=as_json)
    click.echo(f"The page grows as experiments are done: {out / 'index.html'}", err=as_json)
    size: Size = "quick" if quick else "full" if full else "paper"
    try:
        with _progress(console) as progress:
            report = rerun(names, size=size, seed=seed, workers=workers, out=out, progress=progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"What is finished is kept in {out / 'cache'}; run the same command again to go on."
        ) from None
    if as_json:
        click.echo(json.dumps(report.to_dict()))
        return
    counts = report.counts().items()
    tally = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    click.echo(f"{len(report.claims)} claims of the paper: {tally}")
    if report.our_claims:
        click.echo(f"{len(report.our_claims)} claims of ours: {report.held()} hold")
    click.echo(f"Report: {out / 'index.html'}")


@contextmanager
def _progress(console: "Console") -> Iterator["Progress"]:
    """Give what shows the progress: a bar per experiment, or plain lines without a terminal."""
    if not console.is_terminal:
        yield _lines(console)
        return
    with progress_bars(console, width=18) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=float(total))
            bars.update(tasks[name], completed=float(done), total=float(total))

        yield show


def _lines(console: "Console") -> "Progress":
    started = last = time.monotonic()
    shown: dict[str, int] = {}

    def show(name: str, done: int, total: int) -> None:
        nonlocal last
        now, percent = time.monotonic(), 100 * done // total
        if percent == shown.get(name, 0) or (done < total and now - last < LINE_SECONDS):
            return
        shown[name], last = percent, now
        state = "done" if done == total else f"{percent}%"
        console.print(f"{now - started:5.0f} s  {name}: {state}", highlight=False)

    return show
