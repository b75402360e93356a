"""Copy a whole store into another: backups, and moves between SQLite and PostgreSQL."""

from typing import Any

import msgspec

from sparsebandits.errors import InvalidValueError
from sparsebandits.store.base import Connection, Store
from sparsebandits.store.records import (
    Event,
    LearnerRow,
    Policy,
    Snapshot,
    StoredAnswer,
    TokenRow,
    columns_of,
)

_BATCH = 1000

_TABLES: dict[str, tuple[type[msgspec.Struct], tuple[str, ...]]] = {
    "policies": (Policy, ("digest",)),
    "learners": (LearnerRow, ("id",)),
    "events": (Event, ("learner", "sequence")),
    "snapshots": (Snapshot, ("learner",)),
    "answers": (StoredAnswer, ("scope", "key")),
    "tokens": (TokenRow, ("id",)),
}
"""Every table: its record, and its primary key."""


async def copy_store(source: Store, target: Store) -> dict[str, int]:
    """Copy everything as it is at one moment; return the number of rows of each table.

    All of it arrives, or nothing. A target that has anything in it is refused.
    """
    await target.upgrade()
    counts: dict[str, int] = {}
    async with (
        source.connection.transaction(write=False),
        target.connection.transaction(write=True),
    ):
        for table, (record, key) in _TABLES.items():
            if (await target.connection.fetch(f"SELECT count(*) FROM {table}"))[0][0]:
                raise InvalidValueError(
                    f"The store to copy into has rows in {table}; it must be empty."
                )
            counts[table] = await _copy(source.connection, target.connection, table, record, key)
        await target.connection.continue_numbers("learners", "id")
    return counts


async def _copy(
    source: Connection,
    target: Connection,
    table: str,
    record: type[msgspec.Struct],
    key: tuple[str, ...],
) -> int:
    columns = columns_of(record)
    listed, order = ", ".join(columns), ", ".join(key)
    insert = f"INSERT INTO {table} ({listed}) VALUES ({', '.join('?' for _ in columns)})"
    places = [columns.index(name) for name in key]
    last: tuple[Any, ...] = ()
    copied = 0
    while True:
        marks = ", ".join("?" for _ in last)
        after = f"WHERE ({order}) > ({marks})" if last else ""
        rows = await source.fetch(
            f"SELECT {listed} FROM {table} {after} ORDER BY {order} LIMIT {_BATCH}", *last
        )
        if not rows:
            return copied
        await target.run_many(insert, rows)
        copied += len(rows)
        last = tuple(rows[-1][place] for place in places)
