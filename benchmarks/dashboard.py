"""What the dashboard costs: a page on 10,000 decisions, and asks while such pages are loaded.

Run with ``python benchmarks/dashboard.py``: a server as `sparsebandits serve` starts it, one client
that asks and tells, and one that loads the page again and again as fast as it can.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np

import sparsebandits as sb

DECISIONS, ASKS, ROUNDS = 10_000, 300, 3
POLICY = sb.SparseThompson(action_set=sb.LpBall(dim=20), sparsity=3)
SERVE = "from sparsebandits_command import main; main()"


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, str]]:
    arguments = ["serve", "--port", "0", "--quiet", "--store", f"sqlite:///{folder}/store.db"]
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address, token = (process.stdout.readline().split() for _ in range(2))
        yield address[1], token[-1]
        process.terminate()


def fill(api: httpx.Client) -> None:
    """Let a learner live through as many decisions, a thousand at a time."""
    rng, theta = np.random.default_rng(0), np.linspace(-1, 1, 20)
    for key in ("long", "asked"):
        api.put(f"/v1/learners/{key}", json={"policy": POLICY.to_dict()}).raise_for_status()
    for _ in range(DECISIONS // 1000):
        decisions = api.post("/v1/learners/long/ask", json={"count": 1000}).json()["decisions"]
        tells = [
            {"learner": "long", "id": each["id"], "reward": rng.normal()
             + sum(theta[int(i)] * x for i, x in each["action"].items())}
            for each in decisions
        ]  # fmt: skip
        api.post("/v1/tell", json={"tells": tells}).raise_for_status()


def ask_and_tell(api: httpx.Client) -> list[float]:
    """Return the milliseconds of asks."""
    taken = []
    for _ in range(ASKS):
        started = time.perf_counter()
        answer = api.post("/v1/learners/asked/ask", json={})
        taken.append(1000 * (time.perf_counter() - started))
        number = answer.json()["decisions"][0]["id"]
        api.put(f"/v1/learners/asked/decisions/{number}/reward", json={"reward": 0.1})
    return taken


def load_pages(people: httpx.Client, over: threading.Event, taken: list[float]) -> None:
    while not over.is_set():
        started = time.perf_counter()
        people.get("/learners/long").raise_for_status()
        taken.append(1000 * (time.perf_counter() - started))


def described(taken: list[float]) -> str:
    return ", ".join(f"p{p} {np.percentile(taken, p):.0f} ms" for p in (50, 95, 99))


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder) as (url, token),
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as api,
        httpx.Client(base_url=url, timeout=60) as people,
    ):
        fill(api)
        [csrf] = re.findall(r'name="csrf" value="([^"]+)"', people.get("/login").text)
        people.post("/login", data={"csrf": csrf, "token": token})
        started = time.perf_counter()
        size = len(people.get("/learners/long").raise_for_status().content)
        first = time.perf_counter() - started
        print(f"{DECISIONS:,} decisions: the first page after {first:.2f} s, {size // 1000} kB")
        ask_and_tell(api)
        for _ in range(ROUNDS):
            alone = ask_and_tell(api)
            over, pages = threading.Event(), list[float]()
            loading = threading.Thread(target=load_pages, args=(people, over, pages))
            loading.start()
            watched = ask_and_tell(api)
            over.set()
            loading.join()
            ratio = statistics.median(watched) / statistics.median(alone)
            print(f"asks alone: {described(alone)}; watched: {described(watched)}; {ratio:.2f} x")
            print(f"pages meanwhile: {len(pages)}, {described(pages)}")


if __name__ == "__main__":
    main()
