"""What is asked of a store, written once: a dialect brings a connection that runs statements."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from itertools import accumulate
from typing import Any, ClassVar, TypeVar

import msgspec

from sparsebandits.store import schema
from sparsebandits.store.faults import (
    DamagedStoreError,
    LostRaceError,
    SchemaVersionError,
)
from sparsebandits.store.records import (
    Event,
    LearnerRow,
    Snapshot,
    StoredAnswer,
    TokenRow,
    columns_of,
    values_of,
)

Record = TypeVar("Record", bound=msgspec.Struct)
Row = Sequence[Any]


class Connection(ABC):
    """One connection to a database; used by one task at a time.

    Its errors are those of `sparsebandits.store.faults`.
    """

    dialect: ClassVar[schema.Dialect]

    @abstractmethod
    async def fetch(self, template: str, *values: Any) -> list[Row]:
        """Return the rows of a statement."""

    @abstractmethod
    async def run_many(self, template: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractAsyncContextManager[None]:
        """Begin, and commit at the end; an exception rolls back and is raised on."""

    @abstractmethod
    async def changed_elsewhere(self) -> bool:
        """Whether another connection may have written since this was asked last."""

    @abstractmethod
    async def find_damage(self) -> list[str]:
        """Return what the database itself finds wrong with what it has stored."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the database."""

    @abstractmethod
    async def continue_numbers(self, table: str, column: str) -> None:
        """Let the numbers that are given out go on after those that were copied."""

    async def run(self, template: str, *values: Any) -> None:
        """Run a statement."""
        await self.run_many(template, [values])


@cache
def _columns(record: type[msgspec.Struct]) -> str:
    return ", ".join(columns_of(record))


@cache
def _insert(table: str, record: type[msgspec.Struct], end: str = "") -> str:
    marks = ", ".join("?" for _ in columns_of(record))
    return f"INSERT INTO {table} ({_columns(record)}) VALUES ({marks}) {end}"


class Reads:
    """What can be read, inside a transaction or outside."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def select(
        self, record: type[Record], table: str, where: str, *values: Any
    ) -> list[Record]:
        """Return the records of a table that fit."""
        found = await self.connection.fetch(
            f"SELECT {_columns(record)} FROM {table} WHERE {where}", *values
        )
        return [record(**dict(zip(columns_of(record), row, strict=True))) for row in found]

    async def learner(self, key: str) -> LearnerRow | None:
        """Return a learner's row."""
        found = await self.select(LearnerRow, "learners", "key = ?", key)
        return found[0] if found else None

    async def learners(
        self, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[LearnerRow]:
        """Return a page of the learners that are not removed, in the order of their keys."""
        return await self.select(
            LearnerRow,
            "learners",
            "key > ? AND substr(key, 1, ?) = ? AND removed_at IS NULL ORDER BY key LIMIT ?",
            after,
            len(prefix),
            prefix,
            limit,
        )

    async def due(self, now: float, limit: int = 100) -> list[str]:
        """Return keys of learners with an open decision whose reward is waited for no longer."""
        found = await self.connection.fetch(
            "SELECT key FROM learners WHERE next_due <= ? AND removed_at IS NULL "
            "ORDER BY next_due LIMIT ?",
            now,
            limit,
        )
        return [row[0] for row in found]

    async def open_decisions(self) -> int:
        """Return how many decisions are open, of all learners that are not removed."""
        found = await self.connection.fetch(
            "SELECT sum(open) FROM learners WHERE removed_at IS NULL"
        )
        return int(found[0][0] or 0)

    async def policy(self, digest: str) -> bytes:
        """Return the description of a policy."""
        found = await self.connection.fetch("SELECT body FROM policies WHERE digest = ?", digest)
        if not found:
            raise DamagedStoreError(f"The store lacks the policy {digest}; restore a backup.")
        return bytes(found[0][0])

    async def events(self, learner: int, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events of a learner after a sequence, in order."""
        return await self.select(
            Event,
            "events",
            "learner = ? AND sequence > ? ORDER BY sequence LIMIT ?",
            learner,
            after,
            2**62 if limit is None else limit,
        )

    async def page(self, learner: int, after: int, limit: int, most_bytes: int) -> list[Event]:
        """Return so many events after a sequence, or fewer that are not too long together."""
        found = await self.connection.fetch(
            "SELECT length(body) FROM events WHERE learner = ? AND sequence > ? "
            "ORDER BY sequence LIMIT ?",
            learner,
            after,
            limit,
        )
        fitting = sum(total <= most_bytes for total in accumulate(row[0] for row in found))
        return await self.events(learner, after, max(fitting, 1))

    async def closing(self, learner: int, decision: int) -> Event | None:
        """Return the last event about a decision other than the ask."""
        found = await self.select(
            Event,
            "events",
            "learner = ? AND decision = ? AND kind <> 'ask' ORDER BY sequence DESC LIMIT 1",
            learner,
            decision,
        )
        return found[0] if found else None

    async def snapshot(self, learner: int) -> Snapshot | None:
        """Return the last snapshot of a learner."""
        found = await self.select(Snapshot, "snapshots", "learner = ?", learner)
        return found[0] if found else None

    async def tokens(self) -> list[TokenRow]:
        """Return every token, the oldest first."""
        return await self.select(TokenRow, "tokens", "1 = 1 ORDER BY created_at, id")


class Transaction(Reads):
    """What can be written; all of it or nothing."""

    epoch: int = 0
    """What was read in an earlier epoch may have been changed by another connection since."""

    async def lock(self, keys: Iterable[str]) -> dict[str, LearnerRow]:
        """Return the rows of learners, which nobody else may change until the commit."""
        found = await self.select(
            LearnerRow,
            "learners",
            "key IN {one_of} ORDER BY id {lock_rows}",
            json.dumps(sorted(keys)),
        )
        return {row.key: row for row in found}

    async def create(self, row: LearnerRow, policy: bytes) -> int:
        """Add a learner and return its number; a race if its key exists by now."""
        await self.connection.run(
            "INSERT INTO policies (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
            row.policy,
            policy,
        )
        columns, values = columns_of(LearnerRow)[1:], values_of(row)[1:]
        marks = ", ".join("?" for _ in columns)
        found = await self.connection.fetch(
            f"INSERT INTO learners ({', '.join(columns)}) VALUES ({marks}) "
            "ON CONFLICT DO NOTHING RETURNING id",
            *values,
        )
        if not found:
            raise LostRaceError(f"The learner {row.key!r} was created by another server.")
        return int(found[0][0])

    async def append(self, events: Sequence[Event]) -> None:
        """Add events; a race if a sequence is taken."""
        await self.connection.run_many(_insert("events", Event), [values_of(e) for e in events])

    async def update(self, rows: Sequence[LearnerRow]) -> None:
        """Write what has changed of learners."""
        await self.connection.run_many(
            "UPDATE learners SET head = ?, decisions = ?, rewards = ?, open = ?, last_at = ?, "
            "next_due = ?, removed_at = ? WHERE id = ?",
            [
                (
                    row.head,
                    row.decisions,
                    row.rewards,
                    row.open,
                    row.last_at,
                    row.next_due,
                    row.removed_at,
                    row.id,
                )
                for row in rows
            ],
        )

    async def purge(self, learner: int, scope: str) -> None:
        """Delete a learner with its log, and the answers stored under a scope that begins so."""
        for table in ("events", "snapshots"):
            await self.connection.run(f"DELETE FROM {table} WHERE learner = ?", learner)
        await self.connection.run("DELETE FROM learners WHERE id = ?", learner)
        await self.connection.run(
            "DELETE FROM answers WHERE substr(scope, 1, ?) = ?", len(scope), scope
        )

    async def save_snapshots(self, snapshots: Sequence[Snapshot]) -> None:
        """Put snapshots in the place of earlier ones; never one in the place of a later one."""
        end = (
            "ON CONFLICT (learner) DO UPDATE SET sequence = excluded.sequence, "
            "body = excluded.body, digest = excluded.digest "
            "WHERE snapshots.sequence <= excluded.sequence"
        )
        rows = [values_of(snapshot) for snapshot in snapshots]
        await self.connection.run_many(_insert("snapshots", Snapshot, end), rows)

    async def answers(self, keys: Iterable[str]) -> dict[tuple[str, str], StoredAnswer]:
        """Return the answers that were stored under idempotency keys, by scope and key."""
        found = await self.select(
            StoredAnswer, "answers", "key IN {one_of}", json.dumps(sorted(keys))
        )
        return {(answer.scope, answer.key): answer for answer in found}

    async def save_answers(self, answers: Sequence[StoredAnswer]) -> None:
        """Store answers; a race if one of the keys is taken."""
        rows = [values_of(answer) for answer in answers]
        await self.connection.run_many(_insert("answers", StoredAnswer), rows)

    async def drop_answers(self, before: float) -> None:
        """Delete answers that are older than a moment."""
        await self.connection.run("DELETE FROM answers WHERE at < ?", before)

    async def add_token(self, token: TokenRow) -> None:
        """Add a token."""
        await self.connection.run(_insert("tokens", TokenRow), *values_of(token))

    async def revoke_token(self, token: str, at: float) -> bool:
        """Revoke a token; False if there is none that is valid by that id."""
        found = await self.connection.fetch(
            "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id",
            at,
            token,
        )
        return bool(found)


class Store:
    """A log of events per learner, behind one connection. Made by `open_store`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.read = Reads(connection)
        self._epoch = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Write together what belongs together: it is durable when the block has ended.

        Raises
        ------
        LostRaceError
            Another server was first; nothing was written.
        StoreUnavailableError
            Whether it was written is unknown: read the log.
        """
        async with self.connection.transaction(write=True):
            transaction = Transaction(self.connection)
            # It is answered once, and must not be lost on a transaction that reads nothing.
            self._epoch += await self.connection.changed_elsewhere()
            transaction.epoch = self._epoch
            yield transaction

    async def version(self) -> int:
        """Return the schema version of the database; 0 if it is empty."""
        # to_regclass and sqlite_master: there is no common way to ask for a table.
        asked = {
            "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'",
            "postgresql": "SELECT count(*) FROM pg_tables WHERE tablename = 'schema_version' "
            "AND schemaname = ANY (current_schemas(false))",
        }[self.connection.dialect.name]
        if not (await self.connection.fetch(asked))[0][0]:
            return 0
        found = await self.connection.fetch("SELECT max(version) FROM schema_version")
        return int(found[0][0] or 0)

    async def upgrade(self) -> tuple[int, int]:
        """Bring the schema to this release's version; return the version before and after."""
        newest = len(schema.MIGRATIONS)
        before = await self.version()
        self._refuse_newer(before)
        for number in range(before + 1, newest + 1):
            async with self.connection.transaction(write=True):
                await self.connection.fetch(self.connection.dialect.lock_schema)
                if await self.version() >= number:
                    continue  # another server was faster
                if number == 1:
                    await self.connection.run("CREATE TABLE schema_version (version INTEGER)")
                for template in schema.MIGRATIONS[number - 1]:
                    await self.connection.run(template)
                await self.connection.run("INSERT INTO schema_version VALUES (?)", number)
        return before, newest

    async def prepare(self) -> None:
        """Make the tables of an empty database; refuse one of another version, or read-only."""
        version = await self.version()
        self._refuse_newer(version)
        if version == 0:
            await self.upgrade()
        elif version < len(schema.MIGRATIONS):
            raise SchemaVersionError(
                f"The store has schema version {version}, this release works with "
                f"{len(schema.MIGRATIONS)}. Back it up, then run: sparsebandits db upgrade"
            )
        async with self.connection.transaction(write=True):
            pass  # refused where nothing may be written

    def _refuse_newer(self, version: int) -> None:
        if version > len(schema.MIGRATIONS):
            raise SchemaVersionError(
                f"The store has schema version {version}, newer than this release's "
                f"{len(schema.MIGRATIONS)}. Install a newer sparsebandits."
            )

    async def close(self) -> None:
        """Let go of the database."""
        await self.connection.close()
