"""A sweep's folder: what is in it, what is refused, and that going on changes nothing."""

import importlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsebandits.errors import SweepError
from sparsebandits.sweeps.engine import Progress, load_cell
from sparsebandits.sweeps.files import only_writer
from sparsebandits.sweeps.folder import SweepResult, landed_runs, sweep
from sparsebandits.sweeps.manifest import read_manifest
from sparsebandits.sweeps.spec import read_sweep
from tests.sweeps.small_cells import chunks_of, same_bits
from tests.sweeps.small_sweep import small

# Untyped: imported by name, so that mypy takes them as they are.
parquet = importlib.import_module("pyarrow.parquet")
pandas = importlib.import_module("pandas")
polars = importlib.import_module("polars")
duckdb = importlib.import_module("duckdb")

DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"


def few(**changes: Any) -> dict[str, Any]:
    return small(axes={"dim": [4], "sparsity": [1, 3]}, sigma=0.1, **changes)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return sweep(few(track_support=True), tmp_path_factory.mktemp("sweep"))


def rows(path: Path) -> dict[str, list[Any]]:
    """Return a table's columns as plain lists."""
    columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
    return columns


def content(folder: Path) -> list[dict[str, Any]]:
    """Return the rows in an order that does not depend on the parts they are in."""
    table: list[dict[str, Any]] = parquet.read_table(folder / "steps.parquet").to_pylist()
    return sorted(table, key=lambda row: (row["cell"], row["trial"], row["step"]))


def same(values: list[Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Whether a column has the same bits, null where there was not a number."""
    found = np.array([np.nan if value is None else value for value in values], dtype=wanted.dtype)
    return found.tobytes() == wanted.tobytes()


def test_the_table_is_the_runs_bit_for_bit(done: SweepResult) -> None:
    steps = rows(done.steps)
    for cell in done.sweep.cells:
        alone = cell.simulate(done.sweep.seed, 0, cell.trials)
        assert same_bits(load_cell(done.folder, cell, done.sweep.seed), alone)
        here = [i for i, key in enumerate(steps["cell"]) if key == cell.key]
        for name in ("regret", "theta_error", "optimal_share", "overlap"):
            assert same([steps[name][i] for i in here], getattr(alone, name).reshape(-1)), name
        for name in ("locked_at", "support_correct", "optimum"):
            wanted = np.repeat(getattr(alone, name), alone.steps.size)
            assert same([steps[name][i] for i in here], wanted), name
        assert [steps["step"][i] for i in here] == alone.steps.tolist() * 7
        assert [steps["trial"][i] for i in here] == np.repeat(range(7), alone.steps.size).tolist()
        last = here[alone.steps.size - 1 :: alone.steps.size]
        assert [steps["theta_star"][i] for i in last] == alone.theta_star.tolist()
        for name, value in cell.columns.items():
            assert {steps[name][i] for i in here} == {value}


def test_pandas_polars_and_duckdb_read_them(done: SweepResult) -> None:
    wanted = rows(done.steps)
    key = wanted["cell"][0]
    regret = [x for x, c in zip(wanted["regret"], wanted["cell"], strict=True) if c == key]
    frame = pandas.read_parquet(done.steps)
    assert frame["regret"].tolist() == wanted["regret"]
    assert frame["cell"].astype(str).tolist() == wanted["cell"]
    other = polars.read_parquet(done.steps)
    assert other["regret"].to_list() == wanted["regret"]
    assert other["cell"].cast(polars.String).to_list() == wanted["cell"]
    [found] = duckdb.sql(
        f"SELECT avg(regret), count(*) FROM '{done.steps}' WHERE cell = '{key}'"
    ).fetchall()
    assert found == (pytest.approx(float(np.mean(regret))), len(regret))


def test_the_page_of_the_documentation_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(toml|python)\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    [text] = [code for kind, code in blocks if kind == "toml"]
    planned = read_sweep(write(tmp_path / "whole.toml", text))
    assert len(planned.cells) + len(planned.skipped) == 2 * 2 * 2 * 2 * 3
    assert {item.key.split("/")[0] for item in planned.skipped} == {"csar"}
    # The same file, only smaller.
    short = text.replace("trials = 100", "trials = 3").replace("horizon = 2000", "horizon = 40")
    for axis, less in (
        ("checkpoints = [1000]", "checkpoints = [10]"),
        ("[20, 100]", "[5]"),
        ("[2, 5]", "[2]"),
        ("[0.1, 0.5]", "[0.1]"),
    ):
        assert axis in short
        short = short.replace(axis, less)
    write(tmp_path / "study.toml", short)
    tables: dict[str, Any] = {}
    marks = ("pandas", "polars", "duckdb", "done", "gap")
    python = [code for kind, code in blocks if kind == "python"]
    assert len(python) == 5
    for code in python:
        names: dict[str, Any] = {}
        exec(code, names)
        tables[next(word for word in marks if word in names)] = names
    cells = len(tables["done"]["done"].sweep.cells)
    assert [len(tables[name]["table"]) for name in ("pandas", "polars", "duckdb")] == [cells] * 3
    assert tables["gap"]["gap"].paired


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_manifest_says_what_was_run(done: SweepResult) -> None:
    manifest = read_manifest(done.folder)
    assert manifest["seed"] == 5
    assert manifest["configuration"] == few(track_support=True)
    assert manifest["digest"] == done.sweep.digest
    assert set(manifest["versions"]) == {"sparsebandits", "numpy", "python"}
    assert manifest["started"] <= manifest["ended"]
    assert [entry["key"] for entry in manifest["cells"]] == [cell.key for cell in done.sweep.cells]
    assert all(entry["trials_done"] == 7 and entry["seconds"] > 0 for entry in manifest["cells"])
    assert (manifest["failures"], manifest["skipped"]) == ([], [])


def test_going_on_computes_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with chunks_of(4):
        first = sweep(few(), tmp_path / "a")
        before = content(first.folder)
        sorted(first.steps.glob("*/*.parquet"))[3].unlink()
        again = sweep(few(), tmp_path / "a", resume=True, progress=seen.append)
    assert (again.computed, again.reused) == (1, first.computed - 1)
    assert content(again.folder) == before
    assert seen[-1].done == seen[-1].total
    assert len(read_manifest(again.folder)["sessions"]) == 2


def test_what_has_landed_of_an_interrupted_sweep_can_be_read(tmp_path: Path) -> None:
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(few(), tmp_path / "a", progress=stop)
    manifest = read_manifest(tmp_path / "a")
    assert manifest["ended"] is None
    assert manifest["sessions"][-1]["outcome"] == "stopped by KeyboardInterrupt"
    landed = {key: first + run.trials for key, first, run in landed_runs(tmp_path / "a")}
    assert 0 < sum(landed.values()) < 7 * len(manifest["cells"])
    assert set(rows(tmp_path / "a" / "steps.parquet")["cell"]) == set(landed)
    [only] = {key for key, _, _ in landed_runs(tmp_path / "a", next(iter(landed)))}
    assert only in landed
    finished = sweep(few(), tmp_path / "a", resume=True)
    assert content(finished.folder) == content(sweep(few(), tmp_path / "b").folder)


def edit(folder: Path, change: dict[str, Any]) -> None:
    path = folder / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data.update(change)
    path.write_text(json.dumps(data), encoding="utf-8")


def test_nothing_is_ever_mixed(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    tiny = few(trials=1, horizon=5)
    sweep(tiny, folder)
    before = content(folder)
    with pytest.raises(SweepError, match=r"holds this sweep already; go on with --resume"):
        sweep(tiny, folder)
    with pytest.raises(SweepError, match=r"another sweep \('seed' was 5, now 6\)"):
        sweep({**tiny, "seed": 6}, folder, resume=True)
    versions = read_manifest(folder)["versions"]
    edit(folder, {"versions": {**versions, "sparsebandits": "0.0.1"}})
    with pytest.raises(
        SweepError, match=r"begun with sparsebandits 0\.0\.1.*other bits.*==0\.0\.1"
    ):
        sweep(tiny, folder, resume=True)
    edit(folder, {"versions": {**versions, "numpy": "1.0"}})
    with pytest.raises(SweepError, match=r"begun with numpy 1\.0"):
        sweep(tiny, folder, resume=True)
    edit(folder, {"versions": versions, "format": 99})
    with pytest.raises(SweepError, match="has format 99"):
        sweep(tiny, folder, resume=True)
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(SweepError, match="cannot be read"):
        sweep(tiny, folder, resume=True)
    assert content(folder) == before


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    tiny = few(trials=1, horizon=5)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(SweepError, match=r"is not empty \(it holds 'thesis.tex'\)"):
        sweep(tiny, tmp_path / "other")
    (tmp_path / "file").touch()
    with pytest.raises(SweepError, match="cannot be used"):
        sweep(tiny, tmp_path / "file")
    with pytest.raises(SweepError, match="holds no sweep"):
        read_manifest(tmp_path / "none")
    (tmp_path / "busy").mkdir()
    with only_writer(tmp_path / "busy"), pytest.raises(SweepError, match="in use by process"):
        sweep(tiny, tmp_path / "busy")
    # A part that has no place.
    (tmp_path / "full").mkdir()
    sweep(tiny, tmp_path / "full")
    shutil.rmtree(tmp_path / "full" / "steps.parquet")
    (tmp_path / "full" / "steps.parquet").touch()
    with pytest.raises(SweepError, match=r"Could not write .*steps\.parquet"):
        sweep(tiny, tmp_path / "full", resume=True)
    assert not list((tmp_path / "full").glob("*.part"))


def test_a_cell_that_fails_stops_no_other(tmp_path: Path) -> None:
    # Sorting is exact on the ball alone. With d = 4 the gap test falls on the ball, until a lock
    # has shifted the cycles by a step: trials that lock fail, the others do not.
    budget = {"kind": "budget", "total": 1.0, "upper": 1.0}
    moving = {"kind": "alternating", "sets": [{"kind": "lp-ball", "radius": 3.0}, budget]}
    configuration = small(
        policies=[{"kind": "apsee", "sigma": "known"}, {"kind": "sparse-thompson"}],
        environments=[{"action_sets": moving, "theta_star": {"kind": "uniform-cube"}}],
        axes={"dim": [4]},
        sparsity=1,
        sigma=0.1,
    )
    with chunks_of(1):
        done = sweep(configuration, tmp_path / "a")
    [failure] = done.failures
    assert failure["key"] == "apsee/alternating/d=4"
    assert "top-h needs a set on which sorting is exact" in failure["error"]
    assert failure["configuration"]["policy"] == {"kind": "apsee", "sigma": "known"}
    assert set(rows(done.steps)["cell"]) == {"sparse-thompson/alternating/d=4"}
    assert read_manifest(done.folder)["failures"] == [failure]
    # The trials of that cell that do not fail are kept, apart from the results.
    [kept] = (done.folder / "failed").iterdir()
    parts = sorted(path.name for path in kept.iterdir())
    assert 0 < len(parts) < 7
    assert {key for key, _, _ in landed_runs(done.folder)} == {"sparse-thompson/alternating/d=4"}
    with chunks_of(1):
        again = sweep(configuration, tmp_path / "a", resume=True)
    assert (again.computed, again.reused) == (0, 7 + len(parts))
    assert again.failures == done.failures
    assert sorted(path.name for path in kept.iterdir()) == parts
    assert len(repr(again)) < 1000
