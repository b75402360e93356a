"""The tidy table of results: a row per trial and recorded step, written as Parquet parts.

A part holds the trials of one chunk: it is what was computed, and it is the result. What belongs to
a whole trial stands in each of its rows, theta* in the last one alone. What does not exist, such as
the step of a lock that never was, is null: averages in SQL skip nulls, not-a-number spoils them.
"""

import dataclasses
import importlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.simulation.record import axes_of

Names = Mapping[str, str | int | float]
"""Columns that are the same in all rows of a cell."""

MEASURES = tuple(e.name for e in dataclasses.fields(Run) if axes_of(e) == ("trial", "step"))
"""What is recorded at every step; `overlap` only if it is asked for."""

FORMAT = 2

_OURS = b"sparsebandits"


def arrow(name: str = "pyarrow") -> Any:
    """Return pyarrow, or a module of it: it is an extra, ships no types, is imported when used."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "pyarrow":
            raise
        raise SweepError(
            "Sweeps keep their results with pyarrow, which is not installed; install it with: "
            "pip install 'sparsebandits[sweep]'"
        ) from None


def parquet() -> Any:
    """Return the module pyarrow.parquet."""
    return arrow("pyarrow.parquet")


def to_table(run: Run, first: int, names: Names) -> Any:
    """Return the rows of a run whose first trial has the number `first`."""
    pa = arrow()
    count, points = run.trials, run.steps.size
    columns: dict[str, Any] = {}
    for name, value in names.items():
        column = pa.repeat(pa.scalar(value), count * points)
        columns[name] = column.dictionary_encode() if isinstance(value, str) else column
    columns["trial"] = pa.array(np.repeat(np.arange(first, first + count), points))
    for entry in dataclasses.fields(Run):
        axes, value = axes_of(entry), getattr(run, entry.name)
        if axes == ("trial", "coordinate"):
            columns[entry.name] = _in_last_rows(value, points)
        elif axes and value is not None:
            shaped = value if "trial" in axes else value[None]
            shaped = shaped if "step" in axes else shaped[:, None]
            rows = np.broadcast_to(shaped, (count, points)).reshape(-1)
            columns[_column(entry.name)] = pa.array(rows, from_pandas=True)
    own = {"format": FORMAT, "trials": count, "seconds": run.seconds, "label": run.label}
    return pa.table(columns).replace_schema_metadata({_OURS: json.dumps(own).encode()})


def _column(name: str) -> str:
    return "step" if name == "steps" else name


def _in_last_rows(vectors: Any, points: int) -> Any:
    """Return a column of lists, null but in the last row of each trial."""
    pa = arrow()
    lengths = np.zeros((vectors.shape[0], points), dtype=np.int32)
    lengths[:, -1] = vectors.shape[1]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = pa.array(lengths.reshape(-1) == 0)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.reshape(-1)), mask=mask)


def encode(run: Run, first: int, names: Names) -> bytes:
    """Return the rows of a run as a Parquet file."""
    table = to_table(run, first, names)
    repeating = [name for name in table.column_names if name not in (*MEASURES, "theta_star")]
    stream = arrow().BufferOutputStream()
    parquet().write_table(table, stream, compression="snappy", use_dictionary=repeating)
    content: bytes = stream.getvalue().to_pybytes()
    return content


def decode(content: bytes) -> Run | None:
    """Return the run in a Parquet file, bit for bit; None where it is of another format."""
    file = parquet().ParquetFile(arrow().BufferReader(content))
    own = json.loads(file.schema_arrow.metadata[_OURS])
    if own["format"] != FORMAT:
        return None
    columns = [_column(entry.name) for entry in dataclasses.fields(Run)]
    return _to_run(file.read(columns, use_threads=False), own)


def seconds_of(content: bytes) -> float | None:
    """Return what the trials in a Parquet file took; None where it is of another format."""
    footer = parquet().read_metadata(arrow().BufferReader(content))
    own = json.loads(footer.metadata[_OURS])
    return float(own["seconds"]) if own["format"] == FORMAT else None


def _to_run(table: Any, own: Mapping[str, Any]) -> Run:
    count = own["trials"]
    fields: dict[str, Any] = {"label": own["label"], "seconds": own["seconds"]}
    for entry in dataclasses.fields(Run):
        axes, name = axes_of(entry), _column(entry.name)
        if not axes or name not in table.column_names:
            continue
        column = table.column(name)
        if axes == ("trial", "coordinate"):
            vectors = column.combine_chunks().flatten().to_numpy()
            fields[entry.name] = vectors.reshape(count, -1)
        else:
            rows = column.to_numpy().reshape(count, -1)
            rows = rows if "trial" in axes else rows[0]
            fields[entry.name] = rows if "step" in axes else rows[:, 0].copy()
    fields["steps"] = fields["steps"].astype(np.intp)
    return Run(**fields)
