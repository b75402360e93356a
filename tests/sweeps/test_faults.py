"""What goes wrong on real machines, on real processes: nothing that landed is lost."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sparsebandits.errors import SweepError
from sparsebandits.sweeps import executors
from tests.sweeps.driver import CELL, CHUNKS, run
from tests.sweeps.processes import PATIENCE, command, driver, started, wait_until, workers_of
from tests.sweeps.small_cells import holds_the_same_bits
from tests.sweeps.test_engine import landed

FEW = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sweep"


def wait_for_chunks(folder: Path, process: subprocess.Popen[str], count: int = FEW) -> None:
    wait_until(lambda: len(landed(folder)) >= count, process)


def resumes(folder: Path) -> None:
    """Go on, and check that no part which had landed was computed again."""
    before = landed(folder)
    report = run(folder)
    assert (report.computed, report.reused) == (CHUNKS - len(before), len(before))
    after = landed(folder)
    assert {path: after[path] for path in before} == before
    assert len(after) == CHUNKS
    assert not list(folder.rglob("*.part"))
    assert holds_the_same_bits(folder, CELL)


def refusal(folder: Path) -> str:
    with pytest.raises(SweepError) as caught:
        run(folder)
    return str(caught.value)


def test_a_killed_worker_changes_nothing(folder: Path) -> None:
    with started(*driver(folder, "--workers", "2")) as process:
        wait_for_chunks(folder, process)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    report = json.loads(out)
    assert (report["computed"], report["failures"]) == (CHUNKS, [])
    assert holds_the_same_bits(folder, CELL)


def test_a_killed_driver_resumes_where_it_was(folder: Path) -> None:
    with started(*driver(folder, "--workers", "2")) as process:
        wait_for_chunks(folder, process)
        workers = workers_of(process.pid)
        (folder / "left-behind.part").write_bytes(b"half")
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert FEW <= len(landed(folder)) < CHUNKS
    assert len(workers) == 2
    assert not any(b"spawn_main" in command(worker) for worker in workers)
    resumes(folder)


def test_ctrl_c_leaves_a_state_to_resume(folder: Path) -> None:
    with started(*driver(folder, "--workers", "2")) as process:
        wait_for_chunks(folder, process)
        workers = workers_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert not any(b"spawn_main" in command(worker) for worker in workers)
    assert process.returncode == 130, err
    assert err == "interrupted\n"
    resumes(folder)


@contextmanager
def cluster(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a scheduler and two workers, as somebody else would have."""
    tmp_path.mkdir()
    card = tmp_path / "scheduler.json"
    place = ["--scheduler-file", str(card), "--no-dashboard"]
    home = ["--host", "127.0.0.1", "--port", "0"]
    work = ["--nworkers", "2", "--nthreads", "1", "--local-directory", str(tmp_path)]
    with (
        started("-m", "distributed.cli.dask_scheduler", *home, *place) as scheduler,
        started("-m", "distributed.cli.dask_worker", *work, *place),
    ):
        wait_until(lambda: card.exists() and card.read_text().endswith("}"), scheduler)
        yield json.loads(card.read_text())["address"], scheduler


def test_a_dead_scheduler_is_named_and_nothing_is_lost(folder: Path, tmp_path: Path) -> None:
    with (
        cluster(tmp_path / "one") as (address, scheduler),
        started(*driver(folder, "--cluster", address)) as process,
    ):
        wait_for_chunks(folder, process)
        scheduler.kill()
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, err
    assert err.startswith(f"The scheduler at {address} is gone; {len(landed(folder))} chunks are")
    assert "--resume" in err
    assert err.count("\n") == 1
    assert FEW <= len(landed(folder)) < CHUNKS
    resumes(folder)


def test_two_sweeps_do_not_share_a_folder(folder: Path) -> None:
    with started(*driver(folder)) as process:
        wait_for_chunks(folder, process, 1)
        os.kill(process.pid, signal.SIGSTOP)  # so that it cannot be done before it is met
        message = refusal(folder)
    assert f"in use by process {process.pid} on " in message
    assert "--out" in message
    resumes(folder)


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def may_mount() -> bool:
    inside = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(inside, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="only root may mount a small file system")
def test_a_full_disk_is_named_and_nothing_half_written_stays(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=120k") as place:
        folder = place / "sweep"
        message = refusal(folder)
        count = len(landed(folder))
        assert 0 < count < CHUNKS
        assert "Could not write" in message
        assert "No space left on device" in message
        assert "MB are free" in message
        assert f"The {count} chunks that landed are safe" in message
        assert "--resume" in message
        assert not list(folder.rglob("*.part"))
        subprocess.run(["mount", "-o", "remount,size=20m", str(place)], check=True)
        resumes(folder)


@pytest.mark.skipif(not may_mount(), reason="only root may mount a file system read-only")
def test_a_folder_that_became_read_only_is_named(folder: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "fixed", "ro") as place:
        message = refusal(place / "sweep")
    assert "Could not write" in message
    assert "Read-only file system" in message


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    message = refusal(tmp_path / "file" / "sweep")
    assert f"Could not write {tmp_path / 'file' / 'sweep'}" in message
    assert "Not a directory" in message


def test_truncated_and_damaged_parts_alone_are_computed_again(folder: Path) -> None:
    with started(*driver(folder)) as process:
        wait_for_chunks(folder, process)
        process.kill()
        process.communicate(timeout=PATIENCE)
    first, second, third, *_ = sorted(Path(path) for path in landed(folder))
    first.write_bytes(first.read_bytes()[:500])
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 1
    second.write_bytes(content)
    third.write_bytes(b"")
    before = landed(folder)
    assert run(folder).reused == len(before) - 3
    after = landed(folder)
    changed = {path for path in before if before[path] != after.get(path)}
    assert changed == {str(first), str(second), str(third)}
    assert holds_the_same_bits(folder, CELL)


def test_no_scheduler_at_the_address_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 1.0)
    with pytest.raises(SweepError, match="No Dask scheduler answers at tcp://127"):
        run(tmp_path, cluster="tcp://127.0.0.1:1")
