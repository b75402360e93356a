"""Run the application until it is told to stop."""

import contextlib
import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from sparsebandits.service.app import Pages, build_app
from sparsebandits.service.protocol import Protocol
from sparsebandits.service.settings import Settings

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
"""The last is how the command line passes Ctrl-C on."""

_COLLECTED_EVERY = 10_000
"""New objects between two searches for garbage: as many as some hundred requests leave waiting."""

_FAREWELL = 7
"""Seconds for what was accepted to be finished."""

_LAST = 9.0
"""Seconds after which the process ends with whatever is under way: it might be killed as well."""


class _Server(uvicorn.Server):
    """A server that ends quietly, and not by the signal that ended it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.ended_by: int | None = None
        self.failure: OSError | None = None
        self._end: threading.Timer | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop accepting, finish, end."""
        self.ended_by = sig
        self.should_exit = True
        if self._end is None:
            self._end = threading.Timer(_LAST, _end_now, [0 if sig == signal.SIGTERM else 130])
            self._end.daemon = True
            self._end.start()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Run until told to stop, and not for ever after."""
        try:
            super().run(sockets)
        finally:
            if self._end is not None:
                self._end.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            try:
                self._ready()
            except OSError as error:  # nobody can be told where it is
                self.failure = error
                self.should_exit = True


def _end_now(code: int) -> None:
    """End although something, such as a database that hangs, keeps an answer back."""
    with contextlib.suppress(OSError):
        os.write(2, b"sparsebandits: what could not be finished in time was left unanswered.\n")
    os._exit(code)


@contextlib.contextmanager
def _seldom_searched() -> Iterator[None]:
    """Look for garbage seldom, and not among what was loaded before: it stays as long as we do.

    Searching what waits for its group again and again takes a twentieth of a server's time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_COLLECTED_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Of a socket that does not say that it is TCP asyncio does not know that TCP_NODELAY is for it;
    # then a body waits until its head is acknowledged, for 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    bound.listen(2048)
    return bound


def run(
    settings: Settings,
    bound: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    log_requests: bool = True,
    pages: Pages | None = None,
) -> bool:
    """Serve until SIGTERM; return whether the server had started. Ctrl-C is raised at the end."""
    app = build_app(settings, log_requests=log_requests, pages=pages)
    return run_app(app, bound, ready=ready, farewell="What was answered is stored.")


def run_app(
    app: ASGIApp, bound: socket.socket, *, ready: Callable[[], None], farewell: str = ""
) -> bool:
    """Let an application answer until SIGTERM, as `run` does with the service."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=_FAREWELL,
        timeout_keep_alive=75,
        server_header=False,
        lifespan="on",
    )
    server = _Server(config, ready)
    with _seldom_searched():
        server.run(sockets=[bound])
    if server.failure is not None:
        raise server.failure
    if server.ended_by in (signal.SIGINT, signal.SIGUSR1):
        raise KeyboardInterrupt(farewell)
    return server.started
