"""``sparsebandits serve``: learners on a server."""

import ipaddress
import time
from typing import TYPE_CHECKING

import click

from sparsebandits.cli.service_extra import (
    listen_on,
    service_extra,
    store_option,
    use_store,
    without_password,
)
from sparsebandits.errors import InvalidValueError

if TYPE_CHECKING:
    from sparsebandits.store import Store


@click.command()
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="0 takes a free one.")  # fmt: skip
@click.option("--resident", type=click.IntRange(1), default=4096, show_default=True,
              help="Learners kept in memory.")  # fmt: skip
@click.option("--max-dim", type=click.IntRange(1), default=2000, show_default=True,
              help="The largest dimension of a learner.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Write no line for each request.")
def serve(store_url: str, host: str, port: int, resident: int, max_dim: int, quiet: bool) -> None:
    """Serve learners over HTTP; what was answered with 2xx survives, and is counted once.

    The first start prints a token that may do everything. SIGTERM and Ctrl-C finish what was
    accepted, then end.
    """
    with service_extra():
        from sparsebandits.dashboard.routes import add_pages
        from sparsebandits.service.server import run
        from sparsebandits.service.settings import Settings
    has_token = use_store(store_url, _has_token)
    if not (has_token or _is_loopback(host)):
        raise InvalidValueError(
            "there is no valid token, so only loopback is served; make one first: "
            "sparsebandits token create --scope admin"
        )
    bound, address = listen_on(host, port)
    token = None if has_token else use_store(store_url, _first_token)  # now it will be shown

    def greet() -> None:
        click.echo(f"Serving {address} from {without_password(store_url)}")
        if token is not None:
            click.echo(f"A token for everything, shown only this once: {token}")
        example = token or "$TOKEN"
        click.echo(f"Look at it in a browser: {address}/")
        click.echo(f'Try: curl -H "Authorization: Bearer {example}" {address}/v1/learners')

    settings = Settings(store=store_url, resident=resident, max_dim=max_dim)
    if not run(settings, bound, ready=greet, log_requests=not quiet, pages=add_pages):
        raise InvalidValueError("the server could not start; see the lines above.")


async def _has_token(store: "Store") -> bool:
    from sparsebandits.service.auth import is_valid

    return any(is_valid(token, time.time()) for token in await store.read.tokens())


async def _first_token(store: "Store") -> str:
    from sparsebandits.service.auth import make_token

    token, row = make_token("admin", name="first start")
    async with store.transaction() as transaction:
        await transaction.add_token(row)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
