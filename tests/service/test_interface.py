"""What each call answers, on a real server."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.service.checkup import check_store
from sparsebandits.service.server import listen
from tests.service.playing import POLICY, ask, create, exported, kind_of, tell
from tests.service.servers import Farm
from tests.stores import use


@pytest.fixture
def client(farm: Farm, usual_url: str) -> Iterator[httpx.Client]:
    with farm.serve(usual_url).client() as client:
        yield client


def test_a_learner_is_created_once(client: httpx.Client) -> None:
    made = create(client, seed=5)
    assert made.status_code == 201
    assert made.json()["dim"] == 4
    assert create(client, seed=5).status_code == 200
    for other in ({"seed": 6}, {"seed": 5, "reward_wait": 9.0}):
        assert kind_of(create(client, **other)) == "learner-differs"
    another = sb.SparseThompson(action_set=sb.LpBall(dim=4), sparsity=1)
    assert create(client, policy=another, seed=5).status_code == 409
    assert client.get("/v1/learners/a").json() == {**made.json()}


def test_the_service_is_the_library(client: httpx.Client) -> None:
    """The same rewards in the same order: the same learner, bit for bit."""
    create(client, seed=3)
    learner = POLICY.start(3)
    for step in range(12):
        available = [0, 2, 3] if step % 3 == 0 else None
        [decision] = ask(client, available=available)
        mine = learner.ask(available=available)
        sent = np.zeros(4)
        sent[decision["indices"]] = list(decision["action"].values())
        assert (decision["id"], decision["phase"], decision["cycle"]) == (
            mine.id,
            mine.phase,
            mine.cycle,
        )
        np.testing.assert_array_equal(sent, mine.action)
        if step != 5:
            assert tell(client, decision["id"], 0.1 * step).status_code == 200
            learner.tell(mine, 0.1 * step)
    assert client.delete("/v1/learners/a/decisions/6").json()["state"] == "forgotten"
    learner.forget(6)
    pairs = {"actions": [{"1": 0.5}, [0, 0, 0, 1]], "rewards": [0.3, -0.2]}
    assert client.post("/v1/learners/a/observe", json=pairs).json() == {"observed": 2}
    learner.warm_start([[0, 0.5, 0, 0], [0, 0, 0, 1]], [0.3, -0.2])
    assert exported(client) == learner.to_dict()
    known = client.get("/v1/learners/a/certificate").json()
    assert known["gap"] == learner.certificate().gap
    believed = client.get("/v1/learners/a/posterior").json()
    first = next(iter(learner.summary()))
    assert believed["coordinates"][0] == {
        "index": first.index,
        "name": first.name,
        "estimate": first.estimate,
        "low": first.low,
        "high": first.high,
        "inclusion": first.inclusion,
    }
    view = client.get("/v1/learners/a").json()
    assert (view["decisions"], view["rewards"], view["open"]) == (12, 13, 0)


def test_a_mask_means_its_indices(client: httpx.Client) -> None:
    create(client)
    create(client, "b")
    mask = ask(client, available=[True, False, True, False], count=3)
    assert [d["action"] for d in mask] == [
        d["action"] for d in ask(client, "b", available=[0, 2], count=3)
    ]
    assert [d["id"] for d in mask] == [1, 2, 3]
    for wrong in ([True], [0, True], [4], [-1], ["tv"], [], [10**30]):
        answer = client.post("/v1/learners/a/ask", json={"available": wrong})
        assert (answer.status_code, kind_of(answer)) == (422, "invalid"), wrong


def test_a_reward_is_told_once(client: httpx.Client) -> None:
    create(client)
    ask(client, count=2)
    assert tell(client, 1, 0.7).json()["state"] == "told"
    assert tell(client, 1, 0.7).json()["state"] == "unchanged"
    assert kind_of(tell(client, 1, 0.8)) == "reward-differs"
    assert kind_of(tell(client, 3, 0.8)) == "unknown-decision"
    assert tell(client, 10**30, 0.8).status_code == 404
    for wrong in ("0.7", None, True, [1]):
        assert kind_of(tell(client, 2, wrong)) == "invalid"
    for text in ("NaN", "Infinity", "1e999", "1e200"):
        path = "/v1/learners/a/decisions/2/reward"
        answer = client.put(path, content=f'{{"reward": {text}}}')
        assert answer.status_code == 422, text
    view = client.get("/v1/learners/a").json()
    assert (view["rewards"], view["open"]) == (1, 1)


def test_a_correction_is_the_learners_own(client: httpx.Client) -> None:
    create(client, seed=1)
    ask(client, count=3)
    learner = POLICY.start(1)
    learner.ask(count=3)
    for number, reward in ((1, 0.5), (2, 0.2), (3, 9.0)):
        tell(client, number, reward)
        learner.tell(number, reward)
    assert tell(client, 3, 0.9, correct=True).json()["state"] == "corrected"
    learner.correct(3, 0.9)
    assert exported(client) == learner.to_dict()
    assert tell(client, 3, 0.9).json()["state"] == "unchanged"
    assert kind_of(tell(client, 3, 9.0)) == "reward-differs"
    assert ask(client)[0]["action"] == learner.ask().named


def test_where_a_learner_cannot_take_a_reward_back_it_is_told_the_right_one_from_the_start(
    client: httpx.Client,
) -> None:
    policy = sb.APSEE(action_set=sb.LpBall(dim=3), sparsity=1, sigma=0.5, delta=0.05)
    create(client, policy=policy, seed=1)
    told = [9.0, 0.5, 0.2, 0.7]
    for reward in told:
        tell(client, ask(client)[0]["id"], reward)
    assert tell(client, 1, 0.9, correct=True).json()["state"] == "corrected"
    learner = policy.start(1)
    for reward in [0.9, *told[1:]]:
        learner.tell(learner.ask(), reward)
    assert exported(client) == learner.to_dict()
    assert ask(client)[0]["action"] == learner.ask().named
    assert tell(client, 2, -0.5, correct=True).json()["state"] == "corrected"
    assert kind_of(tell(client, 2, 0.5)) == "reward-differs"


def test_a_decision_is_forgotten_once_and_may_be_told_by_a_correction(
    client: httpx.Client,
) -> None:
    create(client)
    ask(client, count=2)
    tell(client, 1, 0.5)
    assert client.delete("/v1/learners/a/decisions/1").status_code == 409
    for _ in range(2):
        assert client.delete("/v1/learners/a/decisions/2").status_code == 200
    assert kind_of(tell(client, 2, 0.5)) == "decision-closed"
    assert tell(client, 2, 0.5, correct=True).status_code == 200
    learner = POLICY.start(0)
    learner.ask(count=2)
    for number in (1, 2):
        learner.tell(number, 0.5)
    assert exported(client) == learner.to_dict()


def test_coordinates_have_names(client: httpx.Client) -> None:
    mix = sb.Box([0, 0, 0], [1, 1, 1], names=["tv", "radio", "print"])
    policy = sb.SparseThompson(action_set=mix, sparsity=2)
    assert create(client, policy=policy).json()["names"] == ["tv", "radio", "print"]
    learner = policy.start(0)
    [decision] = ask(client, available=["radio", "print"])
    mine = learner.ask(available=["radio", "print"])
    assert decision["action"] == mine.named
    assert set(decision["action"]) <= {"radio", "print"}
    pairs = {"actions": [{"tv": 1.0, "2": 0.5}], "rewards": [0.4]}
    assert client.post("/v1/learners/a/observe", json=pairs).status_code == 200
    learner.warm_start([[1.0, 0.0, 0.5]], [0.4])
    assert exported(client) == learner.to_dict()
    for wrong, words in (
        (["raido"], "did you mean 'radio'?"),
        (["tv", "0"], "distinct, got '0' twice"),
    ):
        answer = client.post("/v1/learners/a/ask", json={"available": wrong})
        assert kind_of(answer) == "invalid"
        assert words in answer.json()["detail"]


def test_a_context_is_seen_before_deciding(client: httpx.Client) -> None:
    policy = sb.SparseThompson(action_set=sb.Box([0] * 3, [1] * 3), sparsity=1, context=2)
    create(client, policy=policy)
    learner = policy.start(0)
    for step in range(4):
        [decision] = ask(client, context=[1.0, step])
        assert decision["action"] == learner.ask(context=[1.0, step]).named
        tell(client, decision["id"], step)
        learner.tell(step + 1, step)
    assert exported(client) == learner.to_dict()
    for wrong in (None, [1.0], [1.0, 1e150]):
        answer = client.post("/v1/learners/a/ask", json={"context": wrong})
        assert kind_of(answer) == "invalid"


def test_an_export_goes_on_here_and_an_import_there(client: httpx.Client, usual_url: str) -> None:
    create(client, seed=2)
    ask(client, count=4)
    tell(client, 2, 1.0)
    learner = sb.Learner.from_dict(exported(client))
    body: dict[str, Any] = {"key": "b", "learner": learner.to_dict()}
    assert client.post("/v1/import", json=body).status_code == 201
    assert kind_of(client.post("/v1/import", json=body)) == "learner-differs"
    assert exported(client, "b") == learner.to_dict()
    assert tell(client, 4, 0.5, "b").status_code == 200
    learner.tell(4, 0.5)
    assert kind_of(tell(client, 2, 0.5, "b")) == "decision-closed"
    ask(client, "b")
    learner.ask()
    assert exported(client, "b") == learner.to_dict()
    both = client.post("/v1/ask", json={"asks": [{"learner": "a"}, {"learner": "b"}]}).json()
    assert [answer["status"] for answer in both["answers"]] == [200, 200]
    learner.ask()
    assert exported(client, "b") == learner.to_dict()
    body["learner"]["state"]["next_id"] = 99
    assert kind_of(client.post("/v1/import", json={**body, "key": "c"})) == "invalid"
    assert use(usual_url, check_store) == (2, [])


def test_an_answer_is_not_held_back_until_its_head_is_acknowledged() -> None:
    """asyncio sets TCP_NODELAY only on sockets that say they are TCP: else 40 ms an answer."""
    found: list[int] = []

    async def look(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted: socket.socket = writer.get_extra_info("socket")
        found.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def accept() -> None:
        async with await asyncio.start_server(look, sock=listen("127.0.0.1", 0)) as server:
            address = server.sockets[0].getsockname()
            reader, writer = await asyncio.open_connection(*address)
            assert await reader.read() == b""
            writer.close()

    asyncio.run(accept())
    assert found == [1]


def test_a_removed_learner_is_kept_for_export_until_it_is_purged(client: httpx.Client) -> None:
    create(client)
    ask(client)
    before = exported(client)
    for _ in range(2):
        assert client.delete("/v1/learners/a").json()["state"] == "removed"
    assert kind_of(client.post("/v1/learners/a/ask", json={})) == "removed"
    assert kind_of(create(client)) == "removed"
    assert client.get("/v1/learners").json()["learners"] == []
    assert exported(client) == before
    assert client.delete("/v1/learners/a?purge=true").json()["state"] == "purged"
    assert client.delete("/v1/learners/a?purge=true").status_code == 404
    assert kind_of(client.get("/v1/learners/a/export")) == "unknown-learner"
    assert create(client).status_code == 201
    assert ask(client)[0]["id"] == 1


def test_learners_and_history_come_in_pages(client: httpx.Client) -> None:
    for key in ("b", "a1", "a2"):
        create(client, key)
    first = client.get("/v1/learners", params={"limit": 2}).json()
    assert [found["key"] for found in first["learners"]] == ["a1", "a2"]
    rest = client.get("/v1/learners", params={"limit": 2, "after": first["next"]}).json()
    assert ([found["key"] for found in rest["learners"]], rest["next"]) == (["b"], None)
    prefixed = client.get("/v1/learners", params={"prefix": "a"}).json()["learners"]
    assert [found["key"] for found in prefixed] == ["a1", "a2"]
    ask(client, "b", count=2, available=[0, 1])
    tell(client, 2, 0.5, "b")
    page = client.get("/v1/learners/b/history", params={"limit": 1}).json()
    assert page["events"][0]["available"] == [0, 1]
    assert [found["id"] for found in page["events"][0]["decisions"]] == [1, 2]
    last = client.get("/v1/learners/b/history", params={"after": page["next"]}).json()
    assert [(e["kind"], e["id"], e["reward"]) for e in last["events"]] == [("tell", 2, 0.5)]
    assert last["next"] is None
    assert kind_of(client.get("/v1/learners/none/history")) == "unknown-learner"


def test_a_page_of_none_is_one_of_one(client: httpx.Client) -> None:
    for key in "ab":
        create(client, key)
    page = client.get("/v1/learners?limit=0").json()
    assert ([found["key"] for found in page["learners"]], page["next"]) == (["a"], "a")


def test_many_learners_in_one_request(client: httpx.Client) -> None:
    for key in ("a", "b"):
        create(client, key)
    asks = [{"learner": "a"}, {"learner": "none"}, {"learner": "b", "count": 2}, {"learner": "a"}]
    answers = client.post("/v1/ask", json={"asks": asks}).json()["answers"]
    assert [answer["status"] for answer in answers] == [200, 404, 200, 200]
    ids = [[d["id"] for d in answer.get("decisions", [])] for answer in answers]
    assert ids == [[1], [], [1, 2], [2]]
    tells = [
        {"learner": "a", "id": 1, "reward": 0.5},
        {"learner": "b", "id": 9, "reward": 0.5},
        {"learner": "a", "id": 1, "reward": 0.6},
        {"learner": "a", "id": 1, "reward": 0.7, "correct": True},
    ]
    told = client.post("/v1/tell", json={"tells": tells}).json()["answers"]
    assert [answer["status"] for answer in told] == [200, 404, 409, 200]
    assert told[3]["state"] == "corrected"


def test_the_oracle_alone(client: httpx.Client) -> None:
    problem = {"action_set": {"kind": "lp-ball", "dim": 3, "p": 1.0}, "theta": [1, -3, 2]}
    answer = client.post("/v1/solve", json={**problem, "sparsity": 1}).json()
    assert answer["action"] == {"1": -1.0}
    assert answer["is_exact"]
    without = client.post("/v1/solve", json={**problem, "sparsity": 1, "available": [0, 2]})
    assert without.json()["support"] == [2]
    assert kind_of(client.post("/v1/solve", json={**problem, "sparsity": 9})) == "invalid"
    rules = {"at_most": 2, "never_together": [[1, 2]]}
    ball = {"action_set": {"kind": "lp-ball", "dim": 3, "p": 2.0}, "theta": [1, -3, 2]}
    ruled = client.post("/v1/solve", json={**ball, "sparsity": rules, "available": None}).json()
    assert (ruled["support"], ruled["is_exact"]) == ([0, 1], True)
    kept = {"all_but": [1]}
    assert client.post("/v1/solve", json={**ball, "sparsity": 2, "available": kept}).json()[
        "support"
    ] == [0, 2]
    wrong = {**ball, "sparsity": {"at_most": 2, "always": [7]}}
    assert kind_of(client.post("/v1/solve", json=wrong)) == "invalid"


def test_all_but_some_may_be_used(client: httpx.Client, usual_url: str) -> None:
    """As in the library, in the log, and when the log is played again."""
    create(client)
    mine = POLICY.start(0)
    for step in range(6):
        [decision] = ask(client, available={"all_but": [1, 3]})
        theirs = mine.ask(sb.AllBut([1, 3]))
        assert {"1", "3"}.isdisjoint(decision["action"])
        assert list(decision["action"].values()) == theirs.values.tolist()
        tell(client, decision["id"], step)
        mine.tell(theirs, step)
    assert exported(client) == mine.to_dict()
    logged = client.get("/v1/learners/a/history").json()["events"][0]
    assert logged["available"] == {"all_but": [1, 3]}
    assert use(usual_url, check_store) == (1, [])
    refused = client.post("/v1/learners/a/ask", json={"available": {"all_but": [9]}})
    assert kind_of(refused) == "invalid"


def test_answers_without_a_proof_are_counted_of_asks_too(client: httpx.Client) -> None:
    matrix = np.eye(4) + 0.3
    policy = sb.SparseThompson(action_set=sb.Ellipsoid(matrix), sparsity=2, oracle="greedy")
    create(client, "greedy", policy)
    create(client, "sorted")
    name = "sparsebandits_unproven_oracle_answers_total"
    ask(client, "sorted")
    assert f"{name} 0.0" in client.get("/metrics").text
    ask(client, "greedy")
    assert f"{name} 0.0" not in client.get("/metrics").text


def test_what_the_platform_asks_needs_no_token(client: httpx.Client) -> None:
    del client.headers["authorization"]
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert client.get(path).status_code == 200
    assert kind_of(client.get("/nothing")) == "unknown-path"
    assert kind_of(client.patch("/v1/learners/a")) == "wrong-method"


def test_metrics_and_log_lines_tell_no_secrets(farm: Farm, usual_url: str) -> None:
    server = farm.serve(usual_url)
    with server.client() as client:
        create(client, "secret-campaign")
        ask(client, "secret-campaign")
        tell(client, 1, 0.123456, "secret-campaign")
        metrics = client.get("/metrics").text
    assert "secret" not in metrics
    assert 'sparsebandits_request_seconds_count{call="ask",status="200"} 1.0' in metrics
    log = server.log.read_text()
    assert '"call": "tell"' in log
    token = client.headers["authorization"].split("_", 2)[2]
    assert "0.123456" not in log
    assert token not in log


def test_a_refused_method_is_told_which_there_are(client: httpx.Client) -> None:
    """And nobody is sent elsewhere with a token."""
    answer = client.patch("/v1/learners/a")
    assert (answer.status_code, kind_of(answer)) == (405, "wrong-method")
    assert answer.headers["allow"] == "DELETE, GET, PUT"
    assert set(client.post("/healthz").headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert kind_of(client.get("/v1/learners/")) == "unknown-path"
