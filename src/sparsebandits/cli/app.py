"""The group of commands, and one way to end: whatever goes wrong is one line and an exit code.

Exit codes: 0 done (also where the reader of a pipe has had enough), 1 a sweep with failed cells or
a store with damage, 2 bad input or output that cannot be written, 130 interrupted.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click

from sparsebandits import __version__
from sparsebandits.cli.compare import compare
from sparsebandits.cli.dashboard import dashboard
from sparsebandits.cli.db import db
from sparsebandits.cli.plan import plan
from sparsebandits.cli.process import INTERRUPTED, say, shield_workers, was_interrupted
from sparsebandits.cli.reproduce import reproduce
from sparsebandits.cli.results import results
from sparsebandits.cli.serve import serve
from sparsebandits.cli.solve import solve
from sparsebandits.cli.sweep import sweep
from sparsebandits.cli.token import token
from sparsebandits.errors import SparseBanditsError

COMMANDS: tuple[click.Command, ...] = (
    reproduce,
    compare,
    solve,
    plan,
    sweep,
    results,
    serve,
    token,
    db,
    dashboard,
)


class _Interrupted(click.ClickException):
    exit_code = INTERRUPTED


@contextlib.contextmanager
def _our_codes() -> Iterator[None]:
    """Take Ctrl-C and closed pipes before click sees them, which ends both with code 1."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise _Interrupted(f"Interrupted. {error}") from None
    except (BrokenPipeError, SystemExit) as error:
        # rich exits where the reader of a pipe is gone.
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            raise click.exceptions.Exit(0) from None
        raise


class _Commands(click.Group):
    def make_context(self, *arguments: Any, **keywords: Any) -> click.Context:
        with _our_codes():
            return super().make_context(*arguments, **keywords)

    def invoke(self, ctx: click.Context) -> Any:
        with _our_codes():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="sparsebandits")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Linear bandits whose actions may switch on only a few of many knobs."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    elif any(option.name == "workers" for option in app.commands[ctx.invoked_subcommand].params):
        shield_workers()


for command in COMMANDS:
    app.add_command(command)


def run(arguments: list[str] | None = None) -> None:
    """Run a command and exit; every foreseeable failure is one line on standard error."""
    try:
        code = app.main(args=arguments, prog_name="sparsebandits", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        message, code = _ending(error)
        if not message:
            raise
        say(message)
    sys.exit(code if isinstance(code, int) else 0)


def _ending(error: Exception) -> tuple[str, int]:
    """Return what to say of an error and the exit code; nothing to say of one of our own bugs."""
    if was_interrupted() and not isinstance(error, _Interrupted):
        return "Interrupted.", INTERRUPTED
    match error:
        case click.UsageError(ctx=click.Context() as ctx):
            return f"{error.format_message()} See {ctx.command_path} --help.", error.exit_code
        case click.ClickException():
            return error.format_message(), error.exit_code
        case click.Abort():
            return "Interrupted.", INTERRUPTED
        case SparseBanditsError():
            return str(error), 2
        case OSError():
            place = error.filename or "the output"
            return f"Cannot read or write {place}: {error.strerror or error}.", 2
        case MemoryError():
            return f"Not enough memory for a problem of this size ({error or 'none is left'}).", 2
        case OverflowError():
            return f"A number in the input is too large ({error}).", 2
        case RecursionError():
            return "The input is nested too deeply.", 2
    return "", 1
