"""Chunks on disk: resumed, recomputed when damaged, the same for any number of workers."""

from pathlib import Path

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.experiments import engine
from sparsebandits.experiments.base import Cell


def cells(trials: int = 6) -> list[Cell]:
    X = sb.LpBall(4)
    env = sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube())
    policy = sb.APSEE(action_set=X, sparsity=2, sigma=0.5, confidence_scale=0.05)
    return [
        Cell(
            key=f"cell-{horizon}",
            label="a",
            policy=policy,
            environment=env,
            horizon=horizon,
            trials=trials,
            chunk=2,
            track_support=True,
        )
        for horizon in (100, 300)
    ]


def nothing(done: int, total: int) -> None:
    pass


def test_any_number_of_workers_gives_the_same_numbers(tmp_path: Path) -> None:
    one = engine.run_cells(cells(), 3, tmp_path / "one", 1, nothing)
    two = engine.run_cells(cells(), 3, tmp_path / "two", 2, nothing)
    whole = sb.simulate(cells()[1].policy, cells()[1].environment, 300, 6, 3, track_support=True)
    for key in one:
        assert (one[key].regret == two[key].regret).all()
        assert np.array_equal(one[key].locked_at, two[key].locked_at, equal_nan=True)
    assert (one["cell-300"].regret == whole.regret).all()
    assert one["cell-300"].label["trials"] == 6


def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def interrupt(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.run_cells(cells(), 3, tmp_path, 1, interrupt)
    landed = sorted(tmp_path.glob("*.npz"))
    assert len(landed) == 3
    assert not list(tmp_path.glob("*.part"))
    computed: list[int] = []
    simulate = engine._simulate

    def counted(task: engine.Task) -> sb.Run:
        computed.append(1)
        return simulate(task)

    monkeypatch.setattr(engine, "_simulate", counted)
    runs = engine.run_cells(cells(), 3, tmp_path, 1, nothing)
    assert len(computed) == 6 - 3
    fresh = engine.run_cells(cells(), 3, tmp_path / "fresh", 1, nothing)
    assert all((runs[key].regret == fresh[key].regret).all() for key in runs)


@pytest.mark.parametrize("damage", [b"", b"not an archive", None])
def test_a_damaged_chunk_is_computed_again(tmp_path: Path, damage: bytes | None) -> None:
    first = engine.run_cells(cells(), 3, tmp_path, 1, nothing)
    victim = sorted(tmp_path.glob("*.npz"))[0]
    victim.write_bytes(victim.read_bytes()[:-50] if damage is None else damage)
    again = engine.run_cells(cells(), 3, tmp_path, 1, nothing)
    assert all((again[key].regret == first[key].regret).all() for key in first)


def test_another_seed_or_setting_is_another_chunk(tmp_path: Path) -> None:
    cell = cells()[0]
    assert cell.fingerprint(0) != cell.fingerprint(1)
    assert cell.fingerprint(0) != cells()[1].fingerprint(0)
    assert cell.chunks() == [(0, 2), (2, 2), (4, 2)]
