"""Where the pages are: beside the calls of a service, or alone for a file."""

import asyncio
import contextlib
import gzip
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache

from fastapi import FastAPI, Request, Response

from sparsebandits.dashboard import pages
from sparsebandits.dashboard.access import HEADERS, Door, Visit
from sparsebandits.dashboard.forms import Forms
from sparsebandits.dashboard.learner_pages import LearnerPages
from sparsebandits.dashboard.overview import EXAMINED, PAGE, SORTS, TAIL, WORDS, sorted_list
from sparsebandits.dashboard.sessions import Sessions
from sparsebandits.dashboard.sources import Source, StoreSource
from sparsebandits.service.call import Service
from sparsebandits.service.settings import Settings

Endpoint = Callable[[Request], Awaitable[Response]]


def add_pages(app: FastAPI, settings: Settings) -> contextlib.AbstractAsyncContextManager[None]:
    """Add the dashboard to a service; what is returned is entered while the service runs."""
    pages.asset_url(pages.PLOTLY)  # missing, it would be missed on every page
    kept: dict[str, Sessions] = {}
    source = StoreSource(settings.store)
    door = Door(lambda: kept["sessions"])
    forms = Forms(lambda: _service(app))
    reading: dict[str, Endpoint] = {
        "/": door.endpoint("read", Overview(source).show),
        **learner_routes(door, source),
        "/new": door.endpoint("admin", forms.show_new),
        "/login": door.show_login,
    }
    posting: dict[str, Endpoint] = {
        "/login": door.log_in,
        "/logout": door.endpoint("read", door.log_out),
        "/new": door.endpoint("admin", forms.make),
        "/learners/{key}/ask": door.endpoint("play", forms.ask),
        "/learners/{key}/tell": door.endpoint("play", forms.tell),
        "/learners/{key}/forget": door.endpoint("play", forms.forget),
    }
    add_routes(app, reading, posting)

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        source.start()
        kept["sessions"] = Sessions(app.state.gate)
        try:
            yield
        finally:
            await source.stop()

    return running()


def _service(app: FastAPI) -> Service:
    service: Service = app.state.service
    return service


def learner_routes(door: Door, source: Source) -> dict[str, Endpoint]:
    """Return the pages of one learner by their paths."""
    learners = LearnerPages(source)
    return {
        "/learners/{key}": door.endpoint("read", learners.show),
        "/learners/{key}/what-if": door.endpoint("read", learners.what_if),
        "/learners/{key}/decisions": door.endpoint("read", learners.decisions),
        "/learners/{key}/decisions.{kind}": door.endpoint("read", learners.download),
        "/learners/{key}/health": door.endpoint("read", learners.health),
    }


def add_routes(
    app: FastAPI, reading: dict[str, Endpoint], posting: dict[str, Endpoint] | None = None
) -> None:
    """Add pages to an application, and what they load."""
    for path, endpoint in {**reading, "/static/{name}": static}.items():
        app.add_route(path, endpoint, methods=["GET"])
    for path, endpoint in (posting or {}).items():
        app.add_route(path, endpoint, methods=["POST"])


class Overview:
    """The list of all learners."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def show(self, visit: Visit) -> Response:
        """Show the learners that are searched for, sorted, a page of them."""
        search, by = visit.query("search").strip(), visit.query("sort", "key")
        descending = visit.query("order", "up") == "down"
        lines = await self._source.listed(visit.session.caller.prefix, search)
        state = visit.query("state")
        chosen = [line for line in lines if not state or line.state == state]
        ordered = sorted_list(chosen, by, descending)
        last = max(1, -(-len(ordered) // PAGE))
        asked = visit.query("page", "1")
        page = min(int(asked), last) if asked.isascii() and asked.isdigit() else 1
        shown = ordered[(max(page, 1) - 1) * PAGE : max(page, 1) * PAGE]
        answer = visit.page(
            "learners.html",
            lines=shown,
            found=len(ordered),
            unexamined=max(0, len(lines) - EXAMINED),
            search=search,
            by=by,
            descending=descending,
            state=state,
            words=WORDS,
            tail=TAIL,
            sorts=SORTS,
            page=page,
            pages=last,
        )
        return unless_known(visit, answer)


def unless_known(visit: Visit, answer: Response) -> Response:
    """Send a page, or only that it is the same that the browser has."""
    digest = hashlib.sha256(bytes(answer.body)).hexdigest()[:24]
    if visit.is_current(digest):
        return Response(status_code=304)
    answer.headers["etag"] = f'"{digest}"'
    return answer


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(pages.asset(name)[0], 3, mtime=0)  # more takes longer than it saves


async def static(request: Request) -> Response:
    """Send the style sheet, our script, or plotly's from its wheel."""
    request.scope["call"] = "dashboard"
    name = request.path_params["name"]
    try:
        content, kind = await asyncio.to_thread(pages.asset, name)
    except KeyError:
        return Response("There is nothing at this address.", 404)
    headers = {**HEADERS, "vary": "accept-encoding"}
    if request.query_params.get("v") and pages.asset_url(name).endswith(str(request.url.query)):
        headers["cache-control"] = "public, max-age=31536000, immutable"
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = await asyncio.to_thread(_compressed, name)
        headers["content-encoding"] = "gzip"
    return Response(content, media_type=kind, headers=headers)
