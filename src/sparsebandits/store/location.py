"""From a URL to a store."""

from pathlib import Path

from sparsebandits.errors import InvalidValueError
from sparsebandits.store.base import Store
from sparsebandits.store.faults import StoreUnavailableError

DEFAULT = "sqlite:///sparsebandits.db"
_SQLITE = "sqlite:///"


def open_store(
    url: str = DEFAULT,
    *,
    synchronous: str = "FULL",
    read_only: bool = False,
    patience: float = 20.0,
) -> Store:
    """Open the store at a URL; `prepare` then makes its tables.

    Parameters
    ----------
    url : str
        ``sqlite:///FILE`` (``sqlite:////FILE`` from the root) or ``postgresql://...``.
    synchronous : str
        Of SQLite; anything but "FULL" can lose what was acknowledged, and is for measurements.
    read_only : bool
        Whether the database itself refuses whatever would write.
    patience : float
        Seconds that PostgreSQL may take for a statement, also to wait for a lock.
    """
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        from sparsebandits.store.sqlite import SqliteConnection

        path = Path(url[len(_SQLITE) :])
        try:
            return Store(SqliteConnection(path, synchronous, read_only=read_only))
        except OSError as error:
            raise StoreUnavailableError(
                f"The store {path} cannot be opened: {error.strerror or error}."
            ) from None
    if url.startswith(("postgresql://", "postgres://")):
        from sparsebandits.store.postgres import PostgresConnection

        return Store(PostgresConnection(url, read_only=read_only, patience=patience))
    # What was given may hold a password, so it is not repeated.
    raise InvalidValueError(
        "store must be sqlite:///FILE or postgresql://USER@HOST/DATABASE; got another scheme."
    )
