"""Run a sweep into a folder: resumable, never mixed with another, its results in Parquet."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.arrow import parquet
from sparsebandits.sweeps.cell import Cell, first_trials
from sparsebandits.sweeps.chunks import cell_folder, chunk_path, load_chunk
from sparsebandits.sweeps.engine import Report, run_chunks
from sparsebandits.sweeps.files import LOCK, only_writer
from sparsebandits.sweeps.grid import SweepCell
from sparsebandits.sweeps.ledger import Progress
from sparsebandits.sweeps.manifest import (
    NAME,
    check_same,
    new_manifest,
    now,
    read_manifest,
    write_manifest,
)
from sparsebandits.sweeps.plans import CHUNK_SECONDS, load_plan
from sparsebandits.sweeps.spec import Sweep, plain, read_sweep
from sparsebandits.sweeps.tidy import STEPS, TRIALS, Landed, write_tables
from sparsebandits.validation import brief_repr

CHUNKS = "chunks"


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """What a sweep left in its folder.

    Attributes
    ----------
    folder : Path
        With `manifest.json`, `steps.parquet` (a row per trial and recorded step) and
        `trials.parquet` (a row per trial).
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
        """The table with a row per trial and recorded step."""
        return self.folder / STEPS

    @property
    def trials(self) -> Path:
        """The table with a row per trial."""
        return self.folder / TRIALS


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
    parquet()  # Missing, it would be missed after hours of work.
    planned, folder = read_sweep(source), Path(out)
    _check_folder(folder)
    with only_writer(folder):
        manifest = _opened(folder, planned, resume=resume)
        session: dict[str, Any] = {"started": now(), "workers": workers, "cluster": cluster}
        manifest["sessions"].append(session)
        manifest |= {"ended": None, "failures": []}
        write_manifest(folder, manifest)
        started = time.perf_counter()
        try:
            report = run_chunks(
                [one.cell for one in planned.cells],
                planned.seed,
                folder / CHUNKS,
                workers=workers,
                cluster=cluster,
                chunk_seconds=chunk_seconds,
                progress=progress,
            )
            return _finished(folder, planned, manifest, report, time.perf_counter() - started)
        except BaseException as error:
            session |= {"ended": now(), "outcome": f"stopped by {type(error).__name__}"}
            # Where even this cannot be written, the first error is the one to be told.
            with suppress(SweepError):
                write_manifest(folder, manifest)
            raise


def _finished(
    folder: Path, planned: Sweep, manifest: dict[str, Any], report: Report, seconds: float
) -> SweepResult:
    """Write the tables and the end of the manifest."""
    failures = _failures(planned, report)
    failed = {failure["key"] for failure in failures}
    landed = export(folder, planned, failed)
    _check_whole(planned, landed, failed)
    _record(manifest, landed)
    manifest["failures"] = failures
    manifest["sessions"][-1] |= {
        "ended": now(),
        "outcome": "finished" if not failures else f"{len(failures)} cells failed",
        "seconds": seconds,
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
        seconds=seconds,
    )


def export(folder: Path, planned: Sweep, failed: Collection[str] = ()) -> dict[str, Landed]:
    """Write both tables from the chunks that have landed, without the cells that failed.

    Trials that do not fail may be special ones: means over them alone would mislead.
    """

    def chunks(one: SweepCell) -> Iterator[tuple[int, Run]]:
        if one.key in failed:
            return iter(())
        return landed_chunks(folder / CHUNKS, one.cell, planned.seed)

    tracked = bool(planned.configuration.get("track_support", False))
    return write_tables(folder, planned.cells, chunks, track_support=tracked)


def landed_chunks(folder: Path, cell: Cell, seed: int) -> Iterator[tuple[int, Run]]:
    """Yield (first trial, run) of the chunks that are there; `iter_chunks` insists on all."""
    for first, count in load_plan(cell_folder(folder, cell, seed)).chunks(cell.trials):
        run = load_chunk(chunk_path(folder, cell, seed, first, count))
        if run is not None and run.regret.shape[0] == count:
            yield first, first_trials(run, cell.trials - first)


def bring_up_to_date(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder; write the tables where a sweep was interrupted.

    The manifest itself is left alone: the sweep may be running.
    """
    manifest = read_manifest(folder)
    there = (folder / STEPS).exists() and (folder / TRIALS).exists()
    if manifest["ended"] is None or not there:
        failed = {failure["key"] for failure in manifest["failures"]}
        _record(manifest, export(folder, read_sweep(manifest["configuration"]), failed))
    return manifest


def _check_whole(planned: Sweep, landed: Mapping[str, Landed], failed: set[str]) -> None:
    for one in planned.cells:
        if one.key not in failed and landed[one.key].trials != one.cell.trials:
            raise SweepError(
                f"Chunks of the cell {one.key!r} were lost after they had landed: "
                f"{landed[one.key].trials} of {one.cell.trials} trials are there. Run again with "
                "--resume: it computes what is missing."
            )


def _record(manifest: dict[str, Any], landed: Mapping[str, Landed]) -> None:
    for entry in manifest["cells"]:
        done = landed[entry["key"]]
        entry |= {"trials_done": done.trials, "seconds": done.seconds}


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than a sweep."""
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise SweepError(f"{folder} cannot be used: {error}; name another --out.") from None
    others = sorted(names - {LOCK})
    if others and NAME not in names:
        raise SweepError(
            f"{folder} is no sweep's folder and is not empty (it holds {others[0]!r}); name a new "
            "folder with --out."
        )


def _opened(folder: Path, planned: Sweep, *, resume: bool) -> dict[str, Any]:
    """Return the manifest to go on with, or a new one."""
    if not (folder / NAME).exists():
        return new_manifest(planned)
    manifest = read_manifest(folder)
    check_same(folder, manifest, planned, resume=resume)
    return manifest


def _failures(planned: Sweep, report: Report) -> list[dict[str, Any]]:
    """Describe the cells that failed: where first, and with what configuration."""
    cells = {one.key: one for one in planned.cells}
    found: dict[str, dict[str, Any]] = {}
    for failure in sorted(report.failures, key=lambda one: one.first):
        entry = {
            "key": failure.key,
            "error": failure.error,
            "first_trial": failure.first,
            "configuration": plain(cells[failure.key].configuration),
        }
        found.setdefault(failure.key, entry)
    return list(found.values())
