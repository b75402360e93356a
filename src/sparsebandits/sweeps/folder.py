"""Run a sweep into a folder: resumable, never mixed with another, its results in Parquet."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.chunking import CHUNK_SECONDS
from sparsebandits.sweeps.engine import Progress, Report, run_chunks
from sparsebandits.sweeps.files import LOCK, explained, only_writer
from sparsebandits.sweeps.manifest import (
    MANIFEST,
    now,
    open_manifest,
    read_manifest,
    write_manifest,
)
from sparsebandits.sweeps.parts import STEPS, PartFiles
from sparsebandits.sweeps.schema import parquet
from sparsebandits.sweeps.spec import Sweep, read_sweep
from sparsebandits.validation import brief_repr

FAILED = "failed"
"""Where the parts of cells that failed are kept, apart from the results."""


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """What a sweep left in its folder.

    Attributes
    ----------
    folder : Path
        With `manifest.json` and the table `steps.parquet`.
    sweep : Sweep
    computed, reused : int
        Chunks of trials.
    failures : tuple of dict
        Cells that could not be finished: key, error and configuration.
    seconds : float
        Wall time of this call.
    """

    __repr__ = brief_repr

    folder: Path
    sweep: Sweep
    computed: int
    reused: int
    failures: tuple[dict[str, Any], ...]
    seconds: float

    @property
    def steps(self) -> Path:
        """The table with a row per trial and recorded step: a folder of Parquet files."""
        return self.folder / STEPS


def sweep(
    source: Path | str | Mapping[str, Any] | Sweep,
    out: Path | str,
    *,
    workers: int = 1,
    cluster: str | None = None,
    resume: bool = False,
    chunk_seconds: float = CHUNK_SECONDS,
    progress: Callable[[Progress], None] | None = None,
) -> SweepResult:
    """Simulate every cell of a sweep and write the results into a folder.

    Trial i has the same bits for any number of workers, before and after a resume. A cell that
    fails is listed in the manifest and does not stop the others.

    Parameters
    ----------
    source : path, mapping or Sweep
        A TOML file, or what it holds; see `Sweep`.
    out : path
        The folder; made if it is not there.
    workers : int
        Processes on this machine.
    cluster : str, optional
        The address of a Dask scheduler that runs already, such as ``tcp://host:8786``.
    resume : bool
        Go on in a folder that holds the same sweep. Where there is none, it starts.
    chunk_seconds : float
        What a chunk of trials should take: more on many workers, so that landing and saving
        chunks does not become the limit. It changes no number.
    progress : function of Progress, optional

    Examples
    --------
    >>> import tempfile
    >>> from sparsebandits.sweeps import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = sweep({
    ...         "trials": 3, "horizon": 50, "sparsity": 1, "dim": 4,
    ...         "policies": [{"kind": "sparse-thompson"}, {"kind": "random-sparse"}],
    ...         "environments": [
    ...             {"action_set": {"kind": "lp-ball"}, "theta_star": {"kind": "uniform-cube"}},
    ...         ],
    ...     }, folder)
    ...     done.steps.name, done.steps.exists(), done.failures
    ('steps.parquet', True, ())
    """
    parquet()  # Missing, it would be missed after the first chunk.
    planned, folder = read_sweep(source), Path(out)
    _check_folder(folder)
    with only_writer(folder):
        manifest = open_manifest(folder, planned, resume=resume)
        session: dict[str, Any] = {"started": now(), "workers": workers, "cluster": cluster}
        manifest["sessions"].append(session)
        manifest |= {"ended": None, "failures": []}
        write_manifest(folder, manifest)
        try:
            _move(folder / FAILED, folder / STEPS, manifest["cells"])
            report = run_chunks(
                planned.cells,
                planned.seed,
                PartFiles(folder),
                workers=workers,
                cluster=cluster,
                chunk_seconds=chunk_seconds,
                progress=progress,
            )
            return _finish(folder, planned, manifest, report)
        except BaseException as error:
            session |= {"ended": now(), "outcome": f"stopped by {type(error).__name__}"}
            # Where even this cannot be written, the first error is the one to be told.
            with suppress(SweepError):
                write_manifest(folder, manifest)
            raise


def landed_runs(folder: Path | str, *keys: str) -> Iterator[tuple[str, int, Run]]:
    """Yield the results of a sweep's folder: the key of a cell, the first trial, and the run.

    Cells come in the order of the sweep, all of them or those of the `keys`, and their parts in the
    order of trials, one part in memory at a time; of a sweep that runs, or was interrupted, what
    has landed.
    """
    parts = PartFiles(Path(folder))
    for entry in read_manifest(Path(folder))["cells"]:
        if not keys or entry["key"] in keys:
            for first, run in parts.runs(entry["fingerprint"]):
                yield entry["key"], first, run


def _finish(folder: Path, planned: Sweep, manifest: dict[str, Any], report: Report) -> SweepResult:
    """Set aside what failed, and write the end of the manifest."""
    failures = _failures(planned, report)
    failed = {failure["key"] for failure in failures}
    # Trials that do not fail may be special ones: means over them alone would mislead.
    set_aside = [entry for entry in manifest["cells"] if entry["key"] in failed]
    _move(folder / STEPS, folder / FAILED, set_aside)
    for entry in manifest["cells"]:
        entry["trials_done"], entry["seconds"] = report.cells[entry["key"]]
    manifest["failures"] = failures
    manifest["sessions"][-1] |= {
        "ended": now(),
        "outcome": "finished" if not failures else f"{len(failures)} cells failed",
        "seconds": report.seconds,
        "computed_chunks": report.computed,
        "reused_chunks": report.reused,
    }
    manifest["ended"] = now()
    write_manifest(folder, manifest)
    return SweepResult(
        folder=folder,
        sweep=planned,
        computed=report.computed,
        reused=report.reused,
        failures=tuple(failures),
        seconds=report.seconds,
    )


def _failures(planned: Sweep, report: Report) -> list[dict[str, Any]]:
    """Describe the cells that failed: where first, and with what configuration."""
    last_first = sorted(report.failures, key=lambda failure: -failure.first)
    failures = {failure.key: failure for failure in last_first}
    return [
        {
            "key": cell.key,
            "error": failures[cell.key].error,
            "first_trial": failures[cell.key].first,
            "configuration": planned.tables(cell),
        }
        for cell in planned.cells
        if cell.key in failures
    ]


def _move(source: Path, target: Path, cells: list[dict[str, Any]]) -> None:
    """Move the parts of cells from one folder to another."""
    for name in (cell["fingerprint"] for cell in cells):
        if (source / name).exists():
            with explained(target / name):
                target.mkdir(exist_ok=True)
                os.replace(source / name, target / name)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a sweep."""
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise SweepError(f"{folder} cannot be used: {error}; name another --out.") from None
    others = sorted(names - {LOCK})
    if others and MANIFEST not in names:
        raise SweepError(
            f"{folder} is no sweep's folder and is not empty (it holds {others[0]!r}); name a new "
            "folder with --out."
        )
