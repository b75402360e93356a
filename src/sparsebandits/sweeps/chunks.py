"""One chunk of trials in one file: whole and as it was written, or as good as missing."""

import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np

from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.files import writing

FORMAT = 1

_ARRAYS = (
    "steps",
    "regret",
    "locked_at",
    "support_correct",
    "theta_error",
    "optimum",
    "optimal_share",
    "overlap",
)
_SECONDS = "seconds"
_HEADER = re.compile(rb"sparsebandits chunk (\d+) ([0-9a-f]{64})\n")


def cell_folder(folder: Path, cell: Cell, seed: int) -> Path:
    """Return where the chunks and the plan of a cell are kept."""
    return folder / cell.fingerprint(seed)


def chunk_path(folder: Path, cell: Cell, seed: int, first: int, count: int) -> Path:
    """Return where the trials from `first` on, `count` of them, are kept."""
    return cell_folder(folder, cell, seed) / f"{first:09d}-{count}.chunk"


def save_chunk(path: Path, run: Run, saved: int | None = None) -> None:
    """Write a run so that it is there whole or not at all; `saved` is told where it cannot be.

    A line with the format's number and a digest, then an npz archive. The digest covers the
    archive and the file's own name, so that a file under a wrong name is not taken either.
    """
    arrays = {name: getattr(run, name) for name in _ARRAYS if getattr(run, name) is not None}
    archive = io.BytesIO()
    np.savez(archive, label=json.dumps({**run.label, _SECONDS: run.seconds}), **arrays)
    content = archive.getvalue()
    header = f"sparsebandits chunk {FORMAT} {_digest(path, content)}\n".encode()
    with writing(path, saved) as part:
        part.write_bytes(header + content)


def load_chunk(path: Path) -> Run | None:
    """Read a run back; None where it is missing, damaged or of another format."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    header = _HEADER.match(content)
    if header is None or int(header[1]) != FORMAT:
        return None
    content = content[header.end() :]
    if header[2].decode() != _digest(path, content):
        return None
    with np.load(io.BytesIO(content)) as data:
        arrays = {name: data[name] for name in _ARRAYS if name in data}
        label = json.loads(str(data["label"]))
    seconds = float(label.pop(_SECONDS))
    return Run(**arrays, label=label, seconds=seconds)


def _digest(path: Path, content: bytes) -> str:
    name = f"{path.parent.name}/{path.name}\n".encode()
    return hashlib.sha256(name + content).hexdigest()
