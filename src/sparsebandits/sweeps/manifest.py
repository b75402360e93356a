"""The manifest of a sweep's folder: what was run, by what, when, and what went wrong."""

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.executors import versions
from sparsebandits.sweeps.files import writing
from sparsebandits.sweeps.spec import Sweep

FORMAT = 2
"""Raised when a folder written before can no longer be read."""

MANIFEST = "manifest.json"


def new_manifest(sweep: Sweep) -> dict[str, Any]:
    """Describe a sweep that starts now."""
    return {
        "format": FORMAT,
        "versions": {**versions(), "python": platform.python_version()},
        "seed": sweep.seed,
        "configuration": sweep.configuration,
        "digest": sweep.digest,
        "started": now(),
        "ended": None,
        "sessions": [],
        "cells": [
            {
                "key": cell.key,
                **{name: value for name, value in cell.columns.items() if name != "cell"},
                "trials": cell.trials,
                "fingerprint": cell.fingerprint(sweep.seed),
                "trials_done": 0,
                "seconds": 0.0,
            }
            for cell in sweep.cells
        ],
        "failures": [],
        "skipped": [{"key": item.key, "reason": item.reason} for item in sweep.skipped],
    }


def now() -> str:
    """Return the time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest so that it is there whole or as it was."""
    text = json.dumps(manifest, indent=2, allow_nan=False)
    with writing(folder / MANIFEST) as path:
        path.write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a sweep's folder; one of another format is refused."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SweepError(
            f"{folder} holds no sweep: there is no {MANIFEST}; name the folder that sparsebandits "
            "sweep wrote with --out."
        ) from None
    except (OSError, ValueError) as error:
        raise SweepError(
            f"{path} cannot be read: {error}. Restore it from a copy, or start anew with another "
            "--out."
        ) from None
    written = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or written != FORMAT:
        raise SweepError(
            f"{path} has format {written!r}; this release reads format {FORMAT}. Use the release "
            "that wrote it, or start anew with another --out."
        )
    return manifest


def open_manifest(folder: Path, sweep: Sweep, *, resume: bool) -> dict[str, Any]:
    """Return a new manifest, or that of the folder; not another sweep's, nor with other bits."""
    if not (folder / MANIFEST).exists():
        return new_manifest(sweep)
    manifest = read_manifest(folder)
    if manifest.get("digest") != sweep.digest:
        raise SweepError(
            f"{folder} holds another sweep ({_difference(manifest, sweep)}). Two sweeps are never "
            "mixed: name another --out, or put the file back as it was."
        )
    if not resume:
        raise SweepError(
            f"{folder} holds this sweep already; go on with --resume, or name another --out."
        )
    for name in ("sparsebandits", "numpy"):
        mine, theirs = versions()[name], manifest.get("versions", {}).get(name)
        if mine != theirs:
            raise SweepError(
                f"{folder} was begun with {name} {theirs}, and this is {mine}: the same trial may "
                f"have other bits, so that going on would mix two results. Install "
                f"{name}=={theirs} to resume, or start anew with another --out."
            )
    return manifest


def _difference(manifest: Mapping[str, Any], sweep: Sweep) -> str:
    """Name the first key in which a folder's configuration is another."""
    theirs, mine = manifest.get("configuration"), sweep.configuration
    if not isinstance(theirs, Mapping):
        return "its configuration cannot be read"
    for key in [*mine, *theirs]:
        if mine.get(key) != theirs.get(key):
            return f"{key!r} was {_short(theirs.get(key))}, now {_short(mine.get(key))}"
    return "its configuration is another"


def _short(value: Any) -> str:
    if value is None:
        return "left out"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
