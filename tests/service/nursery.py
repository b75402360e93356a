"""A process that has imported the service and forks servers: each starts in a moment.

A line of JSON on standard input, {"store": ..., "port": ..., ...}, is answered by {"pid", "port"}
once the server answers. When standard input ends the servers are killed.
"""

import contextlib
import json
import os
import signal
import sys
from typing import Any

from sparsebandits.service.server import listen, run
from sparsebandits.service.settings import Settings


def serve(report: int, port: int, log: str, settings: dict[str, Any]) -> None:
    os.setpgid(0, 0)
    nowhere = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    bound = listen("127.0.0.1", port)

    def ready() -> None:
        os.write(report, b"%d" % bound.getsockname()[1])
        os.close(report)

    pages = None
    if settings.pop("pages", False):
        from sparsebandits.dashboard.routes import add_pages

        pages = add_pages
    run(Settings(**settings), bound, ready=ready, pages=pages)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    children = []
    print("ready", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        port, log = wanted.pop("port"), wanted.pop("log")
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                serve(writing, port, log, wanted)
            finally:
                sys.stderr.flush()
                os._exit(0)
        os.close(writing)
        children.append(pid)
        with os.fdopen(reading) as answer:
            print(json.dumps({"pid": pid, "port": int(answer.read() or 0)}), flush=True)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
