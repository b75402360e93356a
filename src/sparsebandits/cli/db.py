"""``sparsebandits db``: look after a store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebandits.cli.output import json_option
from sparsebandits.cli.service_extra import service_extra, store_option, use_store
from sparsebandits.errors import InvalidValueError

if TYPE_CHECKING:
    from sparsebandits.store import Store


@click.group()
def db() -> None:
    """Upgrade, check, back up and restore a store."""


@db.command()
@store_option
def upgrade(store_url: str) -> None:
    """Bring the tables to this release's version; back up first."""
    before, after = use_store(store_url, lambda store: store.upgrade(), prepare=False)
    click.echo(f"schema version {before} -> {after}")


@db.command()
@store_option
@json_option
@click.pass_context
def check(context: click.Context, store_url: str, as_json: bool) -> None:
    """Rebuild every learner from its log; exit code 1 if anything does not hold together."""
    with service_extra():
        from sparsebandits.service.checkup import check_store
    count, problems = use_store(store_url, check_store)
    if as_json:
        click.echo(json.dumps({"learners": count, "problems": problems}))
    else:
        for problem in problems:
            click.echo(f"- {problem}")
        click.echo(f"{count} learners, {len(problems)} problems")
    context.exit(1 if problems else 0)


@db.command()
@store_option
@click.argument("file", type=click.Path(path_type=Path))
def backup(store_url: str, file: Path) -> None:
    """Copy the store as it is at this moment into a new SQLite file, while servers go on."""
    if file.exists():
        raise InvalidValueError(f"{file} exists; name a new file.")
    partial = file.with_name(f"{file.name}.part")  # what was killed must not look like a backup
    _remove(partial)
    try:
        counts = _copy(store_url, f"sqlite:///{partial}")
        if _beside(partial, "-wal").exists():
            raise InvalidValueError(f"{partial} could not be completed: is there room on the disk?")
        partial.rename(file)
    except BaseException:
        _remove(partial)
        raise
    click.echo(f"{file}: {counts['learners']} learners, {counts['events']} events")


@db.command()
@store_option
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(store_url: str, file: Path) -> None:
    """Fill an empty store from a backup; of either kind, so this also moves a store."""
    counts = _copy(f"sqlite:///{file}", store_url)
    click.echo(f"{counts['learners']} learners, {counts['events']} events")


def _beside(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)


def _remove(file: Path) -> None:
    """Remove a SQLite file and what stands beside it while it is written."""
    for end in ("", "-wal", "-shm"):
        _beside(file, end).unlink(missing_ok=True)


def _copy(source_url: str, target_url: str) -> dict[str, int]:
    with service_extra():
        from sparsebandits.store import open_store
        from sparsebandits.store.copying import copy_store

    async def run(source: "Store") -> dict[str, int]:
        target = open_store(target_url)
        try:
            return await copy_store(source, target)
        finally:
            await target.close()

    return use_store(source_url, run)
