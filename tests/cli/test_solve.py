import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.in_process import run

TOML = """
theta = [0.9, -0.2, 0.5, 0.7]
sparsity = 2
names = ["Sports", "News", "Music", "Games"]
[action_set]
kind = "box"
lower = [0, 0, 0, 0]
upper = [1, 1, 1, 1]
"""


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(TOML)
    return path


def test_a_table_that_a_person_can_read(problem: Path) -> None:
    done = run("solve", problem)
    assert done.returncode == 0, done.stderr
    for text in ("Sports", "Games", "0.9", "value 1.6", "proven optimal", "gap 0.2"):
        assert text in done.stdout
    assert "News" not in done.stdout


def test_json_from_json(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    ellipsoid = {"kind": "ellipsoid", "matrix": [[1, 0.5], [0.5, 1]]}
    path.write_text(json.dumps({"action_set": ellipsoid, "theta": [1, 1]}))
    done = run("solve", path, "--sparsity", 1, "--method", "greedy", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["support"] == [0]
    assert answer["value"] == pytest.approx(1)
    assert answer["upper_bound"] == pytest.approx((4 / 3) ** 0.5)
    assert answer["is_exact"] is False
    assert answer["method"] == "greedy"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOML.replace("sparsity = 2", "sparsity = 9"), "at most dim = 4, got 9"),
        (TOML.replace("sparsity = 2", ""), "lacks the key 'sparsity'"),
        (TOML.replace("theta", "tetha"), "unknown key 'tetha'"),
        (TOML.replace("box", "bx"), "must be of kind"),
        (TOML.replace("0.9", "nan"), "theta must be finite"),
        (TOML.replace("names = [", "names = [1,"), "non-empty texts, got 1 at index 0"),
        ("theta = [", "not valid TOML"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(text)
    done = run("solve", path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_missing_and_odd_files(tmp_path: Path) -> None:
    assert "does not exist" in run("solve", tmp_path / "none.json").stderr
    (tmp_path / "problem.yaml").write_text("a: 1")
    assert "must end in .json or .toml" in run("solve", tmp_path / "problem.yaml").stderr
    (tmp_path / "list.json").write_text("[1]")
    assert "top level" in run("solve", tmp_path / "list.json").stderr


def test_help_and_version() -> None:
    assert "solve" in run("--help").stdout
    assert "kind =" in run("solve", "--help").stdout
    assert "sparsebandits" in run("--version").stdout


def test_importing_the_package_loads_numpy_and_scipy_alone() -> None:
    code = (
        "import sys, sparsebandits; "
        "print([m for m in ('highspy', 'click', 'rich', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
