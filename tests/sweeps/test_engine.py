"""Sweeps give the same bits everywhere, go on where they were, and survive a bad cell."""

import itertools
import json
from pathlib import Path

import pytest

from sparsebandits.errors import InvalidValueError, SweepError
from sparsebandits.sweeps import (
    Cell,
    Progress,
    chunk_path,
    engine,
    iter_chunks,
    load_cell,
    run_chunks,
    work,
)
from sparsebandits.sweeps.ledger import Ledger
from sparsebandits.sweeps.plans import Cost, Plan, chunk_size, load_plan, save_plan
from tests.sweeps.small_cells import (
    SEED,
    apsee,
    holds_the_same_bits,
    impossible,
    lints,
    same_bits,
    whole,
)

CELLS = [apsee(), lints()]


def landed(folder: Path) -> dict[str, tuple[int, int]]:
    """Tell every chunk file by its inode and its time: one that is written again has others."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*.chunk")
    }


def plan_by_hand(folder: Path, cell: Cell, *sizes: tuple[int, int]) -> None:
    home = folder / cell.fingerprint(SEED)
    home.mkdir(parents=True, exist_ok=True)
    save_plan(home, Plan(sizes))


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_the_same_bits_on_any_number_of_workers_and_beside_a_cell_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(engine, "SMALL", 0.0)
    bad = impossible()
    report = run_chunks([bad, *CELLS], SEED, tmp_path, workers=workers)
    assert report.computed >= 2
    assert report.reused == 0
    assert all(holds_the_same_bits(tmp_path, cell) for cell in CELLS)
    assert report.failures
    for failure in report.failures:
        assert failure.key == "impossible"
        assert failure.configuration["policy"] == bad.policy.to_dict()
        assert failure.configuration["seed"] == SEED
        assert "give both the same set" in failure.error
    with pytest.raises(SweepError, match="impossible"):
        load_cell(tmp_path, bad, SEED)


@pytest.mark.parametrize("sizes", [[(1, 60)], [(60, 1)], [(7, 1), (13, 3), (11, 1), (1, 3)]])
def test_the_same_bits_in_any_chunking(tmp_path: Path, sizes: list[tuple[int, int]]) -> None:
    for cell in CELLS:
        plan_by_hand(tmp_path, cell, *sizes)
    report = run_chunks(CELLS, SEED, tmp_path)
    assert report.computed == 2 * len(list(Plan(tuple(sizes)).chunks(60)))
    assert all(holds_the_same_bits(tmp_path, cell) for cell in CELLS)


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    cell = apsee()
    plan_by_hand(tmp_path, cell, (6, 10))
    calls = itertools.count()

    def interrupt(progress: Progress) -> None:
        if next(calls) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_chunks([cell], SEED, tmp_path, progress=interrupt)
    before = landed(tmp_path)
    assert len(before) == 4
    report = run_chunks([cell], SEED, tmp_path)
    assert (report.computed, report.reused) == (6, 4)
    after = landed(tmp_path)
    assert {path: after[path] for path in before} == before
    assert holds_the_same_bits(tmp_path, cell)
    assert run_chunks([cell], SEED, tmp_path, workers=2).computed == 0
    assert landed(tmp_path) == after
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_chunk_alone_is_computed_again(tmp_path: Path) -> None:
    cell = apsee()
    plan_by_hand(tmp_path, cell, (20, 3))
    run_chunks([cell], SEED, tmp_path)
    before = landed(tmp_path)
    victim = chunk_path(tmp_path, cell, SEED, 20, 20)
    victim.write_bytes(victim.read_bytes()[:-50])
    with pytest.raises(SweepError, match="trials 20 to 39"):
        load_cell(tmp_path, cell, SEED)
    report = run_chunks([cell], SEED, tmp_path)
    assert (report.computed, report.reused) == (1, 2)
    after = landed(tmp_path)
    assert [path for path in before if before[path] != after[path]] == [str(victim)]
    assert holds_the_same_bits(tmp_path, cell)


def test_more_trials_keep_those_that_are_there_and_fewer_are_a_part_of_them(
    tmp_path: Path,
) -> None:
    run_chunks([apsee(trials=20)], SEED, tmp_path)
    before = landed(tmp_path)
    report = run_chunks([apsee(trials=50)], SEED, tmp_path)
    assert report.reused == len(before)
    assert report.computed >= 1
    assert holds_the_same_bits(tmp_path, apsee(trials=50))
    assert holds_the_same_bits(tmp_path, apsee(trials=13))
    assert run_chunks([apsee(trials=13)], SEED, tmp_path).computed == 0


def test_cells_of_one_configuration_share_their_trials(tmp_path: Path) -> None:
    cells = [apsee(trials=20, key="a"), apsee(trials=50, key="b")]
    seen: list[Progress] = []
    run_chunks(cells, SEED, tmp_path, progress=seen.append)
    assert sum(run.regret.shape[0] for _, run in iter_chunks(tmp_path, cells[1], SEED)) == 50
    assert seen[-1].cells == {"a": (20, 20), "b": (50, 50)}
    assert seen[-1].done == seen[-1].total == 50 * 300
    with pytest.raises(InvalidValueError, match="twice"):
        run_chunks([cells[0], cells[0]], SEED, tmp_path)


def test_progress_only_grows_and_ends_at_the_total(tmp_path: Path) -> None:
    for cell in CELLS:
        plan_by_hand(tmp_path, cell, (10, 6))
    seen: list[Progress] = []
    run_chunks(CELLS, SEED, tmp_path, progress=seen.append)
    assert len(seen) == 13
    assert all(one.done < two.done for one, two in itertools.pairwise(seen))
    assert {one.total for one in seen} == {60 * 300 + 60 * 200}
    assert (seen[0].done, seen[0].seconds_left) == (0, None)
    assert all(one.seconds_left is not None and one.seconds_left > 0 for one in seen[1:-1])
    assert (seen[-1].done, seen[-1].seconds_left) == (seen[-1].total, 0.0)
    assert seen[-1].cells == {"apsee": (60, 60), "lints": (60, 60)}


def test_chunks_come_in_the_order_of_trials(tmp_path: Path) -> None:
    cell = apsee()
    plan_by_hand(tmp_path, cell, (25, 2), (10, 1))
    run_chunks([cell], SEED, tmp_path)
    parts = list(iter_chunks(tmp_path, cell, SEED))
    assert [first for first, _ in parts] == [0, 25, 50]
    assert same_bits(parts[1][1], cell.simulate(SEED, 25, 25))
    with pytest.raises(SweepError, match="trials 0 to 59"):
        list(iter_chunks(tmp_path, cell, SEED + 1))


def test_a_plan_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    cell = apsee()
    run_chunks([cell], SEED, tmp_path)
    home = tmp_path / cell.fingerprint(SEED)
    for damage in ("", "{", "[]", json.dumps({"format": 99}), '{"format": 1, "sizes": [[0, 1]]}'):
        (home / "plan.json").write_text(damage)
        assert load_plan(home) == Plan()
    run_chunks([cell], SEED, tmp_path)
    assert same_bits(load_cell(tmp_path, cell, SEED), whole(cell))


@pytest.mark.parametrize("workers", [1, 2, 100])
@pytest.mark.parametrize("trials", [1, 20, 10_000])
@pytest.mark.parametrize("cost", [Cost(0.0, 1e-4), Cost(0.0, 0.2), Cost(5.0, 0.01), Cost(0.0, 60)])
def test_chunks_are_neither_tiny_nor_long_nor_too_few(
    cost: Cost, trials: int, workers: int
) -> None:
    size = chunk_size(cost, trials, workers)
    assert 1 <= size <= trials
    assert size == 1 or cost.seconds(size) <= max(1.0, 5 * cost.fixed) + 0.01
    chunks = -(-trials // size)
    assert chunks >= min(trials, workers) / 2
    share = chunks * cost.fixed / (chunks * cost.fixed + trials * cost.per_trial)
    least = workers * cost.fixed / (workers * cost.fixed + trials * cost.per_trial)
    assert share <= max(0.25, least) + 0.01


def test_chunks_take_as_long_as_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [chunk_size(Cost(0.0, 0.1), 10_000, 2, wanted) for wanted in (1.0, 30.0)] == [9, 299]
    monkeypatch.setattr(work, "measure_cost", lambda cell, seed: (Cost(0.0, 1.0), True))
    cell = lints(trials=12, horizon=40)
    for seconds, chunks in ((1.0, 12), (2.5, 6), (60.0, 4)):
        folder = tmp_path / str(chunks)
        assert run_chunks([cell], SEED, folder, chunk_seconds=seconds).computed == chunks
        assert same_bits(load_cell(folder, cell, SEED), whole(cell))
    with pytest.raises(InvalidValueError, match="chunk_seconds must be positive"):
        run_chunks([cell], SEED, tmp_path, chunk_seconds=0.0)


def test_a_plan_grows_at_its_end_only() -> None:
    plan = Plan(((3, 2),)).extended(20, 5)
    assert list(plan.chunks(20)) == [(0, 3), (3, 3), (6, 5), (11, 5), (16, 4)]
    assert list(plan.chunks(4)) == [(0, 3), (3, 3)]
    assert list(Plan().extended(20, 5, limit=2).chunks(20)) == [(0, 5), (5, 5)]
    assert list(Plan().extended(7, 5, limit=2).chunks(20)) == [(0, 5), (5, 2)]


@pytest.mark.parametrize(("cells", "shares"), [(1, 2), (3, 1)])
def test_a_cell_is_cut_for_the_workers_that_others_leave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int, shares: int
) -> None:
    """A chunk costs much whatever is in it: it is cut only where a worker would wait."""
    monkeypatch.setattr(work, "measure_cost", lambda cell, seed: (Cost(1.0, 1e-6), True))
    asked = [lints(horizon=50 + i, key=f"cell {i}") for i in range(cells)]
    ledger = Ledger(asked, SEED, tmp_path, 1.0, None)
    task = ledger.take(2)
    assert task is not None
    assert task.count == -(-asked[0].trials // shares)
