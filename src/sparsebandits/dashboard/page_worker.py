"""The process that computes pages: questions on standard input, replies on standard output."""

import asyncio
import os
import threading
from functools import partial
from typing import BinaryIO

import msgspec
from fastapi import FastAPI, Request
from starlette.types import Message

from sparsebandits.dashboard.access import Door
from sparsebandits.dashboard.page_process import LENGTH, Question, Reply, framed
from sparsebandits.dashboard.routes import add_routes, store_routes
from sparsebandits.dashboard.sessions import Session
from sparsebandits.dashboard.sources import StoreSource

_NICE = 5
"""Whoever plays has right of way on the processor too."""


def main() -> None:
    """Answer questions until there are no more."""
    os.nice(_NICE)
    questions = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no reply
    asyncio.run(_answer(questions, replies))


async def _answer(questions: BinaryIO, replies: BinaryIO) -> None:
    source = StoreSource(msgspec.msgpack.decode(_next(questions), type=str))
    source.start()
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, store_routes(Door(_session_of), source))
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin(question: Question) -> None:
        task = loop.create_task(_reply(app, question, replies))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def read() -> None:
        decode = msgspec.msgpack.Decoder(Question).decode
        while True:
            loop.call_soon_threadsafe(partial(begin, decode(_next(questions))))

    threading.Thread(target=read, name="questions").start()
    await asyncio.Event().wait()


def _next(questions: BinaryIO) -> bytes:
    """Return the next message; without one the server has ended, and so does this process."""
    head = questions.read(LENGTH)
    content = questions.read(int.from_bytes(head))
    if not content:
        os._exit(0)  # in the midst of a page too: it only reads
    return content


async def _session_of(request: Request) -> Session:
    session: Session = request.scope["session_of_visitor"]
    return session


async def _reply(app: FastAPI, question: Question, replies: BinaryIO) -> None:
    session = Session("", question.caller, question.csrf, said=question.said)
    scope = {
        "type": "http",
        "method": "GET",
        "path": question.path,
        "query_string": question.query,
        "headers": question.headers,
        "session_of_visitor": session,
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    reply = Reply(
        number=question.number,
        status=sent[0]["status"],
        headers=sent[0]["headers"],
        body=b"".join(message["body"] for message in sent[1:]),
        said=session.said,
    )
    try:
        replies.write(framed(reply))
        replies.flush()
    except BrokenPipeError:  # the server has ended
        os._exit(0)


if __name__ == "__main__":
    main()
