"""A request as the calls see it: checked, decoded, and of a known caller."""

import asyncio
import hashlib
import re
from typing import Any, TypeVar

import msgspec
from fastapi import Request
from starlette.requests import ClientDisconnect

from sparsebandits.service.answers import RefusedError
from sparsebandits.service.auth import Caller
from sparsebandits.service.groups import RequestKey
from sparsebandits.service.schemas import KEY_PATTERN, LARGEST_SEED

_KEY = re.compile(KEY_PATTERN)
_REQUEST_KEY = re.compile(r"[!-~]{1,200}")
_canonical = msgspec.json.Encoder(order="deterministic").encode
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}

Wanted = TypeVar("Wanted")


def header(request: Request, name: bytes) -> str | None:
    """Return the first header of a name in small letters.

    Starlette's mapping takes longer for the three that a call needs than a learner for a reward.
    """
    for given, value in request.scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_body(request: Request, limit: int, wait: float = 30.0) -> bytes:
    """Return the body; one that is longer than the limit is not read to its end.

    Nor is one waited for of which nothing has come for so many seconds.
    """
    announced = header(request, b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    parts, length, is_more = [], 0, True
    while is_more:
        try:
            async with asyncio.timeout(wait):
                message = await request.receive()
        except TimeoutError:
            raise RefusedError(
                "too-slow", f"Nothing more of the body has come for {wait:g} seconds."
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        length += len(part)
        if length > limit:
            raise _too_large(limit)
        parts.append(part)
        is_more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> RefusedError:
    return RefusedError("too-large", f"A body may have up to {limit:,} bytes.")


def decode(body: bytes, wanted: type[Wanted]) -> Wanted:
    """Return a body as the class it has to be; no body at all is an empty one."""
    decoder = _decoders.get(wanted)
    if decoder is None:
        decoder = _decoders[wanted] = msgspec.json.Decoder(wanted)
    try:
        decoded: Wanted = decoder.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError("invalid", f"The body is not what is needed: {error}.") from None
    except RecursionError:
        raise RefusedError("invalid", "The JSON is nested too deeply.") from None
    return decoded


class Context:
    """What a call is given.

    Attributes
    ----------
    caller : Caller
    body : object
        Of the class that the call declares; None where it takes no body.
    """

    def __init__(self, request: Request, caller: Caller, body: Any) -> None:
        self.request = request
        self.caller = caller
        self.body = body

    @property
    def key(self) -> str:
        """The learner's key in the path."""
        return as_key(self.request.path_params["key"])

    @property
    def id(self) -> int:
        """The decision's id in the path."""
        text: str = self.request.path_params["id"]
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise RefusedError(
                "unknown-decision", "A decision's id is a whole number, as ask returned it."
            )
        return min(int(text), LARGEST_SEED)

    def _parameter(self, name: str) -> str | None:
        if not self.request.scope["query_string"]:
            return None
        return self.request.query_params.get(name)

    def flag(self, name: str) -> bool:
        """Return whether a query parameter is true."""
        given = self._parameter(name)
        if given is None:
            return False
        given = given.lower()
        if given not in ("true", "false", "1", "0"):
            raise RefusedError("invalid", f"{name} must be true or false, got {given[:40]!r}.")
        return given in ("true", "1")

    def number(self, name: str, default: int, most: int) -> int:
        """Return a query parameter that is a whole number from 0."""
        given = self._parameter(name)
        if given is None:
            return default
        if not (given.isascii() and given.isdigit() and len(given) < 20 and int(given) <= most):
            raise RefusedError("invalid", f"{name} must be in 0..{most}, got {given[:40]!r}.")
        return int(given)

    def text(self, name: str) -> str:
        """Return a query parameter that is a text without odd characters."""
        given = self._parameter(name)
        return as_key(given) if given else ""

    @property
    def request_key(self) -> RequestKey | None:
        """The idempotency key with which the request came."""
        given = header(self.request, b"idempotency-key")
        if given is None:
            return None
        if not _REQUEST_KEY.fullmatch(given):
            raise RefusedError(
                "invalid", "Idempotency-Key must be 1 to 200 printable ASCII characters."
            )
        fingerprint = hashlib.sha256(_canonical(self.body)).hexdigest()
        return RequestKey(self.request.scope["path"], given, fingerprint)


def as_key(given: str) -> str:
    """Return the key of a learner, checked."""
    if not _KEY.fullmatch(given):
        raise RefusedError(
            "invalid",
            "A learner's key has 1 to 128 characters of A-Z a-z 0-9 . _ : @ ~ - and begins with "
            "a letter or a digit.",
        )
    return given
