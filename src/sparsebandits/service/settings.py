"""What a server is told when it starts."""

from dataclasses import dataclass

from sparsebandits.store.location import DEFAULT


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the store is, and the limits.

    Parameters
    ----------
    store : str
        The URL of the store.
    resident : int
        Learners that are kept in memory.
    resident_megabytes : int
        How large they may be together, by what their dimensions and open decisions say.
    max_dim : int
        The largest dimension of a learner.
    max_body, max_import : int
        Bytes in a request; and in one to /v1/import.
    body_wait : float
        Seconds in which something more of a body has to come.
    max_waiting : int
        Requests that may wait for their group.
    snapshot_every : int
        Events between two snapshots of a learner.
    keep_answers : float
        Seconds for which an idempotency key is remembered.
    synchronous : str
        Of SQLite; anything but "FULL" is for measurements.
    """

    store: str = DEFAULT
    resident: int = 4096
    resident_megabytes: int = 1024
    max_dim: int = 2000
    max_body: int = 2**20
    max_import: int = 2**26
    body_wait: float = 30.0
    max_waiting: int = 10_000
    snapshot_every: int = 256
    keep_answers: float = 7 * 86_400.0
    synchronous: str = "FULL"
