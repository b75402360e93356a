"""The records that a store keeps, one class per table."""

import hashlib
from typing import Any

import msgspec


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a policy, once for all learners that share it."""

    digest: str
    body: bytes


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a learner's log; (learner, sequence) is unique.

    Attributes
    ----------
    learner : int
        The learner's number in the store.
    sequence : int
        1, 2, 3, ... without a gap within the learner.
    kind : str
        What happened, a word such as "ask".
    at : float
        Seconds since 1970, never less than that of the event before.
    decision : int or None
        The decision that it is about: of an ask, the first.
    body : bytes
        The content.
    """

    learner: int
    sequence: int
    kind: str
    at: float
    decision: int | None
    body: bytes


class LearnerRow(msgspec.Struct, kw_only=True):
    """What is known of a learner without loading it; `head` is the sequence of its last event.

    Attributes
    ----------
    policy : str
        The digest of its policy, which is stored once for all learners that share it.
    decisions, rewards, open : int
        Decisions given out, rewards told, decisions whose reward may still come. Of an imported
        learner also those of its former life: the rewards are then those behind its estimate.
    next_due : float or None
        When the oldest open decision is to get its default reward.
    """

    id: int
    key: str
    policy: str
    seed: int | None
    reward_wait: float | None
    default_reward: float | None
    created_at: float
    removed_at: float | None = None
    head: int = 0
    decisions: int = 0
    rewards: int = 0
    open: int = 0
    last_at: float = 0.0
    next_due: float | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A learner as it was after event `sequence`, with a digest of the body."""

    learner: int
    sequence: int
    body: bytes
    digest: str

    @classmethod
    def of(cls, learner: int, sequence: int, body: bytes) -> "Snapshot":
        """Make a snapshot with its digest."""
        return cls(learner=learner, sequence=sequence, body=body, digest=digest_of(body))

    @property
    def is_intact(self) -> bool:
        """Whether the body is the one that was written."""
        return self.digest == digest_of(self.body)


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request with an idempotency key, and the fingerprint of its body."""

    scope: str
    key: str
    fingerprint: str
    status: int
    body: bytes
    at: float


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A token: its hash, what it may do, on which keys, until when."""

    id: str
    digest: str
    scope: str
    prefix: str
    name: str
    created_at: float
    expires_at: float | None
    revoked_at: float | None = None


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def columns_of(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the columns of a record's table, in the order of its fields."""
    return record.__struct_fields__


def values_of(record: msgspec.Struct) -> tuple[Any, ...]:
    """Return the values of a record in the order of its columns."""
    return msgspec.structs.astuple(record)
