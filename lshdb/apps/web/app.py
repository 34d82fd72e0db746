"""The pages of one file as an ASGI application, from a request to a response; `lshdb serve`."""

import dataclasses
import errno
import logging
import signal
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

import lshdb
from lshdb.apps.review import listing, reviewing
from lshdb.apps.web import api, guarding, page_file, rendering, views
from lshdb.errors import limits_noted
from lshdb.json_text import dumps

HOST = "127.0.0.1"
Endpoint = Callable[[Request], Awaitable[Response]]
_KEPT = {"cache-control": "max-age=86400"}
"""Of what pages load: browsers keep it for a day, as its addresses change with it."""
_LARGEST_BODY = 2_000_000
"""Maximum bytes of a request: a form with the longest text, each character escaped."""


def pages(path: Path, name: str, review: reviewing.Review | None = None) -> ASGIApp:
    """The application for a file; `name` is what its pages call it.

    In a review browsers may run lshdb's own script, and no other.

    The scope may have `lshdb.links`, the addresses of the pages; else they are below `root_path`.
    """
    site = _Site(path, name, review)
    application = Starlette(
        routes=site.routes(),
        exception_handlers=dict.fromkeys([HTTPException, *_STATUS], site.problem),
    )
    application.router.redirect_slashes = False
    policy = "content-security-policy"
    scripts = {} if review is None else {policy: f"{guarding.RULES[policy]}; script-src 'self'"}
    return guarding.ruled(application, guarding.RULES | scripts)


@dataclasses.dataclass(eq=False)
class _Site:
    """The pages of a file: from a request to a response.

    Attributes:
        path: the file.
        name: what its pages call it.
        review: the review whose decisions they write; None if they only read.
    """

    path: Path
    name: str
    review: reviewing.Review | None

    def routes(self) -> list[Route]:
        """A route for each path, and for the other files that pages load."""
        table: dict[str, dict[str, Endpoint]] = defaultdict(dict)
        for page in views.PAGES:
            if page != "decide":
                table[f"/{page}"]["GET"] = partial(self.show, page)
                table[f"/{page or 'overview'}.json"]["GET"] = partial(self.show, page)
            elif self.review is not None:
                table["/decide"]["POST"] = partial(self.show, page)
        table["/query"]["POST"] = partial(self.show, "query")
        for operation in api.OPERATIONS:
            table[f"/{operation}.json"]["POST"] = partial(self.answer, operation)
        for file in rendering.STATIC.iterdir():
            table[f"/{file.name}"]["GET"] = partial(_file, file)
        # Each path has one route with all its methods, which refuses the other methods.
        return [
            Route(path, partial(_by_method, endpoints), methods=[*endpoints, "OPTIONS"])
            for path, endpoints in table.items()
        ]

    async def show(self, page: str, request: Request) -> Response:
        """Answer a request for a page."""
        fields = QueryParams(await _body(request))
        posted = _single("the form", fields) if request.method == "POST" else None
        arguments = _single("the address", request.query_params)

        def run() -> Response:
            with limits_noted() as cuts, page_file.opened(self.path) as database:
                visit = views.Visit(
                    database,
                    self.name,
                    arguments,
                    posted,
                    self.review,
                    notes=[*map(str, cuts)],
                )
                return self.respond(request, visit.page(page))

        return await to_thread.run_sync(run)

    async def answer(self, operation: str, request: Request) -> Response:
        """Answer a program that posts JSON."""
        # Browsers let no other site send this type without asking.
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "the body must be of type application/json")
        body = await _body(request)

        def run() -> str:
            with limits_noted() as cuts, page_file.opened(self.path) as database:
                return dumps(api.answered(database, operation, body, cuts))

        return Response(await to_thread.run_sync(run), media_type="application/json")

    def respond(self, request: Request, page: rendering.Page) -> Response:
        """A page as HTML, JSON, a download or a redirection."""
        scope = request.scope
        links: rendering.Links = scope.get("lshdb.links") or rendering.Links(
            scope.get("root_path", "")
        )
        if page.redirect is not None:
            target, query = page.redirect
            # 303: Back and Reload do not post the form again.
            first_difference = "#d1" if target == "compare" else ""
            return RedirectResponse(links.page(target, **query) + first_difference, 303)
        if page.download is not None:
            return StreamingResponse(page.download, media_type="application/x-ndjson")
        if request.url.path.endswith(".json"):
            status = 202 if page.status == 200 and page.data.get("waiting") else page.status
            return Response(dumps(page.data), status, media_type="application/json")
        html = rendering.html(page, links, database=self.name, review=self.review)
        return Response(html, page.status, media_type="text/html")

    def problem(self, request: Request, error: Exception) -> Response:
        """The page of an error."""
        if isinstance(error, HTTPException):
            known = {404: "there is no such page", 405: f"{request.method} is not for this address"}
            status, reason = error.status_code, known.get(error.status_code, error.detail)
        else:
            status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
            reason = str(error) or "the request ended before its body"
        title = HTTPStatus(status).phrase.capitalize()
        kind = request.url.path.rpartition("/")[2]
        view = {"filters": request.query_params, "kind": kind, "sorts": listing.SORTS.get(kind)}
        page = rendering.Page("problem", title, {"reason": reason}, view, status)
        response = self.respond(request, page)
        response.headers.update(getattr(error, "headers", None) or {})
        return response


async def _by_method(endpoints: Mapping[str, Endpoint], request: Request) -> Response:
    """Answer a request by the endpoint of its method; that of GET also answers HEAD."""
    if request.method == "OPTIONS":
        names = [*endpoints, *["HEAD"] * ("GET" in endpoints), "OPTIONS"]
        return Response(status_code=204, headers={"allow": ", ".join(names)})
    return await endpoints["POST" if request.method == "POST" else "GET"](request)


async def _file(path: Path, _: Request) -> Response:
    """One of the files that pages load."""
    return FileResponse(path, headers=_KEPT)


class _Server(uvicorn.Server):
    """A server that logs nothing about the requests that it cuts off at its end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for requests for a second, then cut them off."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def serve(
    path: Path,
    port: int,
    ready: Callable[[str], None],
    review: reviewing.Review | None = None,
    name: str | None = None,
) -> None:
    """Serve a file's pages until the process is interrupted or ended.

    Args:
        path: an lshdb file.
        port: a port of 127.0.0.1; 0 for any free one.
        ready: called with the address of the overview as soon as it is served.
        review: the review whose decisions the pages write; None for pages that only read.
        name: what the pages call the file; by default its name without suffix.

    Raises:
        LshdbError: the port cannot be opened.
    """
    path = path.absolute()
    config = uvicorn.Config(
        guarding.guarded(pages(path, name or path.stem, review)),
        log_level="error",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"port {port} is taken: give another --port, or 0 for any"
        else:
            reason = f"port {port} cannot be opened: {error.strerror}"
        raise lshdb.LshdbError(reason) from error
    server = _Server(config)

    def end(*_: object) -> None:
        server.should_exit = True

    with listening:
        # A signal raises no exception, which could come between any two steps. While the server
        # runs, its own handlers do the same.
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, end) for number in signals}
        try:
            ready(f"http://{HOST}:{listening.getsockname()[1]}/")
            server.run(sockets=[listening])
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    # Connections that cannot write leave the files -wal and -shm; this one removes them.
    with suppress(lshdb.LshdbError), limits_noted():
        lshdb.open(path, mode="read").close()


def _single(what: str, fields: QueryParams) -> dict[str, str]:
    """The value of each field; UsageError if a field has two different values."""
    values = dict(fields)
    for name, value in fields.multi_items():
        if value != values[name]:
            raise lshdb.UsageError(f"{what} has {name!r:.50} twice, with different values")
    return values


async def _body(request: Request) -> bytes:
    """The body of a request; HTTPException for a body that is too large, after it was read."""
    body = bytearray()
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= _LARGEST_BODY:
            body += part
    if size > _LARGEST_BODY:
        raise HTTPException(413, f"a body may have {_LARGEST_BODY:,} bytes: use lshdb query")
    return bytes(body)


_STATUS: Mapping[type, int] = {
    ClientDisconnect: 400,
    RecursionError: 400,  # JSON of metadata as deep as it may be
    lshdb.LshdbError: 500,
    lshdb.UsageError: 400,
    lshdb.ContentError: 400,
    lshdb.InputError: 400,
    lshdb.QueryError: 400,
    reviewing.Forbidden: 403,
    lshdb.KeyNotFound: 404,
    lshdb.NotADatabase: 404,
    lshdb.Busy: 503,
}
"""The statuses of errors; an error of another class has the status of its nearest base class."""
