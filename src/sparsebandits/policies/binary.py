"""A saved learner as compact bytes: a skeleton of JSON, and its numbers as they lie in memory.

The form is lossless: what is read back equals what was written, value by value and type by type.
"""

import base64
import hashlib
import json
import struct
import zlib
from typing import Any

import numpy as np

from sparsebandits.errors import InvalidValueError

MAGIC = b"SBL\x01"
"""What the bytes of a learner begin with; the last is the version of the form."""

_DIGEST = 16
_HEAD = struct.Struct("<I")
_FEWEST = 4
"""Shorter lists of floats stay in the skeleton."""

_LIST, _PACKED = "~list", "~packed"


def encode(value: Any) -> bytes:
    """Return a JSON-safe value as bytes, with a digest of them.

    Examples
    --------
    >>> value = {"theta": [0.1, 0.2, 0.3, 0.4], "seed": 2**100}
    >>> decode(encode(value)) == value
    True
    """
    numbers: list[bytes] = []
    skeleton = json.dumps(_taken_out(value, numbers)).encode()
    body = zlib.compress(_HEAD.pack(len(skeleton)) + skeleton + b"".join(numbers), level=1)
    return MAGIC + _digest(body) + body


def decode(data: bytes) -> Any:
    """Return what `encode` was given; refuse bytes that are damaged."""
    body = data[len(MAGIC) + _DIGEST :]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : len(MAGIC) + _DIGEST] != _digest(body):
        raise InvalidValueError(
            "These are not the bytes of a learner, or they are damaged. Load an earlier copy."
        )
    whole = zlib.decompress(body)
    (size,) = _HEAD.unpack_from(whole)
    skeleton = json.loads(whole[_HEAD.size : _HEAD.size + size])
    return _put_back(skeleton, _Numbers(whole[_HEAD.size + size :]))


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _taken_out(value: Any, numbers: list[bytes]) -> Any:
    """Return the value with what is long and made of floats replaced by its length."""
    if isinstance(value, dict):
        return {key: _taken_out(entry, numbers) for key, entry in value.items()}
    if isinstance(value, list):
        if len(value) >= _FEWEST and all(type(entry) is float for entry in value):
            numbers.append(np.array(value, dtype="<f8").tobytes())
            return {_LIST: 8 * len(value)}
        return [_taken_out(entry, numbers) for entry in value]
    if isinstance(value, str) and len(value) >= 8 * _FEWEST:
        raw = _unpacked(value)
        if raw is not None:
            numbers.append(raw)
            return {_PACKED: len(raw)}
    return value


def _unpacked(text: str) -> bytes | None:
    """Return the bytes behind base64; None if the text is not exactly what they are written as."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if base64.b64encode(raw).decode() == text else None


class _Numbers:
    """The numbers behind a skeleton, taken off one part after another."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._place = raw, 0

    def next(self, length: int) -> bytes:
        part = self._raw[self._place : self._place + length]
        self._place += length
        return part


def _put_back(value: Any, numbers: _Numbers) -> Any:
    """Undo `_taken_out`, in the same order."""
    if isinstance(value, list):
        return [_put_back(entry, numbers) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_LIST}:
        return np.frombuffer(numbers.next(value[_LIST]), dtype="<f8").tolist()
    if value.keys() == {_PACKED}:
        return base64.b64encode(numbers.next(value[_PACKED])).decode()
    return {key: _put_back(entry, numbers) for key, entry in value.items()}
