"""The same pages on a file: a saved learner, or the folder of a sweep; read only, no log in."""

import json
import zlib
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp

from sparsebandits.dashboard import pages
from sparsebandits.dashboard.access import Door, Visit
from sparsebandits.dashboard.routes import (
    add_routes,
    answer_browsers,
    learner_routes,
    unless_known,
)
from sparsebandits.dashboard.sessions import Session
from sparsebandits.dashboard.sources import FileSource
from sparsebandits.errors import InvalidValueError, SparseBanditsError
from sparsebandits.policies import Learner
from sparsebandits.service.auth import Caller

_LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]


def file_app(path: Path, host: str) -> ASGIApp:
    """Return the pages on a saved learner, or on a sweep's folder.

    Whoever reaches the address sees them. Other sites that a browser has open do not: on loopback
    only requests for it by name are answered.
    """
    pages.asset_url(pages.PLOTLY)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    door = Door(let_in)
    if path.is_dir():
        _add_sweep(app, door, path)
    else:
        _add_learner(app, door, path)
    answer_browsers(app)
    if host in ("127.0.0.1", "::1", "localhost"):
        return TrustedHostMiddleware(app, allowed_hosts=_LOOPBACK)
    return app


_ANYBODY = Session("", Caller("", "read", ""))


async def let_in(request: Request) -> Session:
    """Return one session for all: nobody logs in to see a file."""
    return _ANYBODY


def _add_learner(app: FastAPI, door: Door, path: Path) -> None:
    source = FileSource(path, read_learner(path))

    async def first(visit: Visit) -> Response:
        return RedirectResponse(f"/learners/{source.key}", 303)

    add_routes(app, {"/": door.endpoint("read", first), **learner_routes(door, source)})


def _add_sweep(app: FastAPI, door: Door, folder: Path) -> None:
    from sparsebandits.dashboard.sweep_pages import SweepPages
    from sparsebandits.sweeps.manifest import read_manifest

    read_manifest(folder)  # or says that this is none
    cells = SweepPages(folder)

    async def listed(visit: Visit) -> Response:
        return unless_known(visit, await cells.listed(visit))

    async def show(visit: Visit) -> Response:
        return unless_known(visit, await cells.show(visit))

    add_routes(
        app,
        {"/": door.endpoint("read", listed), "/cells/{number}": door.endpoint("read", show)},
    )


def read_learner(path: Path) -> Learner:
    """Return the learner in a file: JSON of `to_dict`, or the bytes of `to_bytes`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InvalidValueError(f"{path} does not exist.") from None
    try:
        if content.lstrip()[:1] == b"{":
            return Learner.from_dict(json.loads(content))
        return Learner.from_bytes(content)
    except (SparseBanditsError, ValueError, RecursionError, zlib.error) as error:
        raise InvalidValueError(
            f"{path} holds no learner: {error} Save one by json.dump(learner.to_dict(), file), by "
            "learner.to_bytes(), or by GET /v1/learners/{key}/export."
        ) from None
