"""One piece of work, as it is sent to a worker, and what may come back instead of a run."""

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.version import __version__


@dataclass(frozen=True)
class Task:
    """The trials from `first` on, `count` of them."""

    cell: Cell
    seed: int
    first: int
    count: int


@dataclass(frozen=True)
class Failure:
    """A chunk that could not be computed.

    Attributes
    ----------
    key : str
        The cell's.
    configuration : dict
        All that shapes its numbers.
    first, count : int
        Which trials.
    error : str
        What went wrong.
    """

    key: str
    configuration: dict[str, Any]
    first: int
    count: int
    error: str

    def __str__(self) -> str:
        last = self.first + self.count - 1
        return f"{self.key}, trials {self.first} to {last}: {self.error}"


Outcome = Run | Failure


def failed(task: Task, error: BaseException) -> Failure:
    """Report an error as the outcome of a task."""
    text = f"{type(error).__name__}: {error}"
    configuration = task.cell.configuration(task.seed)
    return Failure(task.cell.key, configuration, task.first, task.count, text)


def run_task(task: Task) -> Outcome:
    """Simulate; an error becomes the outcome, so that it stops nothing else."""
    try:
        return task.cell.simulate(task.seed, task.first, task.count)
    except Exception as error:
        return failed(task, error)


def versions() -> dict[str, str]:
    """Return the versions that must agree between the driver and its workers."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "sparsebandits": __version__,
        "numpy": np.__version__,
        "python": python,
    }


def run_task_remotely(task: Task, wanted: dict[str, str]) -> Outcome:
    """Simulate on a worker, unless it has joined late and with other versions."""
    if versions() != wanted:
        error = RuntimeError(f"the worker has {versions()}, the driver {wanted}; make them equal")
        return failed(task, error)
    return run_task(task)
