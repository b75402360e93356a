"""kill -9 at random moments under clients that retry: nothing acknowledged is lost or doubled."""

import random
import time

import pytest

import sparsebandits as sb
from tests.service.crowd import Crowd, check_against_library
from tests.service.servers import Farm
from tests.stores import new_token

POLICIES: dict[str, sb.Policy] = {
    "thompson": sb.SparseThompson(action_set=sb.LpBall(dim=6), sparsity=2),
    "apsee": sb.APSEE(action_set=sb.LpBall(dim=4), sparsity=2, sigma=0.5, delta=0.05),
}


def kill_and_restart(farm: Farm, url: str, kills: int, clients: int) -> int:
    draw = random.Random(7)
    token = new_token(url)
    server = farm.serve(url, snapshot_every=16)
    with server.client(token) as client:
        for seed, (key, policy) in enumerate(POLICIES.items()):
            body = {"policy": policy.to_dict(), "seed": seed}
            assert client.put(f"/v1/learners/{key}", json=body).status_code == 201
    with Crowd(lambda: [server.url], token, list(POLICIES), clients) as crowd:
        for _ in range(kills):
            crowd.wait_for(draw.randint(1, 12))
            time.sleep(draw.uniform(0.0, 0.02))
            server.kill()
            server = farm.serve(url, port=server.port, snapshot_every=16)
        crowd.wait_for(10)
    assert crowd.failures == []
    events = 0
    with server.client(token) as client:
        for seed, (key, policy) in enumerate(POLICIES.items()):
            known = crowd.known[key]
            events += check_against_library(client, key, known, policy, seed)
        metrics = client.get("/metrics").text
    assert "sparsebandits_replay_mismatches_total 0.0" in metrics
    return events


def test_twenty_kills(farm: Farm, store_url: str) -> None:
    assert kill_and_restart(farm, store_url, 20, clients=4) > 80


@pytest.mark.thorough
def test_a_hundred_kills(farm: Farm, store_url: str) -> None:
    assert kill_and_restart(farm, store_url, 100, clients=12) > 500
