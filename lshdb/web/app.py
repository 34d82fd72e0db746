"""The pages of one file as an ASGI application, from a request to a response; `lshdb serve`."""

import errno
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

import lshdb
from lshdb.json_text import dumps
from lshdb.web import api, guarding, rendering, reviewing, views

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
_LARGEST_BODY = 2_000_000
"""Bytes of a request: a form with a text of the longest query, each character escaped."""
_SQL_AT_ONCE = 4
"""Statements of visitors that run at once; others wait, and no other page waits for them."""


def pages(
    path: Path, name: str, review: reviewing.Review | None = None, open_files: bool = False
) -> ASGIApp:
    """The application for a file; `name` is what its pages call it.

    In a review browsers may run our own script, and no other.

    The scope may have `lshdb.links`, the addresses of the pages; else they are below `root_path`.
    """
    limiter = CapacityLimiter(_SQL_AT_ONCE)

    async def show(page: str, request: Request) -> Response:
        # The last of each name.
        fields = QueryParams(await _body(request))
        posted = dict(fields) if request.method == "POST" else None
        arguments = dict(request.query_params)
        for field, value in request.query_params.multi_items():
            if value != arguments[field]:
                raise lshdb.UsageError(
                    f"the address has {field!r:.50} twice, with different values"
                )

        def run() -> Response:
            with views.opened(path) as database:
                visit = views.Visit(database, name, arguments, posted, review, open_files)
                return respond(request, visit.page(page))

        return await to_thread.run_sync(run, limiter=limiter if page == "sql" else None)

    async def answer(name: str, request: Request) -> Response:
        # Browsers let no other site send this type without asking.
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "the body must be of type application/json")
        body = await _body(request)

        def run() -> str:
            with views.opened(path) as database:
                return dumps(api.answered(database, name, body))

        return Response(await to_thread.run_sync(run), media_type="application/json")

    def describe(request: Request) -> Response:
        return respond(request, rendering.Page("openapi", "JSON over HTTP", api.description()))

    def respond(request: Request, page: rendering.Page) -> Response:
        scope = request.scope
        links: rendering.Links = scope.get("lshdb.links") or rendering.Links(
            scope.get("root_path", "")
        )
        if page.redirect is not None:
            to, query = page.redirect
            # 303: Back and Reload do not post the form again.
            first = "#d1" if to == "compare" else ""
            return RedirectResponse(links.page(to, **query) + first, 303)
        if page.download is not None:
            return StreamingResponse(page.download, media_type="application/x-ndjson")
        if request.url.path.endswith(".json"):
            status = 202 if page.status == 200 and page.data.get("waiting") else page.status
            return Response(dumps(page.data), status, media_type="application/json")
        return Response(
            rendering.html(page, links, database=name, review=review),
            page.status,
            media_type="text/html",
        )

    def problem(request: Request, error: Exception) -> Response:
        status, reason = _problem(error, request.method)
        page = rendering.Page(
            "problem", HTTPStatus(status).phrase.capitalize(), {"reason": reason}, status=status
        )
        return respond(request, page)

    def route(page: str, suffix: str) -> Route:
        writes = (page == "query" and not suffix) or (page == "decide" and review is not None)
        return Route(
            f"/{page or ('overview' if suffix else '')}{suffix}",
            partial(show, page),
            methods=["GET", "POST"] if writes else ["GET"],
        )

    application = Starlette(
        routes=[
            *(route(page, suffix) for page in views.PAGES for suffix in ("", ".json")),
            *(
                Route(f"/{name}.json", partial(answer, name), methods=["POST"])
                for name in api.OPERATIONS
            ),
            *(Route(f"/openapi{suffix}", describe) for suffix in ("", ".json")),
            Mount("/", StaticFiles(directory=STATIC)),
        ],
        exception_handlers=dict.fromkeys([HTTPException, *_STATUS], problem),
    )
    policy = "content-security-policy"
    scripts = {} if review is None else {policy: f"{guarding.RULES[policy]}; script-src 'self'"}
    return guarding.ruled(application, guarding.RULES | scripts)


def serve(
    path: Path,
    port: int,
    ready: Callable[[str], None],
    review: reviewing.Review | None = None,
    open_files: bool = False,
) -> None:
    """Serve a file's pages until the process is interrupted or ended.

    Args:
        path: an lshdb file.
        port: of 127.0.0.1; 0 for any free one.
        ready: called with the address of the overview as soon as it is served.
        review: of the person who decides on the pages, which then write decisions; None for pages
            that only read.
        open_files: whether the page of a document has a link to its file.

    Raises:
        LshdbError: the port cannot be opened.
    """
    path = path.absolute()
    config = uvicorn.Config(
        guarding.guarded(pages(path, path.stem, review, open_files)),
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
    with listening:
        # A termination by another program also closes the files.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            ready(f"http://{HOST}:{listening.getsockname()[1]}/")
            uvicorn.Server(config).run(sockets=[listening])
    # Connections that cannot write leave the -wal and -shm; this one does not.
    with suppress(lshdb.LshdbError):
        lshdb.open(path, mode="read").close()


def _problem(error: Exception, method: str) -> tuple[int, str]:
    """The status and the reason of an error."""
    if isinstance(error, HTTPException):
        known = {
            404: "there is no such page",
            405: f"{method} is not for this address",
        }
        return error.status_code, known.get(error.status_code, error.detail)
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    return status, str(error) or "the request ended before its body"


async def _body(request: Request) -> bytes:
    """The body of a request; a larger one than is taken is read and left out."""
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
"""The statuses of errors; of a kind that is not here, that of the nearest kind above it."""
