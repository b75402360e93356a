"""What can go wrong with a store, by what is to be done about it."""

from sparsebandits.errors import SparseBanditsError


class StoreUnavailableError(SparseBanditsError):
    """The store cannot be read or written now: try again later.

    Attributes
    ----------
    is_busy : bool
        Whether only another writer is in the way.
    """

    def __init__(self, message: str, *, is_busy: bool = False) -> None:
        super().__init__(message)
        self.is_busy = is_busy


class LostRaceError(SparseBanditsError):
    """Another server has written first: catch up from the log and do it again."""


class DamagedStoreError(SparseBanditsError):
    """What is stored contradicts itself: restore a backup."""


class SchemaVersionError(SparseBanditsError):
    """The store has another schema version than this release works with."""
