"""Draw figure records with matplotlib: SVG and PNG, colour-blind safe, nothing computed."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebandits.errors import SolverError
from sparsebandits.experiments.curves import Figure, Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, which every kind of colour vision tells apart."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
"""Told apart in black and white too."""

_PANEL_WIDTH, _PANEL_HEIGHT = 4.6, 3.5
_NOTE_LINE = 0.135
_SCATTER_POINTS = 40


def draw(figure: Figure, folder: Path) -> dict[str, Path]:
    """Write ``<id>.svg`` and ``<id>.png`` into `folder`; return both paths."""
    pyplot = _pyplot()
    count = len(figure.panels)
    note_lines = len(figure.notes)
    height = _PANEL_HEIGHT + 0.45 + _NOTE_LINE * note_lines
    width = max(_PANEL_WIDTH * count, 6.4)
    canvas, axes = pyplot.subplots(1, count, figsize=(width, height), squeeze=False)
    for ax, panel in zip(axes[0], figure.panels, strict=True):
        _draw_panel(ax, panel)
    bottom = (0.12 + _NOTE_LINE * note_lines) / height
    canvas.suptitle(figure.title, fontsize=11, x=0.01, ha="left", weight="bold")
    canvas.text(
        0.01, 0.08 / height, "\n".join(figure.notes), fontsize=7.5, va="bottom", color="#333333"
    )
    canvas.tight_layout(rect=(0, bottom, 1, 0.97))
    paths = {kind: folder / f"{figure.id}.{kind}" for kind in ("svg", "png")}
    # A fixed salt and no date: the same numbers give the same file.
    with pyplot.rc_context({"svg.hashsalt": figure.id, "svg.fonttype": "path"}):
        canvas.savefig(paths["svg"], metadata={"Date": None})
    canvas.savefig(paths["png"], dpi=150, metadata={"Software": None})
    pyplot.close(canvas)
    return paths


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise SolverError(
            "Figures need matplotlib; install it with: pip install 'sparsebandits[paper]'"
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _draw_panel(ax: "Axes", panel: Panel) -> None:
    for series in panel.series:
        _draw_series(ax, series)
    if panel.x_log:
        ax.set_xscale("log")
    if panel.y_log:
        ax.set_yscale("log")
    top = ax.get_ylim()[1]
    for x, text in panel.lines:
        ax.axvline(x, color="#444444", linewidth=0.9, linestyle=(0, (2, 2)))
        ax.annotate(
            text,
            (x, 0.45 * top),
            xytext=(-3, 0),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            ha="right",
            va="center",
            color="#222222",
        )
    ax.set_title(panel.title, fontsize=9.5)
    ax.set_xlabel(panel.x_label, fontsize=8.5)
    ax.set_ylabel(panel.y_label, fontsize=8.5)
    ax.tick_params(labelsize=8)
    ax.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if len(panel.series) > 1:
        ax.legend(fontsize=7, frameon=True, framealpha=0.85, loc="best")


def _draw_series(ax: "Axes", series: Series) -> None:
    colour = PALETTE[series.style % len(PALETTE)]
    line: Any = LINES[series.style % len(LINES)]
    if series.runs is not None:
        stride = max(1, math.ceil(series.x.size / _SCATTER_POINTS))
        places = np.arange(series.style, series.x.size, stride)
        x = np.broadcast_to(series.x[places], (series.runs.shape[0], places.size))
        # Drawn as one image: thousands of single marks would make a heavy SVG.
        ax.scatter(
            x, series.runs[:, places], s=4, color=colour, alpha=0.18, linewidths=0, rasterized=True
        )
    if series.low is not None and series.high is not None:
        ax.fill_between(series.x, series.low, series.high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(series.x, series.y, color=colour, linestyle=line, linewidth=1.7, label=series.label)
