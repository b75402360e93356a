"""Coordinates by their names, and rules for what may be on, in the files of every command."""

import json
from pathlib import Path

import pytest

from tests.cli.in_process import run

SET = """
[action_set]
kind = "box"
lower = [0, 0, 0, 0, 0]
upper = [1, 1, 1, 1, 1]
names = ["tv", "radio", "web", "mail", "shop"]
"""
RULES = """
[sparsity]
at_most = 3
groups = [[["tv", "radio"], 1]]
never_together = [["web", "mail"]]
always = ["shop"]
"""
THETA = "theta = {tv = 0.9, radio = 0.8, web = 0.5, mail = 0.4}"


def write(folder: Path, *parts: str) -> Path:
    path = folder / "file.toml"
    path.write_text("\n".join(parts))
    return path


def test_solve_shows_the_names_of_the_set(tmp_path: Path) -> None:
    done = run("solve", write(tmp_path, THETA, RULES, SET))
    assert done.returncode == 0, done.stderr
    for text in ("tv", "web", "shop", "value 1.4"):
        assert text in done.stdout
    record = json.loads(run("solve", tmp_path / "file.toml", "--json").stdout)
    assert record["support"] == [0, 2, 4]
    assert record["named"] == {"tv": 1.0, "web": 1.0, "shop": 0.0}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((THETA.replace("radio", "raido"), RULES, SET), "did you mean 'radio'?"),
        ((THETA, RULES.replace('"web"', '"wbe"'), SET), "did you mean 'web'?"),
        ((THETA, RULES.replace("always", "alwyas"), SET), "did you mean 'always'?"),
        ((THETA, RULES, SET.replace('"shop"', '"tv"')), "got 'tv' at index 0 and again at 4"),
        ((THETA, 'names = ["a", "b", "c", "d", "e"]', RULES, SET), "names twice"),
    ],
)
def test_a_wrong_name_is_answered_by_the_nearest(
    tmp_path: Path, parts: tuple[str, ...], message: str
) -> None:
    done = run("solve", write(tmp_path, *parts))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_plan_takes_rules(tmp_path: Path) -> None:
    done = run("plan", "--set", write(tmp_path, RULES, SET), "-T", 100, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["sparsity"] == 3
    assert record["names"] == ["tv", "radio", "web", "mail", "shop"]
    assert record["rules"].startswith("Supports(at_most=3, groups=((('tv', 'radio'), 1),)")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Brackets and colons in a name are no markup."""
    names = ["tv [spot]", "radio", "web [/x]", "mail", "shop :smile:"]
    theta = "theta = [0.9, 0.0, 0.8, 0.0, 0.7]\nsparsity = 3"
    shown = SET.replace('["tv", "radio", "web", "mail", "shop"]', json.dumps(names))
    done = run("solve", write(tmp_path, theta, shown))
    assert done.returncode == 0, done.stderr
    for name in (names[0], names[2], names[4]):
        assert name in done.stdout
    done = run("plan", "--set", tmp_path / "file.toml", "-T", 100)
    assert f"coordinates: {', '.join(names)}" in done.stdout


def test_compare_takes_rules_names_and_intercepts(tmp_path: Path) -> None:
    top = "horizon = 30\ntrials = 2\nbaseline = 5.0\ntheta_star = [0.9, 0.8, 0.5, 0.4, 0.0]"
    path = write(tmp_path, top, RULES, SET)
    options: list[object] = ["--json", "--workers", 1]
    for policy in ("sparse-thompson", "pege:intercept=true", "estc:exploration_steps=9"):
        options += ["--policy", policy]
    done = run("compare", path, *options)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["environment"]["names"] == ["tv", "radio", "web", "mail", "shop"]
    assert [entry["label"] for entry in record["policies"]] == list(options[4::2])
    assert record["best_support"] == ["tv", "web", "shop"]
    assert "S*: tv, web, shop, the best support" in run("compare", path, *options[1:]).stdout
    path.write_text(path.read_text().replace('"radio"], 1', '"raido"], 1'))
    refused = run("compare", path)
    assert refused.returncode == 2
    assert "did you mean 'radio'?" in refused.stderr


def test_sweep_takes_rules_and_says_where_they_are_wrong(tmp_path: Path) -> None:
    top = 'trials = 2\nhorizon = 20\n[[policies]]\nkind = "sparse-thompson"\n'
    world = '[[environments]]\nlabel = "mix"\ntheta_star = { kind = "uniform-cube" }'
    inner = SET.replace("[action_set]", "[environments.action_set]")
    path = write(tmp_path, top, RULES, world, inner)
    done = run("sweep", path, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    shown = json.loads(run("results", tmp_path / "out", "--json").stdout)
    assert shown["cells"][0]["sparsity"].startswith("Supports(at_most=3, groups=")
    write(tmp_path, top, RULES.replace('"radio"]', '"raido"]'), world, inner)
    refused = run("sweep", path, "--out", tmp_path / "other")
    assert refused.returncode == 2
    assert "line 7: sparsity does not fit" in refused.stderr
    assert "did you mean 'radio'?" in refused.stderr
