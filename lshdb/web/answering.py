"""From a request to a response: which database, who may see it, which page, what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import lshdb
from lshdb.web import views
from lshdb.web.rendering import HEADERS, Links, Page, html
from lshdb.web.watching import TIMEOUT

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached
    from datasette.utils.asgi import Request, Response

_LARGEST_FORM: Final = 2_000_000
"""Bytes of a form: a text of the longest query, each character escaped."""
_DRAINED: Final = 32_000_000
"""Bytes of a form too large that are read all the same, so that the browser shows our answer."""
_MOST_FIELDS: Final = 20

# Pages are made here and not in Datasette's threads, which run SQL with a time limit.
_threads: Final = ThreadPoolExecutor(4, "lshdb-page")


class _Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def answer(request: Request, datasette: Datasette) -> Response:
    """Answer a request for an address below /-/lshdb."""
    parts = request.url_vars["rest"].split("/") if request.url_vars["rest"] else []
    attached: Attached | None = None
    try:
        if not parts:
            await datasette.ensure_permissions(request.actor, ["view-instance"])
            _check_method(request, posted=False)
            return _response(await _index(request, datasette), Links(datasette, None), None)
        attached = await _attached(request, datasette, parts[0])
        page = await _page(request, attached, "/".join(parts[1:]))
    except _Refused as refused:
        page = _problem(refused.status, str(refused))
    return _response(
        page,
        Links(datasette, None if attached is None else attached.name),
        None if attached is None else attached.name,
    )


def style_sheet() -> Response:
    """The style sheet; Datasette itself gives files of plugins that are packages only."""
    from datasette.utils.asgi import Response

    text = (Path(__file__).parent / "static" / "lshdb.css").read_text("utf-8")
    return Response(text, headers=HEADERS, content_type="text/css; charset=utf-8")


async def _attached(request: Request, datasette: Datasette, route: str) -> Attached:
    """The database of a part of an address, if it is lshdb's and the visitor may see it."""
    from datasette.utils import tilde_decode

    try:
        attached = datasette.get_database(route=tilde_decode(route))
    except KeyError:
        raise _Refused(404, f"there is no database {route}") from None
    await datasette.ensure_permissions(
        request.actor,
        [
            ("view-table", (attached.name, "documents")),
            ("view-database", attached.name),
            "view-instance",
        ],
    )
    if attached.path is None:
        raise _Refused(404, f"{attached.name} is no lshdb database: these pages are for lshdb's")
    return attached


async def _page(request: Request, attached: Attached, name: str) -> Page:
    make = views.PAGES.get(name)
    if make is None:
        raise _Refused(404, "there is no such page")
    _check_method(request, posted=name in views.POSTED)
    posted = await _form(request) if request.method == "POST" else None
    arguments = _fields(request.query_string)

    def run() -> Page:
        path = Path(attached.path)
        with lshdb.open(path, mode="read", timeout=TIMEOUT) as database:
            return make(views.Visit(database, attached.name, arguments, posted))

    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, run)
    except lshdb.LshdbError as error:
        return _problem(_status(error), str(error))


def _status(error: lshdb.LshdbError) -> int:
    if isinstance(error, lshdb.KeyNotFound | lshdb.NotADatabase):
        return 404
    if isinstance(error, lshdb.UsageError | lshdb.ContentError | lshdb.InputError):
        return 400
    return 503 if isinstance(error, lshdb.Busy) else 500


def _check_method(request: Request, *, posted: bool) -> None:
    if request.method in ("GET", "HEAD"):
        return
    if request.method != "POST" or not posted:
        raise _Refused(405, f"this page is only read: {request.method} is not for it")
    # Nothing is changed, but other sites shall not make this machine work either.
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise _Refused(403, "a form of another site was sent here")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; what is larger than a form of ours is never in memory as a whole."""
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
        found = parse_qs(
            text, keep_blank_values=True, errors="replace", max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:
        raise _Refused(400, f"the request has more than {_MOST_FIELDS} fields") from error
    return {name: values[-1] for name, values in found.items()}


async def _index(request: Request, datasette: Datasette) -> Page:
    """The databases that are lshdb's."""
    found: list[str] = []
    for name, attached in datasette.databases.items():
        seen, _ = await datasette.check_visibility(
            request.actor,
            permissions=[
                ("view-table", (name, "documents")),
                ("view-database", name),
                "view-instance",
            ],
        )
        if seen and attached.path is not None and await _is_ours(Path(attached.path)):
            found.append(name)
    databases = [(name, Links(datasette, name).page()) for name in found]
    return Page("index", "Databases of near duplicates", {"databases": databases})


async def _is_ours(path: Path) -> bool:
    def look() -> bool:
        try:
            views.version(path)
        except lshdb.NotADatabase:
            return False
        except lshdb.StoreError:
            return True  # its page says what is wrong
        return True

    return await asyncio.get_running_loop().run_in_executor(_threads, look)


_NAMES: Final[Mapping[int, str]] = {
    400: "That cannot be asked",
    403: "Refused",
    404: "Not found",
    405: "Only to be read",
    413: "Too large",
    500: "The database cannot be used",
    503: "The database is busy",
}


def _problem(status: int, reason: str) -> Page:
    return Page("problem", _NAMES[status], {"reason": reason}, status=status)


def _response(page: Page, links: Links, database: str | None) -> Response:
    from datasette.utils.asgi import Response

    return Response.html(html(page, links, database), status=page.status, headers=HEADERS)
