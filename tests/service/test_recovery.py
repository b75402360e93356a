"""Snapshots that are damaged, logs that are cut, files that are moved: refused or recovered."""

import re
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import msgspec
import numpy as np

import sparsebandits as sb
from sparsebandits.service import log
from sparsebandits.service.checkup import check_store
from sparsebandits.service.learners import Choice
from sparsebandits.service.residents import Saved
from sparsebandits.store import Event, Snapshot, Store
from tests.service.playing import POLICY, ask, create, exported, kind_of, tell
from tests.service.servers import Farm
from tests.stores import change, use


def play(client: httpx.Client, rounds: int = 10) -> None:
    create(client)
    for step in range(rounds):
        [decision] = ask(client)
        tell(client, decision["id"], np.sin(step))


def library(rounds: int = 10) -> sb.Learner:
    learner = POLICY.start(0)
    for step in range(rounds):
        learner.tell(learner.ask(), float(np.sin(step)))
    return learner


def metric(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^sparsebandits_{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def restarted(farm: Farm, url: str, meanwhile: Callable[[], None]) -> httpx.Client:
    server = farm.serve(url, snapshot_every=8)
    with server.client() as client:
        play(client)
    server.kill()
    meanwhile()
    return farm.serve(url, snapshot_every=8).client()


def test_a_damaged_snapshot_is_passed_over_for_the_log(farm: Farm, store_url: str) -> None:
    with restarted(farm, store_url, lambda: change(
        store_url, "UPDATE snapshots SET digest = 'x'"
    )) as client:  # fmt: skip
        assert exported(client) == library().to_dict()
        assert metric(client, "damaged_snapshots_total") == 1


def test_a_snapshot_of_another_release_is_passed_over(farm: Farm, store_url: str) -> None:
    """Its digest is right, and its state is one that cannot be read any more."""

    async def rewrite(store: Store) -> None:
        async with store.transaction() as transaction:
            saved = await transaction.snapshot(1)
            assert saved is not None
            older = Saved(zlib.compress(b'{"version": 1, "state": {}}'), {})
            body = msgspec.msgpack.encode(older)
            await transaction.save_snapshots([Snapshot.of(1, saved.sequence, body)])

    with restarted(farm, store_url, lambda: use(store_url, rewrite)) as client:
        assert exported(client) == library().to_dict()
        assert metric(client, "damaged_snapshots_total") == 1


def test_a_cut_log_is_refused_and_others_go_on(farm: Farm, store_url: str) -> None:
    def cut() -> None:
        change(
            store_url,
            "DELETE FROM events WHERE sequence > 15",
            "DELETE FROM snapshots",
        )

    with restarted(farm, store_url, cut) as client:
        answer = client.post("/v1/learners/a/ask", json={})
        assert (answer.status_code, kind_of(answer)) == (503, "damaged")
        assert "retry-after" not in answer.headers
        create(client, "b")
        assert ask(client, "b")[0]["id"] == 1


def test_a_gap_in_the_log_and_an_unreadable_event_are_refused(farm: Farm, usual_url: str) -> None:
    for harm in (
        "DELETE FROM events WHERE sequence = 12",
        "UPDATE events SET kind = 'nonsense' WHERE sequence = 12",
    ):
        change(usual_url, "DELETE FROM learners", "DELETE FROM events", "DELETE FROM snapshots")
        harmed = partial(change, usual_url, harm, "DELETE FROM snapshots")
        with restarted(farm, usual_url, harmed) as client:
            assert kind_of(client.get("/v1/learners/a/export")) == "damaged"
            if "nonsense" in harm:
                assert kind_of(client.get("/v1/learners/a/history")) == "damaged"


def test_the_log_wins_over_a_recomputed_action_and_it_is_counted(
    farm: Farm, usual_url: str
) -> None:
    """As if a machine that rounds otherwise had played."""
    other = Choice([0], [0.25], "exploit", 5)

    async def rewrite(store: Store) -> None:
        async with store.transaction() as transaction:
            [event] = await transaction.select(Event, "events", "sequence = 9")
            assert event.kind == "ask"
            body = log.write(log.Asked([other]))
            await store.connection.run("UPDATE events SET body = ? WHERE sequence = 9", body)
            await store.connection.run("DELETE FROM snapshots")

    with restarted(farm, usual_url, lambda: use(usual_url, rewrite)) as client:
        theirs = sb.Learner.from_dict(exported(client))
        events = client.get("/v1/learners/a/history").json()["events"]
        assert metric(client, "replay_mismatches_total") >= 1
    count, problems = use(usual_url, check_store)
    assert count == 1
    assert any("come out otherwise" in problem for problem in problems)
    played = [event["decisions"][0]["action"] for event in events if event["kind"] == "ask"]
    assert played[4] == {"0": 0.25}
    actions = [[action.get(str(i), 0.0) for i in range(4)] for action in played]
    by_log, as_computed = POLICY.start(0), library().theta_hat
    by_log.warm_start(actions, [float(np.sin(step)) for step in range(10)])
    assert theirs.theta_hat is not None
    assert by_log.theta_hat is not None
    assert as_computed is not None
    np.testing.assert_allclose(theirs.theta_hat, by_log.theta_hat, rtol=1e-9)
    assert np.abs(as_computed - by_log.theta_hat).max() > 1e-3


def test_a_learner_that_was_let_go_comes_back_the_same(farm: Farm, usual_url: str) -> None:
    """With room for two in memory, six learners are loaded from the store in turn."""
    with farm.serve(usual_url, resident=2, snapshot_every=3).client() as client:
        mine = [POLICY.start(seed) for seed in range(6)]
        for seed in range(6):
            create(client, f"k{seed}", seed=seed)
        for step in range(3):
            for seed, learner in enumerate(mine):
                [decision] = ask(client, f"k{seed}")
                tell(client, decision["id"], step - seed, f"k{seed}")
                learner.tell(learner.ask(), step - seed)
        for seed, learner in enumerate(mine):
            assert exported(client, f"k{seed}") == learner.to_dict()
        assert metric(client, "resident_learners") == 2
        assert metric(client, "replay_mismatches_total") == 0


def test_check_finds_every_kind_of_harm(usual_url: str, farm: Farm) -> None:
    server = farm.serve(usual_url, snapshot_every=8)
    with server.client() as client:
        play(client)
        tell(client, 3, 7.0, correct=True)
        ask(client, count=2)
        client.delete("/v1/learners/a/decisions/11")
    assert use(usual_url, check_store) == (1, [])
    for harm, words in (
        ("UPDATE learners SET rewards = 99", "its row counts"),
        ("UPDATE snapshots SET digest = 'x'", "snapshot is damaged"),
        ("UPDATE learners SET head = 99", "but 99 were written"),
        ("DELETE FROM policies", "lacks the policy"),
    ):
        change(usual_url, harm)
        assert any(words in problem for problem in use(usual_url, check_store)[1]), harm


def test_a_file_that_was_moved_away_is_found_again(farm: Farm, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    server = farm.serve(url)
    with server.client() as client:
        play(client)
    server.kill()
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        if (tmp_path / name).exists():
            (tmp_path / name).rename(tmp_path / name.replace("store", "moved"))
    with farm.serve(f"sqlite:///{tmp_path / 'moved.db'}").client() as client:
        assert exported(client) == library().to_dict()
