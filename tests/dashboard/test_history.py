"""What a log says of decisions, and what is drawn from it, against slow and obvious versions."""

import json

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.dashboard.charts import Chart, Line
from sparsebandits.dashboard.coordinates import sorted_rows, usage, usage_chart
from sparsebandits.dashboard.decisions import Wanted, matching, table_of
from sparsebandits.dashboard.history import History, LogReader, saved_history
from sparsebandits.dashboard.loss import believed_loss, loss_chart
from sparsebandits.dashboard.rewards import evenly, moving_mean, reward_chart
from sparsebandits.service import learners, log
from sparsebandits.service.log import Asked, Imported, Rewarded
from sparsebandits.store import Event

NAMES = ["tv", "radio", "print", "search"]
POLICY = sb.SparseThompson(action_set=sb.Box([0] * 4, [1] * 4, names=NAMES), sparsity=2)


def event(sequence: int, kind: str, decision: int | None, content: log.Content) -> Event:
    return Event(
        learner=1, sequence=sequence, kind=kind, at=1000.0 + sequence, decision=decision,
        body=log.write(content),
    )  # fmt: skip


def asked(*actions: dict[int, float], available: list[int] | None = None) -> Asked:
    choices = [learners.Choice(list(a), list(a.values()), "exploit", 1) for a in actions]
    return Asked(choices, available)


def small_history() -> History:
    """Seven decisions, one of each fate."""
    actions = [{0: 1.0, 1: 1.0}, {1: 0.5}, {}, {2: 1.0}, {0: 1.0, 3: 0.25}]
    events = [
        event(1, log.ASK, 1, asked(*actions[:3])),
        event(2, log.ASK, 4, asked(*actions[3:], {0: 1.0}, {3: 1.0}, available=[0, 2, 3])),
        event(3, log.TELL, 2, Rewarded(5.0)),
        event(4, log.EXPIRE, 1, Rewarded(0.0)),
        event(5, log.FORGET, 3, Rewarded(None)),
        event(6, log.CORRECT, 1, Rewarded(2.0)),  # late: its wait was over
        event(7, log.CORRECT, 2, Rewarded(6.0)),
        event(8, log.EXPIRE, 4, Rewarded(-1.0)),
        event(9, log.TELL, 5, Rewarded(0.5)),
        event(10, log.REBUILD, 3, Rewarded(1.5)),  # forgotten, and told all the same
    ]
    reader = LogReader(POLICY)
    reader.read(events[:4])
    reader.read(events[4:])
    assert reader.sequence == 10
    return reader.history(7)


def test_the_fate_of_each_decision() -> None:
    history = small_history()
    assert history.ids.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert history.states.tolist() == ["told", "told", "told", "expired", "told", "open", "open"]
    assert history.late.tolist() == [True, *[False] * 6]
    assert history.corrected.tolist() == [False, True, True, False, False, False, False]
    np.testing.assert_array_equal(history.rewards, [2.0, 6.0, 1.5, -1.0, 0.5, np.nan, np.nan])
    assert history.late_share == 0.2
    assert history.offers == (None, (0, 2, 3))
    table = table_of(history, Wanted(state="open"), NAMES)
    assert [row.id for row in table.rows] == [7, 6]
    assert table.counts == {
        "all": 7, "open": 2, "told": 4, "late": 1, "corrected": 2, "expired": 1, "forgotten": 0,
    }  # fmt: skip
    [late] = table_of(history, Wanted(state="late"), NAMES).rows
    assert (late.action, late.state, late.delay) == ("tv: 1, radio: 1", "late", 5.0)
    assert matching(history, Wanted(coordinate="search"), NAMES).tolist() == [4, 6]
    with pytest.raises(sb.SparseBanditsError, match="no coordinate 'cinema'"):
        matching(history, Wanted(coordinate="cinema"), NAMES)


def test_actions_and_their_worth() -> None:
    history = small_history()
    dense = np.zeros((7, 4))
    for place in range(7):
        indices, values = history.action(place)
        dense[place, indices] = values
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(history.worth(theta), dense @ theta)
    places, some = np.array([0, 4, 6]), np.array([0, 3])
    np.testing.assert_array_equal(history.actions(places, some), dense[np.ix_(places, some)])


def test_a_learner_that_was_imported_or_saved_brings_what_it_remembers() -> None:
    learner = POLICY.start(0)
    for _ in range(60):
        learner.tell(learner.ask(), 0.5)
    learner.ask(count=2)
    saved = saved_history(learner)
    assert saved.ids.tolist() == list(range(11, 63))  # fifty rewards are remembered
    assert saved.states.tolist() == ["told"] * 50 + ["open"] * 2
    assert not saved.has_times
    assert saved.total == 62
    reader = LogReader(POLICY)
    content = Imported(learners.to_bytes(learner), 62, [61, 62])
    reader.read([event(1, log.IMPORT, None, content), event(2, log.TELL, 61, Rewarded(9.0))])
    imported = reader.history(62)
    assert imported.ids.tolist() == saved.ids.tolist()
    assert imported.rewards[50] == 9.0


def test_usage_counts_what_was_on(rng: np.random.Generator) -> None:
    actions = (rng.random((530, 60)) < 0.05).astype(float)
    policy = sb.SparseThompson(action_set=sb.LpBall(60), sparsity=9)
    reader = LogReader(policy)
    rows = [dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for row in actions]
    reader.read([event(1, log.ASK, 1, asked(*rows))])
    counted = usage(reader.history(530))
    times = actions.sum(axis=0)
    order = sorted(range(60), key=lambda i: (-times[i], i))
    assert counted.indices.tolist() == order[:40]
    assert counted.left_out == 20
    stretches = [[k for k in range(530) if k * 200 // 530 == bin_] for bin_ in range(200)]
    for row, index in zip(counted.shares, counted.indices, strict=True):
        np.testing.assert_allclose(row, [actions[s, index].mean() for s in stretches])
    assert counted.ends.tolist() == [s[-1] for s in stretches]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_moving_means_are_means_with_students_interval(rng: np.random.Generator) -> None:
    values = 1e6 + rng.normal(size=700)
    curve = moving_mean(values)
    assert curve.window == 35
    assert curve.places[0] == 34
    assert curve.places[-1] == 699
    for k in (0, 57, 199):
        window = values[curve.places[k] - 34 : curve.places[k] + 1]
        mean, error = window.mean(), window.std(ddof=1) / np.sqrt(35)
        np.testing.assert_allclose(curve.mean[k], mean, rtol=1e-12)
        # Student's quantile for 34 degrees of freedom, from a table.
        np.testing.assert_allclose(curve.high[k] - mean, 2.03225 * error, rtol=1e-4)
    assert evenly(np.arange(1000), 7).tolist()[-1] == 999


def test_the_believed_loss_is_its_definition() -> None:
    """By today's posterior, for what was available then."""
    learner, history = POLICY.start(0), small_history()
    rng = np.random.default_rng(0)
    actions = rng.random((40, 4)) * (rng.random((40, 4)) < 0.5)
    learner.warm_start(actions, actions @ [0.3, 1.0, -0.5, 0.6] + 0.3 * rng.normal(size=40))
    found = believed_loss(learner, history)
    assert found is not None
    assert found.draws == 50
    assert found.places.tolist() == list(range(7))
    thetas = learner.thetas_drawn(50)
    assert thetas is not None
    for place, loss in zip(found.places, found.loss, strict=True):
        offer = range(4) if history.offered[place] == 0 else (0, 2, 3)
        # On the box [0, 1] the best action has the two largest positive effects.
        indices, values = history.action(place)
        losses = [
            sum(sorted((max(theta[i], 0) for i in offer), reverse=True)[:2])
            - theta[indices] @ values
            for theta in thetas[1:]
        ]
        np.testing.assert_allclose(loss, np.mean(losses))


def test_what_was_left_out_by_name_is_no_loss() -> None:
    """Of two ways to say what is on offer, both count."""
    learner, losses = POLICY.start(0), []
    learner.warm_start(np.eye(4).repeat(3, axis=0), [0.0] * 3 + [1.0] * 3 + [0.2] * 6)
    choice = learners.Choice([2, 3], [1.0, 1.0], "exploit", 1)
    for asked_for in (
        Asked([choice], [0, 2, 3]),
        Asked([choice], None, None, [1]),
        Asked([choice]),
    ):
        reader = LogReader(POLICY)
        reader.read([event(1, log.ASK, 1, asked_for), event(2, log.ASK, 2, asked_for)])
        history = reader.history(2)
        assert len(history.offers) == 1
        found = believed_loss(learner, history)
        assert found is not None
        losses.append(found.loss[0])
    assert losses[0] == losses[1] < losses[2] - 0.5


def test_who_plays_the_best_is_believed_to_lose_nothing() -> None:
    """Not a little less than nothing either: both sides are of the same draws."""
    learner, rng = POLICY.start(0), np.random.default_rng(0)
    for _ in range(80):
        decision = learner.ask()
        worth = float(decision.action @ [0.3, 1.0, -0.5, 0.7])
        learner.tell(decision, worth + 0.03 * rng.normal())
    found = believed_loss(learner, saved_history(learner))
    assert found is not None
    assert found.loss[-1] == found.loss.min() == 0.0


def test_without_a_posterior_the_estimate_speaks_and_without_rewards_nothing_does() -> None:
    policy = sb.APSEE(action_set=sb.LpBall(4), sparsity=2, sigma=0.5)
    learner = policy.start(0)
    for _ in range(8):
        learner.tell(learner.ask(), 1.0)
    young = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2).start(0)
    for reward in (1.0, 3.0, -1.0):
        young.tell(young.ask(), reward)
    found = believed_loss(young, saved_history(young))
    assert found is not None
    assert found.draws == 0
    chart = loss_chart(young, saved_history(young))
    assert chart is not None
    assert "too early" in chart.sentence
    assert believed_loss(policy.start(0), saved_history(learner)) is None
    assert reward_chart(saved_history(policy.start(0))) is None
    chart = reward_chart(saved_history(learner))
    assert chart is not None
    assert "</" not in chart.json
    for rewards, first in ((20, "the first of"), (80, "the first shown of")):  # 50 are remembered
        while learner.summary().rewards < rewards:
            learner.tell(learner.ask(), 1.0)
        chart = reward_chart(saved_history(learner))
        assert chart is not None
        assert first in chart.sentence


def test_what_exploring_costs_is_not_said_to_be_what_is_unknown() -> None:
    def sentence(policy: sb.Policy) -> str:
        rng, learner = np.random.default_rng(0), policy.start(0)
        for _ in range(50):
            decision = learner.ask()
            learner.tell(decision, float(decision.action[0] + 0.1 * rng.normal()))
        chart = loss_chart(learner, saved_history(learner))
        assert chart is not None
        return chart.sentence

    ball = sb.LpBall(4)
    exploring = sentence(sb.APSEE(action_set=ball, sparsity=2, sigma=50.0))
    assert exploring.endswith("still unknown, and of exploring, in 100% of the last.")
    assert sentence(sb.SparseThompson(action_set=ball, sparsity=2)).endswith("still unknown.")


def test_coordinates_are_sorted_by_name_as_people_do() -> None:
    def names(action_set: sb.ActionSet) -> list[str]:
        learner = sb.SparseThompson(action_set=action_set, sparsity=2).start(0)
        return [row.name for row in sorted_rows(learner.summary(1), "name")]

    assert names(sb.LpBall(12)) == [str(number) for number in range(12)]
    mixed = sb.Box([0] * 4, [1] * 4, names=["TV", "print", "10", "2"])
    assert names(mixed) == ["2", "10", "print", "TV"]


def test_what_is_always_on_is_told_from_what_is_explored() -> None:
    def sentence(policy: sb.Policy, steps: int) -> str:
        rng, learner = np.random.default_rng(0), policy.start(0)
        for _ in range(steps):
            decision = learner.ask()
            effects = np.array([0.1, 1.0, 0.9, 0.0])
            learner.tell(decision, float(decision.action @ effects + rng.normal() / 50))
        chart = usage_chart(learner, saved_history(learner))
        assert chart is not None
        return chart.sentence

    ball = sb.LpBall(4, names=NAMES)
    locked = sb.APSEE(action_set=ball, sparsity=2, sigma=0.02, confidence="pairwise")
    assert sentence(locked, 131).endswith("on, where it did not explore: radio, print.")
    always = sb.SparseThompson(action_set=ball, sparsity=2)
    assert sentence(always, 200).endswith("Lately nearly always on: radio, print.")
    blind = sb.RandomSparse(action_set=ball, sparsity=2)
    assert sentence(blind, 60).endswith("none was nearly always on: it still tries.")


def test_with_contexts_pictures_say_what_they_leave_out_and_what_may_change() -> None:
    mix = sb.Box([0] * 4, [1] * 4, names=NAMES)
    learner = sb.SparseThompson(action_set=mix, sparsity=1, context=1).start(0)
    rng = np.random.default_rng(0)

    def play(steps: int, is_told: bool) -> History:
        for z in rng.normal(size=(steps, 1)):
            decision = learner.ask(context=z)
            effects = np.array([1.0, 1.0, 0.0, 0.0]) + z * np.array([2.0, -2.0, 0.0, 0.0])
            if is_told:
                learner.tell(decision, float(decision.action @ effects + 0.1 * rng.normal()))
        return saved_history(learner)

    few, many = play(200, is_told=True), play(40, is_told=False)  # it remembers 50 rewards
    for history, left_out in ((few, False), (many, True)):
        loss, used = loss_chart(learner, history), usage_chart(learner, history)
        assert loss is not None
        assert used is not None
        assert ("Worked out for 60 of 90 decisions." in loss.sentence) == left_out
        assert "or follows the context." in used.sentence


@pytest.mark.parametrize(("unit", "form"), [(1e-12, "e"), (1e-4, "e"), (1.0, None), (2e9, "e")])
def test_axes_write_huge_and_tiny_numbers_as_sentences_do(unit: float, form: str | None) -> None:
    line = Line(x=[1, 2], y=[-unit, 0.0], label="reward")
    chart = Chart(id="a", title="a", x_label="x", y_label="y", layers=(line,), sentence="A.")
    layout = json.loads(chart.json)["layout"]
    assert layout["yaxis"].get("exponentformat") == form
    assert "exponentformat" not in layout["xaxis"]


def test_decisions_of_one_moment_are_one_column_of_the_map() -> None:
    """Four asked for at 1001 s, two of them with tv; then one at 1001.25 s, without."""
    events = [
        event(1, log.ASK, 1, asked({0: 1.0}, {0: 1.0}, {1: 1.0}, {2: 1.0})),
        Event(learner=1, sequence=2, kind=log.ASK, at=1001.25, decision=5,
              body=log.write(asked({1: 1.0}))),
    ]  # fmt: skip
    reader = LogReader(POLICY)
    reader.read(events)
    chart = usage_chart(POLICY.start(0), reader.history(5), by_time=True)
    assert chart is not None
    [trace] = json.loads(chart.json)["data"]
    assert trace["x"] == ["1970-01-01 00:16:41.000", "1970-01-01 00:16:41.250"]
    assert dict(zip(trace["y"], trace["z"], strict=True))["tv"] == [0.5, 0.0]
