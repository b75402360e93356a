"""Means, intervals and differences against slow, obvious versions."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sparsebandits.errors import SweepError
from sparsebandits.simulation import Run
from sparsebandits.sweeps.cell import Cell
from sparsebandits.sweeps.differences import difference
from sparsebandits.sweeps.engine import load_cell
from sparsebandits.sweeps.folder import SweepResult, sweep
from sparsebandits.sweeps.moments import Moments, student
from sparsebandits.sweeps.results import Summary, summarise, summarise_runs
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
def summary(done: SweepResult) -> Summary:
    return summarise(done.folder)


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


def test_the_summary_is_the_slow_obvious_one(done: SweepResult, summary: Summary) -> None:
    assert [one.key for one in summary.cells] == [one.key for one in done.sweep.cells]
    for cell in summary.cells:
        run = run_of(done, cell.key)
        assert cell.steps.tolist() == run.steps.tolist()
        assert (cell.trials, cell.planned) == (7, 7)
        for name in ("regret", "theta_error", "optimal_share"):
            measure, values = cell.measures[name], getattr(run, name)
            for place in range(run.steps.size):
                wanted = obvious(values[:, place].tolist())
                found = [
                    getattr(measure, part)[place]
                    for part in ("mean", "standard_error", "low", "high", "count")
                ]
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        locked = np.isfinite(run.locked_at)
        assert cell.locked_share == locked.mean()


def test_blocks_in_any_cut_give_the_same_moments() -> None:
    rng = np.random.default_rng(0)
    # Far from 0 and close together: two plain sums would lose every digit of the spread.
    values = 1e6 + 1e-3 * rng.standard_normal((60, 3))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 2] = np.nan
    moments = Moments(3)
    for block in np.split(values, [1, 2, 30, 30]):
        moments.add(block)
    for column in range(3):
        mean, error, _, _, count = obvious(values[:, column].tolist())
        assert moments.count[column] == count
        np.testing.assert_allclose(moments.mean[column], mean, rtol=1e-14)
        np.testing.assert_allclose(moments.standard_error[column], error, rtol=1e-5)
    whole = Moments(1)
    whole.add(values[:, :1][~np.isnan(values[:, :1])].reshape(-1, 1), complete=True)
    np.testing.assert_allclose(whole.standard_error, moments.standard_error[:1], rtol=1e-5)
    assert np.isnan(student(np.array([0.0]))).all()


def test_small_parts_change_nothing(done: SweepResult, summary: Summary) -> None:
    for cell in summary.cells:
        run = run_of(done, cell.key)
        parts = [(cell.key, first, run.rows(slice(first, first + 2))) for first in (0, 2, 4, 6)]
        cut = summarise_runs(parts)[cell.key]
        assert (cut["trials"], cut["locked_share"]) == (7, cell.locked_share)
        regret = cell.measures["regret"]
        np.testing.assert_allclose(cut["measures"]["regret"].high, regret.high, rtol=1e-12)


def test_cells_in_one_world_are_compared_trial_by_trial(
    done: SweepResult, summary: Summary
) -> None:
    found = difference(summary, FIRST, SECOND)
    gaps = (run_of(done, FIRST).regret[:, -1] - run_of(done, SECOND).regret[:, -1]).tolist()
    mean, error, low, high, count = obvious(gaps)
    assert found.paired
    assert found.trials == (count, count) == (7, 7)
    assert found.step == 120
    np.testing.assert_allclose(
        [found.mean, found.standard_error, found.low, found.high], [mean, error, low, high]
    )
    assert "same theta* and noise" in found.reason
    turned = difference(summary, SECOND, FIRST)
    assert turned.mean == -found.mean


def test_cells_in_other_worlds_are_compared_by_welch(done: SweepResult, summary: Summary) -> None:
    other = FIRST.replace("sigma=0.1", "sigma=0.5")
    found = difference(summary, FIRST, other, step=int(summary.cell(FIRST).steps[-2]))
    one, two = (run_of(done, key).regret[:, -2] for key in (FIRST, other))
    interval = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
    assert not found.paired
    assert "differ in sigma" in found.reason
    np.testing.assert_allclose([found.low, found.high], [interval.low, interval.high])
    assert difference(summary, FIRST, FIRST.replace("H=1", "H=2")).paired


def test_what_is_not_there_is_named(summary: Summary) -> None:
    with pytest.raises(SweepError, match="no results of a cell 'x'; it has"):
        difference(summary, "x", FIRST)
    with pytest.raises(SweepError, match="compared with itself"):
        difference(summary, FIRST, FIRST)
    with pytest.raises(SweepError, match=r"Step 119 of .* was not recorded; the nearest are"):
        difference(summary, FIRST, SECOND, step=119)


def test_an_interrupted_sweep_has_a_summary(tmp_path: Path) -> None:
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(CONFIGURATION, tmp_path / "a", progress=stop)
    summary = summarise(tmp_path / "a")
    assert 0 < len(summary.cells) < 8
    assert summary.manifest["ended"] is None
    one = summary.cells[0]
    assert one.measures["regret"].count.tolist() == [one.trials] * one.steps.size
