"""Loaded by every local worker as it starts.

Ctrl-C reaches all processes of a terminal at once. The driver alone acts on it, and closes its
workers; they would only fill the screen with tracebacks.
"""

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the driver; called by Dask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
