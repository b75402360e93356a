"""``sparsebandits results``."""

import json
from functools import partial
from pathlib import Path

import pytest

from sparsebandits.sweeps import sweep
from tests.cli import in_process
from tests.sweeps.small_sweep import small

FIRST = "sparse-thompson/l1.5-ball/d=4/H=1/sigma=0.1"
SECOND = "literal/l1.5-ball/d=4/H=1/sigma=0.1"
OTHER = "literal/l1.5-ball/d=4/H=1/sigma=0.5"

run = partial(in_process.run, "results")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    axes = {"dim": [4], "sparsity": [1], "sigma": [0.1, 0.5]}
    one = small(axes=axes, environments=small()["environments"][:1])
    return sweep(one, tmp_path_factory.mktemp("sweep")).folder


def test_the_table_and_comparisons(folder: Path) -> None:
    done = run(folder, "--compare", FIRST, SECOND, "--compare", SECOND, OTHER)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "After step 120; 7 trials of each cell." in words
    assert done.stdout.count("±") >= 6
    assert "paired: the same theta* and noise in each trial; 7 trials" in words
    assert "Welch: the cells differ in sigma" in words
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_json(folder: Path) -> None:
    done = run(folder, "--json", "--compare", FIRST, SECOND)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["finished"]
    assert [cell["key"] for cell in answer["cells"]][:2] == [FIRST, SECOND]
    cell = answer["cells"][0]
    assert cell["regret"]["low"] < cell["regret"]["mean"] < cell["regret"]["high"]
    assert (cell["step"], cell["trials"], cell["sigma"]) == (120, 7, 0.1)
    [found] = answer["differences"]
    means = [cell["regret"]["mean"] for cell in answer["cells"][:2]]
    assert found["paired"]
    assert found["mean"] == pytest.approx(means[0] - means[1])


def test_curves(folder: Path, tmp_path: Path) -> None:
    done = run(folder, "--out", tmp_path / "curves.svg", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["figures"] == [str(tmp_path / "curves.svg")]
    assert "<svg" in (tmp_path / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--compare", FIRST, "x"), "no results of 'x'"),
        (("--compare", FIRST, FIRST), "compared with itself"),
        (("--step", 119), "Step 119"),
        (("--out", "curves.gif"), "must end in .svg, .png"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[object, ...], words: str) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("sparsebandits: ")
    assert words in line


def test_a_folder_without_a_sweep(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert "holds no sweep" in done.stderr
