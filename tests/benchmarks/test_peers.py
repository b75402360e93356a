"""`benchmarks/peers.py`, played by our own learners: the peers have an environment of their own."""

import itertools
import json
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def part(name: str) -> Any:
    return import_module(f"side_by_side.{name}")


def test_the_command_goes_on_where_it_was_and_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results, page = tmp_path / "peers.jsonl", tmp_path / "page.md"

    def command(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["peers.py", "--results", str(results), *words])
        runpy.run_path(str(BENCHMARKS / "peers.py"), run_name="__main__")
        return capsys.readouterr().out

    wanted = ["--reward", "baseline", "--dim", "50", "--seeds", "2", "--trials", "20"]
    for player in ("sparse-thompson", "lin-ts", "random"):
        wanted += ["--player", player]
    assert command(*wanted).count("seed") == 6
    before = results.read_text()
    records = [json.loads(line) for line in before.splitlines()]
    results.write_text(before[:-40])  # interrupted while it wrote the last line
    assert command(*wanted).startswith("1/1  random, baseline, d=50, seed 1:")
    again = json.loads(results.read_text().splitlines()[-1])
    assert {**again, "seconds": []} == {**records[-1], "seconds": []}
    assert command(*wanted) == ""
    # Results of other code, and of other problems, do not count.
    for was, stale in (
        (records[0]["version"], "code of yesterday"),
        ('"edition": 1', '"edition": 0'),
    ):
        results.write_text(results.read_text().replace(was, stale))
        assert command(*wanted).startswith("1/6  ")

    page.write_text("above\n<!-- peers -->\nold\n<!-- /peers -->\nbelow\n")
    command("--table", str(page))
    text = page.read_text()
    assert text.startswith("above\n<!-- peers -->\n**baseline")
    assert text.endswith("-->\nbelow\n")
    ours = [r for r in records if r["player"] == "sparse-thompson"]
    mean = np.mean([record["regret"][0] for record in ours])
    (row,) = [line for line in text.splitlines() if line.startswith("| **SparseThompson** |")]
    _, _, _, seeds, cell, *_ = row.split("|")
    assert int(seeds) == 2
    assert cell.split()[0] == f"{mean:.3g}"
    page.write_text("<!-- peers: brief -->\n<!-- /peers: brief -->\n")
    command("--brief", str(page))
    assert page.read_text().count("\n| ") == 5  # headings, a rule and three players
    command("--tidy")
    assert len(results.read_text().splitlines()) == 6
    # They learn something: 20 random actions lose as much each time, and ours less and less.
    idle = [record["regret"][0] for record in records if record["player"] == "random"]
    assert max(record["regret"][0] for record in ours) < min(idle)


@pytest.mark.parametrize("reward", ["linear", "baseline", "concave", "peak"])
def test_no_action_is_better_than_the_optimum(reward: str) -> None:
    problem = part("problems").Problem(reward, 6, 3)
    values = [
        problem.value(np.array(action))
        for action in itertools.product((0.0, 0.3, 0.6, 1.0), repeat=6)
        if np.count_nonzero(action) <= 5
    ]
    assert max(values) == pytest.approx(problem.optimum, abs=1e-12)


def test_what_is_played_is_legal() -> None:
    legal = part("match").legal
    dusty = np.array([1.0 + 1e-9, 1e-9, 0.5, -1e-9, 0.0, 0.0])
    assert legal(dusty).tolist() == [1.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    for wrong in (np.ones(6), np.array([1.1]), np.array([-0.1])):
        with pytest.raises(ValueError, match="at most 5 inputs on"):
            legal(wrong)


def test_levels_are_one_of_each_input() -> None:
    levels = part("players.ours").three_levels(20, seed=0)
    assert isinstance(levels.policy.action_set, sb.Box)
    for _ in range(30):
        action = levels.suggest()
        assert set(np.round(3 * action, 12)) <= {0.0, 1.0, 2.0, 3.0}
        assert np.count_nonzero(part("match").legal(action)) <= 5
        levels.tell(action, float(action.sum()))
    # More is better here, so it has found out that 1 is the level to choose.
    assert levels.best().max() == 1.0


def test_differences_are_taken_seed_by_seed() -> None:
    def run(regret: list[float], *seconds: float) -> dict[str, Any]:
        return {"regret": regret, "simple": [0.5] * len(regret), "seconds": seconds}

    records = {
        ("sparse-thompson", "linear", 50, 0): run([10.0, 20.0], 9e-3, 1e-3),
        ("sparse-thompson", "linear", 50, 1): run([30.0, 40.0], 1e-3, 5e-3),
        ("sparse-thompson", "linear", 50, 2): run([500.0, 500.0], 1.0, 1.0),
        ("bofire", "linear", 50, 0): run([14.0, 21.0], 5.0, 2.0),
        ("bofire", "linear", 50, 1): run([36.0], 4.0),
    }
    rows = part("tables").difference_table(records).splitlines()
    name, time, seeds = "BoFire, default", "3,000", "2"
    cells = ["-5 ± 13 / 0 ± 0", "-1 / 0", "", ""]
    assert rows[-1] == f"| linear, d = 50 | {name} | {time} | {seeds} | {' | '.join(cells)} |"
