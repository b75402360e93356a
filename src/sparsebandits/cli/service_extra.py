"""What the commands of the service share: the extra that they need, and the store they work on."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit, urlunsplit

import click

from sparsebandits.errors import InvalidValueError

if TYPE_CHECKING:
    from sparsebandits.store import Store

Returned = TypeVar("Returned")
_PARTS = (
    "asyncpg",
    "fastapi",
    "httptools",
    "httpx",
    "jinja2",
    "msgspec",
    "plotly",
    "prometheus_client",
    "starlette",
    "uvicorn",
)

store_option = click.option(
    "--store",
    "store_url",
    metavar="URL",
    default="sqlite:///sparsebandits.db",
    show_default=True,
    envvar="SPARSEBANDITS_STORE",
    help="sqlite:///FILE or postgresql://USER@HOST/DATABASE; also $SPARSEBANDITS_STORE.",
)


@contextlib.contextmanager
def service_extra() -> Iterator[None]:
    """Say what to install where the extra `service` is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _PARTS:
            raise
        raise InvalidValueError(
            f"this needs {error.name}; install it with: pip install 'sparsebandits[service]'"
        ) from None


def use_store(
    url: str, work: "Callable[[Store], Awaitable[Returned]]", *, prepare: bool = True
) -> Returned:
    """Open a store, make its tables if it is empty, work on it, and close it."""
    with service_extra():
        from sparsebandits.store import open_store

    async def run() -> Returned:
        store = open_store(url)
        try:
            if prepare:
                await store.prepare()
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def listen_on(host: str, port: int) -> tuple[socket.socket, str]:
    """Return a socket that listens, and the address to be shown for it."""
    from sparsebandits.service.server import listen

    try:
        bound = listen(host, port)
    except OSError as error:
        raise InvalidValueError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; take another --port."
        ) from None
    shown = f"[{host}]" if ":" in host else host
    return bound, f"http://{shown}:{bound.getsockname()[1]}"


def without_password(url: str) -> str:
    """Return a URL that can be shown.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@db/prod")
    'postgresql://ann:***@db/prod'
    """
    parts = urlsplit(url)
    if parts.password is None:
        return url
    shown = parts.netloc.replace(f":{parts.password}@", ":***@")
    return urlunsplit(parts._replace(netloc=shown))
