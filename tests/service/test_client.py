"""The client: a learner's ask and tell, sync and async, through kills and refusals."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import sparsebandits as sb
from tests.service.playing import POLICY
from tests.service.servers import Farm, Server
from tests.stores import new_token


@pytest.fixture
def server(farm: Farm, tmp_path: Path) -> Server:
    return farm.serve(f"sqlite:///{tmp_path / 'store.db'}")


def test_a_remote_learner_is_played_like_a_local_one(server: Server) -> None:
    here = POLICY.start(4)
    with sb.Client(server.url, new_token(server.store)) as client:
        there = client.learner("spring")
        assert there.create(POLICY, seed=4)["dim"] == 4
        there.create(POLICY, seed=4)
        for step in range(5):
            mask = np.array([True, True, False, True]) if step == 2 else None
            mine, theirs = here.ask(available=mask), there.ask(available=mask)
            np.testing.assert_array_equal(theirs.action, mine.action)
            assert (theirs.id, theirs.phase) == (mine.id, mine.phase)
            assert not theirs.action.flags.writeable
            assert theirs.named == {str(i): mine.action[i] for i in np.flatnonzero(mine.action)}
            here.tell(mine, step)
            there.tell(theirs if step % 2 else theirs.id, step)
        both = there.ask(count=2)
        assert [decision.id for decision in both] == [6, 7]
        there.forget(both[0])
        there.warm_start(np.eye(4)[:2], [1.0, 2.0])
        here.ask(count=2)
        here.forget(6)
        here.warm_start(np.eye(4)[:2], [1.0, 2.0])
        assert there.export().to_dict() == here.to_dict()
        assert there.info()["open"] == 1
        assert there.certificate()["gap"] == here.certificate().gap
        assert len(there.posterior()["coordinates"]) == 4
        assert there.history(after=11)["events"][0]["kind"] == "forget"
        copy = client.learner("copy")
        copy.import_from(here)
        counted = ("decisions", "rewards", "open")
        assert [copy.info()[name] for name in counted] == [7, 7, 1]
        assert [there.info()[name] for name in counted] == [7, 7, 1]
        there.correct(1, 9.0)
        there.remove()
        there.remove(purge=True)
        with pytest.raises(sb.ServiceError, match="There is no learner 'spring'") as refused:
            there.ask()
        assert (refused.value.status, refused.value.kind) == (404, "unknown-learner")
        copy.tell(7, 5.0)
        assert [copy.info()[name] for name in counted] == [7, 8, 0]
        with pytest.raises(sb.ServiceError, match="another reward"):
            copy.tell(7, 6.0)


def test_the_same_over_asyncio(server: Server) -> None:
    token = new_token(server.store)

    async def run() -> None:
        async with sb.AsyncClient(server.url, token) as client:
            learner = client.learner("a")
            await learner.create(POLICY)
            decisions = await asyncio.gather(*(learner.ask() for _ in range(20)))
            assert sorted(decision.id for decision in decisions) == list(range(1, 21))
            await asyncio.gather(*(learner.tell(decision, 0.5) for decision in decisions))
            with pytest.raises(sb.ServiceError):
                await learner.tell(99, 0.5)
            assert (await learner.info())["rewards"] == 20

    asyncio.run(run())


def test_requests_are_repeated_until_a_server_is_back(farm: Farm, server: Server) -> None:
    with sb.Client(server.url, new_token(server.store)) as client:
        learner = client.learner("a")
        learner.create(POLICY)
        learner.ask()
        server.kill()

        def later() -> None:
            time.sleep(0.3)
            farm.serve(server.store, port=server.port)

        thread = threading.Thread(target=later)
        thread.start()
        assert learner.ask().id == 2
        thread.join()


def test_patience_has_an_end(server: Server) -> None:
    server.kill()
    with (
        sb.Client(server.url, "sb_x_y", patience=0.3) as client,
        pytest.raises(sb.ServiceError, match="does not answer") as refused,
    ):
        client.learner("a").ask()
    assert refused.value.status == 503


class Answers(httpx.BaseTransport):
    """A server of one's own wording, which notes what it was sent."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.keys: list[str | None] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def with_answers(*answers: httpx.Response | Exception) -> tuple[Any, Answers]:
    transport = Answers(*answers)
    client = sb.Client("http://x", "t")
    client._http = httpx.Client(base_url="http://x", transport=transport)
    return client.learner("a"), transport


def test_every_try_has_the_same_key_and_the_next_request_another() -> None:
    body = {"observed": 1}
    learner, transport = with_answers(
        httpx.Response(502),
        httpx.ReadTimeout("late"),
        httpx.Response(503, headers={"retry-after": "0"}),
        httpx.Response(200, json=body),
        httpx.Response(200, json=body),
    )
    learner.warm_start([[1.0]], [1.0])
    learner.warm_start([[1.0]], [1.0])
    assert len(set(transport.keys[:4])) == 1
    assert transport.keys[4] not in (None, transport.keys[0])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx.Response(503, json={"type": "urn:sparsebandits:damaged", "detail": "d"}), "damaged"),
        (httpx.Response(500, text="<html>"), "unknown"),
        (httpx.Response(404, json=[]), "unknown"),
    ],
)
def test_what_will_not_pass_is_not_repeated(answer: httpx.Response, kind: str) -> None:
    learner, transport = with_answers(answer)
    with pytest.raises(sb.ServiceError) as refused:
        learner.info()
    assert (refused.value.status, refused.value.kind) == (answer.status_code, kind)
    assert len(transport.keys) == 1
