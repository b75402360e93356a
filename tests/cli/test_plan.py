import json
from functools import partial
from pathlib import Path

import pytest

from tests.cli import in_process

run = partial(in_process.run, "plan")


def test_without_options_it_tells_the_truth_about_the_papers_setting() -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    for text in (
        "LpBall(dim=20, p=2, radius=1), at most H = 5 of d = 20",
        "sigma = 0.5, delta = 0.05, T = 2,000 steps",
        "lambda_0 1, tr B 20",
        "h_1 10",
        "2.52",
        "The literal test (confidence='paper') cannot pass",
        "confidence='pairwise'",
        "CompactAPSEEG",
    ):
        assert text in words
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_json() -> None:
    done = run("--json", "--l2", 8, "-H", 2, "--sigma", 0.1, "-T", 5000, "--prior", "standard")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["dim"], answer["sparsity"], answer["horizon"]) == (8, 2, 5000)
    assert answer["prior"] == "standard"
    assert answer["gap_median"] == pytest.approx(0.1)
    assert answer["locks"][0]["confidence"] == "paper"
    assert answer["advice"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--box", 6), "Box(dim=6"),
        (("--l1", 6), "LpBall(dim=6, p=1"),
        (("--lp", 6, 1.5), "LpBall(dim=6, p=1.5"),
        (("--l2", 3), "at most H = 3 of d = 3"),
        (("--l2", 6, "--gap", 0.7), "0.7 as given"),
        (("--l2", 6, "--prior", "adversarial"), "'adversarial'"),
        (("--l2", 6, "--basis", "block-gaussian", "--seed", 3), "block-gaussian"),
    ],
)
def test_shortcuts(options: tuple[object, ...], text: str) -> None:
    done = run(*options)
    assert done.returncode == 0, done.stderr
    assert text in " ".join(done.stdout.split())


def test_a_set_from_a_file(tmp_path: Path) -> None:
    bare = tmp_path / "set.json"
    bare.write_text(json.dumps({"kind": "ellipsoid", "matrix": [[1, 0.5], [0.5, 1]]}))
    done = run("--set", bare, "-H", 1)
    assert done.returncode == 0, done.stderr
    assert "Ellipsoid(dim=2" in done.stdout
    assert "for every theta" in done.stdout
    problem = tmp_path / "problem.toml"
    problem.write_text(
        'sparsity = 2\ntheta = [1, 2, 3]\n[action_set]\nkind = "budget"\ntotal = 1.0\n'
        "upper = [1, 1, 1]\n"
    )
    done = run("--set", problem)
    assert done.returncode == 0, done.stderr
    assert "at most H = 2 of d = 3" in done.stdout
    assert "unknown" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--l2", 5, "--box", 5), "Give one action set, got --l2 and --box"),
        (("--l2", 5, "-H", 9), "at most dim = 5, got 9"),
        (("--box", 0), "dim must be at least 1"),
        (("--l2", 0), "dim must be at least 1"),
        (("--lp", 5, 0.5), "p must be at least 1"),
        (("--delta", 2), "delta must lie"),
        (("--sigma", -1), "sigma must be"),
        (("--gap", -0.1), "gap must be positive"),
        (("-T", 0), "horizon must be at least 1"),
        (("--seed", -1), "seed must be at least 0"),
        (("--box", 5, "--basis", "block-gaussian"), "block-gaussian"),
        (("--set", "none.json"), "does not exist"),
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
        ('{"kind": "bx"}', "must be of kind"),
        ('{"sparsity": 2}', "lacks the key 'action_set'"),
        ('{"acton_set": {}}', "unknown key 'acton_set'"),
        ("[1]", "top level"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(text)
    done = run("--set", path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_help() -> None:
    shown = run("--help").stdout
    for text in ("--lp D P", "--prior", "the paper's setting", "kind ="):
        assert text in shown
