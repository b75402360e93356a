"""Sweeps give the same bits everywhere, go on where they were, and survive a bad cell."""

import itertools
from pathlib import Path

import pytest

from sparsebandits.errors import InvalidValueError, SweepError
from sparsebandits.sweeps import (
    Progress,
    chunking,
    engine,
    iter_chunks,
    load_cell,
    run_cells,
    run_chunks,
)
from sparsebandits.sweeps.chunking import Chunking, Cost, chunk_size
from tests.sweeps.small_cells import (
    SEED,
    apsee,
    chunks_of,
    holds_the_same_bits,
    impossible,
    lints,
    same_bits,
    whole,
)

CELLS = [apsee(), lints()]


def landed(folder: Path) -> dict[str, tuple[int, int]]:
    """Tell every part by its inode and its time: one that is written again has others."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*.parquet")
        if path.is_file()
    }


def part_of(folder: Path, first: int) -> Path:
    [path] = folder.rglob(f"{first:09d}-*.parquet")
    return path


@pytest.mark.parametrize("workers", [1, 2])
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


@pytest.mark.parametrize("sizes", [[7], [60], [7, 1, 13, 11, 1]])
def test_the_same_bits_in_any_chunking(tmp_path: Path, sizes: list[int]) -> None:
    with chunks_of(*sizes):
        run_chunks([apsee()], SEED, tmp_path)
    assert len(landed(tmp_path)) == {7: 9, 60: 1}[sizes[0]] if len(sizes) == 1 else 32
    assert holds_the_same_bits(tmp_path, apsee())


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [*CELLS, apsee(trials=20, key="fewer")]
    with chunks_of(7):
        runs = run_cells(cells, SEED)
    assert all(same_bits(runs[cell.key], whole(cell)) for cell in cells)
    assert not list(tmp_path.iterdir())
    with pytest.raises(SweepError, match="chunks failed; the first: impossible"):
        run_cells([impossible()], SEED)


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    cell = apsee()
    calls = itertools.count()

    def interrupt(progress: Progress) -> None:
        if next(calls) == 4:
            raise KeyboardInterrupt

    with chunks_of(6), pytest.raises(KeyboardInterrupt):
        run_chunks([cell], SEED, tmp_path, progress=interrupt)
    before = landed(tmp_path)
    assert len(before) == 4
    with chunks_of(12):
        report = run_chunks([cell], SEED, tmp_path)
    assert (report.computed, report.reused) == (3, 4)
    after = landed(tmp_path)
    assert {path: after[path] for path in before} == before
    assert holds_the_same_bits(tmp_path, cell)
    assert run_chunks([cell], SEED, tmp_path, workers=2).computed == 0
    assert landed(tmp_path) == after
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_part_alone_is_computed_again(tmp_path: Path) -> None:
    cell = apsee()
    with chunks_of(20):
        run_chunks([cell], SEED, tmp_path)
    before = landed(tmp_path)
    victim = part_of(tmp_path, 20)
    victim.write_bytes(victim.read_bytes()[:-50])
    with pytest.raises(SweepError, match="trials from 20 on are missing or damaged"):
        load_cell(tmp_path, cell, SEED)
    with chunks_of(20):
        report = run_chunks([cell], SEED, tmp_path)
    assert (report.computed, report.reused) == (1, 2)
    after = landed(tmp_path)
    assert [path for path in before if before[path] != after.get(path)] == [str(victim)]
    assert len(after) == 3
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
    seen: list[Progress] = []
    with chunks_of(10):
        run_chunks(CELLS, SEED, tmp_path, progress=seen.append)
    assert len(seen) == 13
    assert all(before.done < after.done for before, after in itertools.pairwise(seen))
    assert {state.total for state in seen} == {60 * 300 + 60 * 200}
    assert (seen[0].done, seen[0].seconds_left) == (0, None)
    assert all(state.seconds_left is not None and state.seconds_left > 0 for state in seen[1:-1])
    assert (seen[-1].done, seen[-1].seconds_left) == (seen[-1].total, 0.0)
    assert seen[-1].cells == {"apsee": (60, 60), "lints": (60, 60)}


def test_chunks_come_in_the_order_of_trials(tmp_path: Path) -> None:
    cell = apsee()
    with chunks_of(25):
        run_chunks([cell], SEED, tmp_path)
    parts = list(iter_chunks(tmp_path, cell, SEED))
    assert [first for first, _ in parts] == [0, 25, 50]
    assert same_bits(parts[1][1], cell.simulate(SEED, 25, 25))
    with pytest.raises(SweepError, match="trials from 0 on"):
        list(iter_chunks(tmp_path, cell, SEED + 1))


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
    # Where all trials together are little beside what each chunk costs anew, one chunk is best.
    little = 2 * trials * cost.per_trial <= max(cost.fixed, chunking.OVERHEAD)
    assert chunks >= min(trials, workers) / 2 or (chunks == 1 and little)
    share = chunks * cost.fixed / (chunks * cost.fixed + trials * cost.per_trial)
    least = workers * cost.fixed / (workers * cost.fixed + trials * cost.per_trial)
    assert share <= max(0.25, least) + 0.01


def test_chunks_take_as_long_as_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [chunk_size(Cost(0.0, 0.1), 10_000, 2, wanted) for wanted in (1.0, 30.0)] == [9, 299]
    monkeypatch.setattr(chunking, "measure_cost", lambda cell, seed: (Cost(0.0, 1.0), True))
    cell = lints(trials=12, horizon=40)
    for seconds, chunks in ((1.0, 12), (2.5, 6), (60.0, 4)):
        folder = tmp_path / str(chunks)
        assert run_chunks([cell], SEED, folder, chunk_seconds=seconds).computed == chunks
        assert same_bits(load_cell(folder, cell, SEED), whole(cell))
    with pytest.raises(InvalidValueError, match="chunk_seconds must be positive"):
        run_chunks([cell], SEED, tmp_path, chunk_seconds=0.0)


def taken(landed: list[tuple[int, int, float]], workers: int = 2) -> list[tuple[int, int]]:
    """Return the chunks that are cut at first, of 20 trials."""
    trials = Chunking([lints(trials=20)], SEED, 1.0, landed)
    chunks = []
    while (chunk := trials.take(workers)) is not None:
        chunks.append(chunk)
    return chunks


def test_what_is_missing_is_cut_and_nothing_else() -> None:
    with chunks_of(5):
        assert taken([]) == [(0, 5), (5, 5), (10, 5), (15, 5)]
        assert taken([(0, 3, 0.1), (9, 2, 0.1)]) == [(3, 5), (8, 1), (11, 5), (16, 4)]
        assert taken([(0, 30, 0.1)]) == []
    # A guess goes to each worker once: what it takes tells the size of the others.
    with chunks_of(5, 5):
        assert taken([]) == [(0, 5), (5, 5)]
        assert taken([(0, 3, 0.1)]) == [(3, 5), (8, 5), (13, 5), (18, 2)]
