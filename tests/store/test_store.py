"""What every store promises, on SQLite and on PostgreSQL."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sparsebandits.errors import InvalidValueError
from sparsebandits.service.auth import make_token
from sparsebandits.store import (
    Event,
    LearnerRow,
    LostRaceError,
    SchemaVersionError,
    Snapshot,
    Store,
    StoredAnswer,
    StoreUnavailableError,
    open_store,
    schema,
)
from sparsebandits.store.copying import copy_store
from tests.stores import fresh_url, use


def row(key: str, **changes: Any) -> LearnerRow:
    given = {
        "id": 0,
        "key": key,
        "policy": "p",
        "seed": 3,
        "reward_wait": None,
        "default_reward": None,
        "created_at": 1.5,
        "last_at": 1.5,
    }
    return LearnerRow(**{**given, **changes})


def event(learner: int, sequence: int, kind: str = "ask", decision: int | None = 1) -> Event:
    return Event(
        learner=learner,
        sequence=sequence,
        kind=kind,
        at=2.0 + sequence,
        decision=decision,
        body=b"\x00\xff" * sequence,
    )


async def add(store: Store, key: str = "a", events: int = 0, **changes: Any) -> int:
    async with store.transaction() as transaction:
        number = await transaction.create(row(key, **changes), b"{}")
        await transaction.append([event(number, place) for place in range(1, events + 1)])
    return number


def on(url: str) -> Callable[[Callable[[Store], Awaitable[None]]], None]:
    """Run the decorated coroutine function on a store."""
    return lambda work: use(url, work)


def test_what_was_written_is_read(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        number = await add(store, events=3)
        found = await store.read.learner("a")
        assert found == row("a", id=number)
        assert await store.read.learner("b") is None
        events = await store.read.events(number)
        assert events == [event(number, place) for place in (1, 2, 3)]
        assert await store.read.events(number, after=1, limit=1) == [event(number, 2)]
        assert await store.read.policy("p") == b"{}"


def test_a_sequence_is_taken_once(store_url: str) -> None:
    """The fence between servers."""

    @on(store_url)
    async def _(store: Store) -> None:
        number = await add(store, events=1)
        with pytest.raises(LostRaceError):
            async with store.transaction() as transaction:
                await transaction.append([event(number, 2), event(number, 1)])
        assert [kept.sequence for kept in await store.read.events(number)] == [1]


def test_a_key_is_taken_once(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        await add(store)
        with pytest.raises(LostRaceError):
            await add(store)
        assert len(await store.read.learners()) == 1


def test_an_error_undoes_the_whole_transaction(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        async def fail() -> None:
            async with store.transaction() as transaction:
                await transaction.create(row("a"), b"{}")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert await store.read.learner("a") is None


def test_pages_of_learners_have_a_prefix_and_no_removed_ones(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        for key in ("b1", "a%", "a_x", "a1", "a2"):
            await add(store, key)
        await add(store, "a0", removed_at=9.0)
        keys = [found.key for found in await store.read.learners("a")]
        assert keys == sorted(["a%", "a_x", "a1", "a2"])
        page = await store.read.learners("a", after="a1", limit=1)
        assert [found.key for found in page] == ["a2"]
        assert [found.key for found in await store.read.learners("a_")] == ["a_x"]


def test_how_a_decision_was_closed_last(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        number = await add(store, events=1)
        assert await store.read.closing(number, 1) is None
        async with store.transaction() as transaction:
            await transaction.append([event(number, 2, "expire"), event(number, 3, "correct")])
        closing = await store.read.closing(number, 1)
        assert closing is not None
        assert closing.kind == "correct"


def test_a_page_of_events_is_not_too_long(store_url: str) -> None:
    """Event n has 2n bytes here; one that is too long by itself comes alone."""

    @on(store_url)
    async def _(store: Store) -> None:
        number = await add(store, events=6)

        async def page(after: int, limit: int, most_bytes: int) -> list[int]:
            found = await store.read.page(number, after, limit, most_bytes)
            return [each.sequence for each in found]

        assert await page(0, 10, 12) == [1, 2, 3]
        assert await page(3, 10, 12) == [4]
        assert await page(4, 10, 1) == [5]
        assert await page(0, 2, 12) == [1, 2]
        assert await page(6, 10, 12) == []


def test_rows_change_and_what_is_due_is_found(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        await add(store, "a")
        await add(store, "b")
        async with store.transaction() as transaction:
            rows = await transaction.lock(["a", "b", "none"])
            assert sorted(rows) == ["a", "b"]
            rows["a"].next_due, rows["b"].next_due, rows["a"].head = 10.0, 20.0, 7
            await transaction.update(list(rows.values()))
        assert await store.read.due(15.0) == ["a"]
        found = await store.read.learner("a")
        assert found is not None
        assert found.head == 7


def test_a_snapshot_takes_the_place_of_the_one_before(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        number = await add(store)
        for sequence in (3, 9):
            async with store.transaction() as transaction:
                saved = Snapshot.of(number, sequence, b"state" * sequence)
                await transaction.save_snapshots([saved])
        assert await store.read.snapshot(number) == saved
        async with store.transaction() as transaction:  # a server that has not caught up
            await transaction.save_snapshots([Snapshot.of(number, 1, b"older")])
        assert await store.read.snapshot(number) == saved
        assert saved.is_intact
        assert not Snapshot(learner=1, sequence=1, body=b"x", digest=saved.digest).is_intact


def test_answers_are_kept_under_scope_and_key(store_url: str) -> None:
    kept = [
        StoredAnswer(scope=scope, key="k", fingerprint="f", status=200, body=b"{}", at=at)
        for scope, at in (("/a/ask", 1.0), ("/b/ask", 2.0))
    ]

    @on(store_url)
    async def _(store: Store) -> None:
        async with store.transaction() as transaction:
            await transaction.save_answers(kept)
        with pytest.raises(LostRaceError):
            async with store.transaction() as transaction:
                await transaction.save_answers(kept[:1])
        async with store.transaction() as transaction:
            found = await transaction.answers(["k", "other"])
            assert found == {(answer.scope, "k"): answer for answer in kept}
            await transaction.drop_answers(before=1.5)
            assert set(await transaction.answers(["k"])) == {("/b/ask", "k")}


def test_what_is_purged_is_gone(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        number, other = await add(store, "a", events=2), await add(store, "b", events=1)
        answer = StoredAnswer(
            scope="/v1/learners/a/ask", key="k", fingerprint="f", status=200, body=b"", at=1.0
        )
        async with store.transaction() as transaction:
            await transaction.save_answers([answer])
            await transaction.purge(number, "/v1/learners/a/")
        async with store.transaction() as transaction:
            assert await transaction.answers(["k"]) == {}
        assert await store.read.events(number) == []
        assert await store.read.learner("a") is None
        assert len(await store.read.events(other)) == 1
        assert await add(store, "a") > other


def test_tokens_are_kept_and_revoked(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        _, token = make_token("play", prefix="spring", expires_at=time.time() + 9)
        async with store.transaction() as transaction:
            await transaction.add_token(token)
        assert await store.read.tokens() == [token]
        async with store.transaction() as transaction:
            assert await transaction.revoke_token(token.id, 5.0)
            assert not await transaction.revoke_token(token.id, 6.0)
        assert (await store.read.tokens())[0].revoked_at == 5.0


def test_another_connection_is_noticed_and_waited_for(store_url: str) -> None:
    async def both() -> None:
        here, there = open_store(store_url), open_store(store_url)
        await here.prepare()
        await there.prepare()
        async with here.transaction() as transaction:
            await transaction.create(row("a"), b"{}")
            first = transaction.epoch
        async with here.transaction() as transaction:
            before = transaction.epoch
        assert (before > first) == store_url.startswith("postgres")
        await add(there, "b")
        async with here.transaction() as transaction:
            await transaction.drop_answers(0.0)  # which reads nothing, and must not hide it
        async with here.transaction() as transaction:
            assert transaction.epoch > before
            assert set(await transaction.lock(["a", "b"])) == {"a", "b"}
        await here.close()
        await there.close()

    asyncio.run(both())


# ---------------------------------------------------------------------- schema


def test_a_newer_schema_is_refused(store_url: str) -> None:
    @on(store_url)
    async def _(store: Store) -> None:
        await store.connection.run("INSERT INTO schema_version VALUES (?)", 99)
        for use_it in (store.prepare, store.upgrade):
            with pytest.raises(SchemaVersionError, match="version 99, newer"):
                await use_it()


def test_an_older_schema_is_upgraded_on_demand(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(store_url, add)
    column = ("ALTER TABLE learners ADD COLUMN colour TEXT",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, column))

    async def upgrade() -> None:
        store = open_store(store_url)
        with pytest.raises(SchemaVersionError, match="sparsebandits db upgrade"):
            await store.prepare()
        assert await store.upgrade() == (1, 2)
        assert await store.upgrade() == (2, 2)
        await store.prepare()
        [[colour]] = await store.connection.fetch("SELECT colour FROM learners")
        assert colour is None
        await store.close()

    asyncio.run(upgrade())


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_a_store_is_copied_to_the_other_kind(
    source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    from_url = fresh_url(request, source, tmp_path / "a")
    to_url = fresh_url(request, target, tmp_path)

    @on(from_url)
    async def _(store: Store) -> None:
        number = await add(store, "a", events=2500)
        await add(store, "b", seed=None)
        async with store.transaction() as transaction:
            await transaction.save_snapshots([Snapshot.of(number, 2, b"s")])
        copy = open_store(to_url)
        counts = await copy_store(store, copy)
        assert counts["events"] == 2500
        for read in ("learners", "tokens"):
            assert await getattr(copy.read, read)() == await getattr(store.read, read)()
        assert await copy.read.events(number) == await store.read.events(number)
        assert await copy.read.snapshot(number) == await store.read.snapshot(number)
        assert await add(copy, "c") == 3
        with pytest.raises(InvalidValueError, match="must be empty"):
            await copy_store(store, copy)
        await copy.close()


# ---------------------------------------------------------------------- what cannot be opened


def test_places_that_are_none() -> None:
    with pytest.raises(InvalidValueError, match="sqlite:///FILE or postgresql://"):
        open_store("mysql://ann:secret@host/db")
    with pytest.raises(StoreUnavailableError, match="cannot be opened"):
        open_store("sqlite:////no/such/folder/store.db")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    from sparsebandits.store import DamagedStoreError

    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(DamagedStoreError):
        open_store(f"sqlite:///{tmp_path / 'x.db'}")


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    use(f"sqlite:///{tmp_path / 'x.db'}", add)
    assert (tmp_path / "x.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("statement", ["DELETE FROM learners", "CREATE TABLE more (a INTEGER)"])
def test_a_store_that_is_read_only_refuses_to_write(store_url: str, statement: str) -> None:
    use(store_url, lambda store: store.version())  # makes the tables

    async def look() -> None:
        store = open_store(store_url, read_only=True)
        try:
            assert await store.read.learners() == []
            await store.connection.run(statement)
        finally:
            await store.close()

    with pytest.raises(StoreUnavailableError, match=r"read-?only"):
        asyncio.run(look())
