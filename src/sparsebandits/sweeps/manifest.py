"""The manifest of a sweep's folder: what was run, by what, when, and what went wrong."""

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.files import writing
from sparsebandits.sweeps.spec import Sweep
from sparsebandits.sweeps.tasks import versions

FORMAT = 1
"""Raised when a folder written before can no longer be read."""

NAME = "manifest.json"


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
                "key": one.key,
                **one.columns,
                "trials": one.cell.trials,
                "fingerprint": one.cell.fingerprint(sweep.seed),
                "trials_done": 0,
                "seconds": 0.0,
            }
            for one in sweep.cells
        ],
        "failures": [],
        "skipped": [{"key": one.key, "reason": one.reason} for one in sweep.skipped],
    }


def now() -> str:
    """Return the time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest so that it is there whole or as it was."""
    text = json.dumps(manifest, indent=2, allow_nan=False)
    with writing(folder / NAME) as path:
        path.write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a sweep's folder; one of another format is refused."""
    path = folder / NAME
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SweepError(
            f"{folder} holds no sweep: there is no {NAME}; name the folder that sparsebandits "
            "sweep wrote with --out."
        ) from None
    except (OSError, ValueError) as error:
        raise SweepError(
            f"{path} cannot be read: {error}. Restore it from a copy, or start anew with another "
            "--out."
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        raise SweepError(
            f"{path} has format {found!r}; this release reads format {FORMAT}. Use the release "
            "that wrote it, or start anew with another --out."
        )
    return manifest


def check_same(folder: Path, manifest: Mapping[str, Any], sweep: Sweep, *, resume: bool) -> None:
    """Refuse to go on in a folder with another sweep, or with one whose bits may differ."""
    if manifest.get("digest") != sweep.digest:
        raise SweepError(
            f"{folder} holds another sweep ({difference(manifest, sweep)}). Two sweeps are never "
            "mixed: name another --out, or put the file back as it was."
        )
    if not resume:
        raise SweepError(
            f"{folder} holds this sweep already; go on with --resume, or name another --out."
        )
    written = manifest.get("versions", {})
    for name in ("sparsebandits", "numpy"):
        mine, theirs = versions()[name], written.get(name)
        if mine != theirs:
            raise SweepError(
                f"{folder} was begun with {name} {theirs}, and this is {mine}: the same trial may "
                f"have other bits, so that going on would mix two results. Install "
                f"{name}=={theirs} to resume, or start anew with another --out."
            )


def difference(manifest: Mapping[str, Any], sweep: Sweep) -> str:
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
