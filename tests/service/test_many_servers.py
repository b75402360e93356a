"""Servers that share a store: no lost update, no double count, no id twice."""

import concurrent.futures
import contextlib
import itertools
import resource
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sparsebandits as sb
from tests.service.crowd import Crowd, check_against_library
from tests.service.playing import POLICY, ask, create, exported, kind_of, tell
from tests.service.servers import Farm, Server
from tests.stores import Postgres, new_token

SMALL = sb.APSEE(action_set=sb.LpBall(dim=3), sparsity=1, sigma=0.5, delta=0.05)


def hammer(
    farm: Farm, url: str, *, servers: int, learners: int, clients: int, answers: int, kill: bool
) -> int:
    """Let a crowd loose on servers that share a store, kill one, and check every log."""
    token = new_token(url)
    running = [farm.serve(url, snapshot_every=16) for _ in range(servers)]
    keys = [f"k{number}" for number in range(learners)]
    with running[0].client(token) as client, concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda key: create(client, key, SMALL, seed=4).status_code, keys))
    assert made == [201] * learners
    with Crowd(lambda: [server.url for server in running], token, keys, clients) as crowd:
        crowd.wait_for(answers // 2)
        if kill:
            running.pop().kill()
        crowd.wait_for(answers // 2)
    assert crowd.failures == []

    def check(key: str) -> int:
        events = check_against_library(client, key, crowd.known[key], SMALL, 4)
        assert exported(other, key) == exported(client, key)
        return events

    with (
        running[0].client(token) as client,
        running[-1].client(token) as other,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):
        return sum(pool.map(check, keys))


def test_two_servers_on_one_learner(farm: Farm, store_url: str) -> None:
    """On one SQLite file too, although PostgreSQL is what is meant for it."""
    events = hammer(farm, store_url, servers=2, learners=1, clients=4, answers=100, kill=False)
    assert events > 50


def test_three_servers_on_one_learner_of_which_one_is_killed(
    farm: Farm, postgres: Postgres
) -> None:
    events = hammer(
        farm, postgres.new_store(), servers=3, learners=1, clients=6, answers=150, kill=True
    )
    assert events > 75


@pytest.mark.thorough
def test_three_servers_and_a_thousand_learners(farm: Farm, postgres: Postgres) -> None:
    events = hammer(
        farm, postgres.new_store(), servers=3, learners=1000, clients=12, answers=1500, kill=True
    )
    assert events > 750


def test_the_same_key_is_created_once_by_all(farm: Farm, store_url: str) -> None:
    token = new_token(store_url)
    servers = [farm.serve(store_url) for _ in range(3)]
    statuses: list[int] = []

    def make(server: Server) -> None:
        with server.client(token) as client:
            statuses.extend(create(client, f"k{number}").status_code for number in range(10))

    threads = [threading.Thread(target=make, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 20 + [201] * 10


def test_each_server_sees_what_another_has_done(farm: Farm, store_url: str) -> None:
    """Also of learners that it has in memory, and whatever was done: corrections, removal."""
    token = new_token(store_url)
    with farm.serve(store_url).client(token) as one, farm.serve(store_url).client(token) as two:
        for key in ("a", "b"):
            create(one, key)
        learner = POLICY.start(0)
        for step, client in zip(range(6), itertools.cycle([one, two]), strict=False):
            for key in ("a", "b"):
                assert ask(client, key)[0]["id"] == step + 1
            learner.ask()
        for client, number in ((one, 1), (two, 2), (one, 4)):
            tell(client, number, 0.5)
            learner.tell(number, 0.5)
        assert exported(one) == exported(two) == learner.to_dict()
        assert tell(two, 4, 0.5).json()["state"] == "unchanged"
        assert tell(one, 1, 0.9, correct=True).json()["state"] == "corrected"
        assert exported(one) == exported(two) != learner.to_dict()
        assert ask(two)[0]["id"] == 7
        assert two.delete("/v1/learners/a").status_code == 200
        assert one.post("/v1/learners/a/ask", json={}).status_code == 410
        assert two.delete("/v1/learners/a?purge=true").status_code == 200
        assert one.post("/v1/learners/a/ask", json={}).status_code == 404
        create(one)
        assert ask(two)[0]["id"] == 1
        assert ask(one, "b")[0]["id"] == 7


def test_the_database_is_restarted_under_three_servers(farm: Farm, postgres: Postgres) -> None:
    """A clear 503 with Retry-After from each, then all are normal again, and nothing is lost."""
    url = postgres.new_store()
    token = new_token(url)
    servers = [farm.serve(url, snapshot_every=16) for _ in range(3)]
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(server.client(token)) for server in servers]
        create(clients[0], "k", SMALL, seed=4)
        with Crowd(lambda: [server.url for server in servers], token, ["k"], 4) as crowd:
            crowd.wait_for(20)
            postgres.stop()
            wait_for_refusal(crowd)
            for client in clients:
                assert client.get("/healthz").status_code == 200
                asked = client.post("/v1/learners/k/ask", json={})
                assert kind_of(asked) == "unavailable"
                ready = client.get("/readyz")
                for refused in (asked, ready):
                    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            postgres.start()
            crowd.wait_for(20)
        assert crowd.failures == []
        assert crowd.statuses == {200, 503}
        assert crowd.retry_after == {"1"}
        for client in clients:
            assert check_against_library(client, "k", crowd.known["k"], SMALL, 4) > 20
            assert client.get("/readyz").status_code == 200
        given = max(crowd.known["k"].actions)
        again = [ask(client, "k")[0]["id"] for client in clients]
        assert again == [given + 1, given + 2, given + 3]


# ---------------------------------------------------------------------- disks


def wait_for_refusal(crowd: Crowd) -> None:
    deadline = time.monotonic() + 30
    while 503 not in crowd.statuses:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextlib.contextmanager
def full_file(server: Server, postgres: None) -> Iterator[None]:
    """Let files of a running server grow no further, as on a full disk."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextlib.contextmanager
def read_only_file(server: Server, postgres: None) -> Iterator[None]:
    """Whoever has a file open can write to it whatever its mode is; not if it is immutable."""
    path = server.store.removeprefix("sqlite:///")
    files = [path, f"{path}-wal"]
    if subprocess.run(["chattr", "+i", *files], check=False).returncode:
        pytest.skip("only root, on a disk that has it, can make a file immutable")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *files], check=True)


@contextlib.contextmanager
def full_database(server: Server, postgres: Postgres) -> Iterator[None]:
    """Let PostgreSQL refuse every event as it does when its disk is full."""
    schema = server.store.rpartition("search_path=")[2]
    postgres.server.psql(
        f"CREATE FUNCTION {schema}.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$; "
        f"CREATE TRIGGER full_disk BEFORE INSERT ON {schema}.events "
        f"EXECUTE FUNCTION {schema}.full_disk();"
    )
    yield
    postgres.server.psql(f"DROP TRIGGER full_disk ON {schema}.events;")


@contextlib.contextmanager
def read_only_database(server: Server, postgres: Postgres) -> Iterator[None]:
    """Let every transaction be read-only, as on a database that has become a replica."""
    postgres.server.psql("ALTER SYSTEM SET default_transaction_read_only = on;")
    postgres.server.psql("SELECT pg_reload_conf();")
    try:
        yield
    finally:
        postgres.server.psql("ALTER SYSTEM RESET default_transaction_read_only;")
        postgres.server.psql("SELECT pg_reload_conf();")


@pytest.mark.parametrize("harm", [full_file, read_only_file, full_database, read_only_database])
def test_a_store_that_cannot_be_written_loses_nothing(
    farm: Farm, tmp_path: Path, harm: Any, request: pytest.FixtureRequest
) -> None:
    """A clear 503 with Retry-After, reads go on, and all is normal when it can be written again."""
    is_file = harm in (full_file, read_only_file)
    postgres = None if is_file else request.getfixturevalue("postgres")
    url = f"sqlite:///{tmp_path / 'store.db'}" if postgres is None else postgres.new_store()
    token = new_token(url)
    server = farm.serve(url, snapshot_every=16)
    with server.client(token) as client:
        create(client, "k", SMALL, seed=4)
    with Crowd(lambda: [server.url], token, ["k"], 3) as crowd:
        crowd.wait_for(20)
        with harm(server, postgres), server.client(token) as client:
            wait_for_refusal(crowd)
            answer = client.post("/v1/learners/k/ask", json={})
            assert (answer.status_code, kind_of(answer)) == (503, "unavailable")
            for _ in range(20):  # on one connection: the log, too, may be on the full disk
                assert client.get("/v1/learners/k/history").status_code == 200
        crowd.wait_for(20)
    assert crowd.failures == []
    assert crowd.statuses == {200, 503}
    assert crowd.retry_after == {"1"}
    with server.client(token) as client:
        assert check_against_library(client, "k", crowd.known["k"], SMALL, 4) > 20


def test_another_process_that_holds_the_lock_is_waited_for(farm: Farm, tmp_path: Path) -> None:
    """Too long is a 503 with Retry-After; whatever needs no store is answered meanwhile."""
    server = farm.serve(f"sqlite:///{tmp_path / 'store.db'}")
    with (
        server.client() as client,
        contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as db,
    ):
        create(client)
        db.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            started = time.monotonic()
            late = pool.submit(client.post, "/v1/learners/a/ask", json={})
            time.sleep(0.2)
            assert client.get("/healthz").status_code == 200
            assert time.monotonic() - started < 3
            answer = late.result()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        db.rollback()
        assert ask(client)[0]["id"] == 1
