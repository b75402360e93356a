"""The tables, once for both dialects, and the steps from one schema version to the next."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """Where SQLite and PostgreSQL are written differently."""

    name: str
    blob: str
    real: str
    integer: str
    serial: str
    clustered: str
    """What keeps a table in the order of its primary key."""
    one_of: str
    """`column IN one_of`: the texts in a JSON array that is given as one parameter."""
    lock_rows: str
    """The end of a SELECT whose rows nobody else may change until the commit."""
    lock_schema: str
    """What keeps others from changing tables until the commit."""


SQLITE = Dialect(
    name="sqlite",
    blob="BLOB",
    real="REAL",
    integer="INTEGER",
    serial="INTEGER PRIMARY KEY AUTOINCREMENT",
    clustered="WITHOUT ROWID",
    one_of="(SELECT value FROM json_each(?))",
    lock_rows="",
    lock_schema="SELECT 1",  # whoever writes is alone
)

POSTGRES = Dialect(
    name="postgresql",
    blob="BYTEA",
    real="DOUBLE PRECISION",
    integer="BIGINT",
    serial="BIGSERIAL PRIMARY KEY",
    clustered="",
    one_of="(SELECT jsonb_array_elements_text(CAST(CAST(? AS TEXT) AS JSONB)))",
    lock_rows="FOR UPDATE",
    lock_schema="SELECT pg_advisory_xact_lock(hashtext('sparsebandits ' || current_schema()))",
)

_FIRST = (
    "CREATE TABLE policies (digest TEXT PRIMARY KEY, body {blob} NOT NULL)",
    """CREATE TABLE learners (
        id {serial},
        key TEXT NOT NULL UNIQUE,
        policy TEXT NOT NULL,
        seed {integer},
        reward_wait {real},
        default_reward {real},
        created_at {real} NOT NULL,
        removed_at {real},
        head {integer} NOT NULL,
        decisions {integer} NOT NULL,
        rewards {integer} NOT NULL,
        open {integer} NOT NULL,
        last_at {real} NOT NULL,
        next_due {real}
    )""",
    "CREATE INDEX learners_due ON learners (next_due) WHERE next_due IS NOT NULL",
    """CREATE TABLE events (
        learner {integer} NOT NULL,
        sequence {integer} NOT NULL,
        kind TEXT NOT NULL,
        at {real} NOT NULL,
        decision {integer},
        body {blob} NOT NULL,
        PRIMARY KEY (learner, sequence)
    ) {clustered}""",
    "CREATE INDEX events_decision ON events (learner, decision)",
    """CREATE TABLE snapshots (
        learner {integer} PRIMARY KEY,
        sequence {integer} NOT NULL,
        body {blob} NOT NULL,
        digest TEXT NOT NULL
    )""",
    """CREATE TABLE answers (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        status {integer} NOT NULL,
        body {blob} NOT NULL,
        at {real} NOT NULL,
        PRIMARY KEY (scope, key)
    ) {clustered}""",
    "CREATE INDEX answers_at ON answers (at)",
    """CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        scope TEXT NOT NULL,
        prefix TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at {real} NOT NULL,
        expires_at {real},
        revoked_at {real}
    )""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""The statements that lead to version 1, 2, ...; what was released is never changed."""


def statement(template: str, dialect: Dialect) -> str:
    """Write a statement in a dialect."""
    return template.format(
        blob=dialect.blob,
        real=dialect.real,
        integer=dialect.integer,
        serial=dialect.serial,
        clustered=dialect.clustered,
        one_of=dialect.one_of,
        lock_rows=dialect.lock_rows,
    )
