"""``sparsebandits reproduce``: every figure of the paper, every claim with a verdict."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

_IDS = """
\b
IDs: ellipsoid, bases, support-recovery, l2-ball, l1.5-ball, l1-ball, video,
     video-real, time-varying, field, robustness, lemmas
"""


@click.command(epilog=_IDS)
@click.argument("ids", nargs=-1, metavar="[ID ...]")
@click.option("--quick", is_flag=True, help="Few trials, short horizons: a minute or two.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=int, default=2, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("report"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def reproduce(
    ids: tuple[str, ...], quick: bool, seed: int, workers: int, out: Path, as_json: bool
) -> None:
    """Rerun the paper: all experiments, or those with the given IDs.

    Interrupt it and run it again: it continues where it was.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from sparsebandits.paper.report import IDS
    from sparsebandits.paper.report import reproduce as run

    wanted = list(ids) or list(IDS)
    console = Console(stderr=True)
    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description:<18}"), BarColumn(), percent, TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        whole = bars.add_task("all", total=float(len(wanted)))
        each: dict[str, Any] = {}
        shares: dict[str, float] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in each:
                each[name] = bars.add_task(name, total=float(total))
            bars.update(each[name], completed=float(done), total=float(total))
            shares[name] = done / total if total else 1.0
            bars.update(whole, completed=sum(shares.values()))

        try:
            page = run(wanted, quick=quick, seed=seed, workers=workers, out=out, progress=show)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"What is finished is kept in {out / 'cache'}; run the same command again to go on."
            ) from None
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    if as_json:
        click.echo(json.dumps(summary))
        return
    counts = Counter(claim["verdict"] for claim in summary["claims"])
    tally = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    click.echo(f"{len(summary['claims'])} claims: {tally}")
    if summary["ours"]:
        held = sum(claim["verdict"] == "holds" for claim in summary["ours"])
        click.echo(
            f"Ours: within twice the best baseline in {held} of {len(summary['ours'])} scenarios"
        )
    click.echo(f"Report: {page}")
