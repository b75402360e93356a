"""From records to HTML: the templates, and how they write numbers."""

import hashlib
import importlib.util
import math
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sparsebandits.errors import InvalidValueError

HERE = Path(__file__).parent
DASH = "-"


@cache
def templates() -> Environment:
    """Return the templates; whatever they are given is escaped."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "whole": whole,
        "share": share,
        "seconds": seconds,
    }
    environment.globals["asset"] = asset_url
    return environment


def render(template: str, **records: Any) -> str:
    """Return a page."""
    return templates().get_template(template).render(**records)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number in few digits; a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(float("nan")), number(-1234567.0)
    ('0.123', '-', '-1.23e+06')
    """
    if value is None or math.isnan(value):
        return DASH
    return f"{value:.{digits}g}"


def whole(value: float | None) -> str:
    """Return a whole number with separators; a dash where there is none."""
    return DASH if value is None or math.isnan(value) else f"{value:,.0f}"


def share(value: float | None) -> str:
    """Return a share in percent; a dash where there is none."""
    return DASH if value is None or math.isnan(value) else f"{value:.0%}"


def seconds(value: float) -> str:
    """Return a duration in its natural unit.

    Examples
    --------
    >>> seconds(0.25), seconds(90), seconds(7200), seconds(200000), seconds(float("nan"))
    ('0.25 s', '90 s', '2 h', '2.3 d', '-')
    """
    if math.isnan(value):
        return DASH
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= 2 * length:
            return f"{value / length:.2g} {unit}"
    return f"{value:.2g} s"


# ---------------------------------------------------------------------- what pages load

PLOTLY = "plotly.min.js"
_TYPES = {".css": "text/css", ".js": "text/javascript"}


@cache
def asset(name: str) -> tuple[bytes, str]:
    """Return what a page loads, and its type; plotly's script comes from its wheel."""
    if name == PLOTLY:
        path = _plotly_script()
    elif name in ("dashboard.css", "dashboard.js", "sketch.js"):
        path = HERE / "static" / name
    else:
        raise KeyError(name)
    return path.read_bytes(), _TYPES[path.suffix]


def _plotly_script() -> Path:
    found = importlib.util.find_spec("plotly")  # without importing it
    if found is None or found.origin is None:
        raise InvalidValueError("The charts need plotly: pip install 'sparsebandits[service]'.")
    return Path(found.origin).parent / "package_data" / PLOTLY


@cache
def asset_url(name: str) -> str:
    """Return where a page finds it; another address when it has changed."""
    return f"/static/{name}?v={hashlib.sha256(asset(name)[0]).hexdigest()[:12]}"
