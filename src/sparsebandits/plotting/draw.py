"""Draw figure records with matplotlib: SVG and PNG, colour-blind safe, nothing computed."""

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparsebandits.errors import InvalidValueError, SparseBanditsError
from sparsebandits.plotting.figure import Figure, Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, which every kind of colour vision tells apart."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
"""Told apart in black and white too."""

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")

FILLINGS: tuple[Literal["full", "none", "left", "top", "right", "bottom"], ...] = (
    "full", "none", "left", "top", "right", "bottom",
)  # fmt: skip
"""Each round through the marks has another: six times as many are told apart."""

MAIN, REFERENCE = "#000000", "#8a8f94"
"""Black for the curve that is looked at, grey for references."""

FORMATS = ("svg", "png", "pdf")

_INSIDE = 6
"""A panel with more series has its legend beside it."""

_FEW_POINTS = 8
"""Up to so many places on a logarithmic axis, each is named."""

_TICKS = tuple(digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5))
_LEGEND_WIDTH = 2.6
_LEGEND_LETTERS = 34
_PANEL_WIDTH, _PANEL_HEIGHT = 4.6, 3.5
_CATEGORY_WIDTH = 0.8
_NOTE_LINE = 0.135
_SCATTER_POINTS = 40

_ABREAST = 0.7
"""The part of a category's room in which its marks stand side by side: none hides another."""

_MARKS_ALONG = 8
"""Marks along a curve, where there are more curves than colours and lines."""


def draw(figure: Figure, folder: Path) -> None:
    """Write ``<id>.svg`` and ``<id>.png`` into `folder`."""
    _write(figure, {kind: folder / f"{figure.id}.{kind}" for kind in ("svg", "png")})


def save(figure: Figure, path: Path) -> None:
    """Write a figure to one file, whose ending names the format."""
    kind = figure_format(path)
    try:
        _write(figure, {kind: path})
    except OSError as error:
        raise InvalidValueError(f"{path} cannot be written: {error}.") from None


def figure_format(path: Path) -> str:
    """Return the format that the ending of a path asks for."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise InvalidValueError(f"A figure must end in {known}, got {str(path)!r}.")
    return kind


def _write(figure: Figure, paths: dict[str, Path]) -> None:
    pyplot, canvas = _pyplot(), _canvas(figure)
    # A fixed salt and no date: the same numbers give the same file.
    undated = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    try:
        with pyplot.rc_context({"svg.hashsalt": figure.id, "svg.fonttype": "path"}):
            for kind, path in paths.items():
                canvas.savefig(path, format=kind, dpi=150, metadata=undated[kind])
    finally:
        pyplot.close(canvas)


def _canvas(figure: Figure) -> Any:
    pyplot = _pyplot()
    count = len(figure.panels)
    note_lines = len(figure.notes)
    height = _PANEL_HEIGHT + 0.45 + _NOTE_LINE * note_lines
    beside = sum(len(panel.series) > _INSIDE for panel in figure.panels)
    if beside:
        height += 0.6
    wanted = sum(max(_PANEL_WIDTH, _CATEGORY_WIDTH * len(p.categories)) for p in figure.panels)
    width = max(wanted, 6.4) + _LEGEND_WIDTH * beside
    canvas, axes = pyplot.subplots(1, count, figsize=(width, height), squeeze=False)
    for ax, panel in zip(axes[0], figure.panels, strict=True):
        _draw_panel(ax, panel)
    bottom = (0.12 + _NOTE_LINE * note_lines) / height
    canvas.suptitle(figure.title, fontsize=11, x=0.01, ha="left", weight="bold")
    canvas.text(
        0.01, 0.08 / height, "\n".join(figure.notes), fontsize=7.5, va="bottom", color="#333333"
    )
    canvas.tight_layout(rect=(0, bottom, 1, 0.97))
    canvas.set_layout_engine(None)  # else everything is laid out anew before each file is written
    return canvas


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise SparseBanditsError(
            "Figures need matplotlib; install it with: pip install 'sparsebandits[paper]'"
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _draw_panel(ax: "Axes", panel: Panel) -> None:
    for series in panel.series:
        if panel.categories:
            _draw_marks(ax, series, panel)
        else:
            _draw_series(ax, series, panel)
    ax.set_xscale("log" if panel.x_log else "linear")
    ax.set_yscale("log" if panel.y_log else "linear")
    _draw_lines(ax, panel)
    _set_ticks(ax, panel)
    ax.set_title(panel.title, fontsize=9.5)
    ax.set_xlabel(panel.x_label, fontsize=8.5)
    ax.set_ylabel(panel.y_label, fontsize=8.5)
    ax.tick_params(labelsize=8)
    ax.grid(alpha=0.25, linewidth=0.6, axis="y" if panel.categories else "both")
    for left in range(0, len(panel.categories), 2):  # whose marks stand where
        ax.axvspan(left - 0.5, left + 0.5, color="#000000", alpha=0.04, linewidth=0)
    ax.spines[["top", "right"]].set_visible(False)
    if len(panel.series) > _INSIDE:
        handles, labels = ax.get_legend_handles_labels()
        wrapped = [textwrap.fill(label, _LEGEND_LETTERS) for label in labels]
        place: Any = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        ax.legend(handles, wrapped, fontsize=7, frameon=False, handlelength=3.4, **place)
    elif len(panel.series) > 1:
        ax.legend(fontsize=7, framealpha=0.85, handlelength=3.4, loc="best")


def _draw_lines(ax: "Axes", panel: Panel) -> None:
    """Draw the dashed lines across a panel, each with its words beside it."""
    dashes: Any = {"color": "#444444", "linewidth": 0.9, "linestyle": (0, (2, 2))}
    words: Any = {"fontsize": 7, "ha": "right", "color": "#222222", "textcoords": "offset points"}
    for x, text in panel.lines:
        ax.axvline(x, **dashes)
        place: Any = {"xycoords": ("data", "axes fraction"), "xytext": (-3, 0)}
        ax.annotate(text, (x, 0.7), rotation=90, va="center", **place, **words)
    for y, text in panel.levels:
        ax.axhline(y, **dashes)
        ax.annotate(text, (1, y), xytext=(-3, 3), xycoords=("axes fraction", "data"), **words)


def _set_ticks(ax: "Axes", panel: Panel) -> None:
    if panel.categories:
        ax.set_xticks(range(len(panel.categories)), panel.categories, rotation=30, ha="right")
        ax.set_xlim(-0.5, len(panel.categories) + 1.0)  # room for the words on the levels
        if panel.y_log:
            bottom, top = ax.get_ylim()
            ticks = [tick for tick in _TICKS if bottom <= tick <= top]
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
    elif panel.y_log:
        # Ends of bands at or below 0 would stretch a logarithmic axis without end.
        lowest = min(float(each.y[each.y > 0].min(initial=np.inf)) for each in panel.series)
        ax.set_ylim(bottom=lowest / 2 if np.isfinite(lowest) else None)
    measured = sorted({float(x) for series in panel.series for x in series.x})
    if panel.x_log and len(measured) <= _FEW_POINTS:
        # A scale of powers of ten has no words for a handful of places between two of them.
        ax.set_xticks(measured, [f"{x:g}" for x in measured])
        ax.set_xticks([], minor=True)


def _colour(series: Series) -> str:
    roles = {"main": MAIN, "reference": REFERENCE}
    return roles.get(series.role, PALETTE[series.style % len(PALETTE)])


def _draw_marks(ax: "Axes", series: Series, panel: Panel) -> None:
    main, colour = series.role == "main", _colour(series)
    turn, mark = divmod(series.style, len(MARKS))
    filling = FILLINGS[turn % len(FILLINGS)]
    most = max(each.style for each in panel.series)
    ax.plot(
        series.x + _ABREAST * (series.style / most - 0.5 if most else 0.0),
        series.y,
        color=colour,
        marker=MARKS[mark],
        markersize=8 if main else 5,
        fillstyle=filling,
        markerfacecoloralt="white",
        markeredgecolor="white" if filling == "full" else colour,
        markeredgewidth=0.6 if filling == "full" else 1.2,
        linestyle="none",
        zorder=4 if main else 3,
        label=series.label,
    )


def _draw_series(ax: "Axes", series: Series, panel: Panel) -> None:
    colour = _colour(series)
    # Each round through the colours has other lines.
    turn = series.style // len(PALETTE)
    line: Any = LINES[(series.style + turn) % len(LINES)]
    marked = turn // len(LINES)  # all of them are used up
    if series.runs is not None:
        stride = max(1, math.ceil(series.x.size / _SCATTER_POINTS))
        places = np.arange(series.style, series.x.size, stride)
        x = np.broadcast_to(series.x[places], (series.runs.shape[0], places.size))
        # Drawn as one image: thousands of single marks would make a heavy SVG.
        ax.scatter(
            x, series.runs[:, places], s=4, color=colour, alpha=0.18, linewidths=0, rasterized=True
        )
    if series.low is not None and series.high is not None:
        # Many bands on top of each other would hide the curves.
        alpha = 0.18 if series.role == "main" or len(panel.series) <= _INSIDE else 0.07
        ax.fill_between(series.x, series.low, series.high, color=colour, alpha=alpha, linewidth=0)
    ax.plot(
        series.x,
        series.y,
        color=colour,
        linestyle=line,
        marker=MARKS[(marked - 1) % len(MARKS)] if marked else None,
        markevery=max(1, series.x.size // _MARKS_ALONG),
        linewidth=2.8 if series.role == "main" else 1.7,
        zorder=4 if series.role == "main" else 2,
        label=series.label,
    )
