"""What is computed for those who look, and that both kinds of store show the same."""

import asyncio
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from fastapi import FastAPI

from sparsebandits.dashboard import learner_pages
from sparsebandits.dashboard.access import Door
from sparsebandits.dashboard.file_app import let_in
from sparsebandits.dashboard.routes import add_routes, learner_routes
from sparsebandits.dashboard.sources import FileSource, StoreSource, View
from sparsebandits.service.residents import Resident, Residents
from sparsebandits.store import LearnerRow
from sparsebandits.store.base import Reads
from tests.dashboard.test_access import PAGES, played
from tests.dashboard.test_files import saved_learner
from tests.dashboard.visitors import Visitors, post
from tests.service import playing
from tests.service.servers import Farm, Server
from tests.stores import Postgres

Returned = TypeVar("Returned")


class Changing(FileSource):
    """A saved learner whose version a test changes; it counts how often it is computed on."""

    looks = 0
    now = "1"

    async def version(self, key: str) -> str:
        return self.now

    async def look(self, key: str, work: Callable[[View], Returned]) -> Returned:
        self.looks += 1
        return await super().look(key, work)


async def looked_at(source: Changing) -> list[tuple[int, int]]:
    """Return status and number of computations, of a load, polls and a load as things change."""
    app, seen = FastAPI(), []
    add_routes(app, learner_routes(Door(let_in), source))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        path = f"/learners/{source.key}"
        first = await client.get(path)
        seen.append((first.status_code, source.looks))
        live = {"if-none-match": first.headers["etag"], "x-live": "1"}
        source.now = "2"
        for headers in (live, live, {}):
            answer = await client.get(path, headers=headers)
            seen.append((answer.status_code, source.looks))
        source.now = "3"
        together = await asyncio.gather(*(client.get(path) for _ in range(5)))
        assert len({answer.headers["etag"] for answer in together}) == 1
        assert len({answer.text for answer in together}) == 1
        seen.append((together[0].status_code, source.looks))
    return seen


@pytest.mark.parametrize("rest", [0.0, 1e9])
def test_pages_that_are_open_leave_time_to_those_who_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: float
) -> None:
    """Open pages wait for a while; whoever loads one has it as it is now, computed once for all."""
    monkeypatch.setattr(learner_pages, "_REST", rest)
    seen = asyncio.run(looked_at(Changing(tmp_path / "kept", saved_learner())))
    waiting = [(304, 1), (304, 1)] if rest else [(200, 2), (200, 2)]
    assert seen == [(200, 1), *waiting, (200, 2), (200, 3)]


def test_a_learner_far_ahead_is_read_and_not_lived_through_again(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which way ever, what pages look at is what the service has, bit for bit."""
    caught: list[int] = []
    catch_up = Residents.catch_up

    async def counted(self: Residents, store: Reads, resident: Resident, row: LearnerRow) -> None:
        caught.append(row.head)
        await catch_up(self, store, resident, row)

    monkeypatch.setattr(Residents, "catch_up", counted)
    client = visitors.client()
    playing.create(client, "ahead")

    def play(count: int) -> None:
        numbers = [each["id"] for each in playing.ask(client, "ahead", count=count)]
        tells = [{"learner": "ahead", "id": n, "reward": 0.1 * n} for n in numbers]
        assert client.post("/v1/tell", json={"tells": tells}).status_code == 200

    async def follow() -> None:
        source = StoreSource(visitors.server.store)
        source.start()
        try:
            for count, caught_up in ((20, 0), (300, 0), (20, 1)):
                play(count)
                seen = await source.look("ahead", lambda view: view.learner.to_dict())
                assert seen == playing.exported(client, "ahead")
                assert len(caught) == caught_up
        finally:
            await source.stop()

    asyncio.run(follow())


def test_postgresql_shows_the_same(
    server: Server,
    visitors: Visitors,
    postgres: Postgres,
    nursery: "subprocess.Popen[str]",
    tmp_path: Path,
) -> None:
    """Every page and form, on both kinds of store: what is seen differs in nothing but times."""
    farm = Farm(nursery, tmp_path)
    others = Visitors(farm.serve(postgres.new_store(), pages=True))
    try:
        mine, theirs = shown(visitors), shown(others)
    finally:
        others.leave()
        farm.clear()
    assert mine.keys() == theirs.keys()
    for path, text in mine.items():
        assert theirs[path] == text, path


def shown(visitors: Visitors) -> dict[str, str]:
    played(visitors, "alike", 40)
    client, at = visitors.enter(), "/learners/alike"
    told = post(client, f"{at}/decisions", f"{at}/tell", id="41", reward="2")
    pages = {"told": client.get(told.headers["location"]).text}
    for path in (*PAGES, "?by=time"):
        answer = client.get(at + path)
        assert answer.status_code == 200, path
        pages[path] = answer.text
    pages["list"] = client.get("/?search=alike").text
    made = post(client, "/new", "/new", do="make", key="formed", set="box", names="3", sparsity="1",
                lower="0", upper="1", seed="1")  # fmt: skip
    assert made.status_code == 201
    return {path: without_times(text) for path, text in pages.items()}


def without_times(text: str) -> str:
    for changing in (
        r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?",
        r'name="csrf" value="[^"]+"',
        r'data-live="[^"]*"',
        r'<td class="n spare">[^<]* (ms|s|min)</td>',
    ):
        text = re.sub(changing, "", text)
    return text
