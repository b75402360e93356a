"""Tokens: 256 random bits, stored as a hash, with a scope, perhaps a prefix of keys, and an end."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from sparsebandits.errors import InvalidValueError
from sparsebandits.service.answers import RefusedError
from sparsebandits.store import TokenRow

SCOPES = ("read", "play", "admin")
"""Each may do what those before it may: look; ask and tell; create, import and remove."""

_STALE = 2.0
"""Seconds after which tokens are read from the store again: a revoked one works no longer."""


def make_token(
    scope: str, *, prefix: str = "", name: str = "", expires_at: float | None = None
) -> tuple[str, TokenRow]:
    """Return a new token, which is shown once, and what is stored of it."""
    if scope not in SCOPES:
        raise InvalidValueError(f"scope must be read, play or admin, got {scope!r}.")
    name_of_token, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = TokenRow(
        id=name_of_token,
        digest=_digest(secret),
        scope=scope,
        prefix=prefix,
        name=name,
        created_at=time.time(),
        expires_at=expires_at,
    )
    return f"sb_{name_of_token}_{secret}", row


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def is_valid(row: TokenRow, now: float) -> bool:
    """Whether a token is neither revoked nor expired."""
    return row.revoked_at is None and (row.expires_at is None or now < row.expires_at)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who has sent a request: the id of its token, and how far that reaches."""

    id: str
    scope: str
    prefix: str

    def need(self, scope: str, keys: Iterable[str] = ()) -> None:
        """Refuse a caller whose token does not reach so far."""
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            raise RefusedError(
                "narrow-token", f"This needs a token of scope {scope}; yours is {self.scope}."
            )
        if self.prefix and not all(key.startswith(self.prefix) for key in keys):
            raise RefusedError(
                "narrow-token", f"Your token is for keys that begin with {self.prefix!r}."
            )


class Gate:
    """Finds out who has sent a request."""

    def __init__(self, read_tokens: Callable[[], Awaitable[list[TokenRow]]]) -> None:
        self._read_tokens = read_tokens
        self._rows: dict[str, TokenRow] = {}
        self._read_at = -_STALE
        self._reading: asyncio.Task[None] | None = None

    async def caller(self, authorization: str | None) -> Caller:
        """Return who is behind an Authorization header."""
        kind, _, token = (authorization or "").partition(" ")
        mark, _, rest = token.strip().partition("_")
        given, _, secret = rest.partition("_")
        if kind.lower() != "bearer" or mark != "sb" or not secret:
            raise RefusedError(
                "no-token", "Send a token: Authorization: Bearer sb_..., made by "
                "`sparsebandits token create`."
            )  # fmt: skip
        if time.monotonic() - self._read_at >= _STALE or given not in self._rows:
            is_newer = await self._refresh()
            if given not in self._rows and not is_newer:
                await self._refresh()  # it may have been made while others were read
        row = self._rows.get(given)
        # Compared even where there is no such token, so that both take equally long.
        known = "0" * 64 if row is None else row.digest
        is_right = hmac.compare_digest(_digest(secret), known)
        if row is None or not is_right or not is_valid(row, time.time()):
            raise RefusedError("no-token", "The token is unknown, revoked or expired.")
        return Caller(row.id, row.scope, row.prefix)

    async def _refresh(self) -> bool:
        """Read the tokens, once for all who wait; return whether that began after the call."""
        is_newer = self._reading is None or self._reading.done()
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        await asyncio.shield(self._reading)
        return is_newer

    async def _read(self) -> None:
        started = time.monotonic()
        self._rows = {row.id: row for row in await self._read_tokens()}
        self._read_at = started
