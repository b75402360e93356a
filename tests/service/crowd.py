"""Clients that ask, tell and observe until they are told to stop, and remember every answer."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

import sparsebandits as sb

PATIENCE = 60.0


@dataclass
class Acknowledged:
    """What was answered with 2xx, per learner."""

    actions: dict[int, dict[str, float]] = field(default_factory=dict)
    rewards: dict[int, float] = field(default_factory=dict)
    observed: list[float] = field(default_factory=list)
    repeated: int = 0


class Crowd:
    """Threads that play learners against servers which come and go.

    A request that fails is sent again, with the same key, until it is answered.
    """

    def __init__(
        self, urls: Callable[[], list[str]], token: str, keys: list[str], size: int
    ) -> None:
        self._urls = urls
        self._token = token
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.failures: list[BaseException] = []
        self.statuses: set[int] = set()
        self.retry_after: set[str | None] = set()
        self.known = {key: Acknowledged() for key in keys}
        self._threads = [
            threading.Thread(target=self._guarded, args=(number, keys)) for number in range(size)
        ]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    @property
    def acknowledged(self) -> int:
        """How many decisions and rewards were answered so far."""
        with self._lock:
            return sum(len(known.actions) + len(known.rewards) for known in self.known.values())

    def wait_for(self, more: int) -> None:
        """Wait until so many more are answered: tests go by progress, not by the clock."""
        wanted, deadline = self.acknowledged + more, time.monotonic() + PATIENCE
        while self.acknowledged < wanted:
            assert not self.failures, self.failures
            assert time.monotonic() < deadline, "the crowd does not come forward"
            time.sleep(0.002)

    def _guarded(self, number: int, keys: list[str]) -> None:
        try:
            self._play(random.Random(number), keys)
        except BaseException as error:
            self.failures.append(error)

    def _play(self, draw: random.Random, keys: list[str]) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(headers=headers, timeout=5.0, verify=False) as client:
            waiting: list[tuple[str, int]] = []
            while not self._stop.is_set():
                key = draw.choice(keys)
                if draw.random() < 0.05:
                    reward = draw.random()
                    body = {"actions": [{"0": 0.5}], "rewards": [reward]}
                    self._send(client, "POST", f"/v1/learners/{key}/observe", body)
                    with self._lock:
                        self.known[key].observed.append(reward)
                    continue
                path = f"/v1/learners/{key}/ask"
                answer = self._send(client, "POST", path, {"count": draw.choice([1, 1, 2])})
                with self._lock:
                    for decision in answer["decisions"]:
                        assert decision["id"] not in self.known[key].actions, "an id came twice"
                        self.known[key].actions[decision["id"]] = decision["action"]
                waiting += [(key, decision["id"]) for decision in answer["decisions"]]
                draw.shuffle(waiting)  # rewards come late and out of order
                while len(waiting) > 3:
                    self._tell(client, *waiting.pop(), draw.gauss(0.0, 1.0))
            for key, number in waiting:
                self._tell(client, key, number, draw.gauss(0.0, 1.0))

    def _tell(self, client: httpx.Client, key: str, number: int, reward: float) -> None:
        path = f"/v1/learners/{key}/decisions/{number}/reward"
        self._send(client, "PUT", path, {"reward": reward})
        with self._lock:
            self.known[key].rewards[number] = reward

    def _send(self, client: httpx.Client, method: str, path: str, body: Any) -> Any:
        headers = {"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {}
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"no answer to {method} {path}"
            try:
                url = random.choice(self._urls())
                answer = client.request(method, url + path, json=body, headers=headers)
            except (httpx.TransportError, IndexError):
                time.sleep(0.005)
                continue
            self.statuses.add(answer.status_code)
            if answer.status_code == 503:
                self.retry_after.add(answer.headers.get("retry-after"))
                time.sleep(0.02)
                continue
            assert answer.status_code == 200, answer.text
            return answer.json()


def history(client: httpx.Client, key: str) -> list[dict[str, Any]]:
    """Return the whole log of a learner."""
    events: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"/v1/learners/{key}/history", params={"after": after, "limit": 500})
        assert page.status_code == 200, page.text
        events += page.json()["events"]
        after = page.json()["next"]
    return events


def check_against_library(
    client: httpx.Client, key: str, known: Acknowledged, policy: sb.Policy, seed: int
) -> int:
    """Check that the log holds what was acknowledged, once, and that a library loop agrees.

    Returns the number of events.
    """
    events = history(client, key)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    actions: dict[int, dict[str, float]] = {}
    rewards: dict[int, float] = {}
    observed: list[float] = []
    learner = policy.start(seed)
    for event in events:
        match event["kind"]:
            case "ask":
                count = len(event["decisions"])
                asked = learner.ask(count=count) if count > 1 else [learner.ask()]
                for decision, logged in zip(asked, event["decisions"], strict=True):
                    mine = {str(i): x for i, x in enumerate(decision.action.tolist()) if x}
                    assert (decision.id, mine) == (logged["id"], logged["action"])
                    assert logged["id"] not in actions
                    actions[logged["id"]] = logged["action"]
            case "tell":
                assert event["id"] not in rewards
                rewards[event["id"]] = event["reward"]
                learner.tell(event["id"], event["reward"])
            case "observe":
                [pair] = event["pairs"]
                row = [pair["action"].get(str(i), 0.0) for i in range(policy.action_set.dim)]
                learner.warm_start([row], [pair["reward"]])
                observed.append(pair["reward"])
    # Everybody has gone on until the answer came: nothing may be there that nobody knows of.
    assert actions == known.actions
    assert rewards == known.rewards
    assert sorted(observed) == sorted(known.observed)
    exported = client.get(f"/v1/learners/{key}/export")
    assert exported.json() == learner.to_dict()
    return len(events)
