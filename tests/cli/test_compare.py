import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli import in_process

run = partial(in_process.run, "compare")

TOML = """
sparsity = 1
horizon = 60
trials = 3
theta_star = [0.9, -0.2, 0.5, 0.7]
[noise]
kind = "gaussian"
sigma = 0.3
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


def test_a_file_and_the_whole_field(problem: Path, tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    done = run(problem, "--workers", 1, "--out", picture)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert max(map(len, rows)) <= 100
    labels = [row.split("  ")[0] for row in rows[2:20]]
    assert labels[0] == "SparseThompson"
    assert {"LinTS", "CSAR", "paper: compact APSEE-G", "CUCB", "clairvoyant"} <= set(labels)
    words = " ".join(done.stdout.split())
    for text in ("R at 6", "R at 60", "3 trials", "CUCB sees the outcome", "on S*", "Figure:"):
        assert text in words
    assert picture.read_text().startswith("<?xml")


def test_json_with_named_policies(problem: Path) -> None:
    options = ("--policy", "lin-ts:scale=0.5,oracle=exact", "--policy", "cucb", "--policy", "estc")
    done = run(problem, *options, "-T", 40, "--trials", 2, "--seed", 3, "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["horizon"], answer["trials"], answer["seed"]) == (40, 2, 3)
    assert answer["reference"] == "lin-ts:scale=0.5,oracle=exact"
    assert [one["kind"] for one in answer["policies"]] == ["lin-ts", "cucb", "estc"]
    assert [one["told"] for one in answer["policies"]] == [[], ["sigma", "outcomes"], ["T"]]
    assert answer["policies"][1]["difference"]["40"]["low"] is not None


def test_a_scenario(tmp_path: Path) -> None:
    done = run(
        "--scenario", "loud", "--policy", "sparse-thompson", "-T", 30, "--trials", 2, "--workers", 1
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loud: noise of sigma = 2")


def test_a_process_of_its_own_ends_with_the_same_code() -> None:
    code = "from sparsebandits.cli import main; main()"
    command = [sys.executable, "-c", code, "compare", "--policy", "lints"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("sparsebandits: Unknown policy 'lints'")


def test_an_interrupt_ends_with_one_line(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **keywords: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsebandits.comparison.compare.run_cells", interrupted)
    done = run(problem)
    assert done.returncode == 130
    assert done.stderr == "sparsebandits: Interrupted. Nothing was written.\n"


def test_the_list_of_scenarios() -> None:
    shown = run("--list").stdout
    for text in ("l1.5", "missing-items", "long-run", "1,000,000", "films"):
        assert text in shown
    assert max(map(len, shown.splitlines())) <= 100
    records = json.loads(run("--list", "--json").stdout)
    assert {"name": "l2", "about": "the unit l2 ball", "dim": 20}.items() <= records[0].items()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "lints"), "Unknown policy 'lints'; did you mean 'lin-ts'?"),
        (("--policy", "lin-ts:scal=1"), "no key 'scal'; did you mean 'scale'?"),
        (("--policy", "lin-ts:scale"), "'scale' in 'lin-ts:scale' is no key=value"),
        (("--policy", "lin-ts:scale=-1"), "scale must be positive, got -1"),
        (("--policy", "lin-ts:scale=1,scale=2"), "gives the key 'scale' twice"),
        (("--policy", "csar"), "CSAR needs a Box"),
        (("--policy", "estc", "--policy", "estc"), "--policy estc is given twice"),
        (("--scenario", "l3"), "Unknown scenario 'l3'; did you mean 'l2'?"),
        (("x.toml", "--scenario", "l2"), "Give a file or a scenario, got x.toml and --scenario l2"),
        (("none.json",), "does not exist"),
        (("--horizon", 0), "horizon must be at least 1, got 0"),
        (("--horizon", 10**20), "horizon must be at most 1,000,000,000,000,000, got 1000000"),
        (("--horizon", 10**400), "horizon must be at most 1,000,000,000,000,000, got 1000000"),
        (("--trials", 0), "trials must be at least 1, got 0"),
        (("--trials", 10**20), "trials must be at most 1,000,000,000, got 1000000"),
        (("--workers", 0), "workers must be at least 1, got 0"),
        (("--seed", -1), "seed must be at least 0, got -1"),
        (("--out", "figure.gif"), "A figure must end in .svg, .png, .pdf"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    options: tuple[object, ...], message: str
) -> None:
    done = run(*options)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOML.replace("sparsity = 1", ""), "lacks the key 'sparsity'"),
        (TOML.replace("theta_star", "theta"), "unknown key 'theta'"),
        (TOML.replace("sparsity = 1", "sparsity = 9"), "at most dim = 4, got 9"),
        (TOML.replace("gaussian", "gausian"), "must be of kind"),
        ("sparsity = 1\ntheta_star = [1.0]", "lacks the key 'action_set'"),
        (TOML.replace("horizon = 60", 'horizon = "60"'), "horizon must be an integer"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(text)
    done = run(path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
