"""From records to HTML: the templates, and what pages load."""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sparsebandits.dashboard.words import counted, number, seconds, share, whole
from sparsebandits.errors import InvalidValueError

HERE = Path(__file__).parent


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
        "counted": counted,
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
