"""The state of a learner, and the order of the list."""

import asyncio
import math
import time
from dataclasses import replace
from functools import partial

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from msgspec import structs

import sparsebandits as sb
from sparsebandits.dashboard import sources
from sparsebandits.dashboard.access import Door
from sparsebandits.dashboard.file_app import let_in
from sparsebandits.dashboard.overview import (
    Standing,
    is_stale,
    listed,
    per_hour,
    sorted_list,
    state_of,
)
from sparsebandits.dashboard.regression import Found
from sparsebandits.dashboard.routes import add_routes, store_routes
from sparsebandits.dashboard.sources import StoreSource
from sparsebandits.store import LearnerRow
from sparsebandits.validation import FloatArray
from tests.dashboard.logs import write_log

NOW = 1e9


def ticks(gap: float) -> FloatArray:
    """A hundred moments up to now."""
    return np.asarray(NOW - gap * np.arange(100)[::-1], dtype=np.float64)


STEADY = Standing(
    is_locked=False,
    drift=Found(0.5),
    told_at=ticks(60.0),
    is_whole=True,
    late_share=0.25,
    policy="apsee",
    allowed="2 of 6",
)
ROW = LearnerRow(
    id=1, key="a", policy="p", seed=0, reward_wait=60.0, default_reward=None, created_at=0.0,
    rewards=100, last_at=NOW,
)  # fmt: skip


def test_the_first_state_that_holds_is_shown() -> None:
    fresh = LearnerRow(
        id=1, key="a", policy="p", seed=0, reward_wait=None, default_reward=None, created_at=0.0
    )
    drifting, locked = replace(STEADY, drift=Found(1e-5)), replace(STEADY, is_locked=True)
    assert state_of(fresh, STEADY, NOW) == "new"
    assert state_of(ROW, STEADY, NOW) == "learning"
    assert state_of(ROW, locked, NOW) == "locked"
    assert state_of(ROW, replace(drifting, is_locked=True), NOW) == "drifting"
    assert state_of(ROW, drifting, NOW + 3600) == "stale"


def test_stale_is_measured_by_its_own_pace() -> None:
    assert not is_stale(STEADY, NOW, NOW + 1199)
    assert is_stale(STEADY, NOW, NOW + 1201)
    hasty = replace(STEADY, told_at=ticks(0.1))
    assert not is_stale(hasty, NOW, NOW + 599)
    assert is_stale(hasty, NOW, NOW + 601)
    plates = replace(STEADY, told_at=np.repeat(ticks(86_400.0)[-10:], 8))  # eight of them a day
    assert not is_stale(plates, NOW, NOW + 86_400)
    assert is_stale(plates, NOW, NOW + 7 * 86_400)
    few = replace(STEADY, told_at=np.array([NOW]))
    assert not is_stale(few, NOW, NOW + 86_000)
    assert is_stale(few, NOW, NOW + 87_000)


def test_rewards_of_the_last_hour() -> None:
    assert per_hour(ROW, STEADY, NOW) == 60
    assert per_hour(ROW, STEADY, NOW + 7200) == 0
    end = replace(STEADY, told_at=ticks(1.0), is_whole=False)
    old, young = structs.replace(ROW, rewards=10_000), structs.replace(ROW, rewards=600)
    assert per_hour(old, end, NOW) == pytest.approx(100 * 3600 / 99)
    assert per_hour(young, end, NOW) == 600  # all that there ever were
    line = listed(ROW, STEADY, NOW)
    assert (line.state, line.late, line.policy) == ("learning", 0.25, "apsee, 2 of 6")
    assert listed(ROW, None, NOW).state is None


def test_the_order_of_the_list() -> None:
    line = listed(ROW, STEADY, NOW)
    lines = [
        replace(line, key="b", per_hour=1.0, state="learning"),
        replace(line, key="c", per_hour=math.nan, state=None),
        replace(line, key="a", per_hour=3.0, state="stale"),
    ]
    orders = {
        ("key", False): "abc", ("key", True): "cba", ("state", False): "abc",
        ("per_hour", False): "bac", ("per_hour", True): "abc",
    }  # fmt: skip
    for (by, descending), order in orders.items():
        assert "".join(line.key for line in sorted_list(lines, by, descending)) == order, by
    with pytest.raises(sb.SparseBanditsError, match="sorted by"):
        sorted_list(lines, "shoe", False)


def test_states_are_read_from_logs(usual_url: str) -> None:
    """A learner that has locked, one whose effects turn round, and one that just learns."""
    url, rng = usual_url, np.random.default_rng(0)
    box = sb.SparseThompson(action_set=sb.Box([0] * 4, [1] * 4), sparsity=2)
    theta = np.array([0.2, 0.9, -0.1, 0.6])
    apsee = sb.APSEE(action_set=sb.LpBall(4), sparsity=1, sigma=0.01, confidence_scale=0.1)
    write = partial(write_log, url, start=time.time() - 60.0 * 200, gap=60.0)
    write("locked", apsee, lambda n, x: x[0] + 0.01 * rng.normal(), 195)
    write("plain", box, lambda n, x: x @ theta + rng.normal(), 200)
    write("turns", box, lambda n, x: n / 50 + x @ theta + 0.3 * rng.normal(), 200)

    async def look() -> tuple[dict[str, str | None], list[str]]:
        source = StoreSource(url)
        source.start()
        try:
            lines = await source.listed("", "")
            assert await source.listed("", "") == lines  # by what is remembered
            found = [line.key for line in await source.listed("pl", "A")]
            return {line.key: line.state for line in lines}, found
        finally:
            await source.stop()

    states, found = asyncio.run(look())
    assert states == {"locked": "locked", "plain": "learning", "turns": "drifting"}
    assert found == ["plain"]


def test_what_is_shown_is_looked_at_however_many_there_are(
    usual_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "EXAMINED", 1)
    box = sb.SparseThompson(action_set=sb.Box([0] * 4, [1] * 4), sparsity=2)
    for key in "abc":
        write_log(usual_url, key, box, lambda n, x: float(x[0]), 5, start=time.time() - 300)

    async def look() -> tuple[int, str]:
        source = StoreSource(usual_url)
        source.start()
        app = FastAPI()
        add_routes(app, store_routes(Door(let_in), source))
        transport = httpx.ASGITransport(app=app)
        try:
            known = [line for line in await source.listed("", "") if line.state is not None]
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return len(known), (await client.get("/")).text
        finally:
            await source.stop()

    known, page = asyncio.run(look())
    assert known == 1
    assert page.count('<td><span class="badge learning"') == 3
