"""The store: an append-only log of events per learner, snapshots, tokens; SQLite or PostgreSQL.

The log is the truth. A snapshot only saves replaying it, and an event's content is bytes here: what
it means is known where learners are.
"""

from sparsebandits.store.base import Store, Transaction
from sparsebandits.store.faults import (
    DamagedStoreError,
    LostRaceError,
    SchemaVersionError,
    StoreUnavailableError,
)
from sparsebandits.store.location import open_store
from sparsebandits.store.records import Event, LearnerRow, Snapshot, StoredAnswer, TokenRow

__all__ = [
    "DamagedStoreError",
    "Event",
    "LearnerRow",
    "LostRaceError",
    "SchemaVersionError",
    "Snapshot",
    "Store",
    "StoreUnavailableError",
    "StoredAnswer",
    "TokenRow",
    "Transaction",
    "open_store",
]
