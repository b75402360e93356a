"""``sparsebandits sweep`` in real processes."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sparsebandits
from tests.cli import in_process
from tests.sweeps.small_sweep import TEXT

parquet = importlib.import_module("pyarrow.parquet")

# A process started in the background may have been told to ignore SIGINT.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sparsebandits.cli import main; main()"
)

TINY = """\
trials = 2
horizon = 20
sparsity = 1
[axes]
dim = [3, 4]
[[policies]]
kind = "random-sparse"
[[environments]]
action_set = { kind = "lp-ball" }
theta_star = { kind = "uniform-cube" }
"""

LONG = """\
trials = 4
horizon = 200
sparsity = 2
[axes]
dim = [4, 5, 6, 7, 8, 9, 10, 11]
[[policies]]
kind = "sparse-thompson"
[[environments]]
action_set = { kind = "lp-ball" }
theta_star = { kind = "uniform-cube" }
"""

FAILING = """\
trials = 2
horizon = 50
sparsity = 1
dim = 3
sigma = 0.1
[[policies]]
kind = "apsee"
sigma = "known"
[[policies]]
kind = "random-sparse"
[[environments]]
theta_star = { kind = "uniform-cube" }
[environments.action_sets]
kind = "alternating"
sets = [{ kind = "lp-ball", radius = 3.0 }, { kind = "budget", total = 1.0, upper = 1.0 }]
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", MAIN, "sweep", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Find the package from any folder, also where it is not installed."""
    return {**os.environ, "PYTHONPATH": str(Path(sparsebandits.__file__).parents[1])}


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(),
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def content(folder: Path) -> list[dict[str, Any]]:
    """Return the rows in an order that does not depend on the parts they are in."""
    rows: list[dict[str, Any]] = parquet.read_table(folder / "steps.parquet").to_pylist()
    return sorted(rows, key=lambda row: (row["cell"], row["trial"], row["step"]))


def test_a_sweep_and_its_results_beside_the_file(tmp_path: Path) -> None:
    write(tmp_path, TINY)
    done = run(tmp_path, "study.toml")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 cells" in done.stdout
    assert "sparsebandits results study-results" in done.stdout
    assert (tmp_path / "study-results" / "steps.parquet").exists()
    again = run(tmp_path, "study.toml")
    assert again.returncode == 2
    assert again.stderr.splitlines() == [
        "sparsebandits: study-results holds this sweep already; go on with --resume, or name "
        "another --out."
    ]
    resumed = run(tmp_path, "study.toml", "--resume", "--json")
    answer = json.loads(resumed.stdout)
    assert (answer["computed_chunks"], answer["failures"], answer["skipped"]) == (0, [], [])
    assert answer["cells"] == ["random-sparse/l2-ball/d=3", "random-sparse/l2-ball/d=4"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (TEXT.replace("trials", "trails"), (), "line 3: unknown key 'trails'"),
        (TEXT, ("--workers", 2, "--cluster", "tcp://127.0.0.1:1"), "--workers or --cluster"),
        (TEXT, ("--workers", 0), "workers must be at least 1"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    options: tuple[object, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_process.run("sweep", write(tmp_path, text), *options)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("sparsebandits: ")
    assert words in line


def test_a_failed_cell_is_reported_and_the_others_are_there(tmp_path: Path) -> None:
    write(tmp_path, FAILING)
    done = run(tmp_path, "study.toml")
    assert done.returncode == 1, done.stderr
    assert "1 of 2 cells" in done.stdout
    assert "FAILED apsee/alternating" in done.stdout
    assert '"policy": {"kind": "apsee", "sigma": "known"}' in done.stdout
    assert {row["policy"] for row in content(tmp_path / "study-results")} == {"random-sparse"}


def test_ctrl_c_says_how_to_go_on_and_going_on_gives_the_same(tmp_path: Path) -> None:
    write(tmp_path, LONG)
    process = subprocess.Popen(
        command("study.toml", "--out", "my results"),
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    parts = tmp_path / "my results" / "steps.parquet"
    deadline = time.monotonic() + 30
    while not list(parts.glob("*/*")):
        assert process.poll() is None, "it was over before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    going_on = "sparsebandits sweep study.toml --out 'my results' --resume"
    assert going_on in told
    landed = {path.name: path.stat().st_mtime_ns for path in parts.glob("*/*")}
    assert landed
    resumed = run(tmp_path, "study.toml", "--out", "my results", "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    answer = json.loads(resumed.stdout)
    assert answer["reused_chunks"] == len(landed)
    assert answer["computed_chunks"] > 0
    whole = run(tmp_path, "study.toml", "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    assert content(tmp_path / "my results") == content(tmp_path / "whole")
