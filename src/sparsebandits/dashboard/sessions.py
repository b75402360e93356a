"""Who is logged in: a random cookie stands for a token, which never leaves the server again."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from fastapi import Request, Response

from sparsebandits.service.answers import RefusedError
from sparsebandits.service.auth import SCOPES, Caller, Gate

COOKIE = "sparsebandits_session"
LOGIN_COOKIE = "sparsebandits_login"
"""Holds the CSRF token of the form to log in, before there is a session."""

_LASTS = 12 * 3600.0
_MOST = 10_000


@dataclass
class Session:
    """Somebody who is logged in.

    Attributes
    ----------
    token : str
        Looked up again at every request, so that a revoked one works no longer.
    csrf : str
        What every form must send back.
    said : str
        What to show on the next page.
    """

    token: str
    caller: Caller
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    ends_at: float = field(default_factory=lambda: time.time() + _LASTS)
    said: str = ""

    def may(self, scope: str) -> bool:
        """Whether the token reaches so far."""
        return SCOPES.index(self.caller.scope) >= SCOPES.index(scope)

    def check_form(self, given: str) -> None:
        """Refuse a form that was not made for this session."""
        if not hmac.compare_digest(given.encode(), self.csrf.encode()):
            raise RefusedError(
                "narrow-token", "The form is not from this session; load the page again."
            )


class Sessions:
    """The sessions of one server, in memory: a restart asks everybody to log in again."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._kept: OrderedDict[str, Session] = OrderedDict()

    async def open(self, token: str) -> tuple[str, Session]:
        """Return a new cookie and its session; refuse a token that is not valid."""
        caller = await self._gate.caller(f"Bearer {token.strip()}")
        cookie, session = secrets.token_urlsafe(32), Session(token.strip(), caller)
        self._kept[_digest(cookie)] = session
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return cookie, session

    async def of(self, request: Request) -> Session | None:
        """Return the session behind a request; None where there is none, or it has ended."""
        digest = _digest(request.cookies.get(COOKIE, ""))
        session = self._kept.get(digest)
        if session is None:
            return None
        try:
            if session.ends_at < time.time():
                raise RefusedError("no-token", "The session has ended.")
            session.caller = await self._gate.caller(f"Bearer {session.token}")
        except RefusedError as refusal:
            if refusal.kind != "no-token":
                raise
            self._kept.pop(digest, None)
            return None
        return session

    def close(self, request: Request) -> None:
        """Forget the session behind a request."""
        self._kept.pop(_digest(request.cookies.get(COOKIE, "")), None)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that no script reads and no other site sends; only by TLS where that is used."""
    response.set_cookie(
        name,
        value,
        httponly=True,
        samesite="strict",
        path="/",
        secure=request.url.scheme == "https",
    )
