"""Rerun the paper: experiments in, one page and its files out."""

import csv
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from sparsebandits import __version__, sweeps
from sparsebandits.comparison.text_table import TextTable
from sparsebandits.errors import InvalidValueError, SweepError
from sparsebandits.paper.base import Experiment
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.lemmas.judge import lemma_claims
from sparsebandits.paper.page import write_page
from sparsebandits.paper.table import EXPERIMENTS
from sparsebandits.paper.theorems import theorem_claims
from sparsebandits.plotting.draw import draw
from sparsebandits.plotting.figure import Figure

LEMMAS = "lemmas"
IDS: tuple[str, ...] = (*EXPERIMENTS, LEMMAS)

Progress = Callable[[str, int, int], None]
"""Called with (experiment id, done, total)."""


@dataclass(frozen=True)
class Outcome:
    """What one experiment gave."""

    experiment: Experiment
    figures: list[Figure]
    tables: list[TextTable]
    claims: list[Claim]
    seconds: float


def reproduce(
    ids: list[str] | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    workers: int = 1,
    out: Path = Path("report"),
    progress: Progress | None = None,
) -> Path:
    """Run experiments, draw their figures, judge their claims, and write the report.

    Interrupted and run again it continues where it was: finished chunks are kept in
    ``out/cache``. The same seed gives the same numbers for any number of workers.

    Parameters
    ----------
    ids : list of str, optional
        Ids of `IDS`; all of them if left out.
    quick : bool
        Few trials and short horizons: a minute or two, to see that all works.
    seed, workers : int
    out : Path
        The folder of the report.
    progress : function of (id, done, total), optional

    Returns
    -------
    Path
        The page ``out/index.html``; what is not the paper's is on ``out/field.html``.
    """
    wanted = list(ids) if ids else list(IDS)
    unknown = [name for name in wanted if name not in IDS]
    if unknown:
        raise InvalidValueError(f"Unknown experiment {unknown[0]!r}; known: {', '.join(IDS)}.")
    report = progress or (lambda name, done, total: None)
    started = time.perf_counter()
    for folder in ("figures", "curves", "cache"):
        _make(out / folder)
    experiments = [EXPERIMENTS[name] for name in wanted if name != LEMMAS]
    _simulate(experiments, quick, seed, workers, out, report)
    outcomes = [_draw(experiment, quick, seed, out) for experiment in experiments]
    claims = [claim for one in outcomes if not one.experiment.ours for claim in one.claims]
    if LEMMAS in wanted:
        claims += _lemmas(quick, seed, out, report)
    summary = _summary(outcomes, claims, wanted, quick, seed, workers, started)
    text = json.dumps(summary, indent=2, allow_nan=False)
    (out / "summary.json").write_text(text + "\n", encoding="utf-8")
    return write_page(out, summary, outcomes_for_page(outcomes))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValueError(f"The folder {folder} cannot be made: {error}.") from None


def _simulate(
    experiments: list[Experiment],
    quick: bool,
    seed: int,
    workers: int,
    out: Path,
    report: Progress,
) -> None:
    """Run the cells of all experiments together: workers are started once and kept busy."""
    cells = {
        experiment.id: [
            replace(cell, key=f"{experiment.id}/{cell.key}") for cell in experiment.cells(quick)
        ]
        for experiment in experiments
    }

    def advance(state: sweeps.Progress) -> None:
        for name, own in cells.items():
            counts = [state.cells[cell.key] for cell in own]
            report(name, sum(done for done, _ in counts), sum(total for _, total in counts))

    everything = [cell for own in cells.values() for cell in own]
    done = sweeps.run_chunks(everything, seed, out / "cache", workers=workers, progress=advance)
    if done.failures:
        raise SweepError(f"{len(done.failures)} chunks failed; the first: {done.failures[0]}.")


def _draw(experiment: Experiment, quick: bool, seed: int, out: Path) -> Outcome:
    start = time.perf_counter()
    cells = experiment.cells(quick)
    results = {cell.key: sweeps.load_cell(out / "cache", cell, seed) for cell in cells}
    figures = experiment.figures(results, seed)
    for figure in figures:
        draw(figure, out / "figures")
        write_curves(figure, out / "curves" / f"{figure.id}.csv")
    claims = experiment.claims(results) + theorem_claims(experiment, results)
    tables = experiment.tables(results)
    seconds = sum(run.seconds for run in results.values()) + time.perf_counter() - start
    return Outcome(experiment, figures, tables, claims, seconds)


def _lemmas(quick: bool, seed: int, out: Path, report: Progress) -> list[Claim]:
    """Judge the lemmas, or take the verdicts of an earlier call with the same seed and version."""
    cached = out / "cache" / f"lemmas-{__version__}-{seed}-{'quick' if quick else 'full'}.json"
    if cached.exists():
        try:
            claims = [Claim(**record) for record in json.loads(cached.read_text(encoding="utf-8"))]
        except (ValueError, TypeError):
            claims = []
        if claims:
            report(LEMMAS, 1, 1)
            return claims
    claims = lemma_claims(seed, quick, lambda done, total: report(LEMMAS, done, total))
    partial = cached.with_suffix(".part")
    partial.write_text(json.dumps([claim.to_dict() for claim in claims]), encoding="utf-8")
    partial.replace(cached)
    return claims


def write_curves(figure: Figure, path: Path) -> None:
    """Write the curves of a figure as CSV: one row per panel, series and step."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["panel", "series", "step", "mean", "low", "high"])
        for panel in figure.panels:
            for series in panel.series:
                low = series.y if series.low is None else series.low
                high = series.y if series.high is None else series.high
                for row in zip(series.x, series.y, low, high, strict=True):
                    numbers = [f"{number:.10g}" for number in row]
                    writer.writerow([panel.title, series.label, *numbers])


def _summary(
    outcomes: list[Outcome],
    claims: list[Claim],
    wanted: list[str],
    quick: bool,
    seed: int,
    workers: int,
    started: float,
) -> dict[str, Any]:
    packages = ("numpy", "scipy", "highspy", "matplotlib")
    return {
        "paper": "Learning to Sparsify Stochastic Linear Bandits",
        "version": __version__,
        "packages": {name: metadata.version(name) for name in packages},
        "python": sys.version.split()[0],
        "machine": platform.platform(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - started, 1),
        "seed": seed,
        "workers": workers,
        "quick": quick,
        "experiments": wanted,
        "figures": {
            figure.id: {
                "label": figure.label,
                "experiment": outcome.experiment.id,
                "title": figure.title,
                "notes": list(figure.notes),
            }
            for outcome in outcomes
            for figure in outcome.figures
        },
        "claims": [claim.to_dict() for claim in claims],
        "ours": [
            claim.to_dict() for one in outcomes if one.experiment.ours for claim in one.claims
        ],
        "tables": {
            one.experiment.id: [asdict(table) for table in one.tables]
            for one in outcomes
            if one.tables
        },
    }


def outcomes_for_page(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return what the page shows of each experiment."""
    return [
        {
            "id": outcome.experiment.id,
            "title": outcome.experiment.title,
            "about": outcome.experiment.about,
            "decisions": list(outcome.experiment.decisions),
            "labels": list(outcome.experiment.labels),
            "ours": outcome.experiment.ours,
            "tables": [asdict(table) for table in outcome.tables],
            "figures": [
                {"id": figure.id, "label": figure.label, "title": figure.title}
                for figure in outcome.figures
            ],
        }
        for outcome in outcomes
    ]
