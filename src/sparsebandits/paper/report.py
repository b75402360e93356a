"""Rerun the paper: experiments in, one page and its files out, written as each is done."""

import csv
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from sparsebandits import __version__, sweeps
from sparsebandits.errors import InvalidValueError, SweepError
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.experiment import Experiment, Outcome, Size
from sparsebandits.paper.lemmas.judge import lemma_claims
from sparsebandits.paper.page import Colophon, Report, Section, render_pages
from sparsebandits.paper.self_check import check_judges
from sparsebandits.paper.table import EXPERIMENTS, IDS, LEMMAS, find_ids
from sparsebandits.plotting.draw import draw
from sparsebandits.plotting.figure import Figure

EDITION = 2
"""Of the lemmas: goes up when they are judged otherwise, so that no old ones are taken over."""

Progress = Callable[[str, int, int], None]
"""Called with (id, done, total)."""


def reproduce(
    names: Sequence[str] = (),
    *,
    size: Size = "paper",
    seed: int = 0,
    workers: int = 1,
    out: Path = Path("report"),
    progress: Progress | None = None,
) -> Report:
    """Run experiments, draw their figures, judge their claims, and write the report.

    The page is there from the start, says what is still to come, and grows as each experiment is
    done. Interrupted and run again it continues where it was: finished chunks are kept in
    ``out/cache``. The same seed gives the same numbers for any number of workers.

    Parameters
    ----------
    names : sequence of str
        Ids, or labels of the paper's figures; everything if left out.
    size : {"paper", "quick", "full"}
        The paper's own sizes; a look that shows that all works; or with the field at T = 20,000,
        which may take an hour.
    seed, workers : int
    out : Path
        The folder of the report.
    progress : function of (id, done, total), optional

    Returns
    -------
    Report
        What ``out/summary.json`` and the pages say: ``out/index.html``, and ``out/field.html`` for
        what is not the paper's.
    """
    ids = list(dict.fromkeys(each for name in names for each in find_ids(name))) or list(IDS)
    rerun = _Rerun(ids, size, seed, workers, out, progress or (lambda name, done, total: None))
    rerun.write()
    rerun.simulate()
    if LEMMAS in ids:
        rerun.judge_lemmas()
    return rerun.write()


class _Rerun:
    """A rerun under way: what has been found so far, and the folder that it is written to."""

    def __init__(
        self, ids: list[str], size: Size, seed: int, workers: int, out: Path, progress: Progress
    ) -> None:
        self._ids, self._size, self._seed = ids, size, seed
        self._workers, self._out, self._progress = workers, out, progress
        self._started = time.perf_counter()
        self._outcomes: dict[str, Outcome] = {}
        self._lemmas: tuple[Claim, ...] = ()
        self._checks = check_judges()
        for folder in ("figures", "curves", "cache"):
            try:
                (out / folder).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidValueError(
                    f"The folder {out / folder} cannot be made: {error}."
                ) from None

    # ------------------------------------------------------------------ experiments

    def simulate(self) -> None:
        """Run all cells together, so that workers are kept busy; draw what is complete."""
        experiments = [EXPERIMENTS[name] for name in self._ids if name != LEMMAS]
        cells = {
            experiment.id: [
                replace(cell, key=f"{experiment.id}/{cell.key}")
                for cell in experiment.cells(self._size)
            ]
            for experiment in experiments
        }

        def advance(state: sweeps.Progress) -> None:
            for experiment in experiments:
                own = cells[experiment.id]
                counts = [state.cells[cell.key] for cell in own]
                done, total = (sum(column) for column in zip(*counts, strict=True))
                if done == total and experiment.id not in self._outcomes:
                    self._finish(experiment, own)
                self._progress(experiment.id, done, total)

        swept = sweeps.run_chunks(
            [cell for own in cells.values() for cell in own],
            self._seed,
            self._out / "cache",
            # A look takes less than starting workers does.
            workers=min(self._workers, 1) if self._size == "quick" else self._workers,
            progress=advance,
        )
        if swept.failures:
            raise SweepError(f"{len(swept.failures)} chunks failed; first: {swept.failures[0]}.")

    def _finish(self, experiment: Experiment, cells: list[sweeps.Cell]) -> None:
        """Draw and judge an experiment whose cells are complete, and write the pages anew."""
        results = {}
        for cell in cells:
            run = sweeps.load_cell(self._out / "cache", cell, self._seed)
            results[cell.key.removeprefix(f"{experiment.id}/")] = run
        outcome = experiment.outcome(results)
        for figure in outcome.figures:
            draw(figure, self._out / "figures")
            write_curves(figure, self._out / "curves" / f"{figure.id}.csv")
        self._outcomes[experiment.id] = outcome
        self.write()

    def judge_lemmas(self) -> None:
        """Judge the lemmas, or take over those of an earlier call: same seed, size, edition."""
        size = "quick" if self._size == "quick" else "full"
        cached = self._out / "cache" / f"lemmas-{EDITION}-{__version__}-{self._seed}-{size}.json"
        try:
            records = json.loads(cached.read_text(encoding="utf-8"))
            self._lemmas = tuple(Claim(**record) for record in records)
        except (OSError, ValueError, TypeError):
            claims = lemma_claims(
                self._seed,
                size == "quick",
                lambda done, total: self._progress(LEMMAS, done, total),
            )
            self._lemmas = tuple(claims)
            write_whole(cached, json.dumps([claim.to_dict() for claim in claims]))
        self._progress(LEMMAS, 1, 1)

    # ------------------------------------------------------------------ the files

    def write(self) -> Report:
        """Write summary.json and the pages as far as they are known."""
        titles = {
            name: EXPERIMENTS[name].title if name in EXPERIMENTS else "Lemmas and propositions"
            for name in self._ids
        }
        done = {*self._outcomes, LEMMAS} if self._lemmas else {*self._outcomes}
        report = Report(
            ids=tuple(self._ids),
            sections=tuple(
                Section(EXPERIMENTS[name], self._outcomes[name])
                for name in self._ids
                if name in self._outcomes
            ),
            lemmas=self._lemmas,
            checks=self._checks,
            to_come={name: title for name, title in titles.items() if name not in done},
            colophon=self._colophon(),
        )
        text = json.dumps(report.to_dict(), indent=2, allow_nan=False)
        write_whole(self._out / "summary.json", text + "\n")
        for name, page in render_pages(report, self._out / "figures").items():
            write_whole(self._out / name, page)
        return report

    def _colophon(self) -> Colophon:
        packages = ("numpy", "scipy", "highspy", "matplotlib")
        return Colophon(
            version=__version__,
            packages={name: metadata.version(name) for name in packages},
            python=sys.version.split()[0],
            machine=platform.platform(),
            written=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.perf_counter() - self._started, 1),
            seed=self._seed,
            workers=self._workers,
            size=self._size,
        )


def write_whole(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


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
