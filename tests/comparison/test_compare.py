"""Policies side by side: intervals against slow versions, pairing, workers, what is shown."""

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.comparison.compare import (
    Comparison,
    as_checkpoints,
    compare,
    regret_at,
    summarise,
)
from sparsebandits.comparison.tables import Interval, number, ratio_interval
from sparsebandits.plotting.regret_curves import comparison_figure
from sparsebandits.sweeps import engine

BALL = sb.LpBall(5)
ENV = sb.LinearEnvironment(action_set=BALL, theta_star=sb.UniformCube())
T_975 = {4: 2.776445, 7: 2.364624}
"""Student's t, 97.5%, from a printed table."""


def policies() -> dict[str, sb.Policy]:
    return {
        "thompson": sb.SparseThompson(action_set=BALL, sparsity=2),
        "LinTS": sb.LinTS(action_set=BALL, sparsity=2),
        "paper": sb.APSEE(action_set=BALL, sparsity=2, sigma=0.5, confidence_scale=0.02),
        "CUCB": sb.CUCB(action_set=BALL, sparsity=2, sigma=0.5),
        "clairvoyant": sb.Clairvoyant(action_set=BALL, sparsity=2),
    }


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(policies(), ENV, 300, 8, seed=4, checkpoints=[70])


def slow_interval(values: list[float]) -> tuple[float, float, float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    half = T_975[len(values) - 1] * spread / math.sqrt(len(values))
    return mean, mean - half, mean + half


def test_means_and_intervals_are_those_of_the_obvious_version(found: Comparison) -> None:
    for step in (70, 300):
        runs = {
            label: sb.simulate(policy, ENV, step, 8, seed=4).regret[:, -1]
            for label, policy in policies().items()
        }
        for label, regret in runs.items():
            entry = found.entry(label)
            mean, low, high = slow_interval(regret.tolist())
            assert entry.regret[step].mean == pytest.approx(mean)
            assert entry.regret[step].low == pytest.approx(low, rel=1e-5)
            assert entry.regret[step].high == pytest.approx(high, rel=1e-5)
            mean, low, high = slow_interval((regret - runs["thompson"]).tolist())
            assert entry.difference[step].mean == pytest.approx(mean, abs=1e-9)
            assert entry.difference[step].low == pytest.approx(low, rel=1e-5, abs=1e-9)
            assert entry.difference[step].high == pytest.approx(high, rel=1e-5, abs=1e-9)


def test_an_interval_covers_as_often_as_it_says() -> None:
    # 2,000 samples of 5: the share that covers has standard error 0.5%; 3 of them are allowed.
    values = np.random.default_rng(0).standard_normal((2000, 5))
    intervals = [Interval.of(row) for row in values]
    covered = statistics.fmean(one.low <= 0 <= one.high for one in intervals)
    assert covered == pytest.approx(0.95, abs=0.015)


def test_paired_differences_are_sharper_than_unpaired_ones() -> None:
    # Two scales of one rule on the same theta*: what varies is theta*, and it varies for both.
    pair = {
        "a": sb.PEGE(action_set=BALL, sparsity=2),
        "b": sb.PEGE(action_set=BALL, sparsity=2, schedule="sqrt"),
    }
    result = compare(pair, ENV, 400, 20, seed=0)
    paired = result.entry("b").difference[400].half
    apart = math.hypot(result.entry("a").regret[400].half, result.entry("b").regret[400].half)
    assert paired < 0.7 * apart
    assert result.entry("a").difference[400].mean == 0


def test_any_number_of_workers_gives_the_same_numbers(
    tmp_path: Path, found: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SMALL", 0.0)  # two processes, however little there is to do
    two = compare(
        policies(), ENV, 300, 8, seed=4, checkpoints=[70], workers=2, cache=tmp_path / "cache"
    )
    for label, run in found.runs.items():
        assert np.array_equal(run.regret, two.runs[label].regret)
    first, second = found.to_dict(), two.to_dict()
    for record in (*first["policies"], *second["policies"]):
        assert record.pop("microseconds") > 0
    assert first == second
    calls: list[tuple[int, int]] = []
    again = compare(
        policies(),
        ENV,
        300,
        8,
        seed=4,
        checkpoints=[70],
        cache=tmp_path / "cache",
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(5 * 8 * 300, 5 * 8 * 300)]
    # Kept with the numbers: the time is that of the run that was made.
    assert again.runs["LinTS"].seconds == two.runs["LinTS"].seconds


def test_what_is_shown(found: Comparison) -> None:
    assert found.reference == "thompson"
    assert found.checkpoints == (70, 300)
    clairvoyant, cucb = found.entry("clairvoyant"), found.entry("CUCB")
    assert clairvoyant.optimal_share == 1.0
    assert clairvoyant.sees == "theta*"
    assert cucb.told == ("sigma", "outcomes")
    assert found.entry("LinTS").told == ()
    assert 0 < found.entry("paper").optimal_share < 1
    table = found.table("title")
    assert table.headings == ("policy", "told", "R at 70", "R at 300", "difference", "on S*", "µs")
    assert [row[0] for row in table.rows] == list(policies())
    assert table.rows[0][4] == ""
    assert table.rows[-1][2:4] == ("0 ± 0", "0 ± 0")
    notes = " ".join(table.notes)
    for words in ("8 trials", "seed 4", "CUCB sees the outcome", "not one of the reproducible"):
        assert words in notes
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (
        record["policies"][1]["regret"]["300"]["low"]
        < record["policies"][1]["regret"]["300"]["high"]
    )
    assert sb.environments.environment_from_dict(record["environment"]) == ENV


def test_the_figure_lists_curves_as_they_end_and_marks_references(found: Comparison) -> None:
    figure = comparison_figure(found)
    (panel,) = figure.panels
    ends = [float(series.y[-1]) for series in panel.series]
    assert ends == sorted(ends, reverse=True)
    roles = {series.label: series.role for series in panel.series}
    assert roles["thompson"] == "main"
    assert roles["CUCB (sees the outcome of every coordinate that it plays)"] == "reference"
    assert "clairvoyant" not in " ".join(roles)
    assert "Regret 0, not on these axes: clairvoyant" in figure.notes
    assert panel.x_log
    assert panel.y_log


def test_one_trial_has_no_interval() -> None:
    one = compare({"a": sb.LinTS(action_set=BALL, sparsity=1)}, ENV, 5, 1)
    assert one.checkpoints == (5,)
    assert one.entries[0].regret[5].to_dict()["low"] is None
    assert "±" not in one.table().rows[0][2]
    json.dumps(one.to_dict(), allow_nan=False)


def test_fewer_trials_are_paired_with_the_same_ones() -> None:
    many = {"a": sb.LinTS(action_set=BALL, sparsity=1), "b": sb.PEGE(action_set=BALL, sparsity=1)}
    runs = {
        "a": sb.simulate(many["a"], ENV, 50, 6, seed=1),
        "b": sb.simulate(many["b"], ENV, 50, 5, seed=1),
    }
    result = summarise(many, ENV, runs, (50,), 1, reference="a")
    difference = (runs["b"].regret[:, -1] - runs["a"].regret[:5, -1]).tolist()
    assert result.entry("b").difference[50].low == pytest.approx(
        slow_interval(difference)[1], rel=1e-5
    )
    assert result.trials == 6
    assert "b 5" in " ".join(result.notes())


def test_ratios_and_numbers() -> None:
    top, bottom = np.array([1.0, 3.0, 2.0]), np.array([2.0, 2.0, 2.0])
    ratio = ratio_interval(top, bottom)
    assert ratio.mean == 1.0
    assert 0.5 <= ratio.low < 1 < ratio.high <= 1.5
    assert math.isnan(ratio_interval(top[:1], bottom[:1]).low)
    assert [number(x) for x in (99.94, 99.96, 1234.5, 0.0)] == ["99.9", "100", "1,234", "0"]


def test_default_checkpoints() -> None:
    assert as_checkpoints(2_000) == (200, 2_000)
    assert as_checkpoints(20_000) == (2_000, 20_000)
    assert as_checkpoints(50_000) == (2_000, 20_000, 50_000)
    assert as_checkpoints(7) == (7,)


def test_refusals(found: Comparison) -> None:
    with pytest.raises(sb.InvalidTypeError, match="policies must be a mapping"):
        compare({}, ENV, 10, 1)
    with pytest.raises(sb.InvalidValueError, match="reference must be one of 'a', got 'b'"):
        compare({"a": sb.LinTS(action_set=BALL, sparsity=1)}, ENV, 10, 1, reference="b")
    mixed = {str(h): sb.LinTS(action_set=BALL, sparsity=h) for h in (1, 2)}
    with pytest.raises(sb.InvalidValueError, match=r"the same sparsity, got \[1, 2\]"):
        compare(mixed, ENV, 10, 1)
    with pytest.raises(sb.InvalidValueError, match="within the horizon of 10 steps, got 11"):
        compare({"a": sb.LinTS(action_set=BALL, sparsity=1)}, ENV, 10, 1, checkpoints=[11])
    with pytest.raises(sb.InvalidValueError, match="Step 71 was not recorded"):
        regret_at(found.runs["LinTS"], 71)
