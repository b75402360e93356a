"""What every call is: a line of the interface, and what it works with."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sparsebandits.service import schemas
from sparsebandits.service.answers import Answer
from sparsebandits.service.context import Context
from sparsebandits.service.engine import Engine
from sparsebandits.service.groups import Job, single
from sparsebandits.service.operations import Operation, Result
from sparsebandits.service.settings import Settings

LARGEST_PAGE = 1000
"""Entries in an answer that comes in pages."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """What calls work with."""

    engine: Engine
    settings: Settings
    thinking: asyncio.Semaphore
    """Held by what computes beside the groups."""


Handler = Callable[[Service, Context], Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One line of the interface."""

    method: str
    path: str
    scope: str
    name: str
    handler: Handler
    body: type[schemas.Body] | None = None
    statuses: tuple[int, ...] = (200,)
    query: tuple[str, ...] = ()
    is_large: bool = False
    """Whether the body may be as long as an import."""

    @property
    def about(self) -> str:
        """What it does, in a sentence or two."""
        return self.handler.__doc__ or ""


async def run(
    service: Service,
    context: Context,
    operations: Sequence[Operation],
    compose: Callable[[Sequence[Result]], Answer] = single,
) -> Answer:
    """Carry out operations in the next group."""
    key = context.request_key if context.request.method == "POST" else None
    return await service.engine.submit(Job(operations, compose, key))
