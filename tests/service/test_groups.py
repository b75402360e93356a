"""Requests in groups: clocks that jump, room for learners, jobs that fail, lanes of one rule."""

import asyncio
import json
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec
import pytest

import sparsebandits as sb
from sparsebandits.policies import lanes
from sparsebandits.service import knowledge_calls, rounds
from sparsebandits.service.answers import Answer, RefusedError
from sparsebandits.service.checkup import check_store
from sparsebandits.service.groups import Groups, Job, single
from sparsebandits.service.log import Lived
from sparsebandits.service.metrics import Metrics
from sparsebandits.service.operations import Ask, Create, Expire, Forget, Peek, Tell
from sparsebandits.service.residents import Residents, Saved
from sparsebandits.store import Snapshot, Store, open_store
from tests.service.playing import POLICY
from tests.stores import change, use


def in_process(
    url: str, work: Callable[[Groups], Awaitable[None]], resident: int = 10, snapshot_every: int = 4
) -> None:
    async def run() -> None:
        store = open_store(url)
        await store.prepare()
        await work(Groups(store, Residents(resident, 2**30), Metrics(), snapshot_every))
        await store.close()

    asyncio.run(run())


async def ask_at(groups: Groups, clock: list[float], moments: tuple[float, ...]) -> None:
    """Make a learner that waits 50 seconds for a reward, and ask it at these times."""
    new = Create("a", POLICY, msgspec.json.encode(POLICY.to_dict()), 0, 50.0, None)
    await groups.run([Job([new], single)])
    for moment in moments:
        clock[0] = moment
        await groups.run([Job([Ask("a", None, None, 1)], single)])


def test_a_clock_that_is_set_back_does_not_reorder_the_log(
    usual_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])

    async def run(groups: Groups) -> None:
        await ask_at(groups, clock, (2000.0, 1500.0, 3000.0))
        await groups.run([Job([Tell("a", 1, 0.5, False)], single)])

    in_process(usual_url, run)

    async def times(store: Store) -> list[float]:
        return [event.at for event in await store.read.events(1)]

    assert use(usual_url, times) == [2000.0, 2000.0, 3000.0, 3000.0]
    assert use(usual_url, check_store) == (1, [])


def test_a_clock_that_was_ahead_does_not_keep_decisions_waiting(
    usual_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked in a year that has not come yet is waited for from now on, as is the rest."""
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])

    async def run(groups: Groups) -> None:
        await ask_at(groups, clock, (1000.0, 1e9, 1010.0))
        for moment, expired in ((1040.0, 0), (1051.0, 1), (1061.0, 2), (1071.0, 0)):
            clock[0] = moment
            [(_, answer)] = await groups.run([Job([Expire("a")], single)])
            assert json.loads(answer.body) == expired

    for snapshot_every in (4, 1):
        change(usual_url, "DELETE FROM learners", "DELETE FROM events", "DELETE FROM snapshots")
        in_process(usual_url, run, snapshot_every=snapshot_every)
        assert use(usual_url, check_store) == (1, [])


def test_what_was_not_committed_is_not_exported() -> None:
    """It stood in a group with asks that the disk had no room for."""

    class FullDisk:
        async def submit(self, job: Job) -> Answer:
            lived = Lived(POLICY, POLICY.start(0))
            [peek] = job.operations
            assert isinstance(peek, Peek)
            peek.view(lived, None)  # type: ignore[arg-type]
            return RefusedError("unavailable", "The disk is full.").answer

    service, context = SimpleNamespace(engine=FullDisk()), SimpleNamespace(key="a")
    context.request = SimpleNamespace(method="GET")
    for call in (knowledge_calls.export, knowledge_calls.certificate):
        with pytest.raises(RefusedError, match="The disk is full"):
            asyncio.run(call(service, context))  # type: ignore[arg-type]


def test_a_learner_that_has_to_leave_is_saved_first(usual_url: str) -> None:
    """Unless there is little to replay."""

    async def play_in_turn(groups: Groups) -> None:
        body = msgspec.json.encode(POLICY.to_dict())
        for key, rounds_played in (("long", 12), ("short", 3), ("a", 0), ("b", 0)):
            await groups.run([Job([Create(key, POLICY, body, 0, None, None)], single)])
            for step in range(1, rounds_played + 1):
                await groups.run([Job([Ask(key, None, None, 1)], single)])
                await groups.run([Job([Tell(key, step, 0.5, False)], single)])

    async def saved(store: Store) -> list[int | None]:
        found = [await store.read.snapshot(learner) for learner in (1, 2)]
        return [None if each is None else each.sequence for each in found]

    in_process(usual_url, play_in_turn, resident=2, snapshot_every=1000)
    assert use(usual_url, saved) == [24, None]
    assert use(usual_url, check_store) == (4, [])


def test_open_decisions_count_for_the_room_that_learners_take(usual_url: str) -> None:
    async def run() -> None:
        store, residents = open_store(usual_url), Residents(10, 2**16)
        await store.prepare()
        groups = Groups(store, residents, Metrics(), 1000)
        body = msgspec.json.encode(POLICY.to_dict())
        for key in "abc":
            await groups.run([Job([Create(key, POLICY, body, 0, None, None)], single)])
        assert len(residents) == 3
        for key in "abc":
            await groups.run([Job([Ask(key, None, None, 40)], single)])
        assert len(residents) == 1
        for key in "abc":
            await groups.run([Job([Forget(key, number)], single) for number in range(1, 41)])
        assert len(residents) == 3
        await store.close()

    asyncio.run(run())
    assert use(usual_url, check_store) == (3, [])


def test_one_bad_job_does_not_take_its_group_with_it(usual_url: str) -> None:
    class BrokenError(Exception):
        pass

    def fail(results: object) -> NoReturn:
        raise BrokenError

    async def run(groups: Groups) -> None:
        body = msgspec.json.encode(POLICY.to_dict())
        jobs = [Job([Create(key, POLICY, body, 0, None, None)], single) for key in "abc"]
        jobs.append(Job([Create("bad", POLICY, body, 0, None, None)], fail))
        answers = await groups.run(jobs)
        assert [answer.status for _, answer in answers] == [201, 201, 201, 500]
        asked = await groups.run([Job([Ask(key, None, None, 1)], single) for key in "abc"])
        assert [answer.status for _, answer in asked] == [200, 200, 200]

    in_process(usual_url, run)

    async def keys(store: Store) -> list[str]:
        return [row.key for row in await store.read.learners()]

    assert use(usual_url, keys) == ["a", "b", "c"]


def test_learners_out_of_the_store_are_computed_together(
    usual_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From snapshots of this release and of the last one, and from the log alone, in one group."""
    together: list[int] = []

    def counted(learners: list[sb.Learner], *rest: Any) -> Any:
        together.append(len(learners))
        return lanes.ask_together(learners, *rest)

    monkeypatch.setattr(rounds, "ask_together", counted)
    keys = [f"k{seed}" for seed in range(5)]

    def told(step: int, key: str) -> Tell:
        return Tell(key, step, 0.5 * step, False)

    async def answers(groups: Groups, make: Callable[[str], Any]) -> list[Any]:
        done = await groups.run([Job([make(key)], single) for key in keys])
        assert {answer.status for _, answer in done} <= {200, 201}
        return [json.loads(answer.body) for _, answer in done]

    async def first(groups: Groups) -> None:
        body = msgspec.json.encode(POLICY.to_dict())
        await answers(groups, lambda k: Create(k, POLICY, body, int(k[1:]), None, None))
        for step in range(1, 4):
            await answers(groups, lambda key: Ask(key, None, None, 1))
            await answers(groups, partial(told, step))

    async def older(store: Store) -> None:
        async with store.transaction() as transaction:
            for learner in (1, 2):
                saved = await transaction.snapshot(learner)
                assert saved is not None
                kept = msgspec.msgpack.decode(saved.body, type=Saved)
                data = sb.Learner.from_bytes(kept.state, POLICY).to_dict()
                del data["policy"]
                body = Saved(zlib.compress(json.dumps(data).encode()), kept.open)
                snapshot = Snapshot.of(learner, saved.sequence, msgspec.msgpack.encode(body))
                await transaction.save_snapshots([snapshot])
            await store.connection.run("DELETE FROM snapshots WHERE learner = 5")

    async def second(groups: Groups) -> None:
        found = await answers(groups, lambda key: Ask(key, None, None, 1))
        for seed, answer in enumerate(found):
            mine = POLICY.start(seed)
            for step in range(1, 4):
                mine.tell(mine.ask(), 0.5 * step)
            [decision] = answer["decisions"]
            assert list(decision["action"].values()) == mine.ask().values.tolist()

    in_process(usual_url, first)
    use(usual_url, older)
    assert use(usual_url, check_store) == (5, [])
    together.clear()
    in_process(usual_url, second)
    assert together == [5]
    assert use(usual_url, check_store) == (5, [])


def test_what_may_take_long_is_computed_beside_the_loop(
    usual_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ask of a policy, and those after a slow one; what is known to be quick is not."""
    perform, pause = rounds.perform, [0.3]

    def slowly(work: Any) -> Any:
        time.sleep(pause[0])
        return perform(work)

    monkeypatch.setattr(rounds, "perform", slowly)

    async def ticks_during(groups: Groups, operation: Any) -> int:
        asked = asyncio.create_task(groups.run([Job([operation], single)]))
        ticks = 0
        while not asked.done():
            ticks += 1
            await asyncio.sleep(0.01)
        [(_, answer)] = asked.result()
        assert answer.status in (200, 201)
        return ticks

    async def run(groups: Groups) -> None:
        body = msgspec.json.encode(POLICY.to_dict())
        await ticks_during(groups, Create("a", POLICY, body, 0, None, None))
        ask_once = Ask("a", None, None, 1)
        assert await ticks_during(groups, ask_once) > 5
        assert await ticks_during(groups, ask_once) > 5
        pause[0] = 0.0
        for _ in range(40):
            await ticks_during(groups, ask_once)
        threads = []
        monkeypatch.setattr(asyncio, "to_thread", lambda *work: threads.append(work))
        await ticks_during(groups, ask_once)
        assert threads == []

    in_process(usual_url, run)
