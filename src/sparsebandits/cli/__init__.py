"""The command line, one file per command."""

from sparsebandits.cli.process import guarded, say


def main() -> None:
    """Run ``sparsebandits`` in a process of its own; without the extra `cli` say how to get it."""
    with guarded():
        try:
            from sparsebandits.cli.app import run
        except ModuleNotFoundError as error:
            if error.name not in ("click", "rich"):
                raise
            say(
                f"the command line needs {error.name}; "
                "install it with: pip install 'sparsebandits[cli]'"
            )
            raise SystemExit(2) from None
        run()
