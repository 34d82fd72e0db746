"""The pages of one file as an ASGI application, from a request to a response; `lshdb serve`."""

import errno
import logging
import signal
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
from starlette.types import ASGIApp, Receive, Scope, Send

import lshdb
from lshdb.errors import limits_noted
from lshdb.json_text import dumps
from lshdb.review import page_file, reviewing
from lshdb.web import api, guarding, rendering, views

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
Endpoint = Callable[[Request], Awaitable[Response]]
_files = StaticFiles(directory=STATIC)
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
        fields = QueryParams(await _body(request))
        posted = _single("the form", fields) if request.method == "POST" else None
        arguments = _single("the address", request.query_params)

        def run() -> Response:
            with limits_noted() as cuts, page_file.opened(path) as database:
                notes = [*map(str, cuts)]
                visit = views.Visit(database, name, arguments, posted, review, open_files, notes)
                return respond(request, visit.page(page))

        return await to_thread.run_sync(run, limiter=limiter if page == "sql" else None)

    async def answer(name: str, request: Request) -> Response:
        # Browsers let no other site send this type without asking.
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "the body must be of type application/json")
        body = await _body(request)

        def run() -> str:
            with limits_noted() as cuts, page_file.opened(path) as database:
                return dumps(api.answered(database, name, body, cuts))

        return Response(await to_thread.run_sync(run), media_type="application/json")

    async def describe(request: Request) -> Response:
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
        response = respond(request, page)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    # Each path with what answers its methods, each once: another method of a path is refused by it.
    table: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for page in views.PAGES:
        if page != "decide":
            table[f"/{page}"]["GET"] = partial(show, page)
            table[f"/{page or 'overview'}.json"]["GET"] = partial(show, page)
        elif review is not None:
            table["/decide"]["POST"] = partial(show, page)
    table["/query"]["POST"] = partial(show, "query")
    for operation in api.OPERATIONS:
        table[f"/{operation}.json"]["POST"] = partial(answer, operation)
    table["/openapi"]["GET"] = table["/openapi.json"]["GET"] = describe
    application = Starlette(
        routes=[
            *(Route(path, _ByMethod(answers)) for path, answers in table.items()),
            Mount("/", _static),
        ],
        exception_handlers=dict.fromkeys([HTTPException, *_STATUS], problem),
    )
    policy = "content-security-policy"
    scripts = {} if review is None else {policy: f"{guarding.RULES[policy]}; script-src 'self'"}
    return guarding.ruled(application, guarding.RULES | scripts)


@dataclass(frozen=True, slots=True)
class _ByMethod:
    """A path, with what answers each method; what answers GET answers HEAD."""

    answers: Mapping[str, Endpoint]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse its method and name those that there are."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        request = Request(scope, receive, send)
        if method in self.answers:
            response = await self.answers[method](request)
        else:
            response = _other_method(method, self.answers)
        await response(scope, receive, send)


def _other_method(method: str, known: Collection[str]) -> Response:
    """The answer to OPTIONS; HTTPException for a method that is not known."""
    names = [*known, *["HEAD"] * ("GET" in known), "OPTIONS"]
    headers = {"allow": ", ".join(names)}
    if method != "OPTIONS":
        raise HTTPException(405, headers=headers)
    return Response(status_code=204, headers=headers)


async def _static(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for one of the files beside the pages, or for what is not there."""
    if scope["method"] in ("GET", "HEAD"):
        await _files(scope, receive, send)
    elif _files.lookup_path(_files.get_path(scope))[1] is None:
        raise HTTPException(404)
    else:
        await _other_method(scope["method"], ["GET"])(scope, receive, send)


def runs_no_sql(path: str) -> bool:
    """Whether the page at a path of the application runs no SQL, whatever its query."""
    page = path.removeprefix("/").removesuffix(".json")
    return ("" if page == "overview" else page) in views.WITHOUT_SQL


class _Server(uvicorn.Server):
    """A server that says nothing of the requests that it cuts off at its end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for requests for a second, then cut them off."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


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
        guarding.guarded(
            pages(path, path.stem, review, open_files), lambda scope: runs_no_sql(scope["path"])
        ),
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
        # Signals raise nothing here, as an exception may come between any two steps. While the
        # server runs, its own handlers do the same.
        before = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            ready(f"http://{HOST}:{listening.getsockname()[1]}/")
            server.run(sockets=[listening])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    # Connections that cannot write leave the -wal and -shm; this one does not.
    with suppress(lshdb.LshdbError), limits_noted():
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


def _single(what: str, fields: QueryParams) -> dict[str, str]:
    """The value of each field; UsageError if one has two different ones."""
    values = dict(fields)
    for field, value in fields.multi_items():
        if value != values[field]:
            raise lshdb.UsageError(f"{what} has {field!r:.50} twice, with different values")
    return values


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
