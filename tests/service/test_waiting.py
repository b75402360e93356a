"""Rewards that do not come in time, and those that come late."""

import re
import time
from typing import Any

import httpx

from sparsebandits.service.checkup import check_store
from tests.service.crowd import history
from tests.service.playing import POLICY, ask, create, exported, kind_of, tell
from tests.service.servers import Farm
from tests.stores import use

PATIENCE = 20.0


def wait_for(client: httpx.Client, **expected: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        view = client.get("/v1/learners/a").json()
        if expected.items() <= view.items():
            return
        assert time.monotonic() < deadline, view
        time.sleep(0.05)


def test_a_decision_without_reward_gets_the_default_and_a_late_one_replaces_it(
    farm: Farm, usual_url: str
) -> None:
    with farm.serve(usual_url).client() as client:
        create(client, seed=1, reward_wait=0.3, default_reward=-1.0)
        ask(client, count=3)
        assert tell(client, 2, 0.5).json()["state"] == "told"
        wait_for(client, open=0, rewards=3)
        learner = POLICY.start(1)
        learner.ask(count=3)
        for number, reward in ((2, 0.5), (1, -1.0), (3, -1.0)):
            learner.tell(number, reward)
        assert exported(client) == learner.to_dict()
        assert tell(client, 3, 0.7).json()["state"] == "late"
        assert tell(client, 1, -1.0).json()["state"] == "late"  # it came after all, and is told
        for number, reward in ((3, 0.7), (1, -1.0)):
            assert tell(client, number, reward).json()["state"] == "unchanged"
            assert kind_of(tell(client, number, 0.6)) == "reward-differs"
        for number, reward in ((3, 0.7), (1, -1.0)):
            learner.correct(number, reward)
        assert exported(client) == learner.to_dict()
        metrics = client.get("/metrics").text
        assert "sparsebandits_expired_decisions_total 2.0" in metrics
        assert "sparsebandits_late_rewards_total 2.0" in metrics
    assert use(usual_url, check_store) == (1, [])


def test_without_a_default_it_is_forgotten_even_if_the_server_was_away(
    farm: Farm, store_url: str
) -> None:
    server = farm.serve(store_url)
    with server.client() as client:
        create(client, reward_wait=0.2)
        ask(client, count=2)
        tell(client, 1, 0.5)
    server.kill()
    time.sleep(0.3)
    with farm.serve(store_url).client() as client:
        wait_for(client, open=0, rewards=1)
        kinds = [(event["kind"], event.get("id")) for event in history(client, "a")]
        assert kinds == [("ask", None), ("tell", 1), ("expire", 2)]
        assert tell(client, 2, 0.1).json()["state"] == "late"
        wait_for(client, rewards=2)
    assert use(store_url, check_store) == (1, [])


def test_learners_whose_time_has_come_together_are_closed_together(
    farm: Farm, usual_url: str
) -> None:
    def found(name: str) -> float:
        match = re.search(rf"^sparsebandits_{name} (\S+)$", client.get("/metrics").text, re.M)
        assert match is not None
        return float(match[1])

    with farm.serve(usual_url).client() as client:
        keys = [f"k{number}" for number in range(30)]
        for key in keys:
            create(client, key, reward_wait=1.0)
        client.post("/v1/ask", json={"asks": [{"learner": key} for key in keys]})
        before, deadline = found("commit_seconds_count"), time.monotonic() + PATIENCE
        assert found("open_decisions") == 30
        while found("open_decisions"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert found("commit_seconds_count") - before < 5


def test_what_waits_is_checked(farm: Farm, usual_url: str) -> None:
    with farm.serve(usual_url).client() as client:
        wrong: list[dict[str, Any]] = [
            {"default_reward": 1.0},
            {"reward_wait": 0},
            {"reward_wait": -1},
            {"reward_wait": 1e10},
            {"reward_wait": "soon"},
            {"reward_wait": 1.0, "default_reward": 1e150},
        ]
        for more in wrong:
            assert kind_of(create(client, **more)) == "invalid", more
