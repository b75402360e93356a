"""A request that is sent again is counted once."""

import concurrent.futures
import contextlib
import hashlib
import json
import sqlite3
from functools import partial
from pathlib import Path

import httpx

import sparsebandits as sb
from tests.service.playing import ask, create, kind_of
from tests.service.servers import Farm
from tests.stores import new_token


def post(client: httpx.Client, path: str, body: object, key: str) -> httpx.Response:
    return client.post(path, json=body, headers={"Idempotency-Key": key})


def test_the_same_key_and_body_get_the_stored_answer(farm: Farm, store_url: str) -> None:
    server = farm.serve(store_url)
    with server.client() as client:
        create(client)
        first = post(client, "/v1/learners/a/ask", {"count": 2}, "k")
        again = post(client, "/v1/learners/a/ask", {"count": 2}, "k")
        assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
        assert kind_of(post(client, "/v1/learners/a/ask", {"count": 3}, "k")) == "key-reused"
        create(client, "b")
        other = post(client, "/v1/learners/b/ask", {"count": 2}, "k")  # unique per learner
        assert other.json()["decisions"][0]["id"] == 1
        assert "idempotent-replayed" not in other.headers
        pair = {"actions": [[1, 0, 0, 0]], "rewards": [1.0]}
        for _ in range(3):
            assert post(client, "/v1/learners/a/observe", pair, "o").json() == {"observed": 1}
        many = {"asks": [{"learner": "a"}, {"learner": "b"}]}
        answers = {post(client, "/v1/ask", many, "m").content for _ in range(3)}
        assert len(answers) == 1
        solve = {"action_set": {"kind": "lp-ball", "dim": 2}, "theta": [1, 2], "sparsity": 1}
        assert post(client, "/v1/solve", solve, "s").json()["support"] == [1]
        solve["theta"] = [2, 1]
        assert kind_of(post(client, "/v1/solve", solve, "s")) == "key-reused"
        tells: dict[str, list[dict[str, object]]] = {
            "tells": [{"learner": "a", "id": 1, "reward": 0.5}]
        }
        told = [post(client, "/v1/tell", tells, "t").json()["answers"] for _ in range(3)]
        assert told == [[{"status": 200, "state": "told"}]] * 3  # not even "unchanged"
        tells["tells"][0]["reward"] = 0.6
        assert kind_of(post(client, "/v1/tell", tells, "t")) == "key-reused"
        learner = sb.SparseThompson(action_set=sb.LpBall(dim=3), sparsity=1).start(0)
        saved: dict[str, object] = {"key": "moved", "learner": learner.to_dict()}
        moved = [post(client, "/v1/import", saved, "i") for _ in range(3)]
        assert [answer.status_code for answer in moved] == [201] * 3
        assert kind_of(post(client, "/v1/import", {**saved, "key": "x"}, "i")) == "key-reused"
        assert post(client, "/v1/import", saved, "another").status_code == 409
        view = client.get("/v1/learners/a").json()
        assert (view["decisions"], view["rewards"]) == (3, 2)
        server.kill()
    with farm.serve(store_url).client() as client:
        after = post(client, "/v1/learners/a/ask", {"count": 2}, "k")
        assert after.content == first.content


def test_a_refused_request_may_be_sent_again_with_its_key(farm: Farm, usual_url: str) -> None:
    with farm.serve(usual_url).client() as client:
        assert post(client, "/v1/learners/a/ask", {}, "k").status_code == 404
        create(client)
        assert post(client, "/v1/learners/a/ask", {}, "k").status_code == 200
        for odd in ("", "x" * 201, "tab\there"):
            assert kind_of(post(client, "/v1/learners/a/ask", {}, odd)) == "invalid"


def test_twins_that_arrive_together_are_one(farm: Farm, usual_url: str) -> None:
    with farm.serve(usual_url).client() as client:
        create(client)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(
                pool.map(lambda _: post(client, "/v1/learners/a/ask", {}, "twin"), range(48))
            )
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        assert ask(client)[0]["id"] == 2


def test_twins_that_arrive_at_different_servers_are_one(farm: Farm, store_url: str) -> None:
    """Also where no learner's row is in between: an import, and the oracle alone."""
    token = new_token(store_url)
    servers = [farm.serve(store_url) for _ in range(2)]
    learner = sb.SparseThompson(action_set=sb.LpBall(dim=3), sparsity=1).start(0)
    requests: list[tuple[str, object]] = [
        ("/v1/learners/a/ask", {"count": 2}),
        ("/v1/ask", {"asks": [{"learner": "a"}, {"learner": "b"}]}),
        ("/v1/import", {"key": "moved", "learner": learner.to_dict()}),
    ]
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(server.client(token)) for server in servers]
        for key in ("a", "b"):
            create(clients[0], key)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for path, body in requests:
                send = partial(post, path=path, body=body, key="twin")
                answers = list(pool.map(send, clients * 8))
                assert {answer.status_code for answer in answers} <= {200, 201}
                assert len({answer.content for answer in answers}) == 1, path
        assert ask(clients[0])[0]["id"] == 4
        assert ask(clients[1], "b")[0]["id"] == 2


def test_a_policy_described_before_a_keyword_was_there_is_the_same(
    farm: Farm, tmp_path: Path
) -> None:
    """The description in the store is older than the release, which writes one keyword more."""
    policy = sb.APSEE(action_set=sb.LpBall(4), sparsity=2)
    file = tmp_path / "store.db"
    server = farm.serve(f"sqlite:///{file}")
    with server.client() as client:
        assert create(client, policy=policy).status_code == 201
        ask(client)
        server.kill()
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        [[body]] = connection.execute("SELECT body FROM policies").fetchall()
        described = json.loads(body)
        assert described.pop("intercept") is False
        older = json.dumps(described).encode()
        digest = hashlib.sha256(older).hexdigest()
        connection.execute("UPDATE policies SET digest = ?, body = ?", (digest, older))
        connection.execute("UPDATE learners SET policy = ?", (digest,))
    with farm.serve(f"sqlite:///{file}").client() as client:
        assert create(client, policy=policy).status_code == 200
        other = sb.APSEE(action_set=sb.LpBall(4), sparsity=2, intercept=True)
        assert create(client, policy=other).status_code == 409
        assert ask(client)[0]["id"] == 2
