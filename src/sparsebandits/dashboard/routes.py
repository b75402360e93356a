"""Where the pages are: beside the calls of a service, or alone for a file."""

import asyncio
import contextlib
import gzip
import hashlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache, partial

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from sparsebandits.dashboard import pages
from sparsebandits.dashboard.access import HEADERS, Door, Visit, page_of_nothing
from sparsebandits.dashboard.entrance import Entrance
from sparsebandits.dashboard.forms import Forms
from sparsebandits.dashboard.learner_pages import LearnerPages
from sparsebandits.dashboard.overview import EXAMINED, PAGE, SORTS, TAIL, WORDS, sorted_list
from sparsebandits.dashboard.page_process import PageProcess
from sparsebandits.dashboard.sessions import Sessions
from sparsebandits.dashboard.sources import Source
from sparsebandits.service.call import Service
from sparsebandits.service.settings import Settings

Endpoint = Callable[[Request], Awaitable[Response]]


def add_pages(app: FastAPI, settings: Settings) -> contextlib.AbstractAsyncContextManager[None]:
    """Add the dashboard to a service; what is returned is entered while the service runs."""
    pages.asset_url(pages.PLOTLY)  # missing, it would be missed on every page
    kept: dict[str, Sessions] = {}
    process = PageProcess(settings.store)
    door = Door(lambda request: kept["sessions"].of(request))
    entrance = Entrance(lambda: kept["sessions"])
    forms = Forms(lambda: _service(app))

    async def show_login(request: Request) -> Response:
        with contextlib.suppress(OSError):  # said by the page that needs it
            await process.start()  # it is ready when somebody has typed a token
        return await entrance.show_login(request)

    reading: dict[str, Endpoint] = {
        **dict.fromkeys(("/", *_OF_A_LEARNER), door.endpoint("read", process.show)),
        "/new": door.endpoint("admin", forms.show_new),
        "/login": show_login,
    }
    posting: dict[str, Endpoint] = {
        "/login": entrance.log_in,
        "/logout": door.endpoint("read", entrance.log_out),
        "/new": door.endpoint("admin", forms.make),
        "/learners/{key}/ask": door.endpoint("play", forms.ask),
        "/learners/{key}/tell": door.endpoint("play", forms.tell),
        "/learners/{key}/forget": door.endpoint("play", forms.forget),
    }
    add_routes(app, reading, posting)
    answer_browsers(app)

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        kept["sessions"] = Sessions(app.state.gate)
        try:
            yield
        finally:
            await process.stop()

    return running()


def _service(app: FastAPI) -> Service:
    service: Service = app.state.service
    return service


_OF_A_LEARNER: dict[str, Callable[[LearnerPages, Visit], Awaitable[Response]]] = {
    "/learners/{key}": LearnerPages.show,
    "/learners/{key}/what-if": LearnerPages.what_if,
    "/learners/{key}/decisions": LearnerPages.decisions,
    "/learners/{key}/decisions.{kind}": LearnerPages.download,
    "/learners/{key}/health": LearnerPages.health,
}
"""The pages of one learner by their paths."""


def learner_routes(door: Door, source: Source) -> dict[str, Endpoint]:
    """Return the pages of the learners of a source."""
    learners = LearnerPages(source)
    return {
        path: door.endpoint("read", partial(show, learners)) for path, show in _OF_A_LEARNER.items()
    }


def store_routes(door: Door, source: Source) -> dict[str, Endpoint]:
    """Return the pages that read a store: those of its learners, and the list of them."""
    return {"/": door.endpoint("read", Overview(source).show), **learner_routes(door, source)}


def add_routes(
    app: FastAPI, reading: dict[str, Endpoint], posting: dict[str, Endpoint] | None = None
) -> None:
    """Add pages to an application, and what they load."""
    for path, endpoint in {**reading, "/static/{name}": static}.items():
        app.add_route(path, endpoint, methods=["GET"])
    for path, endpoint in (posting or {}).items():
        app.add_route(path, endpoint, methods=["POST"])


def answer_browsers(app: FastAPI) -> None:
    """Let a person who goes where nothing is find a page there, and programs what they found."""

    async def nothing(request: Request, error: Exception) -> Response:
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return page_of_nothing()
        found = app.exception_handlers[HTTPException](request, error)
        return await found if inspect.isawaitable(found) else found

    for status in (404, 405):
        app.add_exception_handler(status, nothing)


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
        unknown = [line.key for line in shown if line.state is None]
        fresh = await self._source.examined(unknown) if unknown else []
        by_key = {line.key: line for line in fresh}
        answer = visit.page(
            "learners.html",
            lines=[by_key.get(line.key, line) for line in shown],
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
