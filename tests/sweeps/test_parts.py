"""A part on the disk is whole and as it was written, or as good as missing."""

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

import sparsebandits as sb
from sparsebandits.errors import SweepError
from sparsebandits.sweeps import schema
from sparsebandits.sweeps.parts import STEPS, PartFiles
from sparsebandits.sweeps.schema import Names
from tests.sweeps.small_cells import SEED, apsee, lints, same_bits, whole

NAMES: Names = {"cell": "a/b", "dim": 4, "sigma": 0.1}


def saved(folder: Path, trials: int = 4) -> Path:
    """Save a part and return its only file."""
    PartFiles(folder).save("abc", NAMES, 0, whole(apsee(trials=trials)))
    [path] = (folder / STEPS / "abc").iterdir()
    return path


def runs(folder: Path) -> list[tuple[int, sb.Run]]:
    return list(PartFiles(folder).runs("abc"))


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path: Path) -> None:
    path = saved(tmp_path)
    [(first, run)] = runs(tmp_path)
    assert first == 0
    assert same_bits(run, whole(apsee(trials=4)))
    assert run.seconds > 0
    assert PartFiles(tmp_path).landed("abc") == [(0, 4, run.seconds)]
    assert list(tmp_path.iterdir()) == [path.parent.parent]
    assert PartFiles(tmp_path).landed("other") == []


def test_a_part_is_tidy(tmp_path: Path) -> None:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    run = whole(apsee(trials=4))
    rows = parquet.read_table(saved(tmp_path)).to_pylist()
    assert len(rows) == 4 * run.steps.size
    for i, row in enumerate(rows):
        trial, place = divmod(i, run.steps.size)
        assert {name: row[name] for name in NAMES} == NAMES
        assert (row["trial"], row["step"]) == (trial, run.steps[place])
        assert row["regret"] == run.regret[trial, place]
        assert row["optimum"] == run.optimum[trial]
        last = place == run.steps.size - 1
        assert row["theta_star"] == (run.theta_star[trial].tolist() if last else None)
    assert rows[0]["theta_error"] is None
    assert rows[-1]["theta_error"] == run.theta_error[-1, -1]


def test_a_part_cut_short_anywhere_is_deleted(tmp_path: Path) -> None:
    path = saved(tmp_path, trials=1)
    content = path.read_bytes()
    lengths = [*range(0, len(content), 397), len(content) - 1]
    for damaged in [*(content[:length] for length in lengths), content + b"\0"]:
        path.write_bytes(damaged)
        assert runs(tmp_path) == []
        assert PartFiles(tmp_path).landed("abc") == []
        assert not path.exists()


def test_a_part_with_any_byte_changed_is_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path, trials=1)
    content = path.read_bytes()
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 0x40
        path.write_bytes(bytes(changed))
        assert runs(tmp_path) == [], place


def test_a_part_of_another_format_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path)
    monkeypatch.setattr(schema, "FORMAT", schema.FORMAT + 1)
    assert runs(tmp_path) == []
    assert PartFiles(tmp_path).landed("abc") == []


def test_a_part_under_the_name_of_another_is_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    os.replace(path, path.with_name(path.name.replace("000000000-4", "000000004-4")))
    assert runs(tmp_path) == []


def test_parts_that_overlap_are_read_once(tmp_path: Path) -> None:
    saved(tmp_path, 4)
    PartFiles(tmp_path).save("abc", NAMES, 2, apsee().simulate(SEED, 2, 4))
    PartFiles(tmp_path).save("abc", NAMES, 6, apsee().simulate(SEED, 6, 1))
    assert [first for first, _ in runs(tmp_path)] == [0, 6]
    assert [first for first, _, _ in PartFiles(tmp_path).landed("abc")] == [0, 6]
    assert len(list((tmp_path / STEPS / "abc").iterdir())) == 2


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SweepError, match=r"No space.*The 3 chunks that landed are safe"):
        PartFiles(tmp_path).save("abc", NAMES, 4, whole(lints(trials=2)), saved=3)
    assert path.read_bytes() == before
    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == [path]


def test_the_fingerprint_names_what_shapes_the_numbers() -> None:
    cell = apsee()
    assert cell.fingerprint(0) != cell.fingerprint(1)
    assert cell.fingerprint(0) != apsee(horizon=301).fingerprint(0)
    assert cell.fingerprint(0) != lints(horizon=300).fingerprint(0)
    assert cell.fingerprint(0) == apsee(trials=7, key="other").fingerprint(0)
