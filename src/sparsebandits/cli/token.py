"""``sparsebandits token``: who may use a server, and how far."""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from sparsebandits.cli.output import json_option, open_console, print_table
from sparsebandits.cli.service_extra import service_extra, store_option, use_store
from sparsebandits.errors import InvalidValueError

if TYPE_CHECKING:
    from sparsebandits.store import Store

_DAY = 86_400.0


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a server."""


@token.command()
@store_option
@click.option(
    "--scope",
    type=click.Choice(("read", "play", "admin")),
    required=True,
    help="read looks; play also asks and tells; admin also creates, imports and removes.",
)
@click.option("--prefix", default="", help="Only learners whose keys begin so.")
@click.option("--name", default="", help="For whom it is; shown in the list.")
@click.option("--days", type=click.FloatRange(0, min_open=True), help="It ends after so many days.")
def create(store_url: str, scope: str, prefix: str, name: str, days: float | None) -> None:
    """Make a token and print it, alone; it cannot be shown again."""
    with service_extra():
        from sparsebandits.service.auth import make_token
    expires_at = None if days is None else time.time() + days * _DAY
    made, row = make_token(scope, prefix=prefix, name=name, expires_at=expires_at)

    async def add(store: "Store") -> None:
        async with store.transaction() as transaction:
            await transaction.add_token(row)

    use_store(store_url, add)
    click.echo(made)


@token.command("list")
@store_option
@json_option
def list_tokens(store_url: str, as_json: bool) -> None:
    """List the tokens, without what makes them work."""
    from sparsebandits.comparison.text_table import TextTable

    rows = [_shown(row) for row in use_store(store_url, lambda store: store.read.tokens())]
    if as_json:
        click.echo(json.dumps(rows))
        return
    headings = ("id", "scope", "prefix", "name", "created", "ends", "state")
    cells = tuple(tuple(str(value) for value in row.values()) for row in rows)
    table = TextTable(title="", headings=headings, rows=cells, words=len(headings))
    print_table(open_console(100), table)


def _shown(row: Any) -> dict[str, str]:
    from sparsebandits.service.auth import is_valid
    from sparsebandits.service.times import as_text

    state = "valid" if is_valid(row, time.time()) else "expired"
    return {
        "id": row.id,
        "scope": row.scope,
        "prefix": row.prefix,
        "name": row.name,
        "created_at": as_text(row.created_at),
        "expires_at": "never" if row.expires_at is None else as_text(row.expires_at),
        "state": state if row.revoked_at is None else "revoked",
    }


@token.command()
@store_option
@click.argument("token_id")
def revoke(store_url: str, token_id: str) -> None:
    """Revoke a token by its id; servers refuse it within two seconds."""

    async def run(store: "Store") -> bool:
        async with store.transaction() as transaction:
            return await transaction.revoke_token(token_id, time.time())

    if not use_store(store_url, run):
        raise InvalidValueError(
            f"there is no valid token with the id {token_id!r}; see sparsebandits token list."
        )
