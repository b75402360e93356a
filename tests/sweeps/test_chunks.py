"""A chunk on the disk is whole and as it was written, or as good as missing."""

import os
from pathlib import Path

import pytest

from sparsebandits.errors import SweepError
from sparsebandits.sweeps import chunk_path, chunks, join_runs, load_chunk, save_chunk
from sparsebandits.sweeps.cell import first_trials
from tests.sweeps.small_cells import SEED, apsee, lints, same_bits, whole


def saved(folder: Path, trials: int = 4) -> Path:
    cell = apsee(trials=trials)
    path = chunk_path(folder, cell, SEED, 0, trials)
    path.parent.mkdir(exist_ok=True)
    save_chunk(path, whole(cell))
    return path


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path: Path) -> None:
    path = saved(tmp_path)
    run = load_chunk(path)
    assert run is not None
    assert same_bits(run, whole(apsee(trials=4)))
    assert run.seconds > 0
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_missing_chunk_is_none(tmp_path: Path) -> None:
    assert load_chunk(tmp_path / "nothing.chunk") is None
    assert load_chunk(tmp_path) is None


def test_a_chunk_cut_short_anywhere_is_none(tmp_path: Path) -> None:
    path = saved(tmp_path, trials=1)
    content = path.read_bytes()
    for length in [*range(120), *range(120, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:length])
        assert load_chunk(path) is None, length
    path.write_bytes(content + b"\0")
    assert load_chunk(path) is None


def test_a_chunk_with_any_byte_changed_is_none(tmp_path: Path) -> None:
    path = saved(tmp_path, trials=1)
    content = path.read_bytes()
    for place in [*range(120), *range(120, len(content), 97)]:
        changed = bytearray(content)
        changed[place] ^= 0x40
        path.write_bytes(bytes(changed))
        assert load_chunk(path) is None, place


def test_a_chunk_of_another_format_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setattr(chunks, "FORMAT", chunks.FORMAT + 1)
    assert load_chunk(path) is None


def test_a_chunk_under_the_name_of_another_is_none(tmp_path: Path) -> None:
    path = saved(tmp_path)
    other = chunk_path(tmp_path, apsee(), SEED, 4, 4)
    os.replace(path, other)
    assert load_chunk(other) is None


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SweepError, match=r"No space.*The 3 chunks that landed are safe"):
        save_chunk(path, whole(lints(trials=2)), saved=3)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_fingerprint_names_what_shapes_the_numbers() -> None:
    cell = apsee()
    assert cell.fingerprint(0) != cell.fingerprint(1)
    assert cell.fingerprint(0) != apsee(horizon=301).fingerprint(0)
    assert cell.fingerprint(0) != lints(horizon=300).fingerprint(0)
    assert cell.fingerprint(0) == apsee(trials=7, key="other").fingerprint(0)


def test_parts_of_a_run_join_to_the_run() -> None:
    cell = apsee(trials=9)
    parts = [cell.simulate(SEED, first, count) for first, count in ((0, 4), (4, 1), (5, 4))]
    assert same_bits(join_runs(parts), whole(cell))
    assert same_bits(first_trials(whole(cell), 4), parts[0])
