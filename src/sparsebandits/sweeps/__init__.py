"""Sweeps: many cells, cut into chunks of trials, on one core or on a cluster."""

from sparsebandits.sweeps.cell import Cell, join_runs
from sparsebandits.sweeps.chunks import chunk_path, load_chunk, save_chunk
from sparsebandits.sweeps.engine import Report, iter_chunks, load_cell, run_cells, run_chunks
from sparsebandits.sweeps.folder import SweepResult, sweep
from sparsebandits.sweeps.ledger import Progress
from sparsebandits.sweeps.tasks import Failure

__all__ = [
    "Cell",
    "Failure",
    "Progress",
    "Report",
    "SweepResult",
    "chunk_path",
    "iter_chunks",
    "join_runs",
    "load_cell",
    "load_chunk",
    "run_cells",
    "run_chunks",
    "save_chunk",
    "sweep",
]
