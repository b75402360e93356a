"""The command line, one file per command."""

import sys


def main() -> None:
    """Run ``sparsebandits``; without the extra `cli` say how to get it."""
    try:
        from sparsebandits.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(
            f"sparsebandits: the command line needs {error.name}; "
            "install it with: pip install 'sparsebandits[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    run()
