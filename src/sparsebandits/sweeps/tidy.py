"""Chunks of runs as two tidy Parquet files: a row per trial and recorded step, a row per trial."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsebandits.simulation import Run
from sparsebandits.sweeps.arrow import arrow, parquet
from sparsebandits.sweeps.files import writing
from sparsebandits.sweeps.grid import SweepCell

STEPS, TRIALS = "steps.parquet", "trials.parquet"

MEASURES = ("regret", "theta_error", "optimal_share", "overlap")
"""What is recorded at every step; the last only with ``track_support = true``."""

_GROUP = 2**20
"""Rows after which a row group is written: what is held in memory at a time."""

_TEXTS = ("cell", "policy", "environment")


@dataclass(frozen=True)
class Landed:
    """How much of a cell was there to be written."""

    trials: int
    seconds: float


Chunks = Callable[[SweepCell], Iterator[tuple[int, Run]]]
"""The finished chunks of a cell in their order: the first trial, and the run."""


def write_tables(
    folder: Path, cells: Sequence[SweepCell], chunks: Chunks, *, track_support: bool
) -> dict[str, Landed]:
    """Write both tables from what has landed, one chunk in memory after the other.

    Both replace what was there only when they are whole.
    """
    texts = {
        "cell": [one.key for one in cells],
        **{
            name: list(dict.fromkeys(str(one.columns[name]) for one in cells))
            for name in _TEXTS[1:]
        },
    }
    with_sigma = any("sigma" in one.columns for one in cells)
    landed = {}
    with ExitStack() as stack:
        # Entered before the writers, so that a file gets its name once its writer is closed.
        paths = [stack.enter_context(writing(folder / name)) for name in (STEPS, TRIALS)]
        steps = stack.enter_context(
            Writer(paths[0], steps_schema(with_sigma, track_support), texts)
        )
        trials = stack.enter_context(Writer(paths[1], trials_schema(with_sigma), texts))
        for one in cells:
            done, seconds = 0, 0.0
            for first, run in chunks(one):
                steps.add({"cell": one.key, **one.columns}, *steps_columns(first, run))
                trials.add({"cell": one.key, **one.columns}, *trials_columns(first, run))
                done += run.regret.shape[0]
                seconds += run.seconds
            landed[one.key] = Landed(done, seconds)
    return landed


def steps_columns(first: int, run: Run) -> tuple[int, dict[str, Any]]:
    """Return the rows of a chunk in the order of trial and step: their number and the columns."""
    count, points = run.regret.shape
    measured = {name: getattr(run, name) for name in MEASURES}
    return count * points, {
        "trial": np.repeat(np.arange(first, first + count), points),
        "step": np.tile(run.steps.astype(np.int64), count),
        **{name: value.reshape(-1) for name, value in measured.items() if value is not None},
    }


def trials_columns(first: int, run: Run) -> tuple[int, dict[str, Any]]:
    """Return one row per trial of a chunk."""
    count = run.regret.shape[0]
    return count, {
        "trial": np.arange(first, first + count),
        "regret": run.regret[:, -1],
        "locked_at": run.locked_at,
        "support_correct": run.support_correct,
        "optimum": run.optimum,
    }


def _naming_fields(with_sigma: bool) -> list[tuple[str, Any]]:
    pa = arrow()
    fields = [(name, pa.dictionary(pa.int32(), pa.string())) for name in _TEXTS]
    fields += [("sparsity", pa.int32()), ("dim", pa.int32()), ("horizon", pa.int64())]
    if with_sigma:
        fields.append(("sigma", pa.float64()))
    return [*fields, ("trial", pa.int64())]


def steps_schema(with_sigma: bool, track_support: bool) -> Any:
    """Return the columns of `steps.parquet`."""
    pa = arrow()
    measures = MEASURES if track_support else MEASURES[:-1]
    return pa.schema(
        [
            *_naming_fields(with_sigma),
            ("step", pa.int64()),
            *((name, pa.float64()) for name in measures),
        ]
    )


def trials_schema(with_sigma: bool) -> Any:
    """Return the columns of `trials.parquet`."""
    pa = arrow()
    return pa.schema(
        [
            *_naming_fields(with_sigma),
            ("regret", pa.float64()),
            ("locked_at", pa.float64()),
            ("support_correct", pa.bool_()),
            ("optimum", pa.float64()),
        ]
    )


class Writer:
    """A Parquet file that grows row group by row group; row groups hold whole chunks."""

    def __init__(self, path: Path, schema: Any, texts: dict[str, list[str]]) -> None:
        self._arrow = arrow()
        self._schema = schema
        self._texts = texts
        self._waiting: list[Any] = []
        self._rows = 0
        repeating = [name for name in schema.names if name not in MEASURES]
        self._file = parquet().ParquetWriter(
            path, schema, compression="zstd", use_dictionary=repeating
        )

    def add(self, names: dict[str, Any], rows: int, columns: dict[str, Any]) -> None:
        """Add a chunk of one cell: the columns that name it are the same in all its rows."""
        arrays = [self._array(field, names, columns, rows) for field in self._schema]
        self._waiting.append(self._arrow.record_batch(arrays, schema=self._schema))
        self._rows += rows
        if self._rows >= _GROUP:
            self._flush()

    def _array(self, field: Any, names: dict[str, Any], columns: dict[str, Any], rows: int) -> Any:
        pa = self._arrow
        if field.name in columns:
            # What does not exist, such as the step of a lock that never was, is null: averages in
            # SQL skip nulls, and not-a-number would spoil them.
            return pa.array(columns[field.name], type=field.type, from_pandas=True)
        if field.name in self._texts:
            values = self._texts[field.name]
            codes = np.full(rows, values.index(names[field.name]), dtype=np.int32)
            return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))
        return pa.array(np.full(rows, names[field.name]), type=field.type)

    def _flush(self) -> None:
        if self._waiting:
            table = self._arrow.Table.from_batches(self._waiting, schema=self._schema)
            self._file.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting, self._rows = [], 0

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._file.close()
