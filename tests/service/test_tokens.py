"""Each call with no token, a wrong one, one that has ended, and one that does not reach so far."""

import asyncio
import base64
import time

import httpx
import pytest

from sparsebandits.service.auth import Gate, make_token
from sparsebandits.service.calls import CALLS
from sparsebandits.store import Store, TokenRow
from tests.service.playing import POLICY, create, kind_of
from tests.service.servers import Farm
from tests.stores import new_token, use

SCOPES = ("read", "play", "admin")


def request(client: httpx.Client, name: str, token: str | None) -> httpx.Response:
    [call] = [call for call in CALLS if call.name == name]
    path = call.path.format(key="a", id=1)
    headers = {} if token is None else {"Authorization": token}
    return client.request(call.method, path, headers=headers, json={})


def test_every_call_wants_a_token_that_reaches_far_enough(farm: Farm, usual_url: str) -> None:
    server = farm.serve(usual_url)
    by_scope = {scope: new_token(usual_url, scope) for scope in SCOPES}
    ended = new_token(usual_url, expires_at=time.time() - 1)
    revoked = new_token(usual_url)

    async def revoke(store: Store) -> None:
        async with store.transaction() as transaction:
            assert await transaction.revoke_token(revoked.split("_")[1], time.time())

    use(usual_url, revoke)
    good = by_scope["admin"]
    number = good.split("_")[1]
    wrong = [
        "",
        "Bearer",
        f"Basic {base64.b64encode(good.encode()).decode()}",
        good,
        f"Bearer {good}x",
        f"Bearer sb_{number}_",
        f"Bearer sb_{'0' * 12}_{good.split('_', 2)[2]}",
        None,
        f"Bearer {ended}",
        f"Bearer {revoked}",
    ]
    with server.client("") as client:
        for call in CALLS:
            for given in wrong if call.name == "ask" else wrong[-3:]:
                answer = request(client, call.name, given)
                assert (answer.status_code, kind_of(answer)) == (401, "no-token"), given
                assert answer.headers["www-authenticate"] == "Bearer"
            for scope in SCOPES:
                answer = request(client, call.name, f"Bearer {by_scope[scope]}")
                reaches = SCOPES.index(scope) >= SCOPES.index(call.scope)
                assert (answer.status_code != 403) == reaches, (call.name, scope)
                assert answer.status_code not in (401, 500)


def test_a_prefix_keeps_a_token_to_its_learners(farm: Farm, usual_url: str) -> None:
    server = farm.serve(usual_url)
    with server.client() as admin:
        for key in ("spring-1", "autumn-1"):
            create(admin, key)
    with server.client(new_token(usual_url, "admin", prefix="spring-")) as client:
        assert client.post("/v1/learners/spring-1/ask", json={}).status_code == 200
        assert kind_of(client.post("/v1/learners/autumn-1/ask", json={})) == "narrow-token"
        assert kind_of(create(client, "autumn-2")) == "narrow-token"
        asks = {"asks": [{"learner": "spring-1"}, {"learner": "autumn-1"}]}
        assert kind_of(client.post("/v1/ask", json=asks)) == "narrow-token"
        tells = {"tells": [{"learner": "autumn-1", "id": 1, "reward": 1.0}]}
        assert kind_of(client.post("/v1/tell", json=tells)) == "narrow-token"
        imported = {"key": "autumn-3", "learner": POLICY.start(0).to_dict()}
        assert kind_of(client.post("/v1/import", json=imported)) == "narrow-token"
        listed = client.get("/v1/learners").json()["learners"]
        assert [found["key"] for found in listed] == ["spring-1"]
        assert kind_of(client.get("/v1/learners?prefix=autumn")) == "narrow-token"


def test_a_revoked_token_ends_soon(farm: Farm, tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    token = new_token(url)
    with farm.serve(url).client(token) as client:
        assert client.get("/v1/learners").status_code == 200

        async def revoke(store: Store) -> None:
            async with store.transaction() as transaction:
                await transaction.revoke_token(token.split("_")[1], time.time())

        use(url, revoke)
        deadline = time.monotonic() + 4
        while client.get("/v1/learners").status_code == 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.parametrize("scope", SCOPES)
def test_only_a_hash_is_stored(scope: str) -> None:
    token, row = make_token(scope)
    secret = token.split("_", 2)[2]
    assert len(secret) == 43  # 256 bits
    assert secret not in repr(row)


def test_a_gate_reads_tokens_again_for_one_that_it_does_not_know() -> None:
    token, row = make_token("read")
    rows: list[TokenRow] = []
    reads = 0

    async def read() -> list[TokenRow]:
        nonlocal reads
        reads += 1
        return rows

    async def run() -> None:
        gate = Gate(read)
        with pytest.raises(Exception, match="unknown, revoked or expired"):
            await gate.caller(f"Bearer {token}")
        rows.append(row)
        for _ in range(5):
            assert (await gate.caller(f"Bearer {token}")).scope == "read"
        assert reads == 2

    asyncio.run(run())


def test_a_gate_reads_tokens_once_for_all_who_wait() -> None:
    """One that was made meanwhile is found all the same."""
    early, later = make_token("read"), make_token("read")
    rows, reads = [early[1]], 0
    begun = asyncio.Event()

    async def read() -> list[TokenRow]:
        nonlocal reads
        reads += 1
        found = list(rows)
        begun.set()
        await asyncio.sleep(0.01)
        return found

    async def run() -> None:
        gate = Gate(read)
        asked = [asyncio.create_task(gate.caller(f"Bearer {early[0]}")) for _ in range(20)]
        await begun.wait()
        rows.append(later[1])
        asked.append(asyncio.create_task(gate.caller(f"Bearer {later[0]}")))
        assert {caller.scope for caller in await asyncio.gather(*asked)} == {"read"}
        assert reads == 2

    asyncio.run(run())
