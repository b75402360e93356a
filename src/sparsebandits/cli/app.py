"""The group of commands, and one way to end on bad input: one clear line and exit code 2."""

import sys

import click

from sparsebandits import __version__
from sparsebandits.cli.compare import compare
from sparsebandits.cli.plan import plan
from sparsebandits.cli.reproduce import reproduce
from sparsebandits.cli.results import results
from sparsebandits.cli.solve import solve
from sparsebandits.cli.sweep import sweep
from sparsebandits.errors import SparseBanditsError

COMMANDS: tuple[click.Command, ...] = (reproduce, compare, solve, plan, sweep, results)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sparsebandits")
def app() -> None:
    """Linear bandits whose actions may switch on only a few of many knobs."""


for command in COMMANDS:
    app.add_command(command)


def run(arguments: list[str] | None = None) -> None:
    """Run a command; turn our errors into one line on standard error and exit code 2."""
    try:
        app.main(args=arguments, prog_name="sparsebandits")
    except SparseBanditsError as error:
        click.echo(f"sparsebandits: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
