"""The application: from an HTTP request to a call, and back."""

import asyncio
import contextlib
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsebandits.errors import SparseBanditsError
from sparsebandits.service.answers import Answer, RefusedError
from sparsebandits.service.auth import Gate
from sparsebandits.service.call import Call, Service
from sparsebandits.service.calls import CALLS
from sparsebandits.service.context import Context, decode, header, read_body
from sparsebandits.service.engine import Engine
from sparsebandits.service.metrics import CONTENT_TYPE_LATEST, Metrics
from sparsebandits.service.openapi import describe_api
from sparsebandits.service.settings import Settings
from sparsebandits.service.shortcut import Shortcut
from sparsebandits.store import DamagedStoreError
from sparsebandits.version import __version__

_LOGGER = logging.getLogger("sparsebandits.service")
_THINKERS = 2
"""Requests that compute beside the groups at the same time."""


_PATHS = Shortcut((call.method, call.path, call) for call in CALLS)
_METHODS = {call.method for call in CALLS}

Pages = Callable[[FastAPI, Settings], contextlib.AbstractAsyncContextManager[None]]
"""Adds pages for people to the application; what it returns is entered while the service runs."""


def build_app(
    settings: Settings, *, log_requests: bool = True, pages: Pages | None = None
) -> ASGIApp:
    """Return the application; its lifespan opens the store and closes it."""
    metrics = Metrics()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        engine = Engine(settings, metrics)
        await engine.start()
        app.state.service = Service(
            engine=engine, settings=settings, thinking=asyncio.Semaphore(_THINKERS)
        )
        app.state.gate = Gate(lambda: engine.read(lambda store: store.read.tokens()))
        try:
            async with contextlib.nullcontext() if shown is None else shown:
                yield
        finally:
            await engine.stop()

    app = _Described(
        title="sparsebandits",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a client would send its token wherever it is told to
    )
    endpoints = [(call.method, call.path, _endpoint(app, call)) for call in CALLS]
    for method, path, endpoint in endpoints:
        app.add_route(path, _as_route(endpoint), methods=[method])
    _add_platform(app, metrics)
    shown = None if pages is None else pages(app, settings)
    app.add_exception_handler(HTTPException, _no_such_call)
    return _Watched(_Direct(app, Shortcut(endpoints)), metrics, log_requests)


class _Described(FastAPI):
    """An application whose description is written from the table of calls."""

    def openapi(self) -> dict[str, Any]:
        return describe_api(CALLS)


Endpoint = Callable[[Request], Awaitable[Answer]]


class _Direct:
    """Answers the calls of the table; everything else is left to the application."""

    def __init__(self, app: ASGIApp, calls: Shortcut[Endpoint]) -> None:
        self._app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http":
            found = self._calls.find(scope["method"], scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        endpoint, scope["path_params"] = found
        answer = await endpoint(Request(scope, receive, send))
        headers = _headers(answer)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


def _as_route(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def route(request: Request) -> Response:
        return _response(await endpoint(request))

    return route


def _endpoint(app: FastAPI, call: Call) -> Endpoint:
    async def endpoint(request: Request) -> Answer:
        request.scope["call"] = call.name
        service: Service = app.state.service
        try:
            caller = await app.state.gate.caller(header(request, b"authorization"))
            request.scope["caller"] = caller.id
            caller.need(call.scope)
            limit = service.settings.max_import if call.is_large else service.settings.max_body
            raw = await read_body(request, limit, service.settings.body_wait)
            body = None if call.body is None else decode(raw, call.body)
            context = Context(request, caller, body)
            if "key" in request.path_params:
                caller.need(call.scope, [context.key])
            return await call.handler(service, context)
        except RefusedError as refusal:
            return refusal.answer
        except DamagedStoreError as error:
            _LOGGER.error("%s", error)
            return RefusedError("damaged", str(error)).answer
        except SparseBanditsError as error:
            return RefusedError("invalid", str(error)).answer
        except RecursionError:
            return RefusedError("invalid", "The JSON is nested too deeply.").answer
        except ClientDisconnect:
            return Answer(499, b"")
        except asyncio.CancelledError:  # when the time to finish is over
            return RefusedError("stopping", "The server is stopping; send it again.").answer
        except Exception:
            _LOGGER.exception("a request failed")
            return RefusedError("internal", "The request failed; see the log.").answer

    return endpoint


def _headers(answer: Answer) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"content-length", b"%d" % len(answer.body)),
        (b"content-type", answer.content_type.encode()),
    ]
    if answer.retry_after is not None:
        headers.append((b"retry-after", b"%d" % answer.retry_after))
    if answer.was_stored:
        headers.append((b"idempotent-replayed", b"true"))
    if answer.status in (408, 413):  # the rest of the body is not wanted
        headers.append((b"connection", b"close"))
    if answer.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return headers


def _response(answer: Answer) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = _headers(answer)
    return response


def _add_platform(app: FastAPI, metrics: Metrics) -> None:
    """Add what the platform asks, which needs no token and tells no secret."""

    async def healthz(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def readyz(request: Request) -> Response:
        try:
            engine: Engine = app.state.service.engine
            await engine.read(lambda store: store.version())
        except RefusedError as refusal:
            return _response(refusal.answer)
        return Response(b'{"status":"ready"}', media_type="application/json")

    async def show_metrics(request: Request) -> Response:
        with contextlib.suppress(RefusedError):  # the rest is known without the store
            engine: Engine = app.state.service.engine
            metrics.open.set(await engine.read(lambda store: store.read.open_decisions()))
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    for path, endpoint in {
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": show_metrics,
    }.items():
        app.add_route(path, endpoint, methods=["GET"])


async def _no_such_call(request: Request, error: Exception) -> Response:
    kind = "wrong-method" if getattr(error, "status_code", 404) == 405 else "unknown-path"
    refusal = RefusedError(kind, "See /openapi.json for the calls that there are.")
    response = _response(refusal.answer)
    response.headers.update(getattr(error, "headers", None) or {})
    path = request.scope["path"]
    allowed = [method for method in sorted(_METHODS) if _PATHS.find(method, path) is not None]
    if allowed:  # Starlette knows only of the first of them
        response.headers["allow"] = ", ".join(allowed)
    return response


class _Watched:
    """Writes a line for each request, and measures it. Neither rewards nor tokens are in it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - started
            call = scope.get("call", "other")
            self._metrics.request(call, status, seconds)
            if self._log_requests:
                _write_line(scope, call, status, seconds)


def _write_line(scope: Scope, call: str, status: int, seconds: float) -> None:
    line: dict[str, Any] = {
        "at": time.time(),
        "call": call,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "milliseconds": round(1000 * seconds, 3),
        "token": scope.get("caller"),
        "client": (scope.get("client") or [None])[0],
    }
    with contextlib.suppress(OSError):  # a log on a full disk must not cost a connection
        sys.stderr.write(json.dumps(line) + "\n")
