"""Pages are computed in a process of their own: the server hands visits over and sends answers.

A thread would share the interpreter with asks and tells, and each of them would wait for it. The
process reads by a connection of its own, behind everything else that wants a processor. It is
started when somebody comes to log in, and ends when its standard input does, however the server
ends.
"""

import asyncio
import contextlib
import os
import sys
from itertools import count

import msgspec
from fastapi import Response

from sparsebandits.dashboard.access import Visit
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.auth import Caller

_HEADERS = (b"if-none-match", b"x-live")
"""What pages ask of a request."""

LENGTH = 4
"""Bytes before a message, that say how long it is."""


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A page that somebody wants, who may see it."""

    number: int
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    caller: Caller
    csrf: str
    said: str


class Reply(msgspec.Struct, array_like=True, frozen=True):
    """The page; `said` is what is left to be said by the next one."""

    number: int
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    said: str


def framed(message: Question | Reply | str) -> bytes:
    """Return a message as it goes through a pipe."""
    content = msgspec.msgpack.encode(message)
    return len(content).to_bytes(LENGTH) + content


class PageProcess:
    """The server's end.

    Parameters
    ----------
    store : str
        The address of the store that is read.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._listening: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._numbers = count()

    async def start(self) -> asyncio.StreamWriter:
        """Let the process run, if it does not; return where it listens."""
        async with self._starting:
            if self._process is None:
                self._process = await asyncio.create_subprocess_exec(
                    # Nothing is imported from the folder in which the server was started.
                    *(sys.executable, "-P", "-m", "sparsebandits.dashboard.page_worker"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for the server
                    env={
                        "OPENBLAS_NUM_THREADS": "1",
                        **os.environ,
                        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    },
                )
                assert self._process.stdin is not None
                self._process.stdin.write(framed(self._store))  # not for the list of processes
                self._listening = asyncio.create_task(self._listen(self._process))
            assert self._process.stdin is not None
            return self._process.stdin

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        read = msgspec.msgpack.Decoder(Reply).decode
        try:
            with contextlib.suppress(asyncio.IncompleteReadError):
                while True:
                    size = int.from_bytes(await process.stdout.readexactly(LENGTH))
                    reply = read(await process.stdout.readexactly(size))
                    waiting = self._waiting.pop(reply.number, None)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(reply)
        finally:  # the next page starts another
            self._process = None
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(
                        RefusedError("unavailable", "What computes pages has ended; load it again.")
                    )
            self._waiting.clear()

    async def stop(self) -> None:
        """End the process, in the midst of a page too: it only reads."""
        process, listening = self._process, self._listening
        if process is None or listening is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await listening

    async def show(self, visit: Visit) -> Response:
        """Return a page, computed by the process."""
        stdin = await self.start()
        scope, session = visit.request.scope, visit.session
        question = Question(
            number=next(self._numbers),
            path=scope["path"],
            query=scope["query_string"],
            headers=[header for header in scope["headers"] if header[0] in _HEADERS],
            caller=session.caller,
            csrf=session.csrf,
            said=session.said,
        )
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[question.number] = waiting
        stdin.write(framed(question))
        reply: Reply = await waiting
        if session.said == question.said:
            session.said = reply.said
        answer = Response(reply.body, reply.status)
        answer.raw_headers = reply.headers
        return answer
