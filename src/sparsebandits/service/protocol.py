"""HTTP on a connection: uvicorn's, by a parser in C, with an end to what it keeps in memory."""

import asyncio
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sparsebandits.service.answers import RefusedError

_LARGEST_HEAD = 2**16
"""Bytes in a row that are not of a body: a request line, headers, trailers."""

_HEAD_WAIT = 30.0
"""Seconds for a head to come, and for the first of a new connection."""

_MOST_AHEAD = 256
"""Requests that a client may send before the first of them is answered."""


class Protocol(HttpToolsProtocol):
    """Hangs up on who sends a head without end, or none, or requests faster than answers.

    The parser takes a fraction of the time of one in Python, which was most of what a request cost;
    but it would keep whatever comes. One read, of up to 256 kB, may go beyond either limit.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.parser = _Parser(self)
        self._outside = 0
        """Bytes that have come since the last head or part of a body."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Wait for a head, or for what else is no body, for so long in all."""
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_WAIT, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def data_received(self, data: bytes) -> None:
        """Take in what has come."""
        self._outside += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._outside > _LARGEST_HEAD or len(self.pipeline) > _MOST_AHEAD:
            self.send_400_response("The head of the request is too long, or too many wait.")
        elif self._outside:
            self._wait()
        else:
            self._wait_no_longer()

    def on_message_begin(self) -> None:
        """Note that a head has begun, perhaps behind what came before it."""
        self._outside += 1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin with a request, unless its head comes again."""
        if not self.parser.should_upgrade():
            self._outside = 0
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take in a part of a body."""
        self._outside = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        if not self.parser.should_upgrade():
            self._outside = 0
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, as everything is refused, and hang up."""
        answer = RefusedError("malformed", msg).answer
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: %b\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n" % (answer.content_type.encode(), len(answer.body))
        )
        self.transport.write(answer.body)
        self.transport.close()

    def plain_head(self) -> bytes:
        """Return the head that has come without the wish to speak another protocol."""
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            raise HttpParserError("There is nothing to connect to.")
        kept = ((name, value) for name, value in self.headers if name != b"upgrade")
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode())]
        lines += [b"%b: %b" % header for header in kept]
        return b"\r\n".join([*lines, b"", b""])


class _Parser(HttpRequestParser):
    """Goes on with HTTP/1.1 where a client would rather speak something else (RFC 9110, 7.8).

    The parser itself takes all that follows such a head, the body of the request too, for the other
    protocol. Java's client wishes for HTTP/2 in this way unless it is told not to.
    """

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
        self._plain_head = protocol.plain_head

    def feed_data(self, data: Any) -> None:
        """Take in what has come."""
        try:
            super().feed_data(data)
        except HttpParserUpgrade as other:
            super().feed_data(self._plain_head() + data[other.args[0] :])
