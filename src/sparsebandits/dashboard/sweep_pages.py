"""The pages on a sweep's folder: every cell, and one beside the others of its environment."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import Response

from sparsebandits.comparison.entries import Entry
from sparsebandits.comparison.sweep_folder import SweepComparison, compare_sweep
from sparsebandits.dashboard import words
from sparsebandits.dashboard.access import Visit
from sparsebandits.dashboard.charts import DASHES, Band, Chart, Line
from sparsebandits.service.answers import RefusedError
from sparsebandits.validation import BoolArray

_BESIDE = 10
"""Other cells that are drawn beside one."""


@dataclass(frozen=True, kw_only=True)
class CellLine:
    """A cell in the list; shares are nan where there is nothing to count."""

    number: int
    key: str
    policy: str
    environment: str
    step: int
    trials: str
    regret: str
    best_support: float
    locked: float


@dataclass(frozen=True, kw_only=True, eq=False)
class CellPage:
    """One cell: its line and its charts."""

    line: CellLine
    charts: tuple[Chart, ...]


def cell_line(number: int, cell: Entry) -> CellLine:
    """Return a cell's line, after the last recorded step."""
    step = int(cell.steps[-1])
    trials = f"{cell.trials:,}"
    return CellLine(
        number=number,
        key=cell.label,
        policy=str(cell.columns["policy"]),
        environment=str(cell.columns["environment"]),
        step=step,
        trials=trials if cell.trials == cell.planned else f"{trials} of {cell.planned:,}",
        regret=cell.regret[step].text(),
        best_support=cell.optimal_share,
        locked=cell.locked_share,
    )


def cell_page(cells: SweepComparison, number: int) -> CellPage:
    """Compute the page of a cell."""
    cell = cells.entries[number]
    others = [
        other
        for other in cells.entries
        if other is not cell and _conditions(other) == _conditions(cell)
    ][:_BESIDE]
    line = cell_line(number, cell)
    return CellPage(line=line, charts=(_regret_chart(cell, others), _support_chart(cell, others)))


def _conditions(cell: Entry) -> dict[str, Any]:
    """Return all that two policies must share to be compared by their regret."""
    return {name: value for name, value in cell.columns.items() if name not in ("cell", "policy")}


def _regret_chart(cell: Entry, others: list[Entry]) -> Chart:
    mean, low, high = cell.regret.mean, cell.regret.low, cell.regret.high
    drawn = _shown(cell)
    ranked = sorted([cell, *others], key=lambda entry: float(entry.regret.mean[-1]))
    rank = ranked.index(cell) + 1
    x = cell.steps[drawn]
    return Chart(
        id="regret",
        title="Regret over time",
        x_label="step T (log scale)",
        y_label="regret (unit of the reward)",
        x_log=True,
        layers=(
            *(
                Line(
                    x=other.steps[_shown(other)],
                    y=other.regret.mean[_shown(other)],
                    label=str(other.columns["policy"]),
                    # Two colours in turn, and then another pattern: no two are alike.
                    role=("quiet", "second")[place % 2],
                    dash=DASHES[place // 2 % len(DASHES)],
                )
                for place, other in enumerate(others)
            ),
            Band(x=x, low=low[drawn], high=high[drawn], label="95% interval of the mean"),
            Line(x=x, y=mean[drawn], label=str(cell.columns["policy"])),
        ),
        sentence=f"After {int(cell.steps[-1]):,} steps it has lost {words.number(float(mean[-1]))} "
        f"on average over {cell.trials:,} trials: number {rank} of the {len(ranked)} "
        "policies under the same conditions drawn here, the least regret first.",
    )


def _support_chart(cell: Entry, others: list[Entry]) -> Chart:
    share = cell.measures["optimal_share"]
    drawn = _shown(cell)
    return Chart(
        id="support",
        title="How often the best support was played",
        x_label="step T (log scale)",
        y_label="share of steps so far",
        x_log=True,
        y_from_zero=True,
        layers=(
            Band(
                x=cell.steps[drawn],
                low=np.maximum(share.low[drawn], 0.0),
                high=np.minimum(share.high[drawn], 1.0),
                label="95% interval of the mean",
            ),
            Line(x=cell.steps[drawn], y=share.mean[drawn], label=str(cell.columns["policy"])),
        ),
        sentence=f"Of all steps, {float(share.mean[-1]):.0%} used exactly the best support.",
    )


def _shown(cell: Entry) -> BoolArray:
    return np.asarray(cell.steps >= max(1.0, cell.steps[-1] / 1000))


class SweepPages:
    """The pages of a sweep's folder, as it is now: more lands while the sweep runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reading = asyncio.Lock()
        self._read: tuple[tuple[float, int], SweepComparison] | None = None

    async def _cells(self) -> SweepComparison:
        async with self._reading:
            stamp = await asyncio.to_thread(self._stamp)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, await asyncio.to_thread(compare_sweep, self._folder))
            return self._read[1]

    def _stamp(self) -> tuple[float, int]:
        """Return what changes when a part lands."""
        parts = [path.stat().st_mtime for path in self._folder.rglob("*.parquet") if path.is_file()]
        return max(parts, default=0.0), len(parts)

    async def listed(self, visit: Visit) -> Response:
        """Show every cell."""
        cells = await self._cells()
        search = visit.query("search").strip()
        lines = [cell_line(number, cell) for number, cell in enumerate(cells.entries)]
        return visit.page(
            "cells.html",
            folder=str(self._folder),
            lines=[line for line in lines if search.lower() in line.key.lower()],
            search=search,
            is_finished=cells.manifest["ended"] is not None,
            failures=cells.manifest["failures"],
        )

    async def show(self, visit: Visit) -> Response:
        """Show one cell."""
        cells = await self._cells()
        text = visit.request.path_params["number"]
        if not (text.isascii() and text.isdigit() and int(text[:9]) < len(cells.entries)):
            raise RefusedError("unknown-path", "There is no such cell.")
        page = await asyncio.to_thread(cell_page, cells, int(text))
        return visit.page("cell.html", page=page, folder=str(self._folder))
