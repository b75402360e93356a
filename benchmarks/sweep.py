"""Sweeps as ratios of one run: workers, overhead, memory, reading results.

Run with ``python benchmarks/sweep.py``, on a machine that does nothing else. It needs the extra
`cluster`.
"""

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from ratios import Ratio, seconds

import sparsebandits as sb
from sparsebandits.simulation import Run, log_spaced_steps
from sparsebandits.sweeps import Cell, Progress, chunking, engine, run_chunks
from sparsebandits.sweeps.executors import on_dask
from sparsebandits.sweeps.parts import STEPS, PartFiles
from sparsebandits.validation import IntArray

CHUNKS, CHUNK_SECONDS, SEED = 200, 0.2, 0


def cell(horizon: int, trials: int) -> Cell:
    X = sb.LpBall(20)
    return Cell(
        key="lints",
        label="LinTS",
        policy=sb.LinTS(action_set=X, sparsity=5, sigma=0.5),
        environment=sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube()),
        horizon=horizon,
        trials=trials,
    )


def horizon_for(wanted: float) -> int:
    """Return the horizon at which one trial takes about so many seconds here."""
    probe = cell(400, 1)
    probe.simulate(SEED, 0, 1)
    spent = min(probe.simulate(SEED, i, 1).seconds for i in range(5))
    return max(100, round(400 * wanted / spent))


@contextlib.contextmanager
def chunks_of(size: int) -> Iterator[None]:
    """Fix the chunks, so that every run here has the same ones."""
    with (
        mock.patch.object(chunking, "chunk_size", return_value=size),
        mock.patch.object(chunking, "measure_cost", return_value=(chunking.Cost(0, 1), True)),
    ):
        yield


@dataclass(frozen=True)
class Timing:
    """One sweep: its wall time with the start of its workers, and what its chunks took."""

    wall: float
    per_chunk: float
    """Wall time from one landing to the next, once all workers are at work."""
    simulating: float
    """What the simulation of one of those chunks took, by the clock of its own process."""
    driver: float
    """Processor time of the driver per chunk, with the scheduler in it."""


def timed(work: Cell, workers: int) -> Timing:
    landings: list[tuple[float, float]] = []

    def note(progress: Progress) -> None:
        if progress.done:
            landings.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as place, chunks_of(1):
        report = run_chunks([work], SEED, Path(place), workers=workers, progress=note)
        spent = [run.seconds for _, run in engine.iter_chunks(Path(place), work, SEED)]
    assert report.computed == work.trials
    skip = 2 * workers
    wall, driver = (
        (end - start) / (len(landings) - 1 - skip)
        for start, end in zip(landings[skip], landings[-1], strict=True)
    )
    return Timing(report.seconds, wall, statistics.mean(spent[skip + 1 :]), driver)


def on_one_dask_worker(work: Cell) -> Timing:
    """Time a local cluster of one worker, which the engine itself would not start."""
    with mock.patch.object(engine, "execute", lambda take, **_: on_dask(take, 1, None)):
        return timed(work, 1)


def speed_and_overhead() -> list[Ratio]:
    with mock.patch.object(engine, "SMALL", 0.0):
        work = cell(horizon_for(CHUNK_SECONDS), CHUNKS)
        one, two = on_one_dask_worker(work), timed(work, 2)
        alone = timed(cell(work.horizon, CHUNKS // 4), 1)
    busy = two.simulating / two.per_chunk / 2
    load = os.getloadavg()[0]
    note = (
        f"[with the start of the workers {one.wall / two.wall:.2f}x; the two simulate "
        f"{busy:.0%} of the time; {load:.1f} processes on {os.cpu_count()} cores]"
    )
    what = f"1 worker / 2 workers, {CHUNKS} chunks of {one.simulating:.2f} s, per chunk"
    return [
        Ratio(what, two.per_chunk, one.per_chunk, 1.7, True, note),
        overhead("in process", alone, f"[of it {driver_save_ms():.1f} ms to save and sync]"),
        overhead("1 Dask worker", one, f"[driver's processor time {one.driver * 1e3:.1f} ms]"),
    ]


def overhead(where: str, timing: Timing, note: str) -> Ratio:
    """Take from the time between two landings what the simulation took, in the same run."""
    what = f"time per chunk beyond its simulation, {where} / a 0.2 s chunk"
    own = timing.per_chunk - timing.simulating
    return Ratio(what, own, CHUNK_SECONDS, 0.05, False, note)


def landing() -> str:
    """How many chunks with next to no work in them one driver lands, its scheduler in it."""
    with mock.patch.object(engine, "SMALL", 0.0):
        found = timed(cell(20, 1_500), 2)
    return (
        f"     chunks of 20 steps land at {1 / found.per_chunk:.0f} per second on 2 workers, each "
        f"for {found.driver * 1e3:.1f} ms of the driver's processor time"
    )


def driver_save_ms() -> float:
    run = cell(400, 1).simulate(SEED, 0, 1)
    with tempfile.TemporaryDirectory() as place:
        parts = PartFiles(Path(place))
        return 1e3 * seconds(lambda: parts.save("cell", {}, 0, run), repeats=30)


def memory() -> list[Ratio]:
    """Compare peaks, in gigabytes."""
    lines = []
    for workers in (1, 2):
        few, many = (peaks(trials, workers) for trials in (1_000, 10_000))
        for who, small, large in zip(("driver", "workers"), few, many, strict=True):
            if small > 0:
                what = f"peak memory of the {who}, {workers} worker(s), 10,000 / 1,000 trials"
                lines.append(Ratio(what, large / 1e3, small / 1e3, 1.2, False, unit="MB"))
    return lines


def peaks(trials: int, workers: int) -> tuple[float, float]:
    """Return the peak megabytes of a driver and of its largest worker, in fresh processes."""
    command = [sys.executable, __file__, "--peak", str(trials), str(workers)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    driver, largest = out.split()
    return float(driver), float(largest)


def print_peaks(trials: int, workers: int) -> None:
    largest = 0.0

    def watch(progress: Progress) -> None:
        nonlocal largest
        largest = max([largest, *(peak_of(child) for child in children())])

    with (
        mock.patch.object(engine, "SMALL", 0.0),
        tempfile.TemporaryDirectory() as place,
        chunks_of(50),
    ):
        work = cell(100, trials)
        run_chunks([work], SEED, Path(place), workers=workers, progress=watch)
        for _, run in engine.iter_chunks(Path(place), work, SEED):
            assert run.trials == 50
    print(peak_of("self"), largest)


def peak_of(pid: str) -> float:
    """Return a process's peak in MB; getrusage would count its parent's, from before the exec."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return 0.0 if found is None else int(found[1]) / 1e3


def children() -> list[str]:
    lists = [task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()]
    return [pid for text in lists for pid in text.split()]


def reading() -> list[Ratio]:
    """Read 10^7 rows of results into the table of means and intervals."""
    from pyarrow import parquet

    from sparsebandits.comparison.entries import entry_of

    trials, cells, steps = 50, 10, log_spaced_steps(20_000)
    blocks = -(-(10**7) // (steps.size * trials * cells))
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as place:
        parts = PartFiles(Path(place))
        for key in map(str, range(cells)):
            names = {"cell": key, "policy": "lin-ts", "dim": 20, "sigma": 0.5}
            for block in range(blocks):
                parts.save(key, names, block * trials, invented(rng, trials, steps))
        table = Path(place) / STEPS

        def summarise() -> None:
            for key in map(str, range(cells)):
                runs = (run for _, run in parts.runs(key))
                entry_of(runs, regret_by_trial=None, label=key, columns={}, planned=trials)

        rows = parquet.read_table(table, columns=["step"]).num_rows
        theirs = seconds(lambda: parquet.read_table(table), repeats=3)
        ours = seconds(summarise, repeats=3)
    what = f"{rows:,} result rows into the summary / pyarrow's own read of the parts"
    return [Ratio(what, ours, theirs, 3, False)]


def invented(rng: np.random.Generator, trials: int, steps: IntArray) -> Run:
    shape = (trials, steps.size)
    return Run(
        steps=steps,
        regret=rng.random(shape).cumsum(axis=1),
        locked_at=np.full(trials, np.nan),
        support_correct=np.zeros(trials, dtype=np.bool_),
        theta_error=np.where(steps < 20, np.nan, rng.random(shape)),
        optimum=np.ones(trials),
        optimal_share=rng.integers(0, steps + 1, shape) / steps,
        theta_star=rng.random((trials, 20)),
        seconds=0.0,
    )


LINES: list[Callable[[], list[Ratio]]] = [speed_and_overhead, memory, reading]
"""Every function here returns lines of the table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print_peaks(*options.peak)
        return
    for lines in LINES:
        for line in lines():
            print(line, flush=True)
    print(landing(), flush=True)


if __name__ == "__main__":
    main()
