"""Sweeps: many cells, cut into chunks of trials, on one core or on a cluster."""

from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.engine import Progress, iter_chunks, load_cell, run_cells, run_chunks
from sparsebandits.sweeps.folder import SweepResult, landed_runs, sweep

__all__ = [
    "Cell",
    "Progress",
    "SweepResult",
    "iter_chunks",
    "landed_runs",
    "load_cell",
    "run_cells",
    "run_chunks",
    "sweep",
]
