"""Nothing in a request executes, reads a file, allocates without bound, or brings a 500."""

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

import sparsebandits as sb
from sparsebandits.service import protocol
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.limits import check_description
from tests.service.playing import POLICY, ask, create, kind_of
from tests.service.servers import Farm, Server


@pytest.fixture
def server(farm: Farm, tmp_path: Path) -> Server:
    return farm.serve(f"sqlite:///{tmp_path / 'store.db'}", max_dim=50)


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        create(client)
        yield client


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"ask"',
        b'{"count": NaN}',
        b'{"count": 1.5}',
        b'{"count": 0}',
        b'{"count": 1001}',
        b'{"count": 1e400}',
        b'{"count": 99999999999999999999999999}',
        b'{"unknown": 1}',
        b'{"context": [1.0]}',
        b'{"available": "all"}',
        b'{"available": {"$ref": "/etc/passwd"}}',
        b'\xff\xfe{"count": 1}',
        b'{"available": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"available": [' + b"0," * 1000 + b"0]}",
        b'{"count": 1, "count": "x"}',
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_odd_bodies(client: httpx.Client, body: bytes) -> None:
    before = client.get("/v1/learners/a").json()
    answer = client.post("/v1/learners/a/ask", content=body)
    if body == b"":  # nothing to say is an ask for one decision
        assert answer.status_code == 200
        return
    if body.endswith(b"0,0]}"):  # the same index often is no harm
        assert answer.status_code in (200, 422)
        return
    assert (answer.status_code, kind_of(answer)) == (422, "invalid")
    assert client.get("/v1/learners/a").json() == before


@pytest.mark.parametrize(
    "key",
    ["..", "%2e%2e", "a%2Fb", "a%00", "a%0Ab", "%F0%9F%90%8D", "a b", "-a", "a'--", "x" * 129,
     "%7B%7D", "a;b", "a%25"],
)  # fmt: skip
def test_odd_keys(client: httpx.Client, key: str) -> None:
    """Refused by name, or not even an address; never a learner."""
    body = {"policy": POLICY.to_dict()}
    for answer in (
        client.put(f"/v1/learners/{key}", json=body),
        client.post(f"/v1/learners/{key}/ask", json={}),
        client.get(f"/v1/learners/{key}/export"),
    ):
        assert answer.status_code in (404, 405, 422), answer.text
        kind_of(answer)
    listed = client.get("/v1/learners").json()["learners"]
    assert [found["key"] for found in listed] == ["a"]


def test_long_bodies_are_not_read_to_their_end(client: httpx.Client, server: Server) -> None:
    answer = client.post("/v1/learners/a/observe", content=b" " * 10_000_000)
    assert kind_of(answer) == "too-large"

    def endless() -> Iterator[bytes]:
        for _ in range(10_000):
            yield b" " * 1000

    with contextlib.suppress(httpx.TransportError):  # it may hang up on us, which is as well
        assert client.post("/v1/learners/a/observe", content=endless()).status_code == 413
    assert ask(client)[0]["id"] == 1


def test_a_client_that_stops_in_the_middle_harms_nobody(
    client: httpx.Client, server: Server
) -> None:
    token = client.headers["authorization"]
    for length in ("10", "1000000"):
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.sendall(
                f"POST /v1/learners/a/ask HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
                f"Content-Length: {length}\r\n\r\n{{".encode()
            )
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"GARBAGE\r\n\r\n")
        with raw.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400")
        assert b"application/problem+json" in head
        assert json.loads(body)["type"] == "urn:sparsebandits:malformed"
    assert ask(client)[0]["id"] == 1
    assert "Traceback" not in server.log.read_text()


def test_a_body_that_does_not_come_is_not_waited_for(farm: Farm, tmp_path: Path) -> None:
    server = farm.serve(f"sqlite:///{tmp_path / 'store.db'}", body_wait=0.2)
    with (
        server.client() as client,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
    ):
        create(client)
        head = "POST /v1/learners/a/ask HTTP/1.1\r\nHost: x\r\nAuthorization: "
        raw.sendall(
            f"{head}{client.headers['authorization']}\r\nContent-Length: 9\r\n\r\n{{".encode()
        )
        with raw.makefile("rb") as answer:
            whole = answer.read()  # to the end: the connection is closed
        assert whole.startswith(b"HTTP/1.1 408")
        assert b"too-slow" in whole
        assert ask(client)[0]["id"] == 1


POINTS = {"kind": "finite-set", "points": [[1.0] * 3] * 600}


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"kind": "os.system"},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": 51}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": 10**9}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": 1e9}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": True}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": 4},
         "sparsity": 10**30},
        {"kind": "sparse-thompson", "action_set": {"kind": "lp-ball", "dim": 4, "p": "nan"},
         "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": POINTS, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": {"kind": "box", "lower": [0] * 60,
                                                   "upper": [1] * 60}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": "/etc/passwd", "sparsity": 1},
        {"kind": "clairvoyant", "action_set": {"kind": "lp-ball", "dim": 4}, "sparsity": 1},
        {"kind": "sparse-thompson", "action_set": [[[[]]]], "sparsity": 1},
    ],
    ids=lambda policy: json.dumps(policy)[-40:],
)  # fmt: skip
def test_policies_that_are_refused(client: httpx.Client, policy: dict[str, Any]) -> None:
    answer = client.put("/v1/learners/new", json={"policy": policy})
    assert (answer.status_code, kind_of(answer)) == (422, "invalid")
    imported = {"key": "new", "learner": {**POLICY.start(0).to_dict(), "policy": policy}}
    assert client.post("/v1/import", json=imported).status_code == 422
    assert client.get("/v1/learners/new").status_code == 404


def test_a_description_is_looked_at_before_anything_is_built() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for wrong in ({"a": {"b": {"dim": 10**8}}}, {"x": [0.0] * 51}, {"y": 501}, deep):
        with pytest.raises(RefusedError):
            check_description(wrong, max_dim=50)
    for kind in (sb.SparseThompson, sb.OFUL, sb.RandomSparse):
        policy = kind(action_set=sb.Box([0.0] * 50, [1.0] * 50), sparsity=3)
        check_description(policy.to_dict(), max_dim=50)


def test_too_many_at_once_is_refused(client: httpx.Client) -> None:
    asks: dict[str, Any] = {"asks": [{"learner": "a"}] * 1001}
    assert client.post("/v1/ask", json=asks).status_code == 422
    asks = {"asks": [{"learner": "a", "count": 600}] * 2}
    assert client.post("/v1/ask", json=asks).status_code == 422
    assert client.post("/v1/ask", json={"asks": []}).status_code == 422


def flood(server: Server, parts: Iterator[bytes]) -> int:
    """Send until the server hangs up, or nothing is left; return how much was sent."""
    sent = 0
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
        contextlib.suppress(OSError),
    ):
        for part in parts:
            raw.sendall(part)
            sent += len(part)
    return sent


@pytest.mark.parametrize("where", ["line", "header", "headers", "trailers", "ahead"])
def test_a_head_without_end_is_not_kept(client: httpx.Client, server: Server, where: str) -> None:
    """Nor are requests that are sent without waiting for an answer: a gigabyte of them is not."""
    line = b"POST /v1/learners/a/ask HTTP/1.1\r\nHost: x\r\n"
    begin, part = {
        "line": (b"GET /", b"a" * 2**20),
        "header": (line + b"X: ", b"a" * 2**20),
        "headers": (line, b"X: aaaaaaaaaaaaaaa\r\n" * 50_000),
        "trailers": (
            line
            + f"Authorization: {client.headers['authorization']}\r\n".encode()
            + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
            b"X: aaaaaaaaaaaaaaa\r\n" * 50_000,
        ),
        "ahead": (b"", b"GET /v1/learners HTTP/1.1\r\nHost: x\r\n\r\n" * 25_000),
    }[where]
    assert flood(server, itertools.chain([begin], itertools.repeat(part, 100))) < 50_000_000
    assert client.get("/healthz").status_code == 200


def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a first request; a body has a wait of its own, and so has an open connection."""
    monkeypatch.setattr(protocol, "_HEAD_WAIT", 0.2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def is_hung_up_on(port: int, *parts: bytes) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.05)
        try:
            async with asyncio.timeout(1.0):
                await reader.read()
        except TimeoutError:
            return False
        finally:
            writer.close()
        return True

    async def run() -> None:
        config = uvicorn.Config(app, lifespan="off")
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: protocol.Protocol(config, state, {}), "127.0.0.1", 0
        )
        port = server.sockets[0].getsockname()[1]
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
        assert await is_hung_up_on(port)
        assert await is_hung_up_on(port, head)
        assert await is_hung_up_on(port, head + b"\r\n{}" + head)
        assert not await is_hung_up_on(port, head, b"\r\n{}")
        assert not await is_hung_up_on(port, head + b"\r\n", b"{}", head + b"\r\n{}")
        server.close()
        for left in [*state.connections]:
            left.transport.abort()
        await asyncio.sleep(0.05)

    asyncio.run(run())


def test_a_client_that_would_speak_another_protocol_is_answered(
    client: httpx.Client, server: Server
) -> None:
    """As clients that know HTTP/2 ask for at first; the body is the request's all the same."""
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAM"}
    for count in (2, 3):
        answer = client.post("/v1/learners/a/ask", json={"count": count}, headers=upgrade)
        assert len(answer.json()["decisions"]) == count
    assert len(ask(client)) == 1
