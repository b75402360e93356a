"""What the dashboard costs: the first page in a browser that is new, and asks while pages are open.

Run with ``python benchmarks/dashboard.py``: servers as `sparsebandits serve` starts them, a client
that asks and tells, and people who look at pages, in processes of their own. Asks are timed in
turns: alone, with five pages open on the learner that plays (each looks for news every 2 s, as the
script on the page does), with the page of another learner loaded without a pause, and, to tell the
server's part from the machine's, with another server's page loaded without a pause.
"""

import importlib.util
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import numpy as np

import sparsebandits as sb

DECISIONS, ASKS, ROUNDS, BROWSERS, LOADS = 10_000, 200, 12, 3, 500
TYPING = 3.0
"""Seconds that somebody takes to type a token, while the process that computes pages starts."""

OPEN_PAGES, POLL = 5, 2.0
POLICY = sb.SparseThompson(action_set=sb.LpBall(dim=20), sparsity=3)
SERVE = "from sparsebandits_command import main; main()"


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, str, int]]:
    arguments = ["serve", "--port", "0", "--quiet", "--store", f"sqlite:///{folder}/store.db"]
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address, token = (process.stdout.readline().split() for _ in range(2))
        yield address[1], token[-1], process.pid
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


# ---------------------------------------------------------------------- people who look


def log_in(people: httpx.Client, token: str) -> None:
    [csrf] = re.findall(r'name="csrf" value="([^"]+)"', people.get("/login").text)
    people.post("/login", data={"csrf": csrf, "token": token})


def look(url: str, token: str, path: str, polling: int, told: Connection) -> None:
    """Load a page between two words: without a pause, or as that many open pages do."""
    with httpx.Client(base_url=url, timeout=60) as people:
        log_in(people, token)
        known = people.get(path).raise_for_status().headers["etag"]
        told.send(None)
        while told.recv():
            taken: list[float] = []
            while not told.poll(POLL / polling if polling else 0):
                news = {"x-live": "1", "if-none-match": known} if polling else {}
                started = time.perf_counter()
                answer = people.get(path, headers=news)
                taken.append(1000 * (time.perf_counter() - started))
                known = answer.headers.get("etag", known)
            told.recv()
            told.send(taken)


class Lookers:
    """People who look at one page, in a process of their own; and what was timed meanwhile."""

    def __init__(self, words: str, at: tuple[str, str], path: str, polling: int) -> None:
        self.words = words
        self.asks: list[float] = []
        self._pages: list[float] = []
        self._told, theirs = multiprocessing.Pipe()
        arguments = (*at, path, polling, theirs)
        self._process = multiprocessing.get_context("spawn").Process(target=look, args=arguments)
        self._process.start()
        self._told.recv()

    def watch(self, work: Callable[[], list[float]]) -> None:
        self._told.send(True)
        self.asks += work()
        self._told.send(None)
        self._pages += self._told.recv()

    def leave(self) -> None:
        self._told.send(False)
        self._process.join()

    def report(self, alone: list[float]) -> str:
        ratio = statistics.median(self.asks) / statistics.median(alone)
        return (
            f"{self.words}: asks {ratio:.2f} x, {described(self.asks)}; "
            f"{len(self._pages)} looks, {described(self._pages)}"
        )


# ---------------------------------------------------------------------- a browser that is new


def first_pages(url: str, token: str) -> None:
    """Time the first page of a browser: when charts can be read, and when they are plotly's."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("No Chromium with Playwright here: pages are not opened in a browser.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, httpx.Client(base_url=url) as people:
        log_in(people, token)
        kept = people.cookies.items()
        for number in range(2 * BROWSERS):
            by_login = number % 2 == 1
            with tempfile.TemporaryDirectory() as profile:
                context = playwright.chromium.launch_persistent_context(
                    profile, executable_path=chromium, args=["--no-sandbox"]
                )
                context.add_cookies([{"name": n, "value": v, "url": url} for n, v in kept])
                page = context.new_page()
                if by_login:  # as people do, who type a token
                    page.goto(f"{url}/login")
                    page.wait_for_timeout(3000)
                page.goto(f"{url}/learners/long")
                page.wait_for_selector("figure.chart:not([data-drawn])", state="detached")
                page.wait_for_function("performance.getEntriesByName('drawn').length")
                read = "name => performance.getEntriesByName(name)[0].startTime / 1000"
                times = [page.evaluate(read, mark) for mark in ("sketched", "drawn")]
                context.close()
            way = ", by the login" if by_login else ""
            print(
                f"browser {number // 2 + 1}, new{way}: charts to be read "
                f"after {times[0]:.2f} s, all of plotly's after {times[1]:.2f} s"
            )


# ---------------------------------------------------------------------- all of it


def described(taken: list[float]) -> str:
    return ", ".join(f"p{p} {np.percentile(taken, p):.1f}" for p in (50, 95, 99)) + " ms"


def processor(pid: int) -> float:
    """Return the processor time that a process has taken so far, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def what_a_page_costs(api: httpx.Client, url: str, token: str, server: int) -> None:
    """Tell the server's processor time from that of the process that computes its pages."""
    with httpx.Client(base_url=url, timeout=60) as people:
        people.get("/login")
        time.sleep(TYPING)
        log_in(people, token)
        [worker] = map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())

        def costs(work: Callable[[], object], times: int) -> list[float]:
            before = [processor(pid) for pid in (server, worker)]
            work()
            after = [processor(pid) for pid in (server, worker)]
            return [(a - b) / times for a, b in zip(after, before, strict=True)]

        def load(times: int) -> int:
            return [len(people.get("/learners/long").content) for _ in range(times)][-1]

        started = time.perf_counter()
        first = costs(lambda: load(1), 1)
        taken = time.perf_counter() - started
        print(
            f"{DECISIONS:,} decisions: the first page after {taken:.2f} s, {load(1) // 1000} kB; "
            f"{first[0]:.0f} ms of the server's processor time, {first[1]:.0f} of the worker's"
        )
        again = costs(lambda: load(LOADS), LOADS)
        print(f"loaded again: {again[0]:.1f} ms of the server's, {again[1]:.1f} of the worker's")
        played = costs(lambda: ask_and_tell(api), ASKS)
        print(f"an ask and a tell: {played[0]:.1f} ms of the server's")


def main() -> None:
    with ExitStack() as stack:
        (url, token, server), (other, other_token, _) = (
            stack.enter_context(serving(stack.enter_context(tempfile.TemporaryDirectory())))
            for _ in range(2)
        )
        apis = [
            stack.enter_context(
                httpx.Client(base_url=u, timeout=60, headers={"Authorization": f"Bearer {t}"})
            )
            for u, t in ((url, token), (other, other_token))
        ]
        for api in apis:
            fill(api)
        what_a_page_costs(apis[0], url, token, server)
        first_pages(url, token)
        asks_while_pages_are_open(apis[0], (url, token), (other, other_token))


def asks_while_pages_are_open(
    api: httpx.Client, here: tuple[str, str], elsewhere: tuple[str, str]
) -> None:
    """Time asks in turns, a few at a time, since the machine has other things to do as well."""
    ask_and_tell(api)
    groups = [
        Lookers(f"{OPEN_PAGES} pages open", here, "/learners/asked", OPEN_PAGES),
        Lookers("a page loaded without a pause", here, "/learners/long", 0),
        Lookers("another server's page loaded so", elsewhere, "/learners/long", 0),
    ]
    alone: list[float] = []
    for _ in range(ROUNDS):
        alone += ask_and_tell(api)
        for group in groups:
            group.watch(partial(ask_and_tell, api))
    print(f"alone: {described(alone)}")
    for group in groups:
        print(group.report(alone))
        group.leave()


if __name__ == "__main__":
    main()
