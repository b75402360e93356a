"""The entry point of the ``sparsebandits`` command.

It stands outside the package because Ctrl-C may come while the package is being imported, which
happens before any code of ``sparsebandits.cli`` runs.
"""

import signal
import sys


def main() -> None:
    """Hold Ctrl-C back until the command line can answer it, then run the command line."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    from sparsebandits.cli import main as run

    run()
