"""A request that is sent again is counted once."""

import concurrent.futures

import httpx

from tests.service.playing import ask, create, kind_of
from tests.service.servers import Farm


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
        view = client.get("/v1/learners/a").json()
        assert (view["decisions"], view["rewards"]) == (3, 1)
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
