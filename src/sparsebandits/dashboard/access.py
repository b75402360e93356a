"""Every page and form on its way: who asks, whether they may, what is sent with the answer."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from sparsebandits.dashboard.pages import render
from sparsebandits.dashboard.sessions import Session
from sparsebandits.errors import SparseBanditsError
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.context import as_key, read_body

_LOGGER = logging.getLogger("sparsebandits.dashboard")
_LONGEST_FORM = 2**20

HEADERS = {
    # plotly writes a style sheet into the page; no script but our own and its own is run.
    "content-security-policy": "default-src 'self'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
"""Sent with every page."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A request of somebody who may make it."""

    request: Request
    session: Session
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The learner's key in the path."""
        return as_key(self.request.path_params["key"])

    def query(self, name: str, default: str = "") -> str:
        """Return a part of the query."""
        return self.request.query_params.get(name, default)

    @property
    def is_live(self) -> bool:
        """Whether it is the script of a page that is open, which looks for news."""
        return "x-live" in self.request.headers

    @property
    def says_something(self) -> bool:
        """Whether the page that is sent has something to say first."""
        return bool(self.session.said) and not self.is_live

    def page(self, template: str, *, status: int = 200, etag: str = "", **records: Any) -> Response:
        """Return a page; what was to be said is said once."""
        said = self.session.said if self.says_something else ""
        if said:
            self.session.said = ""
        text = render(
            template,
            session=self.session,
            said=said,
            path=self.request.url.path,
            etag=etag,
            **records,
        )
        headers = {"etag": f'"{etag}"'} if etag else {}
        return HTMLResponse(text, status, headers=headers)

    def is_current(self, etag: str) -> bool:
        """Whether the browser has just this."""
        return self.request.headers.get("if-none-match") == f'"{etag}"'

    def go_to(self, path: str, said: str) -> Response:
        """Send the browser to a page that says something first."""
        self.session.said = said
        return RedirectResponse(path, 303)


Handler = Callable[[Visit], Awaitable[Response]]


class Door:
    """Lets requests in.

    Parameters
    ----------
    session_of : callable
        Returns the session behind a request; None where somebody has to log in first.
    """

    def __init__(self, session_of: Callable[[Request], Awaitable[Session | None]]) -> None:
        self._session_of = session_of

    def endpoint(self, scope: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers requests: `handler`, for those whose token has the scope."""

        async def endpoint(request: Request) -> Response:
            request.scope["call"] = "dashboard"
            session: Session | None = None
            back = ""
            try:
                session = await self._session_of(request)
                if session is None:
                    return self._ask_to_log_in(request)
                request.scope["caller"] = session.caller.id
                form = await read_form(request) if request.method == "POST" else {}
                session.caller.need(scope)
                if "key" in request.path_params:
                    key = as_key(request.path_params["key"])
                    session.caller.need(scope, [key])
                    back = f"/learners/{quote(key)}/decisions"
                if request.method == "POST":
                    session.check_form(form.get("csrf", ""))
                response = await handler(Visit(request=request, session=session, form=form))
            except RefusedError as refusal:
                response = _refusal(session, refusal, back)
            except SparseBanditsError as error:
                response = _refusal(session, RefusedError("invalid", str(error)), back)
            except Exception:
                _LOGGER.exception("a page failed")
                failed = RefusedError("internal", "The page failed; see the log of the server.")
                response = _refusal(session, failed)
            return with_headers(response)

        return endpoint

    def _ask_to_log_in(self, request: Request) -> Response:
        if request.method == "GET" and "x-live" not in request.headers:
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return with_headers(RedirectResponse(f"/login?next={quote(path)}", 303))
        refusal = RefusedError("no-token", "The session has ended; log in again.")
        return with_headers(_refusal(None, refusal))


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    body = await read_body(request, _LONGEST_FORM)
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise RefusedError("malformed", "The form cannot be read.") from None
    return {name: values[-1] for name, values in fields.items()}


_OF_DECISIONS = ("unknown-decision", "reward-differs", "decision-closed", "invalid")
"""Problems with a form or a filter, after which one goes back to the decisions."""


def _refusal(session: Session | None, refusal: RefusedError, back: str = "") -> Response:
    problem = refusal.problem
    text = render(
        "problem.html",
        session=session,
        said="",
        path="",
        problem=problem,
        back=back if refusal.kind in _OF_DECISIONS else "",
    )
    return HTMLResponse(text, problem.status)


def page_of_nothing() -> Response:
    """Return what a browser gets at an address without a page."""
    refusal = RefusedError(
        "unknown-path", "Whatever there is to see is reached from the link below."
    )
    return with_headers(_refusal(None, refusal))


def with_headers(response: Response) -> Response:
    """Add what keeps pages safe, where the answer says nothing else."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
