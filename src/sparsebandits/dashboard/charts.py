"""What a chart shows, as plain records; the script on the page gives it colours and draws it."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from sparsebandits.dashboard.history import History
from sparsebandits.validation import FloatArray, IntArray

Role = Literal["main", "quiet", "second"]
"""How a trace stands out: the one to look at, what is behind it, and one to compare with."""

Dash = Literal["dash", "dot", "dashdot", "longdash", "longdashdot"]
DASHES: tuple[Dash, ...] = get_args(Dash)

_HUGE, _TINY = 1e9, 1e-3
"""Beyond, axes have powers of ten, as sentences and tables do, and not T or p."""

_FEW = 8
"""Whole numbers up to which each has its mark below an axis."""

Numbers = Sequence[float] | FloatArray | IntArray
Labels = Sequence[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A curve; `dash` for a mark to compare with."""

    x: Numbers | Labels
    y: Numbers
    label: str
    role: Role = "main"
    dash: Dash | None = None

    def traces(self) -> list[dict[str, Any]]:
        """Return what plotly draws."""
        line = {} if self.dash is None else {"dash": self.dash}
        return [_scatter(self, "lines", line=line)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dots:
    """Single points, with an interval along x where `low` and `high` are given."""

    x: Numbers | Labels
    y: Numbers | Labels
    label: str
    role: Role = "quiet"
    low: FloatArray | None = None
    high: FloatArray | None = None

    def traces(self) -> list[dict[str, Any]]:
        """Return what plotly draws."""
        trace = _scatter(self, "markers")
        if self.low is not None and self.high is not None:
            x = np.asarray(self.x, dtype=float)
            trace["error_x"] = {
                "type": "data",
                "symmetric": False,
                "array": _plain(self.high - x),
                "arrayminus": _plain(x - self.low),
                "width": 0,
            }
        return [trace]


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """The area between two curves."""

    x: Numbers | Labels
    low: Numbers
    high: Numbers
    label: str
    role: Role = "main"

    def traces(self) -> list[dict[str, Any]]:
        """Return what plotly draws: once around."""
        x, low, high = _plain(self.x), _plain(self.low), _plain(self.high)
        return [
            {
                "type": "scatter",
                "mode": "lines",
                "x": x + x[::-1],
                "y": high + low[::-1],
                "name": self.label,
                "fill": "toself",
                "hoverinfo": "skip",
                "line": {"width": 0},
                "legendrank": 1001,  # after the curve that it belongs to
                "meta": self.role,
            }
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Map:
    """Shares from 0 to 1 by row and column, (rows, columns)."""

    x: Numbers | Labels
    rows: Labels
    shares: FloatArray
    label: str

    def traces(self) -> list[dict[str, Any]]:
        """Return what plotly draws."""
        return [
            {
                "type": "heatmap",
                "x": _plain(self.x),
                "y": list(self.rows),
                "z": [_plain(row) for row in self.shares],
                "zmin": 0,
                "zmax": 1,
                "name": self.label,
                "hovertemplate": "%{y}<br>%{x}<br>on in %{z:.0%} of decisions<extra></extra>",
                "colorbar": {"tickformat": ".0%", "thickness": 10, "len": 0.9},
                "meta": "map",
            }
        ]


def _scatter(given: Line | Dots, mode: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": mode,
        "x": _plain(given.x),
        "y": _plain(given.y),
        "name": given.label,
        "meta": given.role,
        **more,
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """A chart with its words: the title above, and below one sentence on what to take from it."""

    id: str
    title: str
    x_label: str
    y_label: str
    layers: tuple[Line | Dots | Band | Map, ...]
    sentence: str
    height: int = 320
    x_is_time: bool = False
    x_is_whole: bool = False
    """Whether x counts, so that there is nothing between 1 and 2."""
    is_list: bool = False
    """Whether y has a name per row, the first on top."""
    x_log: bool = False
    y_log: bool = False
    y_from_zero: bool = False

    @cached_property
    def json(self) -> str:
        """What the script reads, safe inside a script element; written once for all who look."""
        traces = [trace for layer in self.layers for trace in layer.traces()]
        y_axis: dict[str, Any] = {"title": {"text": self.y_label}, "automargin": True}
        x_axis: dict[str, Any] = {"title": {"text": self.x_label}, "automargin": True}
        if self.is_list:
            # A name that looks like a number is a name all the same.
            y_axis |= {"autorange": "reversed", "type": "category", "dtick": 1}
        if self.x_is_time:
            x_axis["type"] = "date"
        if self.x_is_whole:
            x_axis["tickformat"] = ",d"
            counted = [value for trace in traces for value in trace["x"]]
            if max(counted, default=0) - min(counted, default=0) < _FEW:
                x_axis["dtick"] = 1
        if self.y_from_zero:
            y_axis["rangemode"] = "tozero"
        for name, axis in (("x", x_axis), ("y", y_axis)):
            sizes = [abs(v) for trace in traces for v in trace[name] if isinstance(v, float)]
            if max(sizes, default=1.0) > _HUGE or 0 < max(sizes, default=1.0) < _TINY:
                axis["exponentformat"] = "e"
        x_axis |= {"type": "log"} if self.x_log else {}
        y_axis |= {"type": "log"} if self.y_log else {}
        layout = {
            "xaxis": x_axis,
            "yaxis": y_axis,
            "height": self.height,
            "showlegend": len(traces) > 1,
        }
        text = json.dumps({"data": traces, "layout": layout}, allow_nan=False)
        return text.replace("<", "\\u003c")


def _plain(values: Numbers | Labels) -> list[Any]:
    """Return numbers as JSON has them, in six digits; what is not finite is a gap."""
    return [value if isinstance(value, str) else _short(float(value)) for value in values]


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


# ---------------------------------------------------------------------- along the history


def along(history: History, places: IntArray, by_time: bool) -> FloatArray | list[str]:
    """Return where decisions stand on the axis below: their numbers, or when they were asked."""
    if by_time and history.has_times:
        # Finer than people read: hundreds may be asked for within a second.
        return [clock(moment, "milliseconds") for moment in history.asked_at[places].tolist()]
    return history.ids[places].astype(float)


def axis(history: History, by_time: bool) -> dict[str, Any]:
    """Return how a chart names that axis."""
    if by_time and history.has_times:
        return {"x_label": "time of the decision (UTC)", "x_is_time": True}
    return {"x_label": "number of the decision", "x_is_whole": True}


def clock(moment: float, unit: str = "seconds") -> str:
    """Return seconds since 1970 as a date and time in UTC."""
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None).isoformat(" ", unit)
