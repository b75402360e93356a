"""The way in and out: a form that takes a token, and a cookie that stands for it from then on."""

import hmac
import secrets
from collections.abc import Callable

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from sparsebandits.dashboard.access import Visit, read_form, with_headers
from sparsebandits.dashboard.pages import render
from sparsebandits.dashboard.sessions import COOKIE, LOGIN_COOKIE, Sessions, set_cookie
from sparsebandits.service.answers import RefusedError


class Entrance:
    """Opens and closes the sessions of a server."""

    def __init__(self, sessions: Callable[[], Sessions]) -> None:
        self._sessions = sessions

    async def show_login(self, request: Request) -> Response:
        """Show the form to log in."""
        return self._login_page(request, request.query_params.get("next", "/"))

    def _login_page(self, request: Request, onward: str, problem: str = "") -> Response:
        request.scope["call"] = "dashboard"
        csrf = secrets.token_urlsafe(24)
        text = render(
            "login.html", session=None, said="", path="/login", csrf=csrf, problem=problem,
            onward=local_path(onward),
        )  # fmt: skip
        response = HTMLResponse(text, 401 if problem else 200)
        set_cookie(request, response, LOGIN_COOKIE, csrf)
        return with_headers(response)

    async def log_in(self, request: Request) -> Response:
        """Open a session for a token that is valid."""
        form: dict[str, str] = {}
        try:
            form = await read_form(request)
            sent, kept = form.get("csrf", ""), request.cookies.get(LOGIN_COOKIE, "")
            if not kept or not hmac.compare_digest(sent.encode(), kept.encode()):
                raise RefusedError("no-token", "The form was too old; please try once more.")
            cookie, _ = await self._sessions().open(form.get("token", ""))
        except RefusedError as refusal:
            return self._login_page(request, form.get("next", "/"), refusal.detail)
        self._sessions().close(request)
        response = RedirectResponse(local_path(form.get("next", "/")), 303)
        set_cookie(request, response, COOKIE, cookie)
        response.delete_cookie(LOGIN_COOKIE, path="/")
        return with_headers(response)

    async def log_out(self, visit: Visit) -> Response:
        """End the session."""
        self._sessions().close(visit.request)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE, path="/")
        return response


def local_path(given: str) -> str:
    """Return a path of this server; whatever else is given leads to the first page.

    Examples
    --------
    >>> local_path("/learners/a?by=time"), local_path("//evil.example"), local_path("https://x")
    ('/learners/a?by=time', '/', '/')
    """
    is_local = given.startswith("/") and not given.startswith(("//", "/\\"))
    return given if is_local and given.isprintable() else "/"
