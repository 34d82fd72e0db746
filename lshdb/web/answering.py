"""From a request to a response: the database, permissions, the page, and errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import lshdb
from lshdb.web import views
from lshdb.web.guarding import is_ours, is_own_origin
from lshdb.web.rendering import HEADERS, Links, Page, headers, html
from lshdb.web.reviewing import Forbidden, review_of

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached
    from datasette.utils.asgi import AsgiStream, AsgiWriter, Request, Response

_LARGEST_FORM: Final = 2_000_000
"""Bytes of a form: a text of the longest query, each character escaped."""
_DRAINED: Final = 32_000_000
"""Bytes of a too large form that are still read, so that the browser shows our answer."""
_MAX_FIELDS: Final = 20

_files: Final[dict[Path, tuple[int, int]]] = {}
"""Device and inode of the files that were shown."""


class _Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def answer(request: Request, datasette: Datasette) -> Response | AsgiStream:
    """Answer a request for an address below /-/lshdb."""
    from datasette.utils.asgi import Response

    route, _, name = (request.url_vars["rest"] or "").partition("/")
    database = review = None
    try:
        if route:
            attached = await _attached(request, datasette, route)
            database = attached.name
            review = review_of(Path(attached.path))
            page = await _page(request, datasette, attached, name)
            if page.redirect is not None:
                name, query = page.redirect
                address = Links(datasette, database).page(name, **query)
                # 303: Back and Reload do not post the form again.
                return Response("", status=303, headers=HEADERS | {"location": address})
            if page.download is not None:
                return _stream(*page.download)
        else:
            await datasette.ensure_permissions(request.actor, ["view-instance"])
            _check_method(request, datasette, posted=False)
            page = await _index(request, datasette)
    except _Refused as refused:
        page = Page("problem", _NAMES[refused.status], {"reason": str(refused)}, refused.status)
    text = html(page, Links(datasette, database), database, review)
    return Response.html(text, status=page.status, headers=headers(review))


def _stream(kind: str, parts: Iterator[str]) -> AsgiStream:
    """A file that is sent while it is generated."""
    from datasette.utils.asgi import AsgiStream

    async def send(writer: AsgiWriter) -> None:
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            await writer.write(part)

    return AsgiStream(send, headers=HEADERS, content_type=kind)


def style_sheet() -> Response:
    """The style sheet; Datasette itself serves files only of plugins that are packages."""
    from datasette.utils.asgi import Response

    text = (Path(__file__).parent / "static" / "lshdb.css").read_text("utf-8")
    return Response(text, headers=HEADERS, content_type="text/css; charset=utf-8")


async def _attached(request: Request, datasette: Datasette, route: str) -> Attached:
    """The database named in an address, if it is lshdb's and the visitor may see it."""
    from datasette.utils import tilde_decode

    try:
        attached = datasette.get_database(route=tilde_decode(route))
    except KeyError:
        raise _Refused(404, f"there is no database {route}") from None
    await datasette.ensure_permissions(request.actor, _permissions(attached.name))
    if attached.path is None:
        raise _Refused(
            404, f"{attached.name} is not an lshdb database: these pages are for lshdb's"
        )
    return attached


def _permissions(name: str) -> list[Any]:
    """The permissions that a visitor needs for our pages of a database."""
    return [("view-table", (name, "documents")), ("view-database", name), "view-instance"]


async def _page(request: Request, datasette: Datasette, attached: Attached, name: str) -> Page:
    make = views.PAGES.get(name)
    if make is None:
        raise _Refused(404, "there is no such page")
    review = review_of(Path(attached.path))
    writes = name in views.REVIEWED and review is not None
    _check_method(request, datasette, posted=name in views.POSTED or writes)
    posted = await _form(request) if request.method == "POST" else None
    arguments = _fields(request.query_string)

    def run() -> Page:
        path = Path(attached.path)
        with views.opened(path) as (database, store):
            _check_is_as_before(path)
            return make(views.Visit(database, store, attached.name, arguments, posted, review))

    try:
        # Not in Datasette's own threads, which run SQL with a time limit.
        return await asyncio.to_thread(run)
    except lshdb.LshdbError as error:
        raise _Refused(_status(error), str(error)) from error


def _check_is_as_before(path: Path) -> None:
    """StoreError if another file now has the name.

    Datasette has the old one open, whose log SQLite would apply to the new one.
    """
    status = os.stat(path)
    identity = status.st_dev, status.st_ino
    if _files.setdefault(path, identity) != identity:
        raise lshdb.StoreError(f"{path} was replaced while it was served: start the server again")


def _status(error: lshdb.LshdbError) -> int:
    if isinstance(error, Forbidden):
        return 403
    if isinstance(error, lshdb.KeyNotFound | lshdb.NotADatabase):
        return 404
    if isinstance(error, lshdb.UsageError | lshdb.ContentError | lshdb.InputError):
        return 400
    return 503 if isinstance(error, lshdb.Busy) else 500


def _check_method(request: Request, datasette: Datasette, *, posted: bool) -> None:
    if request.method in ("GET", "HEAD"):
        return
    if request.method != "POST" or not posted:
        raise _Refused(405, f"this page is only read: {request.method} is not for it")
    # Nothing is changed, but other sites must not make this machine work either. Older browsers
    # say where a form comes from by this only.
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and not is_own_origin(origin, host, datasette):
        raise _Refused(403, "a form of another site was sent here")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; a larger one than ours is never in memory as a whole."""
    body = bytearray()
    size = 0
    more = True
    while more and size <= _DRAINED:
        message = await request.receive()
        if message["type"] != "http.request":
            raise _Refused(400, "the request ended before its form")
        part = message.get("body", b"")
        size += len(part)
        if size <= _LARGEST_FORM:
            body += part
        more = message.get("more_body", False)
    if size > _LARGEST_FORM:
        raise _Refused(413, f"a form may have {_LARGEST_FORM:,} bytes: use lshdb query")
    return _fields(bytes(body))


def _fields(encoded: str | bytes) -> dict[str, str]:
    """The fields of a query or a form in UTF-8, the last of each name."""
    text = encoded if isinstance(encoded, str) else encoded.decode("ascii", "replace")
    try:
        found = parse_qs(text, keep_blank_values=True, errors="replace", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise _Refused(400, f"the request has more than {_MAX_FIELDS} fields") from error
    return {name: values[-1] for name, values in found.items()}


async def _index(request: Request, datasette: Datasette) -> Page:
    """The databases that are lshdb's."""
    found: list[str] = []
    for name, attached in datasette.databases.items():
        permissions = _permissions(name)
        seen, _ = await datasette.check_visibility(request.actor, permissions=permissions)
        if seen and attached.path is not None and await is_ours(attached):
            found.append(name)
    databases = [(name, Links(datasette, name).page()) for name in found]
    return Page("index", "Databases of near duplicates", {"databases": databases})


_NAMES: Final[Mapping[int, str]] = {
    400: "That cannot be asked",
    403: "Refused",
    404: "Not found",
    405: "Only to be read",
    413: "Too large",
    500: "The database cannot be used",
    503: "The database is busy",
}
