"""``sparsebandits dashboard``: pages on a saved learner, or on a sweep's folder."""

import webbrowser
from pathlib import Path

import click

from sparsebandits.cli.service_extra import listen_on, service_extra
from sparsebandits.errors import InvalidValueError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True,
              help="0 takes a free one.")  # fmt: skip
@click.option("--open/--no-open", "open_it", default=True, help="Open the browser.")
def dashboard(file: Path, host: str, port: int, open_it: bool) -> None:
    """Show FILE in the browser: a saved learner, or the folder of a sweep; nothing is written.

    A learner is saved by json.dump(learner.to_dict(), file) or by learner.to_bytes(). Of a sweep
    that runs, pages show what has landed so far. Ctrl-C ends it.
    """
    with service_extra():
        from sparsebandits.dashboard.file_app import file_app
        from sparsebandits.service.server import run_app
    app = file_app(file, host)
    bound, address = listen_on(host, port)

    def greet() -> None:
        click.echo(f"Showing {file} at {address}/")
        if open_it:
            webbrowser.open(f"{address}/")

    if not run_app(app, bound, ready=greet):
        raise InvalidValueError("the server could not start; see the lines above.")
