"""Means, intervals and differences against slow, obvious versions."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sparsebandits.comparison.entries import entry_of
from sparsebandits.comparison.intervals import Means, student
from sparsebandits.comparison.sweep_folder import SweepComparison, compare_sweep
from sparsebandits.errors import InvalidValueError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.engine import load_cell
from sparsebandits.sweeps.folder import SweepResult, sweep
from tests.sweeps.small_sweep import small

CONFIGURATION = small(
    axes={"dim": [4], "sparsity": [1, 2], "sigma": [0.1, 0.5]},
    environments=small()["environments"][:1],
)
FIRST, SECOND = (
    f"{policy}/l1.5-ball/d=4/H=1/sigma=0.1" for policy in ("sparse-thompson", "literal")
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return sweep(CONFIGURATION, tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def cells(done: SweepResult) -> SweepComparison:
    return compare_sweep(done.folder)


def run_of(done: SweepResult, key: str) -> Run:
    cell: Cell = next(cell for cell in done.sweep.cells if cell.key == key)
    return load_cell(done.folder, cell, done.sweep.seed)


def obvious(values: list[float]) -> tuple[float, float, float, float, int]:
    """Return mean, standard error and interval of what is there, written out."""
    there = [value for value in values if not math.isnan(value)]
    count = len(there)
    if count == 0:
        return math.nan, math.nan, math.nan, math.nan, 0
    mean = math.fsum(there) / count
    if count == 1:
        return mean, math.nan, math.nan, math.nan, 1
    error = math.sqrt(math.fsum((x - mean) ** 2 for x in there) / (count - 1) / count)
    half = float(stats.t.ppf(0.975, count - 1)) * error
    return mean, error, mean - half, mean + half, count


def test_the_summary_is_the_slow_obvious_one(done: SweepResult, cells: SweepComparison) -> None:
    assert [entry.label for entry in cells.entries] == [one.key for one in done.sweep.cells]
    for cell in cells.entries:
        run = run_of(done, cell.label)
        assert cell.steps.tolist() == run.steps.tolist()
        assert (cell.trials, cell.planned) == (7, 7)
        for name in ("regret", "theta_error", "optimal_share"):
            measure, values = cell.measures[name], getattr(run, name)
            for place in range(run.steps.size):
                slow = obvious(values[:, place].tolist())
                read = [
                    getattr(measure, part)[place]
                    for part in ("mean", "standard_error", "low", "high", "count")
                ]
                np.testing.assert_allclose(read, slow, rtol=1e-12, atol=1e-14)
        locked = np.isfinite(run.locked_at)
        assert cell.locked_share == locked.mean()


def test_blocks_in_any_cut_give_the_same_moments() -> None:
    rng = np.random.default_rng(0)
    # Far from 0 and close together: two plain sums would lose every digit of the spread.
    values = 1e6 + 1e-3 * rng.standard_normal((60, 3))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 2] = np.nan
    moments = Means(np.arange(3))
    for block in np.split(values, [1, 2, 30, 30]):
        moments.add(block)
    for column in range(3):
        mean, error, _, _, count = obvious(values[:, column].tolist())
        assert moments.count[column] == count
        np.testing.assert_allclose(moments.mean[column], mean, rtol=1e-14)
        np.testing.assert_allclose(moments.standard_error[column], error, rtol=1e-5)
    whole = Means(np.arange(1))
    whole.add(values[:, :1][~np.isnan(values[:, :1])].reshape(-1, 1))
    np.testing.assert_allclose(whole.standard_error, moments.standard_error[:1], rtol=1e-5)
    assert np.isnan(student(np.array([0.0]))).all()


def test_small_parts_change_nothing(done: SweepResult, cells: SweepComparison) -> None:
    for cell in cells.entries:
        run = run_of(done, cell.label)
        parts = [run.rows(slice(first, first + 2)) for first in (0, 2, 4, 6)]
        cut = entry_of(parts, regret_by_trial=None, label="a", columns={}, planned=7)
        assert (cut.trials, cut.locked_share) == (7, cell.locked_share)
        np.testing.assert_allclose(cut.regret.high, cell.regret.high, rtol=1e-12)


def test_cells_in_one_world_are_compared_trial_by_trial(
    done: SweepResult, cells: SweepComparison
) -> None:
    difference = cells.difference(FIRST, SECOND)
    gaps = (run_of(done, FIRST).regret[:, -1] - run_of(done, SECOND).regret[:, -1]).tolist()
    mean, error, low, high, count = obvious(gaps)
    assert difference.paired
    assert difference.trials == (count, count) == (7, 7)
    assert difference.step == 120
    np.testing.assert_allclose(
        [difference.mean, difference.standard_error, difference.low, difference.high],
        [mean, error, low, high],
    )
    assert "same theta* and noise" in difference.reason
    turned = cells.difference(SECOND, FIRST)
    assert turned.mean == -difference.mean


def test_cells_in_other_worlds_are_compared_by_welch(
    done: SweepResult, cells: SweepComparison
) -> None:
    other = FIRST.replace("sigma=0.1", "sigma=0.5")
    difference = cells.difference(FIRST, other, step=int(cells.entry(FIRST).steps[-2]))
    regret, baseline = (run_of(done, key).regret[:, -2] for key in (FIRST, other))
    interval = stats.ttest_ind(regret, baseline, equal_var=False).confidence_interval(0.95)
    assert not difference.paired
    assert "differ in sigma" in difference.reason
    np.testing.assert_allclose([difference.low, difference.high], [interval.low, interval.high])
    assert cells.difference(FIRST, FIRST.replace("H=1", "H=2")).paired


def test_what_is_not_there_is_named(cells: SweepComparison) -> None:
    with pytest.raises(InvalidValueError, match="no results of 'x'; there are those of"):
        cells.difference("x", FIRST)
    with pytest.raises(InvalidValueError, match="Step 119 was not recorded; the nearest are"):
        cells.difference(FIRST, SECOND, step=119)


def test_an_interrupted_sweep_has_a_summary(tmp_path: Path) -> None:
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(CONFIGURATION, tmp_path / "a", progress=stop)
    cells = compare_sweep(tmp_path / "a")
    assert 0 < len(cells.entries) < 8
    assert cells.manifest["ended"] is None
    cell = cells.entries[0]
    assert cell.measures["regret"].count.tolist() == [cell.trials] * cell.steps.size
